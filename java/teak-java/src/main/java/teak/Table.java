package teak;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.stream.Stream;
import teak.internal.Calls;
import teak.internal.Scratch;
import teak.internal.Views;

/**
 * A table with one value for each key, in a transaction. Keys are in the order of their bytes, as
 * unsigned numbers, unless the table was created with another order.
 */
public final class Table {
    private static final Calls CALLS = Calls.CALLS;
    private static final int AT_LEAST = 0;
    private static final int GREATER = 2;
    private static final int LESS = 3;
    private static final int AT_MOST = 4;

    final TableCore core;
    private final TxnCore txn;
    private final long number;

    Table(Txn owner, TxnCore txn, long number, String name) {
        this.core = new TableCore(owner, txn, number, name, false);
        this.txn = txn;
        this.number = number;
    }

    /**
     * The name of the table.
     *
     * @return its name
     */
    public String name() {
        return core.name;
    }

    /**
     * The transaction of the table.
     *
     * @return the transaction
     */
    public Txn txn() {
        return core.txn;
    }

    /**
     * Finds the value of a key.
     *
     * @param key the key
     * @return a copy of the value, or null if there is no such record
     */
    public byte[] get(byte[] key) {
        Scratch scratch = txn.take();
        try {
            long room = 512;
            while (true) {
                scratch.ensure(key.length + room);
                int data = scratch.put(Scratch.DATA, key);
                int code = CALLS.copyValue(txn.handle(), number, scratch.at(Scratch.DATA),
                        key.length, scratch.at(data), scratch.roomFrom(data), scratch.out(0),
                        scratch.error());
                if (!Codes.check(code, scratch)) {
                    return null;
                }
                room = scratch.number(0);
                if (room <= scratch.roomFrom(data)) {
                    return scratch.bytes(data, (int) room);
                }
            }
        } finally {
            // Until here the transaction is not a lost one.
            Reference.reachabilityFence(this);
            txn.give(scratch);
        }
    }

    /**
     * Finds the value of a key, without a copy where Java and the transaction allow that: with Java
     * 22 or later, in a read transaction. Such a buffer can be read until the transaction ends or is
     * renewed, and then throws {@link IllegalStateException}. Closing a transaction that has
     * returned buffers waits for a moment at which no thread reads one.
     *
     * @param key the key
     * @return a buffer that can only be read, or null if there is no such record
     */
    public ByteBuffer getBuffer(byte[] key) {
        if (Views.VIEWS == null || txn.isWriter) {
            byte[] value = get(key);
            return value == null ? null : ByteBuffer.wrap(value).asReadOnlyBuffer();
        }
        return view(key, Views.Scope::view);
    }

    /** How a value in the mapped file is shown. */
    interface View<T> {
        T show(Views.Scope scope, long address, long length);
    }

    /** The value of a key in the mapped file, or null. Only for read transactions. */
    <T> T view(byte[] key, View<T> view) {
        Views.Scope scope = txn.scope();
        Scratch scratch = txn.take();
        try {
            return find(key, scratch)
                    ? view.show(scope, scratch.number(0), scratch.number(1))
                    : null;
        } catch (IllegalStateException ended) {
            // Another thread ends the transaction, or renews it.
            txn.handle();
            if (scope == txn.scope()) {
                throw ended;
            }
        } finally {
            Reference.reachabilityFence(this);
            txn.give(scratch);
        }
        return view(key, view);
    }

    /** Stores the address and the length of a value in the scratch memory. */
    boolean find(byte[] key, Scratch scratch) {
        scratch.ensure(key.length);
        scratch.put(Scratch.DATA, key);
        int code = CALLS.get(txn.handle(), number, scratch.at(Scratch.DATA), key.length,
                scratch.out(0), scratch.error());
        return Codes.check(code, scratch);
    }

    /**
     * Whether there is a record with a key.
     *
     * @param key the key
     * @return whether there is one
     */
    public boolean contains(byte[] key) {
        return core.call(key, CALLS::contains);
    }

    /**
     * Inserts a record, or replaces the value of its key.
     *
     * @param key the key
     * @param value the value
     */
    public void set(byte[] key, byte[] value) {
        txn.noteChange();
        core.call(key, value, CALLS::insert);
    }

    /**
     * Inserts a record, or replaces the value of its key. {@link #set} does not return whether, and
     * is faster for keys that exist.
     *
     * @param key the key
     * @param value the value
     * @return whether the key existed
     */
    public boolean put(byte[] key, byte[] value) {
        if (putIfAbsent(key, value)) {
            return false;
        }
        set(key, value);
        return true;
    }

    /**
     * Inserts a record if its key is new.
     *
     * @param key the key
     * @param value the value
     * @return whether it was inserted
     */
    public boolean putIfAbsent(byte[] key, byte[] value) {
        txn.noteChange();
        return core.call(key, value, CALLS::insertNew);
    }

    /**
     * Replaces the value of a key that exists.
     *
     * @param key the key
     * @param value the value
     * @return whether the key exists
     */
    public boolean replace(byte[] key, byte[] value) {
        txn.noteChange();
        return core.call(key, value, CALLS::update);
    }

    /**
     * Inserts a record after the last one, without a search.
     *
     * @param key a key after all others
     * @param value the value
     * @throws InvalidArgumentException if the key does not come after the last one
     */
    public void append(byte[] key, byte[] value) {
        txn.noteChange();
        core.call(key, value, CALLS::append);
    }

    /**
     * Inserts records, and replaces the values of keys that exist. This is faster than one by one.
     *
     * @param records the records, in any order
     * @return how many keys were new
     */
    public long putAll(Iterable<Entry> records) {
        return core.putAll(records);
    }

    /**
     * Removes a record.
     *
     * @param key its key
     * @return its value, or null if there was none
     */
    public byte[] remove(byte[] key) {
        byte[] value = get(key);
        boolean isDeleted = value != null && delete(key);
        Reference.reachabilityFence(this);
        return isDeleted ? value : null;
    }

    /**
     * Removes a record.
     *
     * @param key its key
     * @return whether there was one
     */
    public boolean delete(byte[] key) {
        txn.noteChange();
        return core.call(key, CALLS::remove);
    }

    /**
     * Removes the records of a range.
     *
     * @param range the range
     * @return how many there were
     */
    public long deleteRange(Range range) {
        txn.noteChange();
        return core.count(range, CALLS::removeRange);
    }

    /** Removes all records. */
    public void clear() {
        core.clear();
    }

    /**
     * The number of records.
     *
     * @return the number
     */
    public long size() {
        return stat().records();
    }

    /**
     * The number of records of a range.
     *
     * @param range the range
     * @return the number
     */
    public long count(Range range) {
        return core.count(range, CALLS::countRange);
    }

    /**
     * Counts of the table.
     *
     * @return counts
     */
    public TableStat stat() {
        return core.stat();
    }

    /**
     * Draws numbers from the sequence of the table, which are never drawn again once the transaction
     * is committed.
     *
     * @param count how many
     * @return the first of them
     * @throws IllegalArgumentException if the count is negative
     */
    public long drawSequence(long count) {
        return core.drawSequence(count);
    }

    /**
     * The first record.
     *
     * @return the record, or null if there is none
     */
    public Entry first() {
        return core.find(AT_LEAST, null);
    }

    /**
     * The last record.
     *
     * @return the record, or null if there is none
     */
    public Entry last() {
        return core.find(AT_MOST, null);
    }

    /**
     * The last record whose key is not after the given one.
     *
     * @param key a key
     * @return the record, or null if there is none
     */
    public Entry floor(byte[] key) {
        return core.find(AT_MOST, Objects.requireNonNull(key, "key"));
    }

    /**
     * The first record whose key is not before the given one.
     *
     * @param key a key
     * @return the record, or null if there is none
     */
    public Entry ceiling(byte[] key) {
        return core.find(AT_LEAST, Objects.requireNonNull(key, "key"));
    }

    /**
     * The first record after a key.
     *
     * @param key a key
     * @return the record, or null if there is none
     */
    public Entry higher(byte[] key) {
        return core.find(GREATER, Objects.requireNonNull(key, "key"));
    }

    /**
     * The last record before a key.
     *
     * @param key a key
     * @return the record, or null if there is none
     */
    public Entry lower(byte[] key) {
        return core.find(LESS, Objects.requireNonNull(key, "key"));
    }

    /**
     * Reads the records of a range.
     *
     * @param range the range
     * @return a scan
     */
    public Scan scan(Range range) {
        return core.scan(range);
    }

    /**
     * The records of a range as a stream, which can be parallel: then its threads read parts of
     * about equal size.
     *
     * @param range the range
     * @return a stream, to be used while the transaction is open
     */
    public Stream<Entry> stream(Range range) {
        return Entries.stream(core, range);
    }

    /**
     * A position among the records, which moves both ways.
     *
     * @return a cursor on no record
     */
    public Cursor cursor() {
        return new Cursor(core);
    }

    /**
     * Compares two keys in the order of the table. The keys need not exist.
     *
     * @param a a key
     * @param b a key
     * @return a number below, equal to or above zero
     */
    public int compareKeys(byte[] a, byte[] b) {
        Scratch scratch = txn.take();
        try {
            scratch.ensure((long) a.length + b.length);
            int second = scratch.put(Scratch.DATA, a);
            scratch.put(second, b);
            int code = CALLS.compareKeys(txn.handle(), number, scratch.at(Scratch.DATA), a.length,
                    scratch.at(second), b.length, scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.buffer().getInt(Scratch.OUT);
        } finally {
            txn.give(scratch);
        }
    }

    /**
     * The table with keys and values of other types.
     *
     * @param <K> the type of keys
     * @param <V> the type of values
     * @param keys converts keys
     * @param values converts values
     * @return a view
     */
    public <K, V> TypedTable<K, V> typed(Codec<K> keys, Codec<V> values) {
        return new TypedTable<>(this, Objects.requireNonNull(keys), Objects.requireNonNull(values));
    }

    /**
     * The table as a map, which reads and writes in the transaction of the table. Arrays are copied.
     * Keys are compared by their bytes; {@code equals} of the map compares arrays by identity, as
     * arrays do.
     *
     * @return a view
     */
    public NavigableMap<byte[], byte[]> asMap() {
        return typed(Codecs.bytes(), Codecs.bytes()).asMap();
    }
}
