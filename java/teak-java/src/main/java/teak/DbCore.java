package teak;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import teak.internal.Calls;
import teak.internal.Scratch;
import teak.internal.ScratchOwner;

/** An open database: its handle, and the transactions to end when it is closed. */
final class DbCore extends ScratchOwner {
    private static final Calls CALLS = Calls.CALLS;

    final String name;
    private final Set<TxnCore> transactions = ConcurrentHashMap.newKeySet();
    /** Whether keys have several values, by the numbers of tables. Other kinds have others. */
    final Map<Long, Boolean> areMulti = new ConcurrentHashMap<>();
    /** Virtual threads that wait to write. */
    final WriterQueue writers = new WriterQueue();
    private volatile long handle;
    private volatile DurableWaiter waiter;

    DbCore(long handle, String name) {
        this.handle = handle;
        this.name = name;
    }

    /** The handle. */
    long handle() {
        long open = handle;
        if (open == 0) {
            throw closed();
        }
        return open;
    }

    boolean isOpen() {
        return handle != 0;
    }

    private ClosedException closed() {
        return new ClosedException(
                "the database " + name + " is closed; open it again with Database.open");
    }

    /** Like {@link Codes#check}. An error because the database was closed meanwhile says that. */
    boolean check(int code, Scratch scratch) {
        try {
            return Codes.check(code, scratch);
        } catch (InvalidArgumentException failure) {
            handle();
            throw failure;
        }
    }

    /** Adds a transaction, and ends it if the database was closed meanwhile. */
    void add(TxnCore transaction) {
        transactions.add(transaction);
        if (handle == 0) {
            transaction.end();
            throw closed();
        }
    }

    void remove(TxnCore transaction) {
        transactions.remove(transaction);
    }

    /** Whether the current thread, a virtual one, has a write transaction. */
    boolean isWritingHere() {
        return transactions.stream().anyMatch(TxnCore::isOfThisThread);
    }

    /** Waits for durable commits, on behalf of stages. */
    DurableWaiter waiter() {
        DurableWaiter known = waiter;
        if (known != null) {
            return known;
        }
        synchronized (this) {
            handle();
            if (waiter == null) {
                waiter = new DurableWaiter(this);
            }
            return waiter;
        }
    }

    /** Ends all transactions and closes. Does nothing the second time. */
    void close() {
        long open;
        synchronized (this) {
            open = handle;
            handle = 0;
        }
        if (open == 0) {
            return;
        }
        Scratch scratch = take();
        RuntimeException failure = null;
        try {
            int code;
            do {
                // A commit that has begun ends by itself, and a write transaction that begins
                // notices that the database is closed.
                transactions.forEach(TxnCore::end);
                code = CALLS.close(open, scratch.error());
                if (code == Codes.BUSY) {
                    LockSupport.parkNanos(20_000);
                }
            } while (code == Codes.BUSY);
            Codes.check(code, scratch);
        } catch (RuntimeException thrown) {
            failure = thrown;
            throw thrown;
        } finally {
            DurableWaiter waiting = waiter;
            if (waiting != null) {
                waiting.close(failure);
            }
            scratch.release();
            releaseScratch();
        }
    }
}
