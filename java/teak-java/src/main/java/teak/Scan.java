package teak;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Reads the records of a range, in batches. It can be iterated once, or used directly, which
 * creates fewer objects:
 *
 * <pre>{@code
 * try (Scan scan = table.scan(Range.all())) {
 *     while (scan.next()) {
 *         use(scan.key(), scan.value());
 *     }
 * }
 * }</pre>
 *
 * <p>A scan sees the changes of its own transaction. Use it in one thread at a time. It ends with
 * its transaction, but close it before that if it has not reached its end.
 */
public final class Scan implements Iterable<Entry>, AutoCloseable {
    /** Keeps the transaction from being closed as a lost one. */
    @SuppressWarnings("unused")
    private final Txn txn;
    private final BatchReader reader;
    private boolean isOnRecord;
    private boolean isIterated;

    Scan(Txn txn, BatchReader reader) {
        this.txn = txn;
        this.reader = reader;
    }

    /**
     * Moves to the next record.
     *
     * @return whether there is one
     */
    public boolean next() {
        isOnRecord = false;
        isOnRecord = reader.advance();
        return isOnRecord;
    }

    /**
     * The key of the record.
     *
     * @return a copy
     */
    public byte[] key() {
        checkRecord();
        return reader.key();
    }

    /**
     * The value of the record.
     *
     * @return a copy
     */
    public byte[] value() {
        checkRecord();
        return reader.value();
    }

    /**
     * The key of the record, not copied again. The buffer is the same one each time, can only be
     * read, and shows something else after {@link #next} or {@link #close}.
     *
     * @return a buffer at the key
     */
    public ByteBuffer keyBuffer() {
        checkRecord();
        return reader.keyBuffer();
    }

    /**
     * The value of the record, like {@link #keyBuffer}.
     *
     * @return a buffer at the value
     */
    public ByteBuffer valueBuffer() {
        checkRecord();
        return reader.valueBuffer();
    }

    private void checkRecord() {
        reader.checkOpen();
        if (!isOnRecord) {
            throw new IllegalStateException("the scan is on no record; call next first");
        }
    }

    /**
     * The rest of the records.
     *
     * @return an iterator, once
     */
    @Override
    public Iterator<Entry> iterator() {
        reader.checkOpen();
        if (isIterated) {
            throw new IllegalStateException("a scan can be iterated once; scan the table again");
        }
        isIterated = true;
        return new Entries();
    }

    private final class Entries implements Iterator<Entry> {
        private boolean isRead;

        @Override
        public boolean hasNext() {
            if (!isRead) {
                Scan.this.next();
                isRead = true;
            }
            return isOnRecord;
        }

        @Override
        public Entry next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            isRead = false;
            return reader.entry();
        }
    }

    /** Ends the scan. */
    @Override
    public void close() {
        isOnRecord = false;
        reader.close();
    }
}
