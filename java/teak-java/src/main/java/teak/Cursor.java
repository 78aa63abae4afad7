package teak;

import java.util.Arrays;
import java.util.Objects;

/**
 * A position among the records of a table. In a table with several values, each pair of key and
 * value is a record. Moving on in one direction reads batches. A cursor sees the changes of its
 * transaction. Use it in one thread at a time.
 */
public final class Cursor implements AutoCloseable {
    private enum Place { NONE, BEFORE_FIRST, ON_RECORD, REMOVED, AFTER_LAST }

    private final TableCore table;
    private BatchReader reader;
    private boolean isBackward;
    private Place place = Place.NONE;

    Cursor(TableCore table) {
        table.core.handle();
        this.table = table;
    }

    /**
     * Moves to the first record.
     *
     * @return whether there is one
     */
    public boolean first() {
        return begin(Range.all());
    }

    /**
     * Moves to the last record.
     *
     * @return whether there is one
     */
    public boolean last() {
        return begin(Range.allBackward());
    }

    /**
     * Moves to the first record whose key is not before the given one.
     *
     * @param key a key
     * @return whether there is one
     */
    public boolean seek(byte[] key) {
        return begin(Range.atLeast(key));
    }

    /**
     * Moves to the first record with the key, or to no record if there is none.
     *
     * @param key a key
     * @return whether there is one
     */
    public boolean seekExact(byte[] key) {
        if (seek(key) && Arrays.equals(reader.key(), key)) {
            return true;
        }
        place = Place.NONE;
        return false;
    }

    private boolean begin(Range range) {
        table.core.handle();
        use(table.reader(range), range.isBackward());
        return advance();
    }

    private void use(BatchReader other, boolean backward) {
        if (reader != null) {
            reader.close();
        }
        reader = other;
        isBackward = backward;
    }

    private boolean advance() {
        place = isBackward ? Place.BEFORE_FIRST : Place.AFTER_LAST;
        if (reader.advance()) {
            place = Place.ON_RECORD;
            return true;
        }
        return false;
    }

    /**
     * Moves to the next record: to the first one if the cursor has not been moved.
     *
     * @return whether there is one
     */
    public boolean next() {
        return switch (place) {
            case NONE, BEFORE_FIRST -> first();
            case AFTER_LAST -> stay();
            case ON_RECORD, REMOVED -> goOn(false);
        };
    }

    /**
     * Moves to the previous record: to the last one if the cursor has not been moved.
     *
     * @return whether there is one
     */
    public boolean previous() {
        return switch (place) {
            case NONE, AFTER_LAST -> last();
            case BEFORE_FIRST -> stay();
            case ON_RECORD, REMOVED -> goOn(true);
        };
    }

    private boolean stay() {
        table.core.handle();
        return false;
    }

    private boolean goOn(boolean backward) {
        if (backward != isBackward) {
            Range range = backward ? Range.allBackward() : Range.all();
            use(BatchReader.beyond(table, range, reader.key(), reader.value()), backward);
        }
        return advance();
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

    private void checkRecord() {
        table.core.handle();
        if (place != Place.ON_RECORD) {
            throw new IllegalStateException("the cursor is on no record; move it first");
        }
    }

    /**
     * Replaces the value of the record. The cursor stays on it, and goes on after it.
     *
     * @param value the value
     */
    public void put(byte[] value) {
        checkRecord();
        Objects.requireNonNull(value, "value");
        byte[] key = reader.key();
        byte[] old = reader.value();
        table.core.noteChange();
        if (table.isMulti) {
            table.call(key, old, teak.internal.Calls.CALLS::removePair);
            table.call(key, value, teak.internal.Calls.CALLS::insertPair);
        } else {
            table.call(key, value, teak.internal.Calls.CALLS::insert);
        }
        reader.replace(key, value);
    }

    /** Removes the record. The cursor is then between its neighbours. */
    public void delete() {
        checkRecord();
        table.core.noteChange();
        if (table.isMulti) {
            table.call(reader.key(), reader.value(), teak.internal.Calls.CALLS::removePair);
        } else {
            table.call(reader.key(), teak.internal.Calls.CALLS::remove);
        }
        place = Place.REMOVED;
    }

    /** Ends the cursor. */
    @Override
    public void close() {
        if (reader != null) {
            reader.close();
        }
        place = Place.NONE;
    }
}
