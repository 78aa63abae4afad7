package teak;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import teak.internal.Calls;
import teak.internal.Scratch;
import teak.internal.ScratchOwner;
import teak.internal.Views;

/** A transaction: its handle, and what ends with it. */
final class TxnCore extends ScratchOwner implements Runnable {
    private static final Calls CALLS = Calls.CALLS;
    private static final System.Logger LOGGER = System.getLogger("teak");

    final DbCore db;
    final boolean isWriter;
    /** Where it began, if that is wanted. */
    private final Throwable place;
    /** The number of the virtual thread that began to write. */
    private volatile long thread;
    private volatile long handle;
    /** Grows with every change of what the transaction sees. */
    volatile int version;
    /** Grows when all cursors end, because the transaction is renewed. */
    volatile int cursorAge;
    private long[] cursors = {};
    private int cursorCount;
    /** The life of values that are not copied; null before the first. */
    private volatile Views.Scope scope;

    TxnCore(DbCore db, long handle, boolean isWriter) {
        this.db = db;
        this.handle = handle;
        this.isWriter = isWriter;
        this.place = TRACES_LEAKS ? new Throwable("the transaction began here") : null;
        db.add(this);
    }

    private static final boolean TRACES_LEAKS = "trace".equals(System.getProperty("teak.leaks"));

    /** The handle. */
    long handle() {
        long open = handle;
        if (open == 0) {
            throw ended();
        }
        return open;
    }

    boolean isOpen() {
        return handle != 0;
    }

    void noteThread() {
        thread = Threads.number();
    }

    boolean isOfThisThread() {
        return isWriter && isOpen() && thread == Threads.number();
    }

    private ClosedException ended() {
        String kind = isWriter ? "write" : "read";
        return new ClosedException(db.isOpen()
                ? "the " + kind + " transaction has ended; begin another one"
                : "the " + kind + " transaction has ended, because its database was closed");
    }

    void noteChange() {
        version++;
    }

    /** Opens a native cursor, which is closed with the transaction at the latest. */
    synchronized long openCursor(long table, Scratch scratch) {
        int code = CALLS.cursorOpen(handle(), table, scratch.out(0), scratch.error());
        Codes.check(code, scratch);
        if (cursorCount == cursors.length) {
            cursors = Arrays.copyOf(cursors, Math.max(4, 2 * cursorCount));
        }
        cursors[cursorCount++] = scratch.number(0);
        return scratch.number(0);
    }

    synchronized void closeCursor(long cursor) {
        for (int i = cursorCount - 1; i >= 0; i--) {
            if (cursors[i] == cursor) {
                cursors[i] = cursors[--cursorCount];
                endCursor(cursor);
                return;
            }
        }
    }

    /** How many native cursors are open. */
    synchronized int cursorCount() {
        return cursorCount;
    }

    private static void endCursor(long cursor) {
        while (CALLS.cursorClose(cursor, 0) == Codes.BUSY) {
            LockSupport.parkNanos(1_000);
        }
    }

    /** The life of values that are not copied. */
    Views.Scope scope() {
        Views.Scope known = scope;
        return known != null ? known : newScope();
    }

    private synchronized Views.Scope newScope() {
        handle();
        if (scope == null) {
            scope = Views.VIEWS.scope();
        }
        return scope;
    }

    private void endScope() {
        Views.Scope ended = scope;
        if (ended != null) {
            // No value is added to one that is closed.
            scope = null;
            ended.close();
        }
    }

    /** Ends what belongs to the transaction, and takes its handle. 0 if it has ended already. */
    synchronized long takeHandle() {
        long taken = handle;
        handle = 0;
        if (taken != 0) {
            endCursors();
            endScope();
        }
        return taken;
    }

    private void endCursors() {
        for (int i = 0; i < cursorCount; i++) {
            endCursor(cursors[i]);
        }
        cursorCount = 0;
    }

    /** Ends the transaction, and undoes its changes. Does nothing if it has ended. */
    void end() {
        long taken = takeHandle();
        if (taken == 0) {
            return;
        }
        // Calls of other threads that use it return soon.
        while (CALLS.end(taken, 0) == Codes.BUSY) {
            LockSupport.parkNanos(1_000);
        }
        forget();
    }

    private void forget() {
        db.remove(this);
        releaseScratch();
    }

    /** Commits, and returns the number of the commit. */
    long commit() {
        long taken = takeHandle();
        if (taken == 0) {
            throw ended();
        }
        Scratch scratch = take();
        try {
            int code;
            while ((code = CALLS.commit(taken, scratch.out(0), scratch.error())) == Codes.BUSY) {
                LockSupport.parkNanos(1_000);
            }
            db.check(code, scratch);
            return scratch.number(0);
        } finally {
            scratch.release();
            forget();
        }
    }

    /** Moves a read transaction to the newest state. Returns whether there was a newer one. */
    synchronized boolean renew() {
        Scratch scratch = take();
        try {
            // No value of the old state may be read any more.
            endScope();
            // Lost readers have cursors too. The others open new ones.
            cursorAge++;
            endCursors();
            int code;
            while ((code = CALLS.refresh(handle(), scratch.error())) == Codes.BUSY) {
                LockSupport.parkNanos(1_000);
            }
            version++;
            return db.check(code, scratch);
        } finally {
            give(scratch);
        }
    }

    /** Called when the program lost the transaction without closing it. */
    @Override
    public void run() {
        if (handle == 0) {
            return;
        }
        String text = (isWriter ? "write" : "read") + " transaction of " + db.name
                + " was not closed; close it, or use try-with-resources"
                + (place == null ? " (-Dteak.leaks=trace shows where it began)" : "");
        LOGGER.log(System.Logger.Level.WARNING, text, place);
        end();
    }
}
