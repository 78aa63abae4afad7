package teak;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Closing a database while something else goes on. */
class ClosingTest {
    @TempDir
    Path directory;

    /** The writer is one of another opening, so closing does not end it. */
    @Test
    void commits_are_flushed_although_a_thread_waits_to_write() throws Exception {
        Path path = directory.resolve("x.teak");
        Database closed = Database.open(path);
        try (Database other = Database.open(path)) {
            WriteTxn txn = closed.beginWrite();
            txn.table("t").put(new byte[1], new byte[1]);
            Ticket ticket = txn.commit(Durability.LAZY);
            var stage = ticket.asStage().toCompletableFuture();
            CompletableFuture<Throwable> waiter = new CompletableFuture<>();
            try (WriteTxn writer = other.beginWrite()) {
                Thread thread = new Thread(() -> {
                    try {
                        closed.beginWrite().close();
                        waiter.complete(null);
                    } catch (Throwable thrown) {
                        waiter.complete(thrown);
                    }
                });
                thread.start();
                Thread.sleep(100);
                closed.close();
                assertTrue(other.stat().durableTransaction() >= ticket.id());
                stage.get(10, TimeUnit.SECONDS);
                assertTrue(writer.isOpen());
            }
            assertInstanceOf(ClosedException.class, waiter.get(10, TimeUnit.SECONDS));
        }
    }
}
