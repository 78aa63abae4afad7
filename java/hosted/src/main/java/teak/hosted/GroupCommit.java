package teak.hosted;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;

import teak.Database;
import teak.Durability;
import teak.Table;
import teak.WriteTxn;

/**
 * Puts the changes of threads that write at the same time into one transaction. One thread becomes
 * the leader and applies everything that waits. So concurrent durable writes share a flush, and
 * concurrent others share the cost of a transaction.
 */
final class GroupCommit {
    /** The most changes in one transaction, so that the first one does not wait for too many. */
    private static final int MOST = 1024;
    /**
     * How often a thread looks whether its change is done, and lets others run, before it sleeps. A
     * change that does not wait for the disk takes less time than putting a thread to sleep and
     * waking it.
     */
    private static final int YIELDS = 100;

    private final Database database;
    private final String table;
    private final Supplier<Durability> durability;
    private final ConcurrentLinkedQueue<Pending<?>> queue = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Thread> leader = new AtomicReference<>();

    /** @param durability is asked for each transaction when it is complete */
    GroupCommit(Database database, String table, Supplier<Durability> durability) {
        this.database = database;
        this.table = table;
        this.durability = durability;
    }

    /**
     * Applies a change, and returns its result when it is committed. The change may run more than
     * once: if another one in the same transaction throws, the rest is applied again without it.
     *
     * @throws IllegalStateException if a change makes another one
     */
    <R> R run(Function<Table, R> change) {
        if (leader.get() == Thread.currentThread()) {
            throw new IllegalStateException("a change of a store cannot make another change of it; "
                    + "return first, or use the slot or table that it got");
        }
        Pending<R> pending = new Pending<>(change);
        queue.add(pending);
        boolean wasInterrupted = false;
        int yieldsLeft = durability.get() == Durability.LAZY ? YIELDS : 0;
        while (!pending.isDone) {
            if (leader.get() == null && leader.compareAndSet(null, Thread.currentThread())) {
                lead(pending);
            } else if (yieldsLeft > 0) {
                yieldsLeft--;
                Thread.yield();
            } else {
                pending.sleep(leader);
                wasInterrupted |= Thread.interrupted();
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
        return pending.result();
    }

    /** Commits until a change is done, and then lets the next thread in the queue lead. */
    private void lead(Pending<?> pending) {
        try {
            while (!pending.isDone) {
                commit(next());
            }
        } finally {
            leader.set(null);
            // Changes added before are found here. The thread of a later one finds no leader.
            Pending<?> waiting = queue.peek();
            if (waiting != null) {
                waiting.wake();
            }
        }
    }

    private List<Pending<?>> next() {
        List<Pending<?>> changes = new ArrayList<>();
        Pending<?> change;
        while (changes.size() < MOST && (change = queue.poll()) != null) {
            changes.add(change);
        }
        return changes;
    }

    private void commit(List<Pending<?>> changes) {
        while (!changes.isEmpty()) {
            Pending<?> refused = tryCommit(changes);
            if (refused == null) {
                return;
            }
            changes.remove(refused);
        }
    }

    /** Commits all changes, or returns the first one that threw, with nothing committed. */
    private Pending<?> tryCommit(List<Pending<?>> changes) {
        Pending<?> current = null;
        try (WriteTxn transaction = database.beginWrite()) {
            Table records = transaction.table(table);
            for (Pending<?> change : changes) {
                current = change;
                change.apply(records);
            }
            current = null;
            transaction.commit(durability.get());
            changes.forEach(change -> change.finish(null));
            return null;
        } catch (Throwable failure) {
            if (current != null) {
                current.finish(failure);
                return current;
            }
            changes.forEach(change -> change.finish(failure));
            return null;
        }
    }

    private static final class Pending<R> {
        private final Function<Table, R> change;
        private final Thread thread = Thread.currentThread();
        private R result;
        private Throwable failure;
        private volatile boolean isDone;
        private volatile boolean isAsleep;

        Pending(Function<Table, R> change) {
            this.change = change;
        }

        void apply(Table records) {
            result = change.apply(records);
        }

        void finish(Throwable failure) {
            this.failure = failure;
            isDone = true;
            wake();
        }

        /** Sleeps, unless the change is done or nobody leads. May return for no reason. */
        void sleep(AtomicReference<Thread> leader) {
            isAsleep = true;
            if (!isDone && leader.get() != null) {
                LockSupport.park(this);
            }
            isAsleep = false;
        }

        void wake() {
            if (isAsleep) {
                LockSupport.unpark(thread);
            }
        }

        R result() {
            if (failure instanceof Error error) {
                throw error;
            }
            if (failure instanceof RuntimeException exception) {
                throw exception;
            }
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
            return result;
        }
    }
}
