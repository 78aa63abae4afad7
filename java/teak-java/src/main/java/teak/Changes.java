package teak;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import teak.internal.Calls;
import teak.internal.Scratch;

/** The differences between two states. */
public final class Changes implements AutoCloseable {
    private static final Calls CALLS = Calls.CALLS;
    private static final byte[] NOTHING = {};

    private final ReadTxn older;
    private final ReadTxn newer;

    Changes(ReadTxn older, ReadTxn newer) {
        this.older = older;
        this.newer = newer;
    }

    /** What has happened to a record or a table. */
    public enum Kind {
        /** Only the newer state has it. */
        INSERTED,
        /** Both states have it. */
        CHANGED,
        /** Only the older state has it. */
        REMOVED
    }

    /**
     * A table that differs.
     *
     * @param name its name
     * @param kind what has happened to it
     */
    public record TableChange(String name, Kind kind) {}

    /**
     * A record that differs.
     *
     * @param kind what has happened to it
     * @param key its key
     * @param oldValue its value in the older state, or null
     * @param newValue its value in the newer state, or null
     */
    public record Difference(Kind kind, byte[] key, byte[] oldValue, byte[] newValue) {}

    /**
     * The number of the commit of the newer state.
     *
     * @return a number that grows with each commit
     */
    public long commit() {
        return newer.id();
    }

    /**
     * The tables that differ.
     *
     * @return a list that does not change
     */
    public List<TableChange> tables() {
        Listing listing = Listing.read((buffer, room, used, error) -> CALLS.changedTables(
                older.core.handle(), newer.core.handle(), buffer, room, used, error));
        List<TableChange> changes = new ArrayList<>();
        while (listing.hasMore()) {
            Kind kind = Kind.values()[(int) listing.number()];
            changes.add(new TableChange(listing.text(), kind));
        }
        return List.copyOf(changes);
    }

    /**
     * The records of a table that differ, in the order of their keys. The cost is that of the pages
     * that have changed.
     *
     * @param table the name of a table
     * @return what can be iterated while this object is open
     */
    public Iterable<Difference> differences(String table) {
        long number = number(table);
        return () -> new Differences(number);
    }

    private long number(String table) {
        for (ReadTxn txn : List.of(newer, older)) {
            long number = Tables.openAny(txn.core, table);
            if (number != 0) {
                return number;
            }
        }
        return Tables.found(null, table);
    }

    private final class Differences implements Iterator<Difference> {
        private final long table;
        /** The record of the last one in the batch; null before the first batch. */
        private byte[] lastKey;
        private byte[] lastValue = NOTHING;
        private Listing batch = new Listing(new byte[0]);
        private boolean isLast;

        Differences(long table) {
            this.table = table;
        }

        @Override
        public boolean hasNext() {
            if (!batch.hasMore() && !isLast) {
                fill();
            }
            return batch.hasMore();
        }

        private void fill() {
            Scratch scratch = Scratch.take();
            try {
                byte[] key = lastKey == null ? NOTHING : lastKey;
                byte[] value = lastValue;
                long room = 64 << 10;
                while (true) {
                    scratch.ensure((long) key.length + value.length + room);
                    int second = scratch.put(Scratch.DATA, key);
                    int data = scratch.put(second, value);
                    int code = CALLS.differences(older.core.handle(), newer.core.handle(), table,
                            lastKey == null ? 0 : scratch.at(Scratch.DATA), key.length,
                            scratch.at(second), value.length, scratch.at(data),
                            scratch.roomFrom(data), scratch.out(0), scratch.out(1),
                            scratch.error());
                    isLast = Codes.check(code, scratch);
                    room = scratch.number(1);
                    if (isLast || scratch.number(0) > 0) {
                        batch = new Listing(scratch.bytes(data, (int) room));
                        return;
                    }
                }
            } finally {
                scratch.release();
            }
        }

        @Override
        public Difference next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Kind kind = Kind.values()[(int) batch.number()];
            byte[] key = batch.bytes();
            byte[] oldValue = batch.bytes();
            byte[] newValue = batch.bytes();
            if (!batch.hasMore()) {
                // The program may change the arrays that it gets.
                lastKey = key.clone();
                lastValue = (kind == Kind.REMOVED ? oldValue : newValue).clone();
            }
            return new Difference(kind, key, kind == Kind.INSERTED ? null : oldValue,
                    kind == Kind.REMOVED ? null : newValue);
        }
    }

    /** Ends the older state. */
    @Override
    public void close() {
        older.close();
    }
}
