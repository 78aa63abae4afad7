package teak;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.PriorityBlockingQueue;

/**
 * A thread that waits for commits to be on the disk and completes stages. Commits become durable in
 * their order, so one thread is enough for all.
 */
final class DurableWaiter {
    private record Waiting(long commit, CompletableFuture<Void> stage)
            implements Comparable<Waiting> {
        @Override
        public int compareTo(Waiting other) {
            return Long.compareUnsigned(commit, other.commit);
        }
    }

    private static final Waiting END = new Waiting(-1, null);

    private final DbCore db;
    private final PriorityBlockingQueue<Waiting> queue = new PriorityBlockingQueue<>();
    private boolean isClosed;
    private RuntimeException failure;

    DurableWaiter(DbCore db) {
        this.db = db;
        Thread thread = new Thread(this::run, "teak-durable");
        thread.setDaemon(true);
        thread.start();
    }

    CompletableFuture<Void> stage(long commit) {
        CompletableFuture<Void> stage = new CompletableFuture<>();
        synchronized (this) {
            if (!isClosed) {
                queue.add(new Waiting(commit, stage));
                return stage;
            }
        }
        end(stage, failure);
        return stage;
    }

    private void run() {
        while (true) {
            Waiting next;
            try {
                next = queue.take();
            } catch (InterruptedException ignored) {
                continue;
            }
            if (next == END) {
                return;
            }
            try {
                Ticket.await(db, next.commit, -1);
                end(next.stage, null);
            } catch (ClosedException closed) {
                // Closing brings all commits to the disk, and reports if that failed.
                synchronized (this) {
                    if (!isClosed) {
                        queue.add(next);
                        pause();
                        continue;
                    }
                }
                end(next.stage, failure);
            } catch (Throwable thrown) {
                end(next.stage, thrown);
            }
        }
    }

    private void pause() {
        try {
            wait(10);
        } catch (InterruptedException ignored) {
            // Only the end of the database ends this thread.
        }
    }

    /** Completes a stage in another thread: what depends on it may wait, even for other stages. */
    private static void end(CompletableFuture<Void> stage, Throwable thrown) {
        stage.defaultExecutor().execute(() -> {
            if (thrown == null) {
                stage.complete(null);
            } else {
                stage.completeExceptionally(thrown);
            }
        });
    }

    /** Called when the database is closed, with what went wrong or null. */
    void close(RuntimeException thrown) {
        synchronized (this) {
            isClosed = true;
            failure = thrown;
            notifyAll();
        }
        queue.add(END);
    }
}
