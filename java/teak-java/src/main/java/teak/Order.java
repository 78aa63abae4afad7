package teak;

/** An order of keys or values. */
public enum Order {
    /** By bytes, as unsigned numbers. */
    BYTES,
    /** By bytes, beginning with the last byte of each. */
    REVERSE_BYTES,
    /** As little-endian unsigned integers of 4 or 8 bytes. */
    INTEGER
}
