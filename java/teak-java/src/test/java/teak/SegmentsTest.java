package teak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** By reflection, because tests are compiled for Java 17. */
class SegmentsTest {
    private final Class<?> segment = find("java.lang.foreign.MemorySegment");
    private final Class<?> segments = find("teak.Segments");

    private static Class<?> find(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException olderJava) {
            return null;
        }
    }

    private ByteBuffer get(Table table, Class<?> type, Object key) throws Exception {
        Method get = segments.getMethod("get", Table.class, type);
        Object found = get.invoke(null, table, key);
        return found == null
                ? null
                : (ByteBuffer) segment.getMethod("asByteBuffer").invoke(found);
    }

    @Test
    void values_are_segments_that_end_with_their_transaction() throws Exception {
        assumeTrue(Runtime.version().feature() >= 22);
        byte[] key = {1};
        Object keySegment = segment.getMethod("ofArray", byte[].class).invoke(null, key);
        try (Database database = Database.openInMemory()) {
            database.writing(txn -> {
                Table table = txn.table("t");
                table.set(key, new byte[] {1, 2, 3});
                try {
                    assertEquals(3, get(table, byte[].class, key).get(2));
                    assertNull(get(table, byte[].class, new byte[0]));
                } catch (Exception failure) {
                    throw new AssertionError(failure);
                }
            });
            ReadTxn txn = database.beginRead();
            Table table = txn.table("t");
            ByteBuffer value = get(table, segment, keySegment);
            byte[] copy = new byte[value.remaining()];
            value.get(0, copy);
            assertArrayEquals(new byte[] {1, 2, 3}, copy);
            assertEquals(value, get(table, byte[].class, key));
            assertNull(get(table, byte[].class, new byte[0]));
            txn.close();
            if (teak.internal.Calls.CALLS.mode().equals("FFM")) {
                assertThrows(IllegalStateException.class, () -> value.get(0));
            }
        }
    }
}
