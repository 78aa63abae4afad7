package teak;

import java.lang.ref.Reference;
import java.util.Objects;
import teak.internal.Calls;
import teak.internal.Scratch;

/** The calls of both kinds of tables. */
final class TableCore {
    private static final Calls CALLS = Calls.CALLS;

    /** While it can be reached, the transaction is not a lost one. */
    final Txn txn;
    final TxnCore core;
    final long number;
    final String name;
    final boolean isMulti;

    TableCore(Txn txn, TxnCore core, long number, String name, boolean isMulti) {
        this.txn = txn;
        this.core = core;
        this.number = number;
        this.name = name;
        this.isMulti = isMulti;
    }

    interface KeyCall {
        int call(long txn, long table, long key, long length, long error);
    }

    /** A call with a key that stores nothing. */
    boolean call(byte[] key, KeyCall call) {
        Scratch scratch = core.take();
        try {
            scratch.ensure(key.length);
            scratch.put(Scratch.DATA, key);
            int code = call.call(core.handle(), number, scratch.at(Scratch.DATA), key.length,
                    scratch.error());
            return Codes.check(code, scratch);
        } finally {
            core.give(scratch);
        }
    }

    interface CountCall {
        int call(long txn, long table, long key, long length, long count, long error);
    }

    /** A call with a key that counts. */
    long count(byte[] key, CountCall call) {
        Scratch scratch = core.take();
        try {
            scratch.ensure(key.length);
            scratch.put(Scratch.DATA, key);
            int code = call.call(core.handle(), number, scratch.at(Scratch.DATA), key.length,
                    scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(0);
        } finally {
            core.give(scratch);
        }
    }

    interface RecordCall {
        int call(long txn, long table, long key, long keyLength, long value, long valueLength,
                long error);
    }

    /** A call with a key and a value. */
    boolean call(byte[] key, byte[] value, RecordCall call) {
        Scratch scratch = core.take();
        try {
            scratch.ensure((long) key.length + value.length);
            int second = scratch.put(Scratch.DATA, key);
            scratch.put(second, value);
            int code = call.call(core.handle(), number, scratch.at(Scratch.DATA), key.length,
                    scratch.at(second), value.length, scratch.error());
            return Codes.check(code, scratch);
        } finally {
            core.give(scratch);
        }
    }

    interface RangeCall {
        int call(long txn, long table, int lowKind, long low, long lowLength, int highKind,
                long high, long highLength, long count, long error);
    }

    /** A call with a range that counts. */
    long count(Range range, RangeCall call) {
        Scratch scratch = core.take();
        try {
            scratch.ensure((long) range.low.length + range.high.length);
            int second = scratch.put(Scratch.DATA, range.low);
            scratch.put(second, range.high);
            int code = call.call(core.handle(), number, range.lowKind, scratch.at(Scratch.DATA),
                    range.low.length, range.highKind, scratch.at(second), range.high.length,
                    scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(0);
        } finally {
            core.give(scratch);
        }
    }

    /** The record that a search finds, or null. Without a key it is the first or the last one. */
    Entry find(int seek, byte[] key) {
        Scratch scratch = core.take();
        try {
            int length = key == null ? 0 : key.length;
            long room = 512;
            while (true) {
                scratch.ensure(length + room);
                if (key != null) {
                    scratch.put(Scratch.DATA, key);
                }
                int data = Scratch.DATA + length;
                int code = CALLS.find(core.handle(), number, seek,
                        key == null ? 0 : scratch.at(Scratch.DATA), length, scratch.at(data),
                        scratch.roomFrom(data), scratch.out(0), scratch.error());
                if (!Codes.check(code, scratch)) {
                    return null;
                }
                room = scratch.number(0);
                if (room <= scratch.roomFrom(data)) {
                    int keyLength = scratch.buffer().getInt(data);
                    int valueLength = scratch.buffer().getInt(data + 4);
                    return new Entry(scratch.bytes(data + 8, keyLength),
                            scratch.bytes(data + 8 + keyLength, valueLength));
                }
            }
        } finally {
            Reference.reachabilityFence(this);
            core.give(scratch);
        }
    }

    BatchReader reader(Range range) {
        core.handle();
        return new BatchReader(core, number, isMulti, Objects.requireNonNull(range, "range"));
    }

    Scan scan(Range range) {
        return new Scan(txn, reader(range));
    }

    TableStat stat() {
        Scratch scratch = core.take();
        try {
            Tables.stat(core, number, scratch, 0);
            return new TableStat(scratch.number(1), scratch.number(2), scratch.number(3),
                    scratch.number(4), scratch.number(5), scratch.number(6), scratch.number(7));
        } finally {
            core.give(scratch);
        }
    }

    /** The key at which the second half of a range begins, or null. */
    byte[] middle(Range range) {
        Listing listing = Listing.read((buffer, room, used, error) -> {
            Scratch scratch = core.take();
            try {
                scratch.ensure((long) range.low.length + range.high.length);
                int second = scratch.put(Scratch.DATA, range.low);
                scratch.put(second, range.high);
                return CALLS.splitRange(core.handle(), number, range.lowKind,
                        scratch.at(Scratch.DATA), range.low.length, range.highKind,
                        scratch.at(second), range.high.length, 2, buffer, room, used, error);
            } finally {
                core.give(scratch);
            }
        });
        return listing.hasMore() ? listing.bytes() : null;
    }

    /** Inserts records, in packs. Returns how many keys were new. */
    long putAll(Iterable<Entry> records) {
        Scratch scratch = core.take();
        long inserted = 0;
        try {
            int limit = 192 << 10;
            scratch.ensure(limit);
            int at = Scratch.DATA;
            for (Entry record : records) {
                long length = 8L + record.key().length + record.value().length;
                if (at > Scratch.DATA && length > scratch.roomFrom(at)) {
                    inserted += insertPacked(scratch, at);
                    at = Scratch.DATA;
                }
                scratch.ensure(at == Scratch.DATA ? length : 0);
                scratch.buffer().putInt(at, record.key().length);
                scratch.buffer().putInt(at + 4, record.value().length);
                at = scratch.put(scratch.put(at + 8, record.key()), record.value());
            }
            return inserted + insertPacked(scratch, at);
        } finally {
            Reference.reachabilityFence(this);
            core.give(scratch);
        }
    }

    private long insertPacked(Scratch scratch, int end) {
        // The program may have scanned the table while it made the records of this pack.
        core.noteChange();
        int code = CALLS.insertPacked(core.handle(), number, scratch.at(Scratch.DATA),
                end - Scratch.DATA, scratch.out(0), scratch.error());
        Codes.check(code, scratch);
        return scratch.number(0);
    }

    long drawSequence(long count) {
        Scratch scratch = core.take();
        try {
            long open = core.handle();
            if (count < 0) {
                throw new IllegalArgumentException(
                        "the count of numbers is " + count + "; it must not be negative");
            }
            int code = CALLS.drawSequence(
                    open, number, count, scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(0);
        } finally {
            core.give(scratch);
        }
    }

    void clear() {
        Scratch scratch = core.take();
        try {
            core.noteChange();
            Codes.check(CALLS.tableClear(core.handle(), number, scratch.error()), scratch);
        } finally {
            core.give(scratch);
        }
    }
}
