package teak;

/** There is no room: on the disk, below the size limit, or because a reader keeps it. */
public final class DiskFullException extends TeakException {
    private static final long serialVersionUID = 1;

    DiskFullException(int code, String message) {
        super(code, message);
    }
}
