package teak.hosted;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Locks for keys, striped: keys are spread over a fixed number of locks by their hash. A lock may
 * be released by another thread than the one that took it. Locks are not reentrant.
 *
 * <p>These locks are not the writer lock of the database. A host may hold one while it runs its own
 * code, and other keys can be written meanwhile.
 */
public final class KeyLocks {
    /** The permits of a stripe. A lock takes all of them, and a share of it takes one. */
    private static final int ALL = Integer.MAX_VALUE;

    private final Semaphore[] stripes;

    /** Creates the given number of locks, at least one. */
    public KeyLocks(int stripes) {
        if (stripes < 1) {
            throw new IllegalArgumentException("stripes is " + stripes + "; give at least 1");
        }
        this.stripes = new Semaphore[stripes];
        Arrays.setAll(this.stripes, index -> new Semaphore(ALL, true));
    }

    /**
     * Takes the lock of a key.
     *
     * @throws LockTimeoutException if it was not free within {@code timeout}, or if the thread was
     *     interrupted
     */
    public Held lock(byte[] key, Duration timeout) {
        return take(key, ALL, timeout);
    }

    /**
     * Takes a share of the lock of a key, which other threads can have at the same time. Nobody has
     * the whole lock meanwhile.
     *
     * @throws LockTimeoutException as {@link #lock}
     */
    public Held share(byte[] key, Duration timeout) {
        return take(key, 1, timeout);
    }

    private Held take(byte[] key, int permits, Duration timeout) {
        Semaphore stripe = stripes[stripe(key)];
        acquire(stripe, permits, timeout, "the lock of a key was not free within %d ms: another "
                + "thread holds it, or the lock of a key in the same stripe. Try again, or raise "
                + "lock.timeoutms");
        return new Held(stripe, permits);
    }

    /** Takes permits, or throws with the message, in which {@code %d} is the time waited. */
    static void acquire(Semaphore semaphore, int permits, Duration timeout, String message) {
        try {
            if (!semaphore.tryAcquire(permits, timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new LockTimeoutException(String.format(message, timeout.toMillis()));
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LockTimeoutException("interrupted while waiting to use the store");
        }
    }

    private int stripe(byte[] key) {
        int hash = Arrays.hashCode(key);
        return Math.floorMod(hash ^ (hash >>> 16), stripes.length);
    }

    /** A lock that is held. Closing it twice has no effect. */
    public static final class Held implements AutoCloseable {
        private Semaphore stripe;
        private final int permits;

        private Held(Semaphore stripe, int permits) {
            this.stripe = stripe;
            this.permits = permits;
        }

        /** Whether the lock is still held. */
        public synchronized boolean isHeld() {
            return stripe != null;
        }

        /** Releases the lock. */
        @Override
        public synchronized void close() {
            if (stripe != null) {
                stripe.release(permits);
                stripe = null;
            }
        }
    }
}
