package teak;

import java.time.Duration;

/**
 * Follows the commits of all processes. Each call of {@link #next} returns what has changed since
 * the call before, which can be several commits at once. Use it in one thread at a time.
 */
public final class ChangeFeed implements AutoCloseable {
    private final Database database;
    private ReadTxn seen;

    ChangeFeed(Database database) {
        this.database = database;
        this.seen = database.beginRead();
    }

    /**
     * Waits for a commit.
     *
     * @param limit how long to wait at most
     * @return what has changed, to be closed before the next call; null if the time has passed
     */
    public Changes next(Duration limit) {
        if (!database.waitForCommit(seen.id(), Threads.millis(limit))) {
            return null;
        }
        ReadTxn older = seen;
        seen = database.beginRead();
        return new Changes(older, seen);
    }

    /** Ends the feed. */
    @Override
    public void close() {
        seen.close();
    }
}
