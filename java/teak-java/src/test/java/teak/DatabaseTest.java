package teak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import teak.internal.Calls;

class DatabaseTest {
    @TempDir
    Path directory;

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    private static long size(Database database) {
        return database.read(txn -> txn.table("t").size());
    }

    private Path path() {
        return directory.resolve("x.teak");
    }

    @Test
    void the_calls_are_those_that_were_asked_for() {
        String wanted = System.getProperty("teak.calls", "");
        boolean canFfm = Runtime.version().feature() >= 22;
        assertEquals(canFfm && !wanted.equals("jni") ? "FFM" : "JNI", Calls.CALLS.mode());
    }

    @Test
    void a_call_with_zeros_is_an_error_and_no_crash() throws Exception {
        for (var method : Calls.class.getMethods()) {
            if (method.getReturnType() != int.class) {
                continue;
            }
            Object[] zeros = new Object[method.getParameterCount()];
            for (int i = 0; i < zeros.length; i++) {
                zeros[i] = method.getParameterTypes()[i] == int.class ? (Object) 0 : 0L;
            }
            assertTrue((int) method.invoke(Calls.CALLS, zeros) > 1, method.getName());
        }
    }

    @Test
    void records_are_found_after_reopening() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                Table table = txn.table("t");
                for (int i = 0; i < 10_000; i++) {
                    table.put(bytes(String.format("key %06d", i)), bytes("v" + i));
                }
            });
        }
        try (Database database = Database.open(path()); ReadTxn txn = database.beginRead()) {
            Table table = txn.table("t");
            assertEquals(10_000, table.size());
            assertArrayEquals(bytes("v77"), table.get(bytes("key 000077")));
            assertNull(table.get(bytes("none")));
            assertEquals(List.of("t"), txn.tables());
        }
    }

    @Test
    void a_read_transaction_keeps_its_state_and_can_be_renewed() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> txn.table("t").put(bytes("a"), bytes("1")));
            try (ReadTxn txn = database.beginRead()) {
                Table table = txn.table("t");
                database.writing(other -> other.table("t").put(bytes("a"), bytes("2")));
                assertArrayEquals(bytes("1"), table.get(bytes("a")));
                assertTrue(txn.renew());
                assertFalse(txn.renew());
                assertArrayEquals(bytes("2"), table.get(bytes("a")));
            }
        }
    }

    @Test
    void an_exception_undoes_the_changes() {
        try (Database database = Database.open(path())) {
            assertThrows(ArithmeticException.class, () -> database.writing(txn -> {
                txn.table("t").put(bytes("a"), bytes("1"));
                throw new ArithmeticException();
            }));
            assertEquals(List.of(), database.tables());
        }
    }

    @Test
    void savepoints_undo_the_changes_after_them() {
        try (Database database = Database.open(path()); WriteTxn txn = database.beginWrite()) {
            Table table = txn.table("t");
            table.put(bytes("a"), bytes("1"));
            Savepoint savepoint = txn.savepoint();
            table.put(bytes("b"), bytes("1"));
            savepoint.rollBack();
            assertEquals(1, table.size());
            table.put(bytes("c"), bytes("1"));
            savepoint.release();
            assertThrows(InvalidArgumentException.class, savepoint::rollBack);
            txn.checkpoint().await();
            txn.rollBack();
            assertEquals(2, table.size());
        }
    }

    @Test
    void the_second_writer_of_a_thread_is_refused_and_others_can_wait_for_a_while() {
        try (Database database = Database.open(path()); WriteTxn txn = database.beginWrite()) {
            assertThrows(BusyException.class, database::beginWrite);
            assertNull(database.beginWrite(Duration.ofMillis(5)));
            txn.abort();
            try (WriteTxn next = database.beginWrite(Duration.ZERO)) {
                assertNotNull(next);
            }
        }
    }

    @Test
    void tickets_say_when_commits_are_on_the_disk() throws Exception {
        try (Database database = Database.open(path())) {
            List<CompletableFuture<Void>> stages = new ArrayList<>();
            long last = 0;
            for (Durability durability : Durability.values()) {
                WriteTxn txn = database.beginWrite();
                txn.table("t").put(bytes(durability.name()), bytes(""));
                Ticket ticket = txn.commit(durability);
                assertTrue(ticket.id() > last);
                last = ticket.id();
                stages.add(ticket.asStage().toCompletableFuture());
                if (durability == Durability.DURABLE) {
                    assertTrue(ticket.isDurable());
                }
            }
            database.sync();
            for (CompletableFuture<Void> stage : stages) {
                stage.get(10, TimeUnit.SECONDS);
            }
            assertEquals(last, database.stat().durableTransaction());
        }
    }

    @Test
    void what_depends_on_a_stage_may_wait_for_another_stage() throws Exception {
        try (Database database = Database.open(path())) {
            CompletableFuture<Void> first = stage(database, "a");
            CompletableFuture<Void> dependent = first.thenRun(() -> {
                stage(database, "b").join();
                database.writing(txn -> txn.table("t").put(bytes("c"), bytes("")));
            });
            dependent.get(10, TimeUnit.SECONDS);
        }
    }

    private static CompletableFuture<Void> stage(Database database, String key) {
        WriteTxn txn = database.beginWrite();
        txn.table("t").put(bytes(key), bytes(""));
        return txn.commit(Durability.ASYNC).asStage().toCompletableFuture();
    }

    @Test
    void limits_of_waiting_may_be_of_any_length() {
        assertEquals(0, Threads.millis(Duration.ofSeconds(-1)));
        assertEquals(1, Threads.millis(Duration.ofNanos(1)));
        assertEquals(2, Threads.millis(Duration.ofMillis(2)));
        assertEquals(Long.MAX_VALUE, Threads.millis(Duration.ofSeconds(Long.MAX_VALUE)));
        try (Database database = Database.open(path())) {
            database.beginWrite(Duration.ofSeconds(Long.MAX_VALUE)).close();
        }
    }

    @Test
    void cursors_of_readers_that_are_lost_end_when_the_transaction_is_renewed() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                for (int i = 0; i < 1000; i++) {
                    txn.table("t").put(bytes(String.format("%04d", i)), bytes(""));
                }
            });
            try (ReadTxn txn = database.beginRead()) {
                Table table = txn.table("t");
                for (int i = 0; i < 100; i++) {
                    assertTrue(table.asMap().keySet().iterator().hasNext());
                }
                assertEquals(100, txn.core.cursorCount());
                Scan scan = table.scan(Range.all());
                assertTrue(scan.next());
                txn.renew();
                assertEquals(0, txn.core.cursorCount());
                int count = 1;
                while (scan.next()) {
                    assertEquals(String.format("%04d", count++), new String(scan.key()));
                }
                assertEquals(1000, count);
                assertEquals(0, txn.core.cursorCount());
                try (var entries = table.stream(Range.all()).parallel()) {
                    assertTrue(entries.findAny().isPresent());
                }
            }
        }
    }

    @Test
    void a_thread_may_scan_while_another_one_renews() throws Exception {
        try (Database database = Database.open(path());
                ReadTxn txn = database.beginRead()) {
            database.writing(other -> {
                for (int i = 0; i < 1000; i++) {
                    other.table("t").put(bytes("" + i), bytes(""));
                }
            });
            txn.renew();
            Table table = txn.table("t");
            var scanner = CompletableFuture.runAsync(() -> {
                for (int i = 0; i < 300; i++) {
                    try (Scan scan = table.scan(Range.all())) {
                        int count = 0;
                        while (scan.next()) {
                            count++;
                        }
                        assertEquals(1000, count);
                    } catch (BusyException renews) {
                        Thread.yield();
                    }
                }
            });
            while (!scanner.isDone()) {
                txn.renew();
            }
            scanner.get();
        }
    }

    @Test
    void a_stage_is_completed_when_the_database_is_closed() throws Exception {
        Database database = Options.create().flushAfter(1 << 30, 3_600_000).open(path());
        WriteTxn txn = database.beginWrite();
        txn.table("t").put(bytes("a"), bytes("1"));
        CompletableFuture<Void> stage =
                txn.commit(Durability.LAZY).asStage().toCompletableFuture();
        database.close();
        stage.get(10, TimeUnit.SECONDS);
    }

    @Test
    void a_change_feed_shows_what_commits_have_changed() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                txn.table("t").put(bytes("a"), bytes("1"));
                txn.table("t").put(bytes("b"), bytes("1"));
            });
            try (ChangeFeed feed = database.changes()) {
                assertNull(feed.next(Duration.ofMillis(1)));
                database.writing(txn -> {
                    txn.table("t").put(bytes("a"), bytes("2"));
                    txn.table("t").delete(bytes("b"));
                    txn.table("t").put(bytes("c"), new byte[200_000]);
                    txn.table("new").put(bytes("x"), bytes("y"));
                });
                try (Changes changes = feed.next(Duration.ofSeconds(10))) {
                    assertEquals(List.of(
                            new Changes.TableChange("new", Changes.Kind.INSERTED),
                            new Changes.TableChange("t", Changes.Kind.CHANGED)), changes.tables());
                    List<String> seen = new ArrayList<>();
                    for (Changes.Difference difference : changes.differences("t")) {
                        seen.add(difference.kind() + new String(difference.key()));
                    }
                    assertEquals(List.of("CHANGEDa", "REMOVEDb", "INSERTEDc"), seen);
                    assertThrows(NotFoundException.class, () -> changes.differences("none"));
                }
            }
        }
    }

    @Test
    void many_differences_come_in_parts() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                for (int i = 0; i < 20_000; i++) {
                    txn.table("t").set(bytes("key " + i), new byte[20]);
                }
            });
            try (ChangeFeed feed = database.changes()) {
                database.writing(txn -> {
                    for (int i = 0; i < 20_000; i++) {
                        byte[] key = bytes("key " + i);
                        switch (i % 4) {
                            case 0 -> txn.table("t").delete(key);
                            case 1 -> txn.table("t").set(key, new byte[i % 1000 == 1 ? 100_000 : 9]);
                            case 2 -> txn.table("t").set(bytes("new " + i), key);
                            default -> txn.multiTable("m").add(bytes("same"), key);
                        }
                    }
                });
                try (Changes changes = feed.next(Duration.ofSeconds(10))) {
                    assertEquals(Map.of("REMOVED", 5000L, "CHANGED", 5000L, "INSERTED", 5000L),
                            kinds(changes.differences("t")));
                    assertEquals(Map.of("INSERTED", 5000L), kinds(changes.differences("m")));
                }
            }
        }
    }

    /** How many there are of each kind. Their order and the number of values are checked. */
    private static Map<String, Long> kinds(Iterable<Changes.Difference> differences) {
        Map<String, Long> kinds = new HashMap<>();
        byte[] last = {};
        for (Changes.Difference difference : differences) {
            Changes.Kind kind = difference.kind();
            assertEquals(kind == Changes.Kind.INSERTED, difference.oldValue() == null);
            assertEquals(kind == Changes.Kind.REMOVED, difference.newValue() == null);
            assertTrue(Arrays.compareUnsigned(last, difference.key()) <= 0);
            last = difference.key().clone();
            // A program may use the arrays for something else.
            Arrays.fill(difference.key(), (byte) 0);
            kinds.merge(kind.name(), 1L, Long::sum);
        }
        return kinds;
    }

    @Test
    void the_time_for_differences_is_in_proportion_to_their_number() {
        long few = nanosForDifferences(10_000, 5);
        long many = nanosForDifferences(80_000, 3);
        assertTrue(many < 30 * few, many + " ns for eight times as many as in " + few + " ns");
    }

    private static long nanosForDifferences(int count, int rounds) {
        long best = Long.MAX_VALUE;
        try (Database database = Database.openInMemory(); ChangeFeed feed = database.changes()) {
            database.writing(txn -> {
                for (int i = 0; i < count; i++) {
                    txn.table("t").set(Codecs.int64().encode((long) i), new byte[8]);
                }
            });
            try (Changes changes = feed.next(Duration.ofSeconds(10))) {
                for (int round = 0; round < rounds; round++) {
                    long begun = System.nanoTime();
                    int seen = 0;
                    for (Changes.Difference difference : changes.differences("t")) {
                        seen += difference.newValue().length / 8;
                    }
                    best = Math.min(best, System.nanoTime() - begun);
                    assertEquals(count, seen);
                }
            }
        }
        return best;
    }

    @Test
    void snapshots_are_kept_under_names() {
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                txn.table("t").put(bytes("a"), bytes("1"));
                txn.createSnapshot("first");
            });
            database.writing(txn -> txn.table("t").put(bytes("a"), bytes("2")));
            assertEquals(1, database.snapshots().size());
            assertEquals("first", database.snapshots().get(0).name());
            try (ReadTxn txn = database.openSnapshot("first")) {
                assertArrayEquals(bytes("1"), txn.table("t").get(bytes("a")));
            }
            assertThrows(NotFoundException.class, () -> database.openSnapshot("second"));
            assertThrows(ExistsException.class,
                    () -> database.writing(txn -> txn.createSnapshot("first")));
            database.writing(txn -> txn.dropSnapshot("first"));
            assertEquals(List.of(), database.snapshots());
            assertThrows(NotFoundException.class,
                    () -> database.writing(txn -> txn.dropSnapshot("first")));
        }
    }

    @Test
    void backups_are_databases_and_checks_find_damage() throws Exception {
        Path copy = directory.resolve("copy.teak");
        Path small = directory.resolve("small.teak");
        try (Database database = Database.open(path())) {
            database.writing(txn -> {
                for (int i = 0; i < 1000; i++) {
                    txn.table("t").set(bytes("key " + i), new byte[100]);
                }
            });
            database.backup(copy, false);
            database.backup(small, true);
            assertThrows(ExistsException.class, () -> database.backup(copy, false));
            CheckReport report = database.check();
            assertTrue(report.isSound());
            assertEquals(1000, report.records());
            assertTrue(database.metrics().commits() > 0);
            database.compact();
        }
        for (Path path : List.of(copy, small)) {
            try (Database database = Options.create().readOnly(true).open(path)) {
                assertEquals(1000, size(database));
                assertThrows(ReadOnlyException.class, database::beginWrite);
            }
        }
        byte[] bytes = Files.readAllBytes(small);
        try (Database database = Options.create().openBytes(bytes)) {
            assertEquals(1000, size(database));
        }
        bytes[5 * 4096 + 100] ^= 1;
        Files.write(small, bytes);
        try (Database database = Database.open(small)) {
            CheckReport report = database.check();
            assertFalse(report.isSound());
            assertEquals(5, report.damages().get(0).page());
        }
    }

    @Test
    void errors_have_classes_codes_and_advice() throws Exception {
        NotFoundException missing = assertThrows(NotFoundException.class,
                () -> Options.create().createIfMissing(false).open(path()));
        assertEquals(33, missing.code());
        assertFalse(missing.remedy().isEmpty());
        Files.write(path(), new byte[100_000]);
        assertThrows(OpenException.class, () -> Database.open(path()));
        try (Database database = Database.openInMemory()) {
            assertThrows(NotFoundException.class, () -> database.read(txn -> txn.table("t")));
            database.writing(txn -> txn.multiTable("m").add(bytes("a"), bytes("1")));
            assertThrows(ExistsException.class, () -> database.read(txn -> txn.table("m")));
            assertThrows(ExistsException.class, () -> database.write(txn -> txn.table("m")));
            assertThrows(InvalidArgumentException.class,
                    () -> database.writing(txn -> txn.table("t").put(new byte[5000], bytes("1"))));
            assertThrows(InvalidArgumentException.class, () -> database.writing(txn -> {
                txn.table("t").append(bytes("b"), bytes("1"));
                txn.table("t").append(bytes("a"), bytes("1"));
            }));
        }
        Path limited = directory.resolve("limited.teak");
        try (Database database = Options.create().sizeLimit(1 << 20).open(limited)) {
            assertThrows(DiskFullException.class,
                    () -> database.writing(txn -> txn.table("t").put(bytes("a"), new byte[4 << 20])));
        }
    }
}
