package teak;

import java.util.Map;
import java.util.NavigableMap;
import java.util.stream.Stream;

/**
 * A table whose keys and values are converted by codecs.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class TypedTable<K, V> {
    private final Table table;
    private final Codec<K> keys;
    private final Codec<V> values;

    TypedTable(Table table, Codec<K> keys, Codec<V> values) {
        this.table = table;
        this.keys = keys;
        this.values = values;
    }

    /**
     * The table of bytes.
     *
     * @return the table
     */
    public Table table() {
        return table;
    }

    /**
     * Finds the value of a key.
     *
     * @param key the key
     * @return the value, or null if there is no such record
     */
    public V get(K key) {
        byte[] value = table.get(keys.encode(key));
        return value == null ? null : values.decode(value);
    }

    /**
     * Whether there is a record with a key.
     *
     * @param key the key
     * @return whether there is one
     */
    public boolean contains(K key) {
        return table.contains(keys.encode(key));
    }

    /**
     * Inserts a record, or replaces the value of its key.
     *
     * @param key the key
     * @param value the value
     */
    public void set(K key, V value) {
        table.set(keys.encode(key), values.encode(value));
    }

    /**
     * Inserts a record, or replaces the value of its key.
     *
     * @param key the key
     * @param value the value
     * @return whether the key existed
     */
    public boolean put(K key, V value) {
        return table.put(keys.encode(key), values.encode(value));
    }

    /**
     * Inserts a record if its key is new.
     *
     * @param key the key
     * @param value the value
     * @return whether it was inserted
     */
    public boolean putIfAbsent(K key, V value) {
        return table.putIfAbsent(keys.encode(key), values.encode(value));
    }

    /**
     * Removes a record.
     *
     * @param key its key
     * @return its value, or null if there was none
     */
    public V remove(K key) {
        byte[] value = table.remove(keys.encode(key));
        return value == null ? null : values.decode(value);
    }

    /**
     * Removes a record.
     *
     * @param key its key
     * @return whether there was one
     */
    public boolean delete(K key) {
        return table.delete(keys.encode(key));
    }

    /**
     * The number of records.
     *
     * @return the number
     */
    public long size() {
        return table.size();
    }

    /**
     * The records of a range of encoded keys.
     *
     * @param range the range
     * @return a stream, to be used while the transaction is open
     */
    public Stream<Map.Entry<K, V>> stream(Range range) {
        return table.stream(range)
                .map(entry -> Map.entry(keys.decode(entry.key()), values.decode(entry.value())));
    }

    /**
     * The table as a map, which reads and writes in the transaction of the table. It has no null
     * keys or values. Its iterators see later changes.
     *
     * @return a view
     */
    public NavigableMap<K, V> asMap() {
        return new MapView<>(table, keys, values);
    }
}
