package teak.hosted;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.Test;

class PrefixTest {
    @Test
    void aPrefixIsTwoBytesBigEndian() {
        assertArrayEquals(new byte[] {1, 2, 9}, Prefix.add(0x0102, new byte[] {9}));
        assertArrayEquals(new byte[] {-1, -1}, Prefix.of(65535));
    }

    @Test
    void prefixAndKeyComeBack() {
        for (int partition : new int[] {0, 1, 255, 256, 32768, 65535}) {
            byte[] prefixed = Prefix.add(partition, new byte[] {7, 8});
            assertEquals(partition, Prefix.partition(prefixed));
            assertArrayEquals(new byte[] {7, 8}, Prefix.strip(prefixed));
        }
    }

    @Test
    void keysSortByPartitionFirst() {
        byte[] lower = Prefix.add(127, new byte[] {-1, -1, -1});
        byte[] higher = Prefix.add(128, new byte[0]);
        assertTrue(Arrays.compareUnsigned(lower, higher) < 0);
    }

    @Test
    void aPartitionBeyondTwoBytesIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> Prefix.of(65536));
        assertThrows(IllegalArgumentException.class, () -> Prefix.of(-1));
    }

    @Test
    void aKeyWithoutPrefixIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> Prefix.strip(new byte[1]));
        assertThrows(IllegalArgumentException.class, () -> Prefix.partition(new byte[0]));
    }
}
