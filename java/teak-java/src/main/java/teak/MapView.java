package teak;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;

/** A table, or a range of it, as a map. The range is backward for a descending map. */
final class MapView<K, V> extends AbstractMap<K, V> implements NavigableMap<K, V> {
    private static final int AT_LEAST = 0;
    private static final int GREATER = 2;
    private static final int LESS = 3;
    private static final int AT_MOST = 4;

    private final Table table;
    private final Codec<K> keys;
    private final Codec<V> values;
    /** The order of the table. */
    private final Comparator<byte[]> order;
    private final Range range;

    MapView(Table table, Codec<K> keys, Codec<V> values) {
        this(table, keys, values, orderOf(table), Range.all());
    }

    private MapView(
            Table table, Codec<K> keys, Codec<V> values, Comparator<byte[]> order, Range range) {
        this.table = table;
        this.keys = keys;
        this.values = values;
        this.order = order;
        this.range = range;
    }

    /** Asks the library only where keys are not in the order of their bytes. */
    private static Comparator<byte[]> orderOf(Table table) {
        try {
            if (table.compareKeys(new byte[] {0, 0, 0, 1}, new byte[] {1, 0, 0, 0}) < 0) {
                return Arrays::compareUnsigned;
            }
        } catch (InvalidArgumentException otherLength) {
            // Keys are integers of eight bytes.
        }
        return table::compareKeys;
    }

    private MapView<K, V> view(Range part) {
        return new MapView<>(table, keys, values, order, part);
    }

    private byte[] encoded(Object key) {
        @SuppressWarnings("unchecked")
        K typed = (K) Objects.requireNonNull(key, "key");
        return keys.encode(typed);
    }

    private byte[] encodedValue(Object value) {
        @SuppressWarnings("unchecked")
        V typed = (V) Objects.requireNonNull(value, "value");
        return values.encode(typed);
    }

    private boolean isAboveLow(byte[] key) {
        if (range.lowKind == 0) {
            return true;
        }
        int compared = order.compare(key, range.low);
        return compared > 0 || compared == 0 && range.lowKind == 1;
    }

    private boolean isBelowHigh(byte[] key) {
        if (range.highKind == 0) {
            return true;
        }
        int compared = order.compare(key, range.high);
        return compared < 0 || compared == 0 && range.highKind == 1;
    }

    private boolean isInRange(byte[] key) {
        return isAboveLow(key) && isBelowHigh(key);
    }

    private byte[] refused(byte[] key) {
        if (!isInRange(key)) {
            throw new IllegalArgumentException("the key is outside of the range of this map");
        }
        return key;
    }

    // Searches, in the order of the table.

    private teak.Entry find(int seek, byte[] key) {
        boolean isUpward = seek == AT_LEAST || seek == GREATER;
        if (key == null || !(isUpward ? isAboveLow(key) : isBelowHigh(key))) {
            return end(isUpward);
        }
        return inRange(table.core.find(seek, key));
    }

    private teak.Entry end(boolean isFirst) {
        int kind = isFirst ? range.lowKind : range.highKind;
        byte[] key = isFirst ? range.low : range.high;
        int exact = isFirst ? AT_LEAST : AT_MOST;
        int beyond = isFirst ? GREATER : LESS;
        return inRange(table.core.find(kind == 2 ? beyond : exact, kind == 0 ? null : key));
    }

    private teak.Entry inRange(teak.Entry entry) {
        return entry != null && isInRange(entry.key()) ? entry : null;
    }

    private Map.Entry<K, V> fixed(teak.Entry entry) {
        return entry == null
                ? null
                : new SimpleImmutableEntry<>(
                        keys.decode(entry.key()), values.decode(entry.value()));
    }

    private static <K> K keyOf(Map.Entry<K, ?> entry) {
        return entry == null ? null : entry.getKey();
    }

    private static <K> K existing(Map.Entry<K, ?> entry) {
        if (entry == null) {
            throw new NoSuchElementException("the map is empty");
        }
        return entry.getKey();
    }

    // Single records.

    @Override
    public int size() {
        long count = range == Range.all() ? table.size() : table.count(range);
        return (int) Math.min(count, Integer.MAX_VALUE);
    }

    @Override
    public boolean isEmpty() {
        return end(true) == null;
    }

    @Override
    public boolean containsKey(Object key) {
        byte[] bytes = encoded(key);
        return isInRange(bytes) && table.contains(bytes);
    }

    @Override
    public boolean containsValue(Object value) {
        byte[] wanted = encodedValue(value);
        try (Scan scan = table.scan(range)) {
            while (scan.next()) {
                if (Arrays.equals(scan.value(), wanted)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public V get(Object key) {
        byte[] bytes = encoded(key);
        byte[] value = isInRange(bytes) ? table.get(bytes) : null;
        return value == null ? null : values.decode(value);
    }

    @Override
    public V put(K key, V value) {
        byte[] bytes = refused(encoded(key));
        byte[] written = encodedValue(value);
        byte[] old = table.get(bytes);
        table.set(bytes, written);
        return old == null ? null : values.decode(old);
    }

    @Override
    public V putIfAbsent(K key, V value) {
        byte[] bytes = refused(encoded(key));
        return table.putIfAbsent(bytes, encodedValue(value)) ? null : get(key);
    }

    @Override
    public V remove(Object key) {
        byte[] bytes = encoded(key);
        byte[] value = isInRange(bytes) ? table.remove(bytes) : null;
        return value == null ? null : values.decode(value);
    }

    @Override
    public boolean remove(Object key, Object value) {
        byte[] bytes = encoded(key);
        return hasValue(bytes, encodedValue(value)) && table.delete(bytes);
    }

    @Override
    public boolean replace(K key, V oldValue, V newValue) {
        byte[] bytes = encoded(key);
        byte[] old = encodedValue(oldValue);
        byte[] written = encodedValue(newValue);
        return hasValue(bytes, old) && table.replace(bytes, written);
    }

    private boolean hasValue(byte[] key, byte[] value) {
        return isInRange(key) && Arrays.equals(table.get(key), value);
    }

    @Override
    public void clear() {
        table.deleteRange(range);
    }

    @Override
    public Map.Entry<K, V> firstEntry() {
        return fixed(end(!range.isBackward));
    }

    @Override
    public Map.Entry<K, V> lastEntry() {
        return fixed(end(range.isBackward));
    }

    @Override
    public Map.Entry<K, V> pollFirstEntry() {
        return polled(firstEntry());
    }

    @Override
    public Map.Entry<K, V> pollLastEntry() {
        return polled(lastEntry());
    }

    private Map.Entry<K, V> polled(Map.Entry<K, V> entry) {
        if (entry != null) {
            table.delete(encoded(entry.getKey()));
        }
        return entry;
    }

    @Override
    public Map.Entry<K, V> lowerEntry(K key) {
        return fixed(find(range.isBackward ? GREATER : LESS, encoded(key)));
    }

    @Override
    public Map.Entry<K, V> floorEntry(K key) {
        return fixed(find(range.isBackward ? AT_LEAST : AT_MOST, encoded(key)));
    }

    @Override
    public Map.Entry<K, V> ceilingEntry(K key) {
        return fixed(find(range.isBackward ? AT_MOST : AT_LEAST, encoded(key)));
    }

    @Override
    public Map.Entry<K, V> higherEntry(K key) {
        return fixed(find(range.isBackward ? LESS : GREATER, encoded(key)));
    }

    @Override
    public K lowerKey(K key) {
        return keyOf(lowerEntry(key));
    }

    @Override
    public K floorKey(K key) {
        return keyOf(floorEntry(key));
    }

    @Override
    public K ceilingKey(K key) {
        return keyOf(ceilingEntry(key));
    }

    @Override
    public K higherKey(K key) {
        return keyOf(higherEntry(key));
    }

    @Override
    public K firstKey() {
        return existing(firstEntry());
    }

    @Override
    public K lastKey() {
        return existing(lastEntry());
    }

    @Override
    public Comparator<? super K> comparator() {
        Comparator<K> upward = (a, b) -> order.compare(encoded(a), encoded(b));
        return range.isBackward ? upward.reversed() : upward;
    }

    // Parts.

    @Override
    public NavigableMap<K, V> descendingMap() {
        return view(range.reversed());
    }

    @Override
    public NavigableMap<K, V> subMap(
            K fromKey, boolean fromInclusive, K toKey, boolean toInclusive) {
        byte[] from = encoded(fromKey);
        byte[] to = encoded(toKey);
        int compared = order.compare(from, to);
        if (range.isBackward ? compared < 0 : compared > 0) {
            throw new IllegalArgumentException("the first key is after the second one");
        }
        return view(part(from, fromInclusive, true)).to(to, toInclusive);
    }

    @Override
    public NavigableMap<K, V> headMap(K toKey, boolean inclusive) {
        return to(encoded(toKey), inclusive);
    }

    private NavigableMap<K, V> to(byte[] key, boolean inclusive) {
        return view(part(key, inclusive, false));
    }

    @Override
    public NavigableMap<K, V> tailMap(K fromKey, boolean inclusive) {
        return view(part(encoded(fromKey), inclusive, true));
    }

    /** The part of the range that begins or ends at a key, in the direction of the map. */
    private Range part(byte[] key, boolean inclusive, boolean begins) {
        // A bound may be an excluded bound of this map.
        boolean isBound = !inclusive
                && (range.lowKind == 2 && Arrays.equals(key, range.low)
                        || range.highKind == 2 && Arrays.equals(key, range.high));
        if (!isBound) {
            refused(key);
        }
        return begins == range.isBackward
                ? range.withHigh(key, inclusive)
                : range.withLow(key, inclusive);
    }

    @Override
    public NavigableMap<K, V> subMap(K fromKey, K toKey) {
        return subMap(fromKey, true, toKey, false);
    }

    @Override
    public NavigableMap<K, V> headMap(K toKey) {
        return headMap(toKey, false);
    }

    @Override
    public NavigableMap<K, V> tailMap(K fromKey) {
        return tailMap(fromKey, true);
    }

    // Sets.

    @Override
    public Set<Map.Entry<K, V>> entrySet() {
        return new EntrySet();
    }

    @Override
    public NavigableSet<K> keySet() {
        return navigableKeySet();
    }

    @Override
    public NavigableSet<K> navigableKeySet() {
        return new MapKeys<>(this);
    }

    @Override
    public NavigableSet<K> descendingKeySet() {
        return descendingMap().navigableKeySet();
    }

    private final class EntrySet extends AbstractSet<Map.Entry<K, V>> {
        @Override
        public int size() {
            return MapView.this.size();
        }

        @Override
        public boolean isEmpty() {
            return MapView.this.isEmpty();
        }

        @Override
        public boolean contains(Object other) {
            return other instanceof Map.Entry<?, ?> entry
                    && hasValue(encoded(entry.getKey()), encodedValue(entry.getValue()));
        }

        @Override
        public boolean remove(Object other) {
            return other instanceof Map.Entry<?, ?> entry
                    && MapView.this.remove(entry.getKey(), entry.getValue());
        }

        @Override
        public void clear() {
            MapView.this.clear();
        }

        @Override
        public Iterator<Map.Entry<K, V>> iterator() {
            return new EntryIterator();
        }
    }

    private final class EntryIterator implements Iterator<Map.Entry<K, V>> {
        private final Iterator<teak.Entry> entries = table.scan(range).iterator();
        private byte[] last;

        @Override
        public boolean hasNext() {
            return entries.hasNext();
        }

        @Override
        public Map.Entry<K, V> next() {
            teak.Entry entry = entries.next();
            last = entry.key();
            return new WrittenEntry(entry);
        }

        @Override
        public void remove() {
            if (last == null) {
                throw new IllegalStateException("call next first");
            }
            table.delete(last);
            last = null;
        }
    }

    /** An entry whose value can be set. */
    private final class WrittenEntry extends SimpleEntry<K, V> {
        private static final long serialVersionUID = 1;

        WrittenEntry(teak.Entry entry) {
            super(keys.decode(entry.key()), values.decode(entry.value()));
        }

        @Override
        public V setValue(V value) {
            table.replace(encoded(getKey()), encodedValue(value));
            return super.setValue(value);
        }
    }
}
