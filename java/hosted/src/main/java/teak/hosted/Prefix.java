package teak.hosted;

import java.util.Arrays;

/**
 * Keys that begin with the number of a partition or segment, as two big-endian bytes. So the
 * records of one partition are next to each other, and a scan or removal of it touches no others.
 */
public final class Prefix {
    /** How many partitions there can be. */
    public static final int LIMIT = 1 << 16;

    private Prefix() {}

    /** The key with the number before it. */
    public static byte[] add(int partition, byte[] key) {
        byte[] prefixed = new byte[2 + key.length];
        write(partition, prefixed);
        System.arraycopy(key, 0, prefixed, 2, key.length);
        return prefixed;
    }

    /** The partition of a key that has a prefix. */
    public static int partition(byte[] prefixed) {
        requirePrefix(prefixed);
        return (prefixed[0] & 0xff) << 8 | prefixed[1] & 0xff;
    }

    /** The key without its prefix. */
    public static byte[] strip(byte[] prefixed) {
        requirePrefix(prefixed);
        return Arrays.copyOfRange(prefixed, 2, prefixed.length);
    }

    /** The prefix of a partition. */
    public static byte[] of(int partition) {
        return add(partition, new byte[0]);
    }

    private static void write(int partition, byte[] to) {
        if (partition < 0 || partition >= LIMIT) {
            throw new IllegalArgumentException("partition " + partition
                    + " does not fit into two bytes; use 0 to " + (LIMIT - 1));
        }
        to[0] = (byte) (partition >>> 8);
        to[1] = (byte) partition;
    }

    private static void requirePrefix(byte[] key) {
        if (key.length < 2) {
            throw new IllegalArgumentException("a key of " + key.length
                    + " bytes has no prefix; was the store written without prefixes?");
        }
    }
}
