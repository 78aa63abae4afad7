package teak;

import java.nio.ByteBuffer;
import java.util.ConcurrentModificationException;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/** What calls may throw while other threads use and end their objects. */
final class Misuse {
    private Misuse() {}

    /** Threads drop the tables, rename them, and create them again as the other kind. */
    private static boolean usesTable(Object object) {
        return object instanceof Txn || object instanceof Table || object instanceof MultiTable
                || object instanceof TypedTable || object instanceof Cursor
                || object instanceof Scan || object instanceof Iterator || object instanceof Map;
    }

    /** One thread at a time may use these. */
    private static boolean isOfOneThread(Object object) {
        return object instanceof Cursor || object instanceof Scan || object instanceof Iterator
                || object instanceof Map;
    }

    /** Methods with an argument that may be refused. */
    private static final Set<String> MAY_REFUSE = Set.of(
            "Table.append", "MultiTable.append", "Table.drawSequence", "Savepoint.rollBack",
            "Savepoint.release");

    private static final Set<String> MAY_FIND_NOTHING =
            Set.of("Database.openSnapshot", "Database.objects", "Changes.differences");

    /** Whether a key, or a value of a table with several values, is too long. */
    private static boolean isTooLong(InvalidArgumentException refused) {
        return refused.code() == 50 || refused.code() == 51;
    }

    static boolean isExpected(Throwable thrown, Object object, String method) {
        String where = object.getClass().getSimpleName() + "." + method;
        String text = String.valueOf(thrown.getMessage());
        if (thrown instanceof ClosedException || thrown instanceof BusyException) {
            return true;
        } else if (thrown instanceof NotFoundException) {
            return usesTable(object) || MAY_FIND_NOTHING.contains(where);
        } else if (thrown instanceof ExistsException) {
            return usesTable(object) || where.equals("Database.objects");
        } else if (thrown instanceof InvalidArgumentException refused) {
            return MAY_REFUSE.contains(where) || usesTable(object) && isTooLong(refused);
        } else if (thrown instanceof ReadOnlyException) {
            return usesTable(object) && !(object instanceof WriteTxn);
        } else if (thrown instanceof StorageException) {
            return where.equals("Database.backup");
        } else if (thrown instanceof TeakException) {
            return false;
        } else if (thrown instanceof ConcurrentModificationException) {
            return isOfOneThread(object);
        } else if (thrown instanceof IllegalStateException) {
            // The test reads the buffers that it gets.
            boolean isRead = object instanceof ByteBuffer || where.equals("Table.getBuffer");
            return isRead && text.equals("Already closed")
                    || text.endsWith("is on no record; move it first")
                    || text.endsWith("is on no record; call next first")
                    || text.startsWith("a scan can be iterated once");
        } else if (thrown instanceof IllegalArgumentException) {
            return where.equals("Table.drawSequence") && text.endsWith("must not be negative")
                    || object instanceof Map && text.contains("outside of the range of this map");
        } else if (thrown instanceof UnsupportedOperationException) {
            return object instanceof Map || object instanceof Iterator;
        } else if (thrown instanceof NoSuchElementException) {
            return object instanceof Iterator || object instanceof Map
                    || where.equals("Scan.forEach");
        } else if (thrown instanceof IndexOutOfBoundsException) {
            // Another thread moves the buffer that this one reads.
            return Set.of("Scan.keyBuffer", "Scan.valueBuffer").contains(where);
        }
        return false;
    }
}
