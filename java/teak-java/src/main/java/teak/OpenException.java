package teak;

/** The file cannot be opened: it is not a database, in use, or of a newer version. */
public final class OpenException extends TeakException {
    private static final long serialVersionUID = 1;

    OpenException(int code, String message) {
        super(code, message);
    }
}
