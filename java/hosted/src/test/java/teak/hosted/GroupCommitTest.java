package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

import teak.ClosedException;
import teak.Database;
import teak.Durability;
import teak.Table;

class GroupCommitTest {
    @Test
    void aCommitThatFailsFailsAllItsChanges() throws Exception {
        try (Database database = Database.openInMemory()) {
            database.writing(transaction -> transaction.table("records"));
            GroupCommit commits = new GroupCommit(database, "records", () -> Durability.DURABLE);
            CountDownLatch allWait = new CountDownLatch(1);
            FutureTask<Void> first = start(commits, table -> {
                await(allWait);
                return null;
            });
            List<FutureTask<Void>> group = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                byte[] key = {(byte) i};
                boolean isLast = i == 7;
                group.add(start(commits, table -> {
                    table.set(key, key);
                    if (isLast) {
                        // The commit finds no transaction.
                        table.txn().close();
                    }
                    return null;
                }));
            }
            allWait.countDown();
            first.get();
            for (FutureTask<Void> change : group) {
                Throwable failure = assertThrows(ExecutionException.class, change::get).getCause();
                assertTrue(failure instanceof ClosedException, failure.toString());
            }
            assertEquals(0, size(database));
            commits.run(table -> table.put(new byte[1], new byte[1]));
            assertEquals(1, size(database));
        }
    }

    private static long size(Database database) {
        return database.<Long>read(transaction -> transaction.table("records").size());
    }

    /** Runs a change in a thread, and returns when it waits: in its turn, or for its turn. */
    private static FutureTask<Void> start(GroupCommit commits, Function<Table, Void> change)
            throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> commits.run(change));
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        return task;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}
