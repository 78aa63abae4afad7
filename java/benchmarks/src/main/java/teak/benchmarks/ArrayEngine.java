package teak.benchmarks;

import java.util.Iterator;
import java.util.Map;
import java.util.zip.CRC32;
import net.openhft.hashing.LongHashFunction;

/** A store that returns arrays. */
abstract class ArrayEngine extends Engine<byte[]> {
    private final LongHashFunction hash = LongHashFunction.xx();

    ArrayEngine(Data data) {
        super(data);
    }

    @Override
    final void update(CRC32 crc, byte[] bytes) {
        crc.update(bytes);
    }

    @Override
    final long hash(byte[] bytes) {
        return hash.hashBytes(bytes);
    }

    /** The records of an iterator. */
    static Records<byte[]> records(Iterator<Map.Entry<byte[], byte[]>> entries) {
        return new Records<>() {
            private Map.Entry<byte[], byte[]> entry;

            @Override
            public boolean next() {
                boolean hasNext = entries.hasNext();
                if (hasNext) {
                    entry = entries.next();
                }
                return hasNext;
            }

            @Override
            public byte[] key() {
                return entry.getKey();
            }

            @Override
            public byte[] value() {
                return entry.getValue();
            }
        };
    }
}
