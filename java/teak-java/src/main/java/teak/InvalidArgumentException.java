package teak;

/** An argument is invalid: the message says which, and why. */
public final class InvalidArgumentException extends TeakException {
    private static final long serialVersionUID = 1;

    InvalidArgumentException(int code, String message) {
        super(code, message);
    }
}
