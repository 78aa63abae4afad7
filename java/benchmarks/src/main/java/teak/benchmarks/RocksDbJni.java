package teak.benchmarks;

import java.nio.file.Path;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** RocksDB. */
final class RocksDbJni extends ArrayEngine {
    private final Options options = new Options();
    private final RocksDB database;

    RocksDbJni(Path directory, Data data) throws RocksDBException {
        super(data);
        options.setCreateIfMissing(true).setCompressionType(CompressionType.NO_COMPRESSION);
        database = RocksDB.open(options, directory.resolve("db").toString());
    }

    @Override
    void write() throws RocksDBException {
        byte[] value = new byte[Data.VALUE_LEN];
        try (WriteBatch batch = new WriteBatch(); WriteOptions unsynced = new WriteOptions()) {
            for (int i = 0; i < data.keys.length; i++) {
                data.putValue(value, i);
                batch.put(data.keys[i], value);
            }
            database.write(unsynced, batch);
        }
    }

    @Override
    byte[] get(byte[] key) throws RocksDBException {
        return database.get(key);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        RocksIterator iterator = database.newIterator();
        return new Records<>() {
            private boolean isBegun;

            @Override
            public boolean next() {
                if (isBegun && isBackward) {
                    iterator.prev();
                } else if (isBegun) {
                    iterator.next();
                } else if (isBackward) {
                    iterator.seekToLast();
                } else {
                    iterator.seekToFirst();
                }
                isBegun = true;
                return iterator.isValid();
            }

            @Override
            public byte[] key() {
                return iterator.key();
            }

            @Override
            public byte[] value() {
                return iterator.value();
            }

            @Override
            public void close() {
                iterator.close();
            }
        };
    }

    @Override
    public void close() {
        database.close();
        options.close();
    }
}
