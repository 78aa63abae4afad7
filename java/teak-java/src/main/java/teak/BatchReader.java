package teak;

import java.nio.ByteBuffer;
import java.util.ConcurrentModificationException;
import teak.internal.Calls;
import teak.internal.Scratch;

/**
 * Reads the records of a range in order. Batches of them are copied in one call, small ones first.
 * A change of the transaction makes the rest of a batch invalid: then reading goes on after the
 * last record that was read.
 */
final class BatchReader {
    private static final Calls CALLS = Calls.CALLS;

    private static final byte[] NOTHING = {};
    private static final int AT_LEAST = 0;
    private static final int GREATER = 2;
    private static final int LESS = 3;
    private static final int AT_MOST = 4;

    private static final int FIRST_BATCH = 8;
    private static final int LONGEST_BATCH = 512;
    private static final int LENGTHS = 8;
    /** Room to begin with, and to grow to if batches do not fit. */
    private static final int ROOM = 4 << 10;
    private static final int LARGE_ROOM = 128 << 10;

    private enum State { NEW, READING, ENDED }

    /** Buffers that show a batch. */
    private record Buffers(ByteBuffer batch, ByteBuffer key, ByteBuffer value) {}

    private final TxnCore core;
    private final long table;
    private final boolean isMulti;
    private final Range range;
    private State state = State.NEW;
    private long cursor;
    private int cursorAge;
    private int version;
    /** Where batches are copied to; null before the first and after the end. */
    private Scratch memory;
    /** The thread that read the last batch. */
    private Thread filler;
    /** The memory, or the last record before another batch is there. */
    private ByteBuffer batch;
    /** Null if nobody asked for buffers. */
    private Buffers shown;
    private int next;
    private int end;
    private int batchLength = FIRST_BATCH;
    private int room = ROOM;
    private boolean hasMore;
    private int keyAt = -1;
    private int valueAt;
    private int valueEnd;

    BatchReader(TxnCore core, long table, boolean isMulti, Range range) {
        this.core = core;
        this.table = table;
        this.isMulti = isMulti;
        this.range = range;
    }

    /** A reader of all records after one, or before it if the range goes backward. */
    static BatchReader beyond(TableCore table, Range range, byte[] key, byte[] value) {
        BatchReader reader = new BatchReader(table.core, table.number, table.isMulti, range);
        reader.replace(key, value);
        return reader;
    }

    /** Changes the record after which reading goes on. The rest of the batch is dropped. */
    void replace(byte[] key, byte[] value) {
        valueEnd = key.length + value.length;
        batch = ByteBuffer.allocate(valueEnd).put(key).put(value);
        keyAt = 0;
        valueAt = key.length;
        next = 0;
        end = 0;
    }

    /** Moves to the next record. Returns whether there is one. */
    boolean advance() {
        if ((next == end || version != core.version || !core.isOpen()) && !fill()) {
            return false;
        }
        ByteBuffer records = batch;
        int at = next;
        // Another thread may be moving on, to a shorter batch too.
        if (records == null || at > records.capacity() - LENGTHS) {
            throw usedTwice();
        }
        int keyLength = records.getInt(at);
        int valueLength = records.getInt(at + 4);
        int key = at + LENGTHS;
        long after = (long) key + keyLength + valueLength;
        if (keyLength < 0 || valueLength < 0 || after > records.capacity()) {
            throw usedTwice();
        }
        keyAt = key;
        valueAt = key + keyLength;
        valueEnd = (int) after;
        next = valueEnd;
        return true;
    }

    /** Throws if the transaction has ended. */
    void checkOpen() {
        core.handle();
    }

    byte[] key() {
        return copy(keyAt, valueAt);
    }

    byte[] value() {
        return copy(valueAt, valueEnd);
    }

    private byte[] copy(int from, int to) {
        ByteBuffer records = batch;
        // Another thread may be moving on, and no length may be made of two records.
        if (records == null || from < 0 || to < from || to > records.capacity()) {
            throw usedTwice();
        }
        byte[] copy = new byte[to - from];
        records.get(from, copy);
        return copy;
    }

    private static ConcurrentModificationException usedTwice() {
        return new ConcurrentModificationException(
                "two threads use this scan or cursor; use one in each thread");
    }

    /** The key in the batch. The buffer shows something else after the next record was read. */
    ByteBuffer keyBuffer() {
        return window(show().key, keyAt, valueAt);
    }

    /** The value in the batch, like {@link #keyBuffer}. */
    ByteBuffer valueBuffer() {
        return window(show().value, valueAt, valueEnd);
    }

    private static ByteBuffer window(ByteBuffer shown, int from, int to) {
        try {
            return shown.limit(to).position(from);
        } catch (IllegalArgumentException moved) {
            // Another thread may be moving on.
            throw usedTwice();
        }
    }

    private Buffers show() {
        ByteBuffer records = batch;
        Buffers buffers = shown;
        if (records == null) {
            throw usedTwice();
        }
        if (buffers == null || buffers.batch != records) {
            buffers = new Buffers(records, records.asReadOnlyBuffer(), records.asReadOnlyBuffer());
            shown = buffers;
        }
        return buffers;
    }

    Entry entry() {
        return new Entry(key(), value());
    }

    /** One at a time, so that the memory stays while a native call writes to it. */
    private synchronized boolean fill() {
        core.handle();
        if (state == State.ENDED) {
            return false;
        }
        filler = Thread.currentThread();
        Scratch scratch = core.take();
        try {
            if (readOn(scratch)) {
                return true;
            }
        } finally {
            core.give(scratch);
        }
        close();
        return false;
    }

    private boolean readOn(Scratch scratch) {
        while (true) {
            try {
                boolean isThere = switch (state) {
                    case NEW -> begin(scratch);
                    default -> version == core.version ? hasMore : resume(scratch);
                };
                return isThere && read(scratch);
            } catch (ClosedException ended) {
                core.handle();
                if (state != State.READING || cursorAge == core.cursorAge) {
                    throw ended;
                }
                // Another thread renews the transaction.
                version = core.version - 1;
            }
        }
    }

    private boolean begin(Scratch scratch) {
        cursorAge = core.cursorAge;
        cursor = core.openCursor(table, scratch);
        state = State.READING;
        version = core.version;
        if (keyAt >= 0) {
            return resume(scratch);
        }
        int exact = range.isBackward ? AT_MOST : AT_LEAST;
        int beyond = range.isBackward ? LESS : GREATER;
        return switch (range.firstKind()) {
            case 0 -> true;
            case 1 -> seek(scratch, exact, range.firstKey(), null);
            default -> seek(scratch, beyond, range.firstKey(), null);
        };
    }

    /** Moves after the last record that was read. */
    private boolean resume(Scratch scratch) {
        if (keyAt < 0 || cursorAge != core.cursorAge) {
            core.closeCursor(cursor);
            return begin(scratch);
        }
        version = core.version;
        return seek(scratch, range.isBackward ? LESS : GREATER, key(), isMulti ? value() : null);
    }

    private boolean seek(Scratch scratch, int op, byte[] key, byte[] value) {
        scratch.ensure((long) key.length + (value == null ? 0 : value.length));
        long at = scratch.at(Scratch.DATA);
        int second = scratch.put(Scratch.DATA, key);
        int code;
        if (value == null) {
            code = CALLS.cursorSeek(
                    cursor, core.handle(), op, at, key.length, 0, scratch.error());
        } else {
            scratch.put(second, value);
            code = CALLS.cursorSeekPair(cursor, core.handle(), op, at, key.length,
                    scratch.at(second), value.length, 0, scratch.error());
        }
        return Codes.check(code, scratch);
    }

    /** Copies the next records. Returns whether there are any. */
    private boolean read(Scratch scratch) {
        if (keyAt >= 0) {
            // The batch ends now. A change of the transaction needs its last record.
            replace(key(), isMulti ? value() : NOTHING);
        }
        if (memory == null) {
            memory = Scratch.take();
        }
        byte[] bound = range.lastKey();
        scratch.ensure(bound.length);
        scratch.put(Scratch.DATA, bound);
        while (true) {
            memory.ensure(room);
            int code = CALLS.cursorCopy(cursor, core.handle(), range.isBackward ? 1 : 0,
                    range.lastKind(), scratch.at(Scratch.DATA), bound.length,
                    memory.at(Scratch.DATA), memory.roomFrom(Scratch.DATA), batchLength,
                    scratch.out(0), scratch.out(1), scratch.error());
            hasMore = Codes.check(code, scratch);
            long count = scratch.number(0);
            long used = scratch.number(1);
            if (count == 0 && hasMore) {
                room = (int) Math.min(used, Integer.MAX_VALUE - 2L * Scratch.DATA);
                if (used > room) {
                    throw new OutOfMemoryError("a record of " + used + " bytes needs two arrays;"
                            + " read it with a segment, or store it in parts");
                }
                continue;
            }
            if (count == 0) {
                return false;
            }
            batch = memory.buffer();
            next = Scratch.DATA;
            end = Scratch.DATA + (int) used;
            if (hasMore && count < batchLength) {
                room = Math.max(room, Math.min(2 * room, LARGE_ROOM));
            }
            batchLength = Math.min(2 * batchLength, LONGEST_BATCH);
            return true;
        }
    }

    /** Ends reading. Another thread may still look at the batch, so it is not used again then. */
    synchronized void close() {
        if (state == State.READING) {
            core.closeCursor(cursor);
        }
        if (memory != null && shown == null && filler == Thread.currentThread()) {
            memory.release();
        }
        memory = null;
        batch = ByteBuffer.wrap(NOTHING);
        state = State.ENDED;
        next = 0;
        end = 0;
    }
}
