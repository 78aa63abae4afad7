package teak.hosted;

/** The record of one key, while it is changed. */
public interface Slot {
    /** The value, or null if there is none. */
    byte[] get();

    /** Sets the value. */
    void set(byte[] value);

    /** Removes the record; false if there was none. */
    boolean remove();
}
