package teak;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.Function;

/** Codecs for common types. All keep the order of values, except where they say otherwise. */
public final class Codecs {
    private Codecs() {}

    private static <T> Codec<T> codec(Function<T, byte[]> encode, Function<byte[], T> decode) {
        return new Codec<>() {
            @Override
            public byte[] encode(T value) {
                return encode.apply(value);
            }

            @Override
            public T decode(byte[] bytes) {
                return decode.apply(bytes);
            }
        };
    }

    private static final Codec<byte[]> BYTES = codec(byte[]::clone, byte[]::clone);
    private static final Codec<String> UTF8 = codec(Codecs::encoded, Codecs::decoded);
    private static final Codec<Integer> INT32 = codec(
            value -> ByteBuffer.allocate(4).putInt(value ^ Integer.MIN_VALUE).array(),
            bytes -> fixed(bytes, 4).getInt() ^ Integer.MIN_VALUE);
    private static final Codec<Long> INT64 = codec(
            value -> ByteBuffer.allocate(8).putLong(value ^ Long.MIN_VALUE).array(),
            bytes -> fixed(bytes, 8).getLong() ^ Long.MIN_VALUE);
    private static final Codec<UUID> UUIDS = codec(
            value -> ByteBuffer.allocate(16)
                    .putLong(value.getMostSignificantBits())
                    .putLong(value.getLeastSignificantBits())
                    .array(),
            bytes -> {
                ByteBuffer buffer = fixed(bytes, 16);
                return new UUID(buffer.getLong(), buffer.getLong());
            });

    /**
     * Bytes, as they are.
     *
     * @return a codec
     */
    public static Codec<byte[]> bytes() {
        return BYTES;
    }

    /**
     * Texts in UTF-8. The order is that of code points.
     *
     * @return a codec
     */
    public static Codec<String> utf8() {
        return UTF8;
    }

    /**
     * Integers of four bytes, the most significant byte first and with the sign bit inverted.
     *
     * @return a codec
     */
    public static Codec<Integer> int32() {
        return INT32;
    }

    /**
     * Integers of eight bytes, the most significant byte first and with the sign bit inverted.
     *
     * @return a codec
     */
    public static Codec<Long> int64() {
        return INT64;
    }

    /**
     * UUIDs of 16 bytes. The order is that of their digits, which is not that of {@link
     * UUID#compareTo}.
     *
     * @return a codec
     */
    public static Codec<UUID> uuid() {
        return UUIDS;
    }

    private static byte[] encoded(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder()
                    .encode(java.nio.CharBuffer.wrap(text));
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            return copy;
        } catch (CharacterCodingException failure) {
            throw new IllegalArgumentException(
                    "the text has half of a surrogate pair, which UTF-8 cannot store", failure);
        }
    }

    private static String decoded(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException failure) {
            throw new IllegalArgumentException(
                    "the " + bytes.length + " bytes are not UTF-8; use another codec", failure);
        }
    }

    private static ByteBuffer fixed(byte[] bytes, int length) {
        if (bytes.length != length) {
            throw new IllegalArgumentException("a value of " + length + " bytes was expected, and"
                    + " this one has " + bytes.length + "; use another codec");
        }
        return ByteBuffer.wrap(bytes);
    }
}
