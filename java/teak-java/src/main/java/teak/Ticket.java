package teak;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import teak.internal.Calls;
import teak.internal.Scratch;

/** A commit. It says when the commit is on the disk. */
public final class Ticket {
    private static final Calls CALLS = Calls.CALLS;
    private static final long NO_LIMIT = -1;

    private final DbCore db;
    private final long id;

    Ticket(DbCore db, long id) {
        this.db = db;
        this.id = id;
    }

    /**
     * The number of the commit.
     *
     * @return a number that grows with each commit
     */
    public long id() {
        return id;
    }

    /** Waits until the commit is on the disk. */
    public void await() {
        await(db, id, NO_LIMIT);
    }

    /**
     * Waits until the commit is on the disk.
     *
     * @param limit how long to wait at most
     * @return whether it is on the disk
     */
    public boolean await(Duration limit) {
        return await(db, id, Threads.millis(limit));
    }

    /**
     * Whether the commit is on the disk. Does not wait.
     *
     * @return whether it is
     */
    public boolean isDurable() {
        return await(db, id, 0);
    }

    /**
     * A stage that is completed when the commit is on the disk, or fails if it does not get there.
     * What depends on it runs in the common pool, and may wait.
     *
     * @return a new stage
     */
    public CompletionStage<Void> asStage() {
        return db.waiter().stage(id);
    }

    static boolean await(DbCore db, long id, long limitMillis) {
        Scratch scratch = db.take();
        try {
            int made = CALLS.ticket(db.handle(), id, scratch.out(0), scratch.error());
            db.check(made, scratch);
            long ticket = scratch.number(0);
            try {
                int code = limitMillis == 0
                        ? CALLS.ticketPoll(ticket, scratch.error())
                        : CALLS.ticketWait(ticket, limitMillis, scratch.error());
                return db.check(code, scratch);
            } finally {
                CALLS.ticketEnd(ticket, 0);
            }
        } finally {
            db.give(scratch);
        }
    }
}
