package teak;

/**
 * Converts values of a type to bytes and back. A codec for keys keeps the order: keys are sorted by
 * their bytes, as unsigned numbers.
 *
 * @param <T> the type
 */
public interface Codec<T> {
    /**
     * The bytes of a value.
     *
     * @param value a value that is not null
     * @return its bytes
     */
    byte[] encode(T value);

    /**
     * The value of bytes.
     *
     * @param bytes what {@link #encode} returned
     * @return the value
     * @throws IllegalArgumentException if the bytes are no such value
     */
    T decode(byte[] bytes);
}
