package teak.hosted;

/** The lock of a key, or a place in the pool, was not free in time. Nothing was changed. */
public final class LockTimeoutException extends RuntimeException {
    private static final long serialVersionUID = 1;

    LockTimeoutException(String message) {
        super(message);
    }
}
