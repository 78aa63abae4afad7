package teak.hosted;

import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Keeps an object open while operations use it. Hosts close stores while other threads still read:
 * closing waits for these operations, and later ones fail with a clear error.
 */
public final class HandleGuard {
    private final String name;
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Use use = lock.readLock()::unlock;
    private boolean closed;

    /** Creates a guard; the name appears in errors. */
    public HandleGuard(String name) {
        this.name = name;
    }

    /**
     * Begins an operation. Close the result on the same thread when the operation ends.
     *
     * @throws IllegalStateException if the object is closed
     */
    public Use enter() {
        lock.readLock().lock();
        if (closed) {
            lock.readLock().unlock();
            throw new IllegalStateException(
                    "the store " + name + " is closed; open it again to use it");
        }
        return use;
    }

    /** Whether {@link #close} has begun to release the object. */
    public boolean isClosed() {
        lock.readLock().lock();
        try {
            return closed;
        } finally {
            lock.readLock().unlock();
        }
    }

    /**
     * Waits for running operations, then runs {@code release}. Later calls have no effect.
     *
     * @throws IllegalStateException if this thread is in an operation itself
     */
    public void close(Runnable release) {
        if (lock.getReadHoldCount() > 0) {
            throw new IllegalStateException("the store " + name
                    + " cannot be closed by an operation that uses it; close it when that ended");
        }
        lock.writeLock().lock();
        try {
            if (!closed) {
                closed = true;
                release.run();
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    /** An operation that keeps the object open. */
    public interface Use extends AutoCloseable {
        /** Ends the operation. */
        @Override
        void close();
    }
}
