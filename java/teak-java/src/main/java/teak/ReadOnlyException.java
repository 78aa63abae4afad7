package teak;

/** The database or the transaction only reads. */
public final class ReadOnlyException extends TeakException {
    private static final long serialVersionUID = 1;

    ReadOnlyException(int code, String message) {
        super(code, message);
    }
}
