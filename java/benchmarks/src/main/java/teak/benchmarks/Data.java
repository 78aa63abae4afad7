package teak.benchmarks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.zip.CRC32;

/** The records of a database. A value begins with the number of its key; the rest is zeros. */
final class Data {
    /** The length of values. */
    static final int VALUE_LEN = 100;

    /** The form of keys. */
    enum Keys {
        /** Numbers of four bytes, from zero on, stored in this order. */
        INTEGERS,
        /** Random numbers of sixteen digits, stored in random order. */
        STRINGS
    }

    final Keys kind;
    /** In the order in which they are stored. */
    final byte[][] keys;
    private final int[] numbers;

    /**
     * Creates keys.
     *
     * @param isNative whether the engine orders integers in the byte order of the processor
     */
    Data(Keys kind, int count, boolean isNative) {
        this.kind = kind;
        this.numbers = numbers(kind, count);
        var order = isNative ? ByteOrder.nativeOrder() : ByteOrder.BIG_ENDIAN;
        keys = new byte[count][];
        for (int i = 0; i < count; i++) {
            keys[i] = switch (kind) {
                case INTEGERS -> ByteBuffer.allocate(4).order(order).putInt(numbers[i]).array();
                case STRINGS ->
                    String.format("%016d", numbers[i]).getBytes(StandardCharsets.US_ASCII);
            };
        }
    }

    private static int[] numbers(Keys kind, int count) {
        int[] numbers = new int[count];
        Random random = new Random(1);
        Set<Integer> drawn = new HashSet<>();
        for (int i = 0; i < count; i++) {
            numbers[i] = i;
            while (kind == Keys.STRINGS && !drawn.add(numbers[i] = random.nextInt() >>> 1)) {
                // Draws again.
            }
        }
        return numbers;
    }

    boolean isSequential() {
        return kind == Keys.INTEGERS;
    }

    int keyLength() {
        return isSequential() ? 4 : 16;
    }

    /** Writes the value of a record. Other bytes than its first four are zeros already. */
    void putValue(byte[] value, int index) {
        int number = numbers[index];
        value[0] = (byte) (number >> 24);
        value[1] = (byte) (number >> 16);
        value[2] = (byte) (number >> 8);
        value[3] = (byte) number;
    }

    /** The CRC of all keys and values in the order of keys. */
    long crc() {
        Integer[] order = new Integer[numbers.length];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> Integer.compare(numbers[a], numbers[b]));
        CRC32 crc = new CRC32();
        byte[] value = new byte[VALUE_LEN];
        for (int index : order) {
            putValue(value, index);
            crc.update(keys[index]);
            crc.update(value);
        }
        return crc.getValue();
    }
}
