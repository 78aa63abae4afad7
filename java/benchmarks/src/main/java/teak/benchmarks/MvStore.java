package teak.benchmarks;

import java.nio.file.Path;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/** The store of H2. */
final class MvStore extends ArrayEngine {
    private final MVStore store;
    private final MVMap<byte[], byte[]> map;

    MvStore(Path directory, Data data) {
        super(data);
        store = new MVStore.Builder()
                .fileName(directory.resolve("store.db").toString())
                .autoCommitDisabled()
                .open();
        map = store.openMap("db");
    }

    @Override
    void write() {
        for (int i = 0; i < data.keys.length; i++) {
            // The store keeps the array.
            byte[] value = new byte[Data.VALUE_LEN];
            data.putValue(value, i);
            map.put(data.keys[i], value);
        }
        store.commit();
    }

    @Override
    byte[] get(byte[] key) {
        return map.get(key);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        Cursor<byte[], byte[]> cursor = map.cursor(null, null, isBackward);
        return new Records<>() {
            @Override
            public boolean next() {
                boolean hasNext = cursor.hasNext();
                if (hasNext) {
                    cursor.next();
                }
                return hasNext;
            }

            @Override
            public byte[] key() {
                return cursor.getKey();
            }

            @Override
            public byte[] value() {
                return cursor.getValue();
            }
        };
    }

    @Override
    public void close() {
        store.close();
    }
}
