package teak.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.zip.CRC32;
import org.openjdk.jmh.infra.Blackhole;

/**
 * A store, and the works that read it.
 *
 * @param <T> the form in which it returns keys and values
 */
abstract class Engine<T> implements AutoCloseable {
    final Data data;

    Engine(Data data) {
        this.data = data;
    }

    /** Stores all records as one transaction or batch, without a flush of the disk. */
    abstract void write() throws Exception;

    /** Begins to read what was written. */
    void beginReads() {}

    /** The value of a key, or null. */
    abstract Object get(byte[] key) throws Exception;

    /** Records in their order, or from the last to the first. */
    interface Records<T> extends AutoCloseable {
        /** Moves to the next one, at first to the first one. Returns whether there is one. */
        boolean next();

        T key();

        T value();

        @Override
        default void close() {}
    }

    abstract Records<T> records(boolean isBackward);

    abstract void update(CRC32 crc, T bytes);

    abstract long hash(T bytes);

    @Override
    public abstract void close() throws IOException;

    /** Reads the value of each key, in the order in which they were stored. */
    final void readKeys(Blackhole hole) throws Exception {
        for (byte[] key : data.keys) {
            Object value = get(key);
            if (value == null) {
                throw new IllegalStateException("a key is missing");
            }
            hole.consume(value);
        }
    }

    /** Reads all values. Returns how many there are. */
    final long readValues(boolean isBackward, Blackhole hole) {
        long count = 0;
        try (Records<T> records = records(isBackward)) {
            for (; records.next(); count++) {
                hole.consume(records.value());
            }
        }
        return count;
    }

    /** Reads all keys and values. Returns how many records there are. */
    final long scan(Blackhole hole) {
        long count = 0;
        try (Records<T> records = records(false)) {
            for (; records.next(); count++) {
                hole.consume(records.key());
                hole.consume(records.value());
            }
        }
        return count;
    }

    /** The CRC of all keys and values. */
    final long crc() {
        CRC32 crc = new CRC32();
        try (Records<T> records = records(false)) {
            while (records.next()) {
                update(crc, records.key());
                update(crc, records.value());
            }
        }
        return crc.getValue();
    }

    /** The sum of the hashes of all keys and values. */
    final long xxh64() {
        long sum = 0;
        try (Records<T> records = records(false)) {
            while (records.next()) {
                sum += hash(records.key());
                sum += hash(records.value());
            }
        }
        return sum;
    }

    /** Whether keys can be integers in the byte order of the processor. */
    static boolean ordersIntegers(String name) {
        return name.startsWith("teak") || name.startsWith("lmdbjava");
    }

    /** Opens a new database in an empty directory. */
    static Engine<?> open(String name, Path directory, Data data) throws Exception {
        return switch (name) {
            case "teak" -> new TeakArrays(directory, data);
            case "teak-views" -> new TeakViews(directory, data);
            case "teak-jni" -> {
                System.setProperty("teak.calls", "jni");
                yield new TeakArrays(directory, data);
            }
            case "lmdbjava" -> new LmdbJava(directory, data);
            case "lmdbjava-copies" -> new LmdbJavaCopies(directory, data);
            case "leveldbjni" -> new LevelDbJni(directory, data);
            case "rocksdbjni" -> new RocksDbJni(directory, data);
            case "mapdb" -> new MapDb(directory, data);
            case "mvstore" -> new MvStore(directory, data);
            default -> throw new IllegalArgumentException("there is no engine " + name
                    + "; choose teak, teak-views, teak-jni, lmdbjava, lmdbjava-copies, leveldbjni,"
                    + " rocksdbjni, mapdb or mvstore");
        };
    }
}
