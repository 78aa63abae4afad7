package teak;

import teak.internal.Scratch;

/** How a table is created. */
public final class TableOptions {
    private int order;
    private boolean isCounted;
    private int valueOrder;
    private int valueSize;

    private TableOptions() {}

    /**
     * The defaults: keys in the order of their bytes.
     *
     * @return options that can be changed
     */
    public static TableOptions create() {
        return new TableOptions();
    }

    /**
     * The order of keys.
     *
     * @param chosen the order
     * @return these options
     */
    public TableOptions order(Order chosen) {
        order = chosen.ordinal();
        return this;
    }

    /**
     * The order of the values of a key, for tables with several values.
     *
     * @param chosen the order
     * @return these options
     */
    public TableOptions valueOrder(Order chosen) {
        valueOrder = chosen.ordinal();
        return this;
    }

    /**
     * The size of each value, for tables with several values.
     *
     * @param bytes a number of bytes, or 0 for any size
     * @return these options
     * @throws IllegalArgumentException if the number is negative
     */
    public TableOptions valueSize(int bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException(
                    "value size is " + bytes + "; it must be positive, or 0 for any size");
        }
        valueSize = bytes;
        return this;
    }

    /**
     * Whether records are counted in each page, so that ranges are counted in two descents.
     *
     * @param counted whether they are
     * @return these options
     */
    public TableOptions counted(boolean counted) {
        isCounted = counted;
        return this;
    }

    /** Writes a {@code teak_table_options} to the place for numbers. */
    void store(Scratch scratch, boolean isMulti) {
        scratch.clearOut();
        var buffer = scratch.buffer();
        int at = Scratch.OUT;
        buffer.putLong(at, 56);
        buffer.putInt(at + 8, order);
        buffer.putInt(at + 16, isCounted ? 1 : 0);
        buffer.putInt(at + 24, isMulti ? 1 : 0);
        buffer.putInt(at + 28, valueOrder);
        buffer.putInt(at + 32, valueSize);
    }
}
