package teak.benchmarks;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.Map;
import org.mapdb.BTreeMap;
import org.mapdb.DB;
import org.mapdb.DBMaker;
import org.mapdb.Serializer;

/** MapDB with the settings of lmdbjava's own benchmarks: a mapped file, and one thread. */
final class MapDb extends ArrayEngine {
    private final DB database;
    private final BTreeMap<byte[], byte[]> map;

    MapDb(Path directory, Data data) {
        super(data);
        database = DBMaker.fileDB(directory.resolve("map.db").toFile())
                .fileMmapEnable()
                .concurrencyDisable()
                .allocateStartSize((long) data.keys.length * Data.VALUE_LEN)
                .make();
        map = database.treeMap("db")
                .keySerializer(Serializer.BYTE_ARRAY)
                .valueSerializer(Serializer.BYTE_ARRAY)
                .createOrOpen();
    }

    @Override
    void write() {
        byte[] value = new byte[Data.VALUE_LEN];
        for (int i = 0; i < data.keys.length; i++) {
            data.putValue(value, i);
            map.put(data.keys[i], value);
        }
    }

    @Override
    byte[] get(byte[] key) {
        return map.get(key);
    }

    @Override
    Records<byte[]> records(boolean isBackward) {
        Iterator<Map.Entry<byte[], byte[]>> entries =
                isBackward ? map.descendingEntryIterator() : map.entryIterator();
        return records(entries);
    }

    @Override
    public void close() {
        database.close();
    }
}
