package teak.benchmarks;

import java.nio.file.Path;
import teak.Range;
import teak.Scan;
import teak.Table;

/** Teak with keys and values as arrays, which are stored one by one. */
final class TeakArrays extends ArrayEngine {
    private final TeakStore store;
    private Table table;

    TeakArrays(Path directory, Data data) {
        super(data);
        store = new TeakStore(directory);
    }

    @Override
    void write() {
        byte[] value = new byte[Data.VALUE_LEN];
        store.write(data, into -> {
            for (int i = 0; i < data.keys.length; i++) {
                data.putValue(value, i);
                if (data.isSequential()) {
                    into.append(data.keys[i], value);
                } else {
                    into.set(data.keys[i], value);
                }
            }
        });
    }

    @Override
    void beginReads() {
        table = store.table();
    }

    @Override
    byte[] get(byte[] key) {
        return table.get(key);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        Scan scan = table.scan(isBackward ? Range.allBackward() : Range.all());
        return new Records<>() {
            @Override
            public boolean next() {
                return scan.next();
            }

            @Override
            public byte[] key() {
                return scan.key();
            }

            @Override
            public byte[] value() {
                return scan.value();
            }

            @Override
            public void close() {
                scan.close();
            }
        };
    }

    @Override
    public void close() {
        store.close();
    }
}
