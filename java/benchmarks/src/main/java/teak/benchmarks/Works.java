package teak.benchmarks;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.Blackhole;

/**
 * The six works of lmdbjava's published benchmarks, with integers as keys, and two with keys of
 * sixteen bytes stored in random order: {@code get} and {@code scan}. A figure is the time of a
 * pass over all records.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class Works {
    /** What is measured. */
    @State(Scope.Benchmark)
    public abstract static class Measured {
        /** The engine and the form of values. */
        @Param({"teak", "teak-views", "teak-jni", "lmdbjava", "lmdbjava-copies", "leveldbjni",
            "rocksdbjni", "mapdb", "mvstore"})
        public String engine;

        /** How many records there are. */
        @Param("1000000")
        public int records;

        Data data(Data.Keys keys) {
            return new Data(keys, records, Engine.ordersIntegers(engine));
        }
    }

    /** An empty database for each pass. */
    public static class Empty extends Measured {
        private Data data;
        Trial trial;

        /** Makes the records. */
        @Setup(Level.Trial)
        public void prepare() {
            data = data(Data.Keys.INTEGERS);
        }

        /** Opens a database. */
        @Setup(Level.Invocation)
        public void open() throws Exception {
            trial = new Trial(engine, data);
        }

        /** Deletes it. */
        @TearDown(Level.Invocation)
        public void close() throws Exception {
            trial.close();
        }
    }

    /** A database with all records, which have been checked. */
    public abstract static class Filled extends Measured {
        Trial trial;

        void fill(Data data) throws Exception {
            trial = new Trial(engine, data);
            trial.engine.write();
            trial.engine.beginReads();
            if (trial.engine.crc() != data.crc()) {
                throw new IllegalStateException(engine + " does not return what was stored");
            }
        }

        void check(long count) {
            if (count != records) {
                throw new IllegalStateException(engine + " returned " + count + " records");
            }
        }

        /** Deletes the database. */
        @TearDown(Level.Trial)
        public void close() throws Exception {
            trial.close();
        }
    }

    /** Integers in order. */
    public static class Integers extends Filled {
        /** Stores them. */
        @Setup(Level.Trial)
        public void fill() throws Exception {
            fill(data(Data.Keys.INTEGERS));
        }
    }

    /** Keys of sixteen bytes in random order. */
    public static class Strings extends Filled {
        /** Stores them. */
        @Setup(Level.Trial)
        public void fill() throws Exception {
            fill(data(Data.Keys.STRINGS));
        }
    }

    /** Stores all records. */
    @Benchmark
    public void write(Empty state) throws Exception {
        state.trial.engine.write();
    }

    /** Finds each key. */
    @Benchmark
    public void readKey(Integers state, Blackhole hole) throws Exception {
        state.trial.engine.readKeys(hole);
    }

    /** Reads values from the first to the last. */
    @Benchmark
    public void readSeq(Integers state, Blackhole hole) throws Exception {
        state.check(state.trial.engine.readValues(false, hole));
    }

    /** Reads values from the last to the first. */
    @Benchmark
    public void readRev(Integers state, Blackhole hole) throws Exception {
        state.check(state.trial.engine.readValues(true, hole));
    }

    /** Computes the CRC of all keys and values. */
    @Benchmark
    public long readCrc(Integers state) throws Exception {
        return state.trial.engine.crc();
    }

    /** Computes hashes of all keys and values. */
    @Benchmark
    public long readXxh64(Integers state) throws Exception {
        return state.trial.engine.xxh64();
    }

    /** Finds each key, in random order. */
    @Benchmark
    public void get(Strings state, Blackhole hole) throws Exception {
        state.trial.engine.readKeys(hole);
    }

    /** Reads keys and values from the first to the last. */
    @Benchmark
    public void scan(Strings state, Blackhole hole) throws Exception {
        state.check(state.trial.engine.scan(hole));
    }
}
