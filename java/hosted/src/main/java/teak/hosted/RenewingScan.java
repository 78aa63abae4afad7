package teak.hosted;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.BiFunction;

import teak.Entry;

/**
 * A scan that may take hours without keeping old pages in use: it reads some records from a
 * snapshot, lets go of it, and goes on after the last key in a newer one. So it is not one
 * snapshot: a record that is there all the time is seen once, and one that is added or removed
 * meanwhile may be seen or not. Between two chunks the scan holds nothing, so a forgotten one leaks
 * nothing.
 *
 * <p>A scan is used by one thread at a time.
 */
public final class RenewingScan implements Iterator<Entry>, AutoCloseable {
    /** A chunk also ends after this many bytes, so that large values do not fill the memory. */
    static final long CHUNK_BYTES = 1 << 20;

    private final BiFunction<byte[], List<Entry>, Boolean> read;
    private final List<Entry> chunk = new ArrayList<>();
    private int next;
    private byte[] last;
    private boolean ended;

    /**
     * @param read reads the chunk after a key, or the first one after null, into a list; returns
     *     whether there may be more
     */
    RenewingScan(BiFunction<byte[], List<Entry>, Boolean> read) {
        this.read = read;
    }

    @Override
    public boolean hasNext() {
        while (next == chunk.size() && !ended) {
            chunk.clear();
            next = 0;
            // A failure leaves the chunk empty, and so the next call reads it again.
            List<Entry> records = new ArrayList<>();
            ended = !read.apply(last, records);
            chunk.addAll(records);
            if (!chunk.isEmpty()) {
                last = chunk.get(chunk.size() - 1).key();
            }
        }
        return next < chunk.size();
    }

    @Override
    public Entry next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the scan is at its end");
        }
        return chunk.get(next++);
    }

    /** Ends the scan; {@link #hasNext} is false from now on. */
    @Override
    public void close() {
        ended = true;
        chunk.clear();
        next = 0;
    }
}
