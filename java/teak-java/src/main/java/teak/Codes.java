package teak;

import teak.internal.Scratch;

/** Codes of the C interface, and the exceptions for them. */
final class Codes {
    static final int OK = 0;
    static final int NONE = 1;
    static final int INVALID_HANDLE = 16;
    static final int BUSY = 17;

    private static final int NO_SPACE_LEFT = 28;
    private static final int QUOTA_EXCEEDED = 122;

    private Codes() {}

    /** Whether the answer is yes or done, and not "none". Throws if there was an error. */
    static boolean check(int code, Scratch scratch) {
        if (code == OK) {
            return true;
        }
        if (code == NONE) {
            return false;
        }
        throw exception(code, scratch.errorDetails());
    }

    static RuntimeException exception(int code, Scratch.ErrorDetails error) {
        String text = error.message();
        return switch (code) {
            case INVALID_HANDLE -> new ClosedException(text);
            case BUSY -> new BusyException(code, text);
            case 32 -> switch (error.systemCode()) {
                case NO_SPACE_LEFT, QUOTA_EXCEEDED -> new DiskFullException(code, text);
                default -> new StorageException(code, text);
            };
            case 33, 45, 53, 68 -> new NotFoundException(code, text);
            case 34, 46, 54, 55 -> new ExistsException(code, text);
            case 35, 36, 37, 40, 41, 42, 63, 64, 65, 66 -> new OpenException(code, text);
            case 38, 58 -> new CorruptionException(code, text, error.page());
            case 39 -> new PoisonedException(code, text);
            case 43, 44, 48 -> new SnapshotException(code, text);
            case 47, 49 -> new DiskFullException(code, text);
            case 19, 60 -> new ReadOnlyException(code, text);
            case 61, 67 -> new TransactionException(code, text);
            case 62 -> new CancelledException(code, text);
            case 18, 20, 21, 50, 51, 52, 56, 57, 59 -> new InvalidArgumentException(code, text);
            default -> new TeakException(code, text);
        };
    }

    static String remedy(int code) {
        return switch (code) {
            case BUSY -> "Wait until the other call has returned, or use a transaction per thread.";
            case 19, 60 -> "Begin a write transaction of a database that is open for writing.";
            case 32 -> "See the message for what the system refused.";
            case 33, 45, 53, 68 -> "Check the name, or create it first.";
            case 34, 46, 54 -> "Choose another name, or remove what is there.";
            case 55 -> "Open the table with the options that it was created with.";
            case 35, 36, 37, 40, 41, 42, 63, 64, 65, 66 ->
                "See the message for why the file cannot be opened.";
            case 38, 58 -> "Restore a backup, or save what is readable with `teak salvage`.";
            case 39 -> "Repair the disk, close the database, and open it again.";
            case 43 -> "Begin the read transaction again.";
            case 44 -> "Renew the read transaction and decide again.";
            case 48 -> "Close read transactions that are not used any more.";
            case 47 -> "Close the old read transaction, or raise the size limit.";
            case 49 -> "Remove records, free space on the disk, or raise the size limit.";
            case 61 -> "Roll the transaction back, and repeat it.";
            case 62 -> "Repeat the operation.";
            case 67 -> "Commit the prepared transaction, or roll it back.";
            case 22 -> "Report this error, and roll the transaction back.";
            default -> "Correct the argument that the message names.";
        };
    }
}
