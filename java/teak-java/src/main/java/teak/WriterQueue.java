package teak;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/**
 * Virtual threads that wait to write. A native call that waits would keep the thread that carries
 * them, so a thread of its own waits in their place: for one after the other, and together with
 * the threads that are not virtual.
 */
final class WriterQueue {
    private final ThreadPoolExecutor waiter = new ThreadPoolExecutor(
            1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), WriterQueue::thread);

    WriterQueue() {
        waiter.allowCoreThreadTimeOut(true);
    }

    boolean isInUse() {
        return waiter.getActiveCount() > 0;
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "teak-writer");
        thread.setDaemon(true);
        return thread;
    }

    /** Begins to write within milliseconds; null if they have passed. Not to be interrupted. */
    TxnCore await(LongFunction<TxnCore> begin, long limitMillis) {
        CompletableFuture<TxnCore> begun = new CompletableFuture<>();
        waiter.execute(() -> begin(begin, limitMillis, begun));
        begun.completeOnTimeout(null, limitMillis, TimeUnit.MILLISECONDS);
        try {
            return begun.join();
        } catch (CompletionException failed) {
            if (failed.getCause() instanceof RuntimeException thrown) {
                throw thrown;
            }
            throw failed;
        }
    }

    private static void begin(
            LongFunction<TxnCore> begin, long limitMillis, CompletableFuture<TxnCore> begun) {
        if (begun.isDone()) {
            return;
        }
        try {
            TxnCore txn = begin.apply(limitMillis);
            if (!begun.complete(txn) && txn != null) {
                txn.end();
            }
        } catch (Throwable thrown) {
            begun.completeExceptionally(thrown);
        }
    }
}
