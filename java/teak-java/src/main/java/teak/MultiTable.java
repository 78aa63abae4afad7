package teak;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import teak.internal.Calls;

/**
 * A table with several values for each key, in a transaction. The values of a key are a sorted set.
 */
public final class MultiTable {
    private static final Calls CALLS = Calls.CALLS;

    private final TableCore core;
    private final TxnCore txn;

    MultiTable(Txn owner, TxnCore txn, long number, String name) {
        this.core = new TableCore(owner, txn, number, name, true);
        this.txn = txn;
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
     * Adds a value to a key.
     *
     * @param key the key
     * @param value the value
     * @return whether the key did not have it
     */
    public boolean add(byte[] key, byte[] value) {
        txn.noteChange();
        return core.call(key, value, CALLS::insertPair);
    }

    /**
     * Adds pairs. This is faster than one by one.
     *
     * @param pairs the pairs, in any order
     * @return how many were new
     */
    public long addAll(Iterable<Entry> pairs) {
        return core.putAll(pairs);
    }

    /**
     * Whether a key has a value.
     *
     * @param key the key
     * @param value the value
     * @return whether it has
     */
    public boolean contains(byte[] key, byte[] value) {
        return core.call(key, value, CALLS::containsPair);
    }

    /**
     * The number of values of a key.
     *
     * @param key the key
     * @return the number
     */
    public long count(byte[] key) {
        return core.count(key, CALLS::countValues);
    }

    /**
     * The values of a key.
     *
     * @param key the key
     * @return copies, in their order
     */
    public List<byte[]> get(byte[] key) {
        List<byte[]> values = new ArrayList<>();
        try (Scan scan = scan(Range.closed(key, key))) {
            while (scan.next()) {
                values.add(scan.value());
            }
        }
        return values;
    }

    /**
     * Removes a value of a key.
     *
     * @param key the key
     * @param value the value
     * @return whether the key had it
     */
    public boolean delete(byte[] key, byte[] value) {
        txn.noteChange();
        return core.call(key, value, CALLS::removePair);
    }

    /**
     * Removes all values of a key.
     *
     * @param key the key
     * @return how many there were
     */
    public long deleteAll(byte[] key) {
        txn.noteChange();
        return core.count(key, CALLS::removeValues);
    }

    /**
     * Removes the pairs of a range of keys.
     *
     * @param range the range
     * @return how many there were
     */
    public long deleteRange(Range range) {
        txn.noteChange();
        return core.count(range, CALLS::removeRange);
    }

    /** Removes all pairs. */
    public void clear() {
        core.clear();
    }

    /**
     * The number of pairs.
     *
     * @return the number
     */
    public long size() {
        return stat().records();
    }

    /**
     * The number of pairs in a range of keys.
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
     * The first pair.
     *
     * @return the pair, or null if there is none
     */
    public Entry first() {
        return core.find(0, null);
    }

    /**
     * The last pair.
     *
     * @return the pair, or null if there is none
     */
    public Entry last() {
        return core.find(4, null);
    }

    /**
     * The first pair whose key is not before the given one.
     *
     * @param key a key
     * @return the pair, or null if there is none
     */
    public Entry ceiling(byte[] key) {
        return core.find(0, Objects.requireNonNull(key, "key"));
    }

    /**
     * The last pair whose key is not after the given one.
     *
     * @param key a key
     * @return the pair, or null if there is none
     */
    public Entry floor(byte[] key) {
        return core.find(4, Objects.requireNonNull(key, "key"));
    }

    /**
     * Reads the pairs of a range of keys.
     *
     * @param range the range
     * @return a scan
     */
    public Scan scan(Range range) {
        return core.scan(range);
    }

    /**
     * The pairs of a range of keys as a stream, which can be parallel.
     *
     * @param range the range
     * @return a stream, to be used while the transaction is open
     */
    public Stream<Entry> stream(Range range) {
        return Entries.stream(core, range);
    }

    /**
     * A position among the pairs, which moves both ways.
     *
     * @return a cursor on no pair
     */
    public Cursor cursor() {
        return new Cursor(core);
    }
}
