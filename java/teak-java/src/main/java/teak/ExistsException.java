package teak;

/** A file, table or snapshot of that name exists already, or has other options. */
public final class ExistsException extends TeakException {
    private static final long serialVersionUID = 1;

    ExistsException(int code, String message) {
        super(code, message);
    }
}
