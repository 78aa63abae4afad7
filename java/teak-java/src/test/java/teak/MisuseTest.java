package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static teak.RandomCalls.bytes;

import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nothing that a program does crashes the virtual machine, and what has ended says so. */
class MisuseTest {
    private static final Logger LOGGER = Logger.getLogger("teak");

    static {
        // These tests lose many transactions.
        LOGGER.setUseParentHandlers(false);
    }

    @TempDir
    Path directory;

    /** What may be used for ever. */
    private static final Set<String> LASTING = Set.of("close", "abort", "isOpen", "name", "txn",
            "table", "typed", "asMap", "compareTo", "comparator", "navigableKeySet", "keySet",
            "entrySet", "values", "sequencedValues", "equals", "descendingMap", "descendingKeySet", "forEachRemaining");

    private void ended(Consumer<Map<String, Object>> end, Set<String> unaffected) {
        Random random = new Random(1);
        Database database = Database.open(directory.resolve("x.teak"));
        Map<String, Object> objects = RandomCalls.objects(database);
        end.accept(objects);
        List<String> wrong = new ArrayList<>();
        int count = 0;
        for (Map.Entry<String, Object> object : objects.entrySet()) {
            if (unaffected.contains(object.getKey())) {
                continue;
            }
            for (Method method : RandomCalls.methods(object.getValue())) {
                Throwable thrown = RandomCalls.call(object.getValue(), method, random);
                count++;
                boolean isLasting = LASTING.contains(method.getName())
                        || object.getKey().equals("ticket") && method.getName().equals("id");
                boolean isRight = thrown instanceof IllegalStateException
                        || thrown instanceof UnsupportedOperationException
                        || thrown instanceof IllegalArgumentException
                                && method.getName().equals("subMap")
                        || isLasting && thrown == null;
                if (!isRight) {
                    wrong.add(object.getKey() + "." + method.getName() + ": " + thrown);
                }
            }
        }
        database.close();
        assertEquals(List.of(), wrong);
        assertTrue(count > 100);
    }

    @Test
    void everything_says_that_the_database_was_closed() {
        ended(objects -> ((Database) objects.get("database")).close(), Set.of());
    }

    @Test
    void what_belongs_to_a_transaction_says_that_it_has_ended() {
        ended(objects -> {
            ((Txn) objects.get("read")).close();
            ((Txn) objects.get("write")).close();
        }, Set.of("database", "feed", "changes", "ticket"));
    }

    @Test
    void what_belongs_to_a_commit_says_that_it_has_ended() {
        ended(objects -> {
            ((Txn) objects.get("read")).close();
            ((WriteTxn) objects.get("write")).commit();
        }, Set.of("database", "feed", "changes", "ticket"));
    }

    @Test
    void a_value_is_not_readable_after_its_transaction() {
        try (Database database = Database.open(directory.resolve("x.teak"))) {
            database.writing(txn -> txn.table("t").set(bytes("a"), new byte[100_000]));
            ReadTxn txn = database.beginRead();
            ByteBuffer first = txn.table("t").getBuffer(bytes("a"));
            assertEquals(0, first.get(99_999));
            database.writing(other -> other.table("t").set(bytes("a"), bytes("new")));
            assertTrue(txn.renew());
            ByteBuffer second = txn.table("t").getBuffer(bytes("a"));
            assertEquals('n', second.get(0));
            txn.close();
            if (teak.internal.Calls.CALLS.mode().equals("FFM")) {
                assertThrows(IllegalStateException.class, () -> first.get(0));
                assertThrows(IllegalStateException.class, () -> second.get(0));
            }
        }
    }

    @Test
    void a_file_that_another_program_truncates_gives_errors() throws Exception {
        Path path = directory.resolve("x.teak");
        try (Database database = Database.open(path)) {
            database.writing(txn -> {
                for (int i = 0; i < 100; i++) {
                    txn.table("t").set(bytes("" + i), new byte[3000]);
                }
                txn.table("t").set(bytes("large"), new byte[1 << 20]);
            });
        }
        Database database = Database.open(path);
        Table table = database.beginRead().table("t");
        ByteBuffer large = table.getBuffer(bytes("large"));
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(64 << 10);
        }
        for (int i = 0; i < large.limit(); i++) {
            assertEquals(0, large.get(i));
        }
        assertThrows(TeakException.class, () -> table.get(bytes("99")));
        assertThrows(TeakException.class, () -> table.stream(Range.all()).count());
        assertThrows(TeakException.class, database::close);
    }

    @Test
    void negative_numbers_are_refused() {
        Options options = Options.create();
        assertThrows(IllegalArgumentException.class, () -> options.sizeLimit(-1));
        assertThrows(IllegalArgumentException.class, () -> options.writeMemory(-1));
        assertThrows(IllegalArgumentException.class, () -> options.journal(-1));
        assertThrows(IllegalArgumentException.class, () -> options.flushAfter(-1, 1));
        assertThrows(IllegalArgumentException.class, () -> options.flushAfter(1, -1));
        assertThrows(TeakException.class, () -> options.pageSize(-4096).openInMemory());
        assertThrows(IllegalArgumentException.class, () -> TableOptions.create().valueSize(-1));
        assertThrows(IllegalArgumentException.class,
                () -> TableOptions.create().valueSize(Integer.MIN_VALUE));
        try (Database database = Database.openInMemory(); WriteTxn txn = database.beginWrite()) {
            Table table = txn.table("t");
            assertThrows(IllegalArgumentException.class, () -> table.drawSequence(-1));
            assertEquals(0, table.drawSequence(1));
        }
    }

    @Test
    void objects_of_another_database_are_independent() {
        Database one = Database.openInMemory();
        Database other = Database.openInMemory();
        one.writing(txn -> txn.table("t").set(bytes("a"), bytes("1")));
        Table table = one.beginRead().table("t");
        other.close();
        assertEquals(1, table.size());
        one.close();
        assertThrows(ClosedException.class, table::size);
    }

    @Test
    void eight_threads_use_and_close_everything_in_any_order() throws Exception {
        long seconds = Long.getLong("teak.misuse.seconds", 4);
        long seed = Long.getLong("teak.seed", System.nanoTime());
        Crowd crowd = new Crowd(directory, seed, seconds);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Random random = new Random(seed + i);
            threads.add(new Thread(() -> crowd.misuse(random)));
        }
        threads.add(new Thread(crowd::endOthers));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(seconds * 1000 + 60_000);
            assertFalse(thread.isAlive(), () -> "a call does not return, seed " + seed + ": "
                    + Arrays.toString(thread.getStackTrace()));
        }
        crowd.closeAll();
        System.out.println("misuse: " + crowd + ", seed " + seed);
        assertEquals(List.of(), List.copyOf(crowd.wrong), "seed " + seed);
        assertTrue(crowd.calls.get() > 100);
        assertTrue(crowd.waits.get() > 0);
    }
}
