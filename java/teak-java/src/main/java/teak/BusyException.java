package teak;

/** The object is in use by another call, or this thread would wait for itself. */
public final class BusyException extends TeakException {
    private static final long serialVersionUID = 1;

    BusyException(int code, String message) {
        super(code, message);
    }
}
