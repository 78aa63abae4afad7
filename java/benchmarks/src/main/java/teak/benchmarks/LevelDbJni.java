package teak.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.fusesource.leveldbjni.JniDBFactory;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.WriteBatch;

/** LevelDB. */
final class LevelDbJni extends ArrayEngine {
    private final DB database;

    LevelDbJni(Path directory, Data data) throws IOException {
        super(data);
        database = JniDBFactory.factory.open(directory.resolve("db").toFile(),
                new Options().createIfMissing(true).compressionType(CompressionType.NONE));
    }

    @Override
    void write() throws IOException {
        byte[] value = new byte[Data.VALUE_LEN];
        try (WriteBatch batch = database.createWriteBatch()) {
            for (int i = 0; i < data.keys.length; i++) {
                data.putValue(value, i);
                batch.put(data.keys[i], value);
            }
            database.write(batch);
        }
    }

    @Override
    byte[] get(byte[] key) {
        return database.get(key);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        DBIterator iterator = database.iterator();
        return new Records<>() {
            private Map.Entry<byte[], byte[]> entry;
            private boolean isBegun;

            @Override
            public boolean next() {
                if (!isBegun) {
                    isBegun = true;
                    if (isBackward) {
                        // Stays on the last record: prev would return the one before it.
                        iterator.seekToLast();
                        entry = iterator.hasNext() ? iterator.peekNext() : null;
                        return entry != null;
                    }
                    iterator.seekToFirst();
                }
                boolean isThere = isBackward ? iterator.hasPrev() : iterator.hasNext();
                if (isThere) {
                    entry = isBackward ? iterator.prev() : iterator.next();
                }
                return isThere;
            }

            @Override
            public byte[] key() {
                return entry.getKey();
            }

            @Override
            public byte[] value() {
                return entry.getValue();
            }

            @Override
            public void close() {
                try {
                    iterator.close();
                } catch (IOException failure) {
                    throw new java.io.UncheckedIOException(failure);
                }
            }
        };
    }

    @Override
    public void close() throws IOException {
        database.close();
    }
}
