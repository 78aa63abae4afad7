package teak;

import java.util.Arrays;
import java.util.Objects;

/**
 * A range of keys, and the direction in which it is read. Bounds are compared in the order of the
 * table.
 */
public final class Range {
    private static final int UNBOUNDED = 0;
    private static final int INCLUDED = 1;
    private static final int EXCLUDED = 2;
    private static final byte[] NOTHING = {};

    private static final Range ALL = new Range(false, UNBOUNDED, NOTHING, UNBOUNDED, NOTHING);

    final boolean isBackward;
    final int lowKind;
    final byte[] low;
    final int highKind;
    final byte[] high;

    private Range(boolean isBackward, int lowKind, byte[] low, int highKind, byte[] high) {
        this.isBackward = isBackward;
        this.lowKind = lowKind;
        this.low = low;
        this.highKind = highKind;
        this.high = high;
    }

    private static Range of(int lowKind, byte[] low, int highKind, byte[] high) {
        return new Range(false, lowKind, copy(low, lowKind), highKind, copy(high, highKind));
    }

    private static byte[] copy(byte[] key, int kind) {
        return kind == UNBOUNDED ? NOTHING : Objects.requireNonNull(key, "key").clone();
    }

    /**
     * The same keys in the other direction.
     *
     * @return a range
     */
    public Range reversed() {
        return new Range(!isBackward, lowKind, low, highKind, high);
    }

    /**
     * Whether it is read from the last key to the first.
     *
     * @return whether it is
     */
    public boolean isBackward() {
        return isBackward;
    }

    /**
     * All keys.
     *
     * @return a range
     */
    public static Range all() {
        return ALL;
    }

    /**
     * All keys, from the last to the first.
     *
     * @return a range
     */
    public static Range allBackward() {
        return all().reversed();
    }

    /**
     * The keys from {@code low} on.
     *
     * @param low the lower bound
     * @return a range
     */
    public static Range atLeast(byte[] low) {
        return of(INCLUDED, low, UNBOUNDED, null);
    }

    /**
     * The keys from {@code low} on, from the last to the first.
     *
     * @param low the lower bound
     * @return a range
     */
    public static Range atLeastBackward(byte[] low) {
        return atLeast(low).reversed();
    }

    /**
     * The keys after {@code low}.
     *
     * @param low the lower bound
     * @return a range
     */
    public static Range greaterThan(byte[] low) {
        return of(EXCLUDED, low, UNBOUNDED, null);
    }

    /**
     * The keys after {@code low}, from the last to the first.
     *
     * @param low the lower bound
     * @return a range
     */
    public static Range greaterThanBackward(byte[] low) {
        return greaterThan(low).reversed();
    }

    /**
     * The keys up to {@code high}.
     *
     * @param high the upper bound
     * @return a range
     */
    public static Range atMost(byte[] high) {
        return of(UNBOUNDED, null, INCLUDED, high);
    }

    /**
     * The keys up to {@code high}, from the last to the first.
     *
     * @param high the upper bound
     * @return a range
     */
    public static Range atMostBackward(byte[] high) {
        return atMost(high).reversed();
    }

    /**
     * The keys before {@code high}.
     *
     * @param high the upper bound
     * @return a range
     */
    public static Range lessThan(byte[] high) {
        return of(UNBOUNDED, null, EXCLUDED, high);
    }

    /**
     * The keys before {@code high}, from the last to the first.
     *
     * @param high the upper bound
     * @return a range
     */
    public static Range lessThanBackward(byte[] high) {
        return lessThan(high).reversed();
    }

    /**
     * The keys from {@code low} up to {@code high}.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range closed(byte[] low, byte[] high) {
        return of(INCLUDED, low, INCLUDED, high);
    }

    /**
     * The keys from {@code low} up to {@code high}, from the last to the first.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range closedBackward(byte[] low, byte[] high) {
        return closed(low, high).reversed();
    }

    /**
     * The keys from {@code low} up to, but not including, {@code high}.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range closedOpen(byte[] low, byte[] high) {
        return of(INCLUDED, low, EXCLUDED, high);
    }

    /**
     * The keys from {@code low} up to, but not including, {@code high}, from the last to the first.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range closedOpenBackward(byte[] low, byte[] high) {
        return closedOpen(low, high).reversed();
    }

    /**
     * The keys between {@code low} and {@code high}.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range open(byte[] low, byte[] high) {
        return of(EXCLUDED, low, EXCLUDED, high);
    }

    /**
     * The keys between {@code low} and {@code high}, from the last to the first.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range openBackward(byte[] low, byte[] high) {
        return open(low, high).reversed();
    }

    /**
     * The keys after {@code low} up to {@code high}.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range openClosed(byte[] low, byte[] high) {
        return of(EXCLUDED, low, INCLUDED, high);
    }

    /**
     * The keys after {@code low} up to {@code high}, from the last to the first.
     *
     * @param low the lower bound
     * @param high the upper bound
     * @return a range
     */
    public static Range openClosedBackward(byte[] low, byte[] high) {
        return openClosed(low, high).reversed();
    }

    /**
     * The keys that begin with a prefix, for tables in the order of bytes.
     *
     * @param prefix the prefix
     * @return a range
     */
    public static Range prefix(byte[] prefix) {
        int length = prefix.length;
        while (length > 0 && prefix[length - 1] == -1) {
            length--;
        }
        if (length == 0) {
            return atLeast(prefix);
        }
        byte[] end = Arrays.copyOf(prefix, length);
        end[length - 1]++;
        return closedOpen(prefix, end);
    }

    /**
     * The keys that begin with a prefix, from the last to the first.
     *
     * @param prefix the prefix
     * @return a range
     */
    public static Range prefixBackward(byte[] prefix) {
        return prefix(prefix).reversed();
    }

    Range withLow(byte[] key, boolean isInclusive) {
        return new Range(isBackward, isInclusive ? INCLUDED : EXCLUDED, key, highKind, high);
    }

    Range withHigh(byte[] key, boolean isInclusive) {
        return new Range(isBackward, lowKind, low, isInclusive ? INCLUDED : EXCLUDED, key);
    }

    /** The kind of the bound with which reading begins. */
    int firstKind() {
        return isBackward ? highKind : lowKind;
    }

    byte[] firstKey() {
        return isBackward ? high : low;
    }

    int lastKind() {
        return isBackward ? lowKind : highKind;
    }

    byte[] lastKey() {
        return isBackward ? low : high;
    }
}
