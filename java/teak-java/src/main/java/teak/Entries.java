package teak;

import java.util.Queue;
import java.util.Spliterator;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The records of a range, which can be split at keys in the middle of it. */
final class Entries implements Spliterator<Entry> {
    private final TableCore table;
    private Range range;
    /** About the number of records. */
    private long estimate;
    private BatchReader reader;
    /** The readers of all parts of the stream. */
    private final Queue<BatchReader> readers;

    private Entries(
            TableCore table, Range range, long estimate, Queue<BatchReader> readers) {
        this.readers = readers;
        this.table = table;
        this.range = range;
        this.estimate = estimate;
    }

    static Stream<Entry> stream(TableCore table, Range range) {
        Queue<BatchReader> readers = new ConcurrentLinkedQueue<>();
        Entries entries = new Entries(table, range, table.stat().records(), readers);
        return StreamSupport.stream(entries, false)
                .onClose(() -> readers.forEach(BatchReader::close));
    }

    private BatchReader reader() {
        if (reader == null) {
            reader = table.reader(range);
            readers.add(reader);
        }
        return reader;
    }

    @Override
    public boolean tryAdvance(Consumer<? super Entry> action) {
        if (!reader().advance()) {
            return false;
        }
        action.accept(reader.entry());
        return true;
    }

    @Override
    public Spliterator<Entry> trySplit() {
        byte[] middle = reader != null || estimate < 2 ? null : table.middle(range);
        if (middle == null) {
            return null;
        }
        Range low = range.withHigh(middle, false);
        Range high = range.withLow(middle, true);
        estimate /= 2;
        Entries first = new Entries(table, range.isBackward() ? high : low, estimate, readers);
        range = range.isBackward() ? low : high;
        return first;
    }

    @Override
    public long estimateSize() {
        return estimate;
    }

    @Override
    public int characteristics() {
        return ORDERED | DISTINCT | NONNULL;
    }
}
