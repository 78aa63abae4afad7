package teak;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import teak.internal.FfmViews;
import teak.internal.Views;

/**
 * Values as memory segments, for Java 22 and later. In a read transaction they are in the mapped
 * file: nothing is copied, and an access after the transaction has ended or was renewed throws
 * {@link IllegalStateException}. In a write transaction, or if Java calls Teak by JNI, they are
 * copies.
 */
public final class Segments {
    private Segments() {}

    /**
     * Finds the value of a key.
     *
     * @param table the table
     * @param key the key
     * @return a segment that can only be read, or null if there is no such record
     */
    public static MemorySegment get(Table table, byte[] key) {
        TxnCore txn = table.core.core;
        if (Views.VIEWS == null || txn.isWriter) {
            byte[] value = table.get(key);
            return value == null ? null : MemorySegment.ofArray(value).asReadOnly();
        }
        return table.view(key, Segments::segment);
    }

    private static MemorySegment segment(Views.Scope scope, long address, long length) {
        return ((FfmViews.FfmScope) scope).segment(address, length);
    }

    /**
     * Finds the value of a key.
     *
     * @param table the table
     * @param key the key
     * @return a segment that can only be read, or null if there is no such record
     */
    public static MemorySegment get(Table table, MemorySegment key) {
        return get(table, key.toArray(JAVA_BYTE));
    }
}
