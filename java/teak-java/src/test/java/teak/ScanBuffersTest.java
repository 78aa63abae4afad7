package teak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ScanBuffersTest {
    private static byte[] key(int number) {
        return String.format("key %06d", number).getBytes(StandardCharsets.US_ASCII);
    }

    /** Up to 40 kB, so that batches have different numbers of records. */
    private static byte[] value(int number) {
        byte[] value = new byte[number % 100 == 7 ? 40_000 : number % 30];
        java.util.Arrays.fill(value, (byte) number);
        return value;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static Database filled(int count) {
        Database database = Database.openInMemory();
        database.writing(txn -> {
            for (int i = 0; i < count; i++) {
                txn.table("t").set(key(i), value(i));
            }
        });
        return database;
    }

    @Test
    void buffers_show_each_record_in_both_directions() {
        int count = 3_000;
        try (Database database = filled(count); ReadTxn txn = database.beginRead()) {
            for (Range range : new Range[] {Range.all(), Range.allBackward()}) {
                try (Scan scan = txn.table("t").scan(range)) {
                    for (int i = 0; i < count; i++) {
                        int number = range.isBackward() ? count - 1 - i : i;
                        assertTrue(scan.next());
                        assertArrayEquals(key(number), bytes(scan.keyBuffer()));
                        assertArrayEquals(value(number), bytes(scan.valueBuffer()));
                        assertArrayEquals(value(number), scan.value());
                    }
                    assertTrue(!scan.next());
                    assertThrows(IllegalStateException.class, scan::keyBuffer);
                }
            }
        }
    }

    @Test
    void a_buffer_can_only_be_read_and_never_shows_memory_that_others_use() {
        try (Database database = filled(10); ReadTxn txn = database.beginRead()) {
            ByteBuffer kept;
            try (Scan scan = txn.table("t").scan(Range.all())) {
                assertTrue(scan.next() && scan.next());
                kept = scan.keyBuffer();
                assertTrue(kept.isReadOnly());
                assertSame(kept, scan.keyBuffer());
            }
            try (Scan other = txn.table("t").scan(Range.allBackward())) {
                assertTrue(other.next());
                assertArrayEquals(key(1), bytes(kept));
            }
        }
    }

    @Test
    void a_scan_goes_on_after_the_record_that_its_buffer_showed_when_the_table_is_changed() {
        try (Database database = filled(1_000); WriteTxn txn = database.beginWrite()) {
            Table table = txn.table("t");
            int count = 0;
            try (Scan scan = table.scan(Range.all())) {
                while (scan.next()) {
                    assertArrayEquals(key(2 * count), bytes(scan.keyBuffer()));
                    table.delete(key(2 * count + 1));
                    count++;
                }
            }
            assertEquals(500, count);
            assertEquals(500, table.size());
        }
    }
}
