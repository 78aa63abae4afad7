package teak;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import teak.internal.FfmViews;
import teak.internal.Scratch;
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
        var scope = (FfmViews.FfmScope) txn.scope();
        Scratch scratch = txn.take();
        try {
            return table.find(key, scratch)
                    ? scope.segment(scratch.number(0), scratch.number(1))
                    : null;
        } finally {
            txn.give(scratch);
        }
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
