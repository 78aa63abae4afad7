package teak;

/** The object was closed, or belongs to a transaction or database that has ended. */
public final class ClosedException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    ClosedException(String message) {
        super(message);
    }
}
