package teak;

/** The system refused an operation on the file. */
public final class StorageException extends TeakException {
    private static final long serialVersionUID = 1;

    StorageException(int code, String message) {
        super(code, message);
    }
}
