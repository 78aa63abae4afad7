package teak;

/** A read transaction has lost its state, or its state is not the newest. */
public final class SnapshotException extends TeakException {
    private static final long serialVersionUID = 1;

    SnapshotException(int code, String message) {
        super(code, message);
    }
}
