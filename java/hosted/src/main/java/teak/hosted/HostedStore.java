package teak.hosted;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Function;

import teak.Database;
import teak.DatabaseStat;
import teak.Durability;
import teak.Entry;
import teak.Range;
import teak.ReadTxn;
import teak.Scan;
import teak.Table;
import teak.WriteTxn;

/**
 * A database with one table, for a distributed store that keeps its share of the records of a node
 * in it. Everything that such hosts need from an engine is here, and nothing that only one of them
 * has. All methods may be called by any thread, also while another one closes the store.
 */
public final class HostedStore implements AutoCloseable {
    private static final String TABLE = "records";
    /** How the records are stored, which never changes. */
    private static final String LAYOUT = "layout";
    private static final byte[] PREFIX_KEYS = "prefix.keys".getBytes(StandardCharsets.UTF_8);
    private static final Duration BATCH_LIMIT = Duration.ofMinutes(10);

    private final String name;
    private final StoreOptions options;
    private final Database database;
    private final GroupCommit commits;
    private final KeyLocks locks;
    private final HandleGuard guard;
    private final Semaphore pool;
    private final Batches batches;

    private HostedStore(String name, Database database, StoreOptions options) {
        this.name = name;
        this.options = options;
        this.database = database;
        this.commits = new GroupCommit(database, TABLE, this::durability);
        this.batches = new Batches(name, BATCH_LIMIT);
        this.locks = new KeyLocks(options.stripes());
        this.guard = new HandleGuard(name);
        this.pool = options.poolSize() == 0 ? null : new Semaphore(options.poolSize());
    }

    /**
     * Opens the store {@code name} in a directory, as the file {@code name.teak}.
     *
     * @throws IllegalStateException if it is missing or exists, and the options forbid that; or if
     *     it was created with another setting of {@code prefixKeys}
     */
    public static HostedStore open(Path directory, String name, StoreOptions options) {
        Path file = file(directory, name);
        boolean exists = Files.exists(file);
        if (exists && options.file().errorIfExists()) {
            throw new IllegalStateException("the store " + name + " exists at " + file
                    + ", and errorifexists is true; remove the file, or set errorifexists to "
                    + "false");
        }
        if (!exists && !options.file().createIfMissing()) {
            throw new IllegalStateException("the store " + name + " is missing at " + file
                    + ", and createifmissing is false; restore the file, or set createifmissing "
                    + "to true");
        }
        try {
            Files.createDirectories(directory);
        } catch (IOException failure) {
            throw new UncheckedIOException("cannot create the directory " + directory, failure);
        }
        Database database = options.file().options().open(file);
        try {
            database.writing(transaction -> checkLayout(name, transaction, options));
        } catch (Throwable failure) {
            database.close();
            throw failure;
        }
        return new HostedStore(name, database, options);
    }

    /** Creates the tables, or compares the options with those of the records that are there. */
    private static void checkLayout(String name, WriteTxn transaction, StoreOptions options) {
        Table layout = transaction.table(LAYOUT);
        byte[] stored = layout.get(PREFIX_KEYS);
        byte[] wanted = {(byte) (options.prefixKeys() ? 1 : 0)};
        // A store of an earlier version has records, and says nothing about them.
        if (stored == null && transaction.table(TABLE).size() == 0) {
            layout.set(PREFIX_KEYS, wanted);
        } else if (stored != null && !Arrays.equals(stored, wanted)) {
            boolean isPrefixed = stored.length == 1 && stored[0] == 1;
            throw new IllegalStateException("the store " + name + " was created with prefix.keys="
                    + isPrefixed + ", and prefix.keys is " + options.prefixKeys()
                    + "; set it to " + isPrefixed + ", or move the file away and fill a new store");
        }
    }

    /** The file of a store in a directory. */
    public static Path file(Path directory, String name) {
        if (name.isEmpty() || name.startsWith(".") || name.indexOf('/') >= 0
                || name.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("the name of a store becomes the name of a file: \""
                    + name + "\" is empty, begins with a dot, or has a slash in it");
        }
        return directory.resolve(name + ".teak");
    }

    /** The name of the store. */
    public String name() {
        return name;
    }

    /** The options that the store was opened with. */
    public StoreOptions options() {
        return options;
    }

    /** The value of a key, or null. */
    public byte[] get(byte[] key) {
        return use(() -> read(table -> table.get(key)));
    }

    /** The values of keys in one snapshot; null for an absent one. */
    public List<byte[]> getAll(List<byte[]> keys) {
        return use(() -> read(table -> {
            List<byte[]> values = new ArrayList<>(keys.size());
            keys.forEach(key -> values.add(table.get(key)));
            return values;
        }));
    }

    /** How many records there are. */
    public long size() {
        return use(() -> read(Table::size));
    }

    /**
     * Changes one record as one step: no other change of this key comes between what the function
     * reads and what it writes. Changes of one key by several threads can be in one transaction, and
     * then see each other. The function must be repeatable, and use only its slot.
     *
     * @return what the function returns, once the change is committed
     */
    @SuppressWarnings("try")
    public <R> R update(byte[] key, Function<Slot, R> function) {
        // The transaction makes it one step. The share keeps it away from locked records.
        try (KeyLocks.Held share = locks.share(key, options.lockTimeout())) {
            return write(table -> function.apply(new TableSlot(table, key)));
        }
    }

    /** Sets the value of a key. */
    public void put(byte[] key, byte[] value) {
        update(key, slot -> {
            slot.set(value);
            return null;
        });
    }

    /** Removes a record; false if there was none. */
    public boolean remove(byte[] key) {
        return update(key, Slot::remove);
    }

    /**
     * Applies many changes in one transaction, without the locks of keys. The function must be
     * repeatable, and use only the table.
     */
    public <R> R write(Function<Table, R> changes) {
        return use(() -> commits.run(changes));
    }

    /**
     * Takes the lock of a key and reads it. Other threads can read the record, but not change it,
     * until the result is closed. Other keys can be written.
     */
    public LockedRecord lock(byte[] key) {
        KeyLocks.Held held = locks.lock(key, options.lockTimeout());
        try {
            return new LockedRecord(key, get(key), held);
        } catch (Throwable failure) {
            held.close();
            throw failure;
        }
    }

    /** Scans all records in key order. */
    public RenewingScan scan() {
        return scan(null, null);
    }

    /** Scans the records of a partition, whose keys have its prefix. */
    public RenewingScan scan(int partition) {
        return scan(Prefix.of(partition),
                partition + 1 == Prefix.LIMIT ? null : Prefix.of(partition + 1));
    }

    /** Removes the records of a partition; returns how many there were. */
    public long removePartition(int partition) {
        Range range = Range.prefix(Prefix.of(partition));
        return write(table -> table.deleteRange(range));
    }

    /** Removes all records. */
    public void truncate() {
        write(table -> {
            table.clear();
            return null;
        });
    }

    /**
     * Writes of all threads become durable later, until the matching {@link #endBatch}: for bulk
     * loads. A loss of power may undo the last five seconds of them. A batch that is not ended
     * within ten minutes ends by itself, with a warning.
     *
     * @return whether that makes a difference, because writes are durable otherwise
     */
    public boolean beginBatch() {
        batches.begin();
        return options.sync();
    }

    /**
     * Ends {@link #beginBatch}; the last end makes everything durable. More ends than begins have
     * no effect: hosts end a batch again when they close a stream.
     *
     * @return whether writes are durable again
     */
    public boolean endBatch() {
        if (batches.end()) {
            // Waits for transactions that may have begun to commit before the end.
            write(table -> null);
            use(() -> {
                database.sync();
                return null;
            });
        }
        return durability() == Durability.DURABLE;
    }

    /**
     * Copies the store into a directory while it is in use.
     *
     * @param verify whether every page of the copy is checked
     * @return the copy, a database of its own
     */
    public Path copyTo(Path directory, boolean verify) {
        return use(() -> HotCopy.write(database, directory, name, verify));
    }

    /** Waits for running operations, and closes. Later calls have no effect. */
    @Override
    public void close() {
        guard.close(database::close);
    }

    private RenewingScan scan(byte[] from, byte[] to) {
        return new RenewingScan((last, chunk) -> use(() -> read(table -> {
            long bytes = 0;
            try (Scan records = table.scan(between(from, last, to))) {
                for (Entry record : records) {
                    chunk.add(record);
                    bytes += record.key().length + record.value().length;
                    if (chunk.size() == options.scanChunk() || bytes >= RenewingScan.CHUNK_BYTES) {
                        return true;
                    }
                }
            }
            return false;
        })));
    }

    /** The keys from {@code from} or after {@code last}, if there is one, to below {@code to}. */
    private static Range between(byte[] from, byte[] last, byte[] to) {
        if (last != null) {
            return to == null ? Range.greaterThan(last) : Range.open(last, to);
        }
        if (from == null) {
            return Range.all();
        }
        return to == null ? Range.atLeast(from) : Range.closedOpen(from, to);
    }

    private Durability durability() {
        return options.sync() && !batches.areOpen()
                ? Durability.DURABLE : Durability.LAZY;
    }

    DatabaseStat stat() {
        return use(database::stat);
    }

    private <R> R read(Function<Table, R> function) {
        try (ReadTxn transaction = database.beginRead()) {
            return function.apply(transaction.table(TABLE));
        }
    }

    @SuppressWarnings("try")
    private <R> R use(Operation<R> operation) {
        if (pool != null) {
            KeyLocks.acquire(pool, 1, options.lockTimeout(), "all " + options.poolSize()
                    + " operations of the pool were in use for %d ms; raise poolsize");
        }
        try (HandleGuard.Use use = guard.enter()) {
            return operation.run();
        } finally {
            if (pool != null) {
                pool.release();
            }
        }
    }

    private interface Operation<R> {
        R run();
    }

    private record TableSlot(Table table, byte[] key) implements Slot {
        @Override
        public byte[] get() {
            return table.get(key);
        }

        @Override
        public void set(byte[] value) {
            table.set(key, value);
        }

        @Override
        public boolean remove() {
            return table.delete(key);
        }
    }

    /** A record whose key is locked. It ends with {@link #replace} or {@link #close}. */
    public final class LockedRecord implements AutoCloseable {
        private final byte[] key;
        private final byte[] value;
        private final KeyLocks.Held held;

        private LockedRecord(byte[] key, byte[] value, KeyLocks.Held held) {
            this.key = key;
            this.value = value;
            this.held = held;
        }

        /** The key. */
        public byte[] key() {
            return key;
        }

        /** The value when the key was locked, or null. */
        public byte[] value() {
            return value;
        }

        /**
         * Sets the value, or removes the record for null, and releases the lock.
         *
         * @throws IllegalStateException if the lock was released before
         */
        public void replace(byte[] other) {
            if (!held.isHeld()) {
                throw new IllegalStateException("the lock of this key was released before");
            }
            try {
                write(table -> other == null ? table.delete(key) : table.put(key, other));
            } finally {
                held.close();
            }
        }

        /** Releases the lock without a change. */
        @Override
        public void close() {
            held.close();
        }
    }
}
