package teak.benchmarks;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.zip.CRC32;
import net.openhft.hashing.LongHashFunction;
import teak.Entry;
import teak.Range;
import teak.Scan;
import teak.Segments;
import teak.Table;

/**
 * Teak without copies: values as segments of the mapped file, scans as buffers that show the batch,
 * and one call for all records that are stored.
 */
final class TeakViews extends Engine<ByteBuffer> {
    private final LongHashFunction hash = LongHashFunction.xx();
    private final TeakStore store;
    private Table table;

    TeakViews(Path directory, Data data) {
        super(data);
        store = new TeakStore(directory);
    }

    @Override
    void write() {
        store.write(data, into -> into.putAll(AllRecords::new));
    }

    /** The records of the data, which share one array for their values. */
    private final class AllRecords implements Iterator<Entry> {
        private final byte[] value = new byte[Data.VALUE_LEN];
        private int next;

        @Override
        public boolean hasNext() {
            return next < data.keys.length;
        }

        @Override
        public Entry next() {
            data.putValue(value, next);
            return new Entry(data.keys[next++], value);
        }
    }

    @Override
    void beginReads() {
        table = store.table();
    }

    @Override
    Object get(byte[] key) {
        return Segments.get(table, key);
    }

    @Override
    Records<ByteBuffer> records(boolean isBackward) {
        Scan scan = table.scan(isBackward ? Range.allBackward() : Range.all());
        return new Records<>() {
            @Override
            public boolean next() {
                return scan.next();
            }

            @Override
            public ByteBuffer key() {
                return scan.keyBuffer();
            }

            @Override
            public ByteBuffer value() {
                return scan.valueBuffer();
            }

            @Override
            public void close() {
                scan.close();
            }
        };
    }

    @Override
    void update(CRC32 crc, ByteBuffer bytes) {
        crc.update(bytes);
    }

    @Override
    long hash(ByteBuffer bytes) {
        return hash.hashBytes(bytes);
    }

    @Override
    public void close() {
        store.close();
    }
}
