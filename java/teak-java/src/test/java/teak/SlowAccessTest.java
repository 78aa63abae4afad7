package teak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import teak.internal.Calls;

/** Values in the mapped file that are in use for long when their transaction ends. */
class SlowAccessTest {
    private static final byte[] KEY = {1};
    private static final int LENGTH = 1 << 20;

    @Test
    void the_end_of_a_transaction_waits_asleep_for_a_channel() throws Exception {
        assumeTrue(Calls.CALLS.mode().equals("FFM"));
        Pipe pipe = Pipe.open();
        try (Database database = Database.openInMemory()) {
            database.writing(txn -> txn.table("t").set(KEY, new byte[LENGTH]));
            ReadTxn txn = database.beginRead();
            ByteBuffer value = txn.table("t").getBuffer(KEY);
            // One call, which waits while the pipe is full.
            CompletableFuture<Integer> written = CompletableFuture.supplyAsync(() -> {
                try (var sink = pipe.sink()) {
                    return sink.write(value);
                } catch (java.io.IOException failure) {
                    throw new java.io.UncheckedIOException(failure);
                }
            });
            Thread.sleep(100);
            Thread ending = new Thread(txn::close);
            ending.start();
            Thread.sleep(500);
            boolean waits = ending.isAlive();
            long used = ManagementFactory.getThreadMXBean().getThreadCpuTime(ending.getId());
            ByteBuffer room = ByteBuffer.allocate(LENGTH);
            while (pipe.source().read(room) > 0) {
                assertTrue(room.position() <= LENGTH);
            }
            assertEquals(LENGTH, written.get(10, TimeUnit.SECONDS));
            ending.join(10_000);
            assertFalse(ending.isAlive());
            assertTrue(waits);
            assertTrue(TimeUnit.NANOSECONDS.toMillis(used) < 250, used + " ns");
        }
        pipe.source().close();
    }
}
