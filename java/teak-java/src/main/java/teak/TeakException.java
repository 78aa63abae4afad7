package teak;

/**
 * An operation failed. The message says what happened and what to do. The kinds that programs
 * handle are subclasses.
 */
public sealed class TeakException extends RuntimeException
        permits BusyException,
                CancelledException,
                CorruptionException,
                DiskFullException,
                ExistsException,
                InvalidArgumentException,
                NotFoundException,
                OpenException,
                PoisonedException,
                ReadOnlyException,
                SnapshotException,
                StorageException,
                TransactionException {
    private static final long serialVersionUID = 1;

    /** The code of the C interface. */
    private final int code;

    TeakException(int code, String message) {
        super(message);
        this.code = code;
    }

    /**
     * The code of the error in the C interface.
     *
     * @return a number of {@code teak_code}
     */
    public final int code() {
        return code;
    }

    /**
     * What to do about errors of this kind. The message says it for this error.
     *
     * @return a sentence
     */
    public final String remedy() {
        return Codes.remedy(code);
    }
}
