package teak.hosted;

import java.time.Duration;

/**
 * Counts the batches that are open, and forgets them after a time: a host that fails may begin one
 * and never end it, and must not take durability from all others for ever. The time runs from the
 * begin of the first batch, so later ones do not lengthen it.
 */
final class Batches {
    private final String store;
    private final Duration limit;
    private int open;
    private long begun;

    Batches(String store, Duration limit) {
        this.store = store;
        this.limit = limit;
    }

    synchronized void begin() {
        if (!areOpen()) {
            begun = System.nanoTime();
        }
        open++;
    }

    /** Ends a batch, if there is one; returns whether it was the last. */
    synchronized boolean end() {
        return open > 0 && --open == 0;
    }

    synchronized boolean areOpen() {
        if (open > 0 && System.nanoTime() - begun >= limit.toNanos()) {
            System.getLogger("teak").log(System.Logger.Level.WARNING, "a batch of the store "
                    + store + " was open for " + limit + "; writes are durable from now on. Let "
                    + "the host end its batches");
            open = 0;
        }
        return open > 0;
    }
}
