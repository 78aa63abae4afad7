package teak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TableTest {
    private Database database;
    private WriteTxn txn;
    private Table table;

    @BeforeEach
    void open() {
        database = Database.openInMemory();
        txn = database.beginWrite();
        table = txn.table("t");
    }

    @AfterEach
    void close() {
        database.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    private static List<String> keys(Iterable<Entry> entries) {
        List<String> keys = new ArrayList<>();
        entries.forEach(entry -> keys.add(new String(entry.key())));
        return keys;
    }

    @Test
    void single_records_are_written_read_and_removed() {
        assertFalse(table.put(bytes("a"), bytes("1")));
        assertTrue(table.put(bytes("a"), bytes("2")));
        assertFalse(table.putIfAbsent(bytes("a"), bytes("3")));
        assertTrue(table.putIfAbsent(bytes(""), bytes("")));
        assertArrayEquals(new byte[0], table.get(bytes("")));
        assertTrue(table.replace(bytes("a"), bytes("4")));
        assertFalse(table.replace(bytes("b"), bytes("4")));
        assertTrue(table.contains(bytes("a")));
        assertArrayEquals(bytes("4"), table.remove(bytes("a")));
        assertNull(table.remove(bytes("a")));
        assertFalse(table.delete(bytes("a")));
        table.append(bytes("z"), bytes("1"));
        assertEquals(2, table.size());
        assertEquals(0, table.drawSequence(3));
        assertEquals(3, table.drawSequence(1));
        table.clear();
        assertEquals(0, table.size());
        assertNull(table.first());
    }

    @Test
    void values_of_all_lengths_come_back() {
        Random random = new Random(1);
        for (int length : new int[] {0, 1, 511, 512, 513, 5000, 8000, 100_000, 3_000_000}) {
            byte[] value = new byte[length];
            random.nextBytes(value);
            table.set(bytes("k"), value);
            assertArrayEquals(value, table.get(bytes("k")));
            assertArrayEquals(value, table.first().value());
            assertArrayEquals(value, table.scan(Range.all()).iterator().next().value());
            ByteBuffer buffer = table.getBuffer(bytes("k"));
            assertEquals(ByteBuffer.wrap(value), buffer);
            assertTrue(buffer.isReadOnly());
        }
    }

    @Test
    void searches_find_neighbours() {
        for (String key : List.of("b", "d", "f")) {
            table.put(bytes(key), bytes("1"));
        }
        assertArrayEquals(bytes("b"), table.first().key());
        assertArrayEquals(bytes("f"), table.last().key());
        assertArrayEquals(bytes("d"), table.floor(bytes("d")).key());
        assertArrayEquals(bytes("b"), table.lower(bytes("d")).key());
        assertArrayEquals(bytes("f"), table.higher(bytes("d")).key());
        assertArrayEquals(bytes("d"), table.ceiling(bytes("c")).key());
        assertNull(table.lower(bytes("b")));
        assertNull(table.floor(bytes("a")));
        assertNull(table.ceiling(bytes("g")));
        assertNull(table.ceiling(bytes("g")));
        assertArrayEquals(bytes("b"), table.ceiling(bytes("")).key());
    }

    @Test
    void ranges_have_the_records_between_their_bounds_both_ways() {
        TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
        Random random = new Random(2);
        for (int i = 0; i < 3000; i++) {
            byte[] key = new byte[1 + random.nextInt(3)];
            random.nextBytes(key);
            byte[] value = new byte[random.nextInt(300)];
            model.put(key, value);
            table.set(key, value);
        }
        for (int i = 0; i < 300; i++) {
            byte[] a = new byte[random.nextInt(3)];
            byte[] b = new byte[random.nextInt(3)];
            random.nextBytes(a);
            random.nextBytes(b);
            if (Arrays.compareUnsigned(a, b) > 0) {
                byte[] swap = a;
                a = b;
                b = swap;
            }
            check(model, Range.closed(a, b), Range.closedBackward(a, b), model.subMap(a, true, b, true));
            check(model, Range.closedOpen(a, b), Range.closedOpenBackward(a, b),
                    model.subMap(a, true, b, false));
            check(model, Range.openClosed(a, b), Range.openClosedBackward(a, b),
                    model.subMap(a, false, b, true));
            if (!Arrays.equals(a, b)) {
                check(model, Range.open(a, b), Range.openBackward(a, b),
                        model.subMap(a, false, b, false));
            }
            check(model, Range.atLeast(a), Range.atLeastBackward(a), model.tailMap(a, true));
            check(model, Range.greaterThan(a), Range.greaterThanBackward(a), model.tailMap(a, false));
            check(model, Range.atMost(a), Range.atMostBackward(a), model.headMap(a, true));
            check(model, Range.lessThan(a), Range.lessThanBackward(a), model.headMap(a, false));
            byte[] prefix = a;
            TreeMap<byte[], byte[]> with = new TreeMap<>(Arrays::compareUnsigned);
            model.forEach((key, value) -> {
                if (key.length >= prefix.length
                        && Arrays.equals(Arrays.copyOf(key, prefix.length), prefix)) {
                    with.put(key, value);
                }
            });
            check(model, Range.prefix(a), Range.prefixBackward(a), with);
        }
        check(model, Range.all(), Range.allBackward(), model);
    }

    private void check(
            TreeMap<byte[], byte[]> model,
            Range forward,
            Range backward,
            NavigableMap<byte[], byte[]> expected) {
        check(table.scan(forward), expected);
        check(table.scan(backward), expected.descendingMap());
        check(table.stream(forward).collect(Collectors.toList()), expected);
        check(table.stream(backward).parallel().collect(Collectors.toList()),
                expected.descendingMap());
        assertEquals(expected.size(), table.count(forward));
    }

    private static void check(Iterable<Entry> found, Map<byte[], byte[]> expected) {
        var wanted = expected.entrySet().iterator();
        for (Entry entry : found) {
            Map.Entry<byte[], byte[]> next = wanted.next();
            assertEquals(new Entry(next.getKey(), next.getValue()), entry);
        }
        assertFalse(wanted.hasNext());
    }

    @Test
    void a_scan_sees_changes_of_its_transaction() {
        IntStream.range(0, 100).forEach(i -> table.put(bytes(String.format("%03d", i)), bytes("")));
        List<String> seen = new ArrayList<>();
        for (Entry entry : table.scan(Range.all())) {
            String key = new String(entry.key());
            seen.add(key);
            table.delete(entry.key());
            if (key.equals("010")) {
                table.deleteRange(Range.closed(bytes("011"), bytes("097")));
                table.put(bytes("0985"), bytes(""));
            }
        }
        assertEquals(List.of("009", "010", "098", "0985", "099"), seen.subList(9, 14));
        assertEquals(14, seen.size());
        assertEquals(0, table.size());
    }

    @Test
    void many_records_are_inserted_in_packs() {
        List<Entry> records = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            records.add(new Entry(bytes("key " + i), new byte[i % 300]));
        }
        records.add(new Entry(bytes("long"), new byte[1 << 20]));
        records.add(new Entry(bytes("after"), new byte[1]));
        assertEquals(10_002, table.putAll(records));
        assertEquals(0, table.putAll(records));
        assertEquals(0, table.putAll(List.of()));
        assertEquals(10_002, table.size());
        assertEquals(1 << 20, table.get(bytes("long")).length);
        assertEquals(10_002, table.deleteRange(Range.all()));
    }

    @Test
    void cursors_move_both_ways_and_change_records() {
        for (String key : List.of("a", "b", "c", "d")) {
            table.put(bytes(key), bytes(key));
        }
        try (Cursor cursor = table.cursor()) {
            assertThrows(IllegalStateException.class, cursor::key);
            assertTrue(cursor.next());
            assertTrue(cursor.next());
            assertArrayEquals(bytes("b"), cursor.key());
            assertTrue(cursor.previous());
            assertArrayEquals(bytes("a"), cursor.value());
            assertFalse(cursor.previous());
            assertFalse(cursor.previous());
            assertTrue(cursor.next());
            assertArrayEquals(bytes("a"), cursor.key());
            assertTrue(cursor.seek(bytes("bb")));
            assertArrayEquals(bytes("c"), cursor.key());
            cursor.put(bytes("new"));
            assertArrayEquals(bytes("new"), cursor.value());
            assertArrayEquals(bytes("new"), table.get(bytes("c")));
            cursor.delete();
            assertThrows(IllegalStateException.class, cursor::delete);
            assertTrue(cursor.previous());
            assertArrayEquals(bytes("b"), cursor.key());
            assertTrue(cursor.next());
            assertArrayEquals(bytes("d"), cursor.key());
            assertFalse(cursor.next());
            assertTrue(cursor.previous());
            assertArrayEquals(bytes("d"), cursor.key());
            assertTrue(cursor.seekExact(bytes("a")));
            assertFalse(cursor.seekExact(bytes("aa")));
            assertTrue(cursor.last());
            assertTrue(cursor.first());
        }
        assertEquals(List.of("a", "b", "d"), keys(table.scan(Range.all())));
    }

    @Test
    void keys_can_have_several_values() {
        MultiTable multi = txn.multiTable("m");
        for (String value : List.of("3", "1", "2")) {
            assertTrue(multi.add(bytes("a"), bytes(value)));
        }
        assertFalse(multi.add(bytes("a"), bytes("3")));
        assertEquals(3, multi.addAll(List.of(new Entry(bytes("b"), bytes("1")),
                new Entry(bytes("b"), bytes("2")), new Entry(bytes("c"), bytes("1")))));
        assertEquals(6, multi.size());
        assertEquals(3, multi.count(bytes("a")));
        assertEquals(2, multi.count(Range.closed(bytes("b"), bytes("b"))));
        assertTrue(multi.contains(bytes("a"), bytes("2")));
        List<byte[]> values = multi.get(bytes("a"));
        assertEquals(3, values.size());
        assertArrayEquals(bytes("1"), values.get(0));
        assertEquals(new Entry(bytes("a"), bytes("1")), multi.first());
        assertEquals(new Entry(bytes("c"), bytes("1")), multi.last());
        assertEquals(List.of("a", "a", "a", "b", "b", "c"), keys(multi.scan(Range.all())));
        assertEquals(6, multi.stream(Range.all()).parallel().count());
        try (Cursor cursor = multi.cursor()) {
            assertTrue(cursor.seek(bytes("a")));
            assertTrue(cursor.next());
            assertArrayEquals(bytes("2"), cursor.value());
            cursor.delete();
            assertTrue(cursor.next());
            assertArrayEquals(bytes("3"), cursor.value());
            assertTrue(cursor.previous());
            assertArrayEquals(bytes("1"), cursor.value());
        }
        assertTrue(multi.delete(bytes("a"), bytes("1")));
        assertFalse(multi.delete(bytes("a"), bytes("1")));
        assertEquals(2, multi.deleteAll(bytes("b")));
        assertEquals(2, multi.deleteRange(Range.all()));
        assertNull(txn.multiTableIfExists("none"));
    }

    @Test
    void tables_have_orders_and_ranges_follow_them() {
        Table reverse = txn.table("r", TableOptions.create().order(Order.REVERSE_BYTES));
        for (String key : List.of("ab", "ba", "bb", "aa")) {
            reverse.put(bytes(key), bytes(""));
        }
        assertEquals(List.of("aa", "ba", "ab", "bb"), keys(reverse.scan(Range.all())));
        assertEquals(List.of("ba", "ab"), keys(reverse.scan(Range.closed(bytes("ba"), bytes("ab")))));
        assertEquals(List.of("ab", "ba"),
                keys(reverse.scan(Range.closedBackward(bytes("ba"), bytes("ab")))));
        assertEquals(3, reverse.asMap().headMap(bytes("ab"), true).size());
        Table integers = txn.table("i", TableOptions.create().order(Order.INTEGER));
        byte[] one = {1, 0, 0, 0, 0, 0, 0, 0};
        byte[] many = {0, 1, 0, 0, 0, 0, 0, 0};
        integers.put(many, bytes(""));
        integers.put(one, bytes(""));
        assertArrayEquals(one, integers.asMap().firstKey());
        assertTrue(integers.asMap().tailMap(one, false).containsKey(many));
    }

    @Test
    void tables_are_dropped_and_renamed() {
        txn.rename("t", "u");
        assertNull(txn.tableIfExists("t"));
        assertThrows(NotFoundException.class, () -> txn.rename("t", "v"));
        assertTrue(txn.drop("u"));
        assertFalse(txn.drop("u"));
        assertThrows(NotFoundException.class, () -> table.size());
        assertEquals(List.of(), txn.tables());
    }

    @Test
    void a_scan_sees_the_packs_that_are_stored_while_it_goes_on() {
        table.put(bytes("a"), bytes(""));
        table.put(bytes("b"), bytes(""));
        List<String> seen = new ArrayList<>();
        try (Scan scan = table.scan(Range.all())) {
            Iterable<Entry> records = () -> IntStream.range(0, 4).mapToObj(i -> {
                // Each record is a pack, which is stored when the next record has been made.
                seen.add(scan.next() ? new String(scan.key()) : "none");
                return new Entry(bytes("c" + i), new byte[150_000]);
            }).iterator();
            assertEquals(4, table.putAll(records));
        }
        assertEquals(List.of("a", "b", "c0", "c1"), seen);
    }

    @Test
    void codecs_keep_values_and_their_order() {
        int[] integers = {Integer.MIN_VALUE, -1, 0, 1, 300, Integer.MAX_VALUE};
        TypedTable<Integer, String> typed = table.typed(Codecs.int32(), Codecs.utf8());
        for (int i : integers) {
            typed.put(i, "n" + i);
        }
        assertArrayEquals(integers, typed.asMap().keySet().stream().mapToInt(i -> i).toArray());
        assertEquals("n-1", typed.get(-1));
        assertEquals("n-1", typed.remove(-1));
        assertFalse(typed.contains(-1));
        table.clear();
        TypedTable<Long, UUID> longs = table.typed(Codecs.int64(), Codecs.uuid());
        UUID uuid = new UUID(-5, 7);
        longs.put(Long.MIN_VALUE, uuid);
        longs.put(5L, uuid);
        assertEquals(Long.MIN_VALUE, longs.asMap().firstKey());
        assertEquals(uuid, longs.get(5L));
        assertThrows(IllegalArgumentException.class,
                () -> table.typed(Codecs.int32(), Codecs.bytes()).asMap().firstKey());
        assertThrows(IllegalArgumentException.class, () -> Codecs.utf8().encode("\ud800"));
        assertThrows(IllegalArgumentException.class, () -> Codecs.utf8().decode(new byte[] {-1}));
    }
}
