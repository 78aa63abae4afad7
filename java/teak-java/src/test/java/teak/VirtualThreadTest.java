package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Writing in virtual threads, which Java 21 and later have. */
class VirtualThreadTest {
    private final Database database = Database.openInMemory();

    @BeforeEach
    void check_the_version() {
        assumeTrue(Runtime.version().feature() >= 21);
    }

    private static CompletableFuture<Void> start(Runnable work) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        Runnable all = () -> {
            try {
                work.run();
                end.complete(null);
            } catch (Throwable thrown) {
                end.completeExceptionally(thrown);
            }
        };
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, all);
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
        return end;
    }

    private static void join(CompletableFuture<Void> end) throws Exception {
        end.get(30, TimeUnit.SECONDS);
    }

    @Test
    void a_virtual_thread_does_not_wait_for_itself() throws Exception {
        join(start(() -> {
            try (WriteTxn txn = database.beginWrite()) {
                assertThrows(BusyException.class, database::beginWrite);
                assertNull(database.beginWrite(Duration.ZERO));
                assertNull(database.beginWrite(Duration.ofMillis(20)));
                assertTrue(txn.isOpen());
            }
            database.beginWrite().close();
        }));
    }

    @Test
    void virtual_threads_wait_for_each_other_and_may_be_interrupted() throws Exception {
        WriteTxn first = database.beginWrite();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            byte[] key = ("" + i).getBytes();
            ends.add(start(() -> {
                Thread.currentThread().interrupt();
                database.writing(txn -> txn.table("t").set(key, key));
                assertTrue(Thread.interrupted());
            }));
        }
        assertNull(database.beginWrite(Duration.ofMillis(50)));
        first.abort();
        for (CompletableFuture<Void> end : ends) {
            join(end);
        }
        assertEquals(1000, (long) database.read(txn -> txn.table("t").size()));
    }

    @Test
    void a_virtual_thread_writes_beside_steady_writers() throws Exception {
        AtomicBoolean isEnd = new AtomicBoolean();
        List<CompletableFuture<Void>> steady = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            steady.add(CompletableFuture.runAsync(() -> {
                while (!isEnd.get()) {
                    database.writing(txn -> txn.table("t").set(new byte[1], new byte[1]));
                }
            }, task -> new Thread(task).start()));
        }
        try {
            join(start(() -> {
                for (int i = 0; i < 100; i++) {
                    database.beginWrite().close();
                }
            }));
        } finally {
            isEnd.set(true);
        }
        for (CompletableFuture<Void> end : steady) {
            join(end);
        }
    }

    @Test
    void closing_ends_waiting() throws Exception {
        WriteTxn first = database.beginWrite();
        var waiting = start(() -> assertThrows(ClosedException.class, database::beginWrite));
        while (!database.core.writers.isInUse()) {
            Thread.sleep(1);
        }
        database.close();
        join(waiting);
        assertThrows(ClosedException.class, first::commit);
    }
}
