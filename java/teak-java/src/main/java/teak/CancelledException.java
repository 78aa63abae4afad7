package teak;

/** A program ended the operation. */
public final class CancelledException extends TeakException {
    private static final long serialVersionUID = 1;

    CancelledException(int code, String message) {
        super(code, message);
    }
}
