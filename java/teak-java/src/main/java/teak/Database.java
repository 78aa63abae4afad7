package teak;

import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import teak.internal.Calls;
import teak.internal.Scratch;

/**
 * An open database. Any number of threads may use it at the same time.
 *
 * <pre>{@code
 * try (Database database = Database.open(Path.of("ages.teak"))) {
 *     database.write(txn -> txn.table("ages").put(key, value));
 *     byte[] value = database.read(txn -> txn.table("ages").get(key));
 * }
 * }</pre>
 */
public final class Database implements AutoCloseable {
    private static final Calls CALLS = Calls.CALLS;
    private static final int SNAPSHOT_NOT_FOUND = 45;
    private static final long NO_LIMIT = Long.MAX_VALUE;
    static final Cleaner CLEANER = Cleaner.create();

    final DbCore core;

    Database(DbCore core) {
        this.core = core;
        CLEANER.register(this, new Abandoned(core));
    }

    /** Closes a database that the program lost. Its transactions stay open until they are lost. */
    private record Abandoned(DbCore core) implements Runnable {
        @Override
        public void run() {
            if (core.isOpen()) {
                System.getLogger("teak").log(System.Logger.Level.WARNING, "the database "
                        + core.name + " was not closed; close it, or use try-with-resources");
                core.close();
            }
        }
    }

    /**
     * Opens a database, or creates it.
     *
     * @param path its file
     * @return the open database
     * @throws TeakException if it cannot be opened
     * @throws IllegalArgumentException if the path is not of the default file system
     */
    public static Database open(Path path) {
        return Options.create().open(path);
    }

    /**
     * Creates a database in memory.
     *
     * @return the open database, which ends when it is closed
     */
    public static Database openInMemory() {
        return Options.create().openInMemory();
    }

    /**
     * Begins to read the newest state. Does not wait for writers.
     *
     * @return a transaction to be closed
     */
    public ReadTxn beginRead() {
        return new ReadTxn(this, reader(), true);
    }

    private TxnCore reader() {
        return begin(false, (out, error) -> CALLS.beginRead(core.handle(), out, error));
    }

    private interface Begin {
        int call(long out, long error);
    }

    /** Null if the time has passed. */
    private TxnCore begin(boolean isWriter, Begin begin) {
        Scratch scratch = core.take();
        try {
            if (!core.check(begin.call(scratch.out(0), scratch.error()), scratch)) {
                return null;
            }
            return new TxnCore(core, scratch.number(0), isWriter);
        } finally {
            core.give(scratch);
        }
    }

    /**
     * Begins to write. Waits until no other transaction writes, in this process or another.
     *
     * @return a transaction to be committed or closed
     * @throws BusyException if this thread has a write transaction already
     */
    public WriteTxn beginWrite() {
        return new WriteTxn(this, writer(), true);
    }

    private TxnCore writer() {
        return Threads.isVirtual()
                ? virtualWriter(NO_LIMIT)
                : begin(true, (out, error) -> CALLS.beginWrite(core.handle(), out, error));
    }

    private TxnCore writer(long limitMillis) {
        return begin(true, (out, error) ->
                CALLS.beginWriteWithin(core.handle(), limitMillis, out, error));
    }

    /** Null if the time has passed. The thread that carries the virtual one never waits. */
    private TxnCore virtualWriter(long limitMillis) {
        TxnCore begun = writer(0);
        if (begun == null && limitMillis > 0) {
            if (limitMillis == NO_LIMIT && core.isWritingHere()) {
                throw new BusyException(Codes.BUSY, "this thread has a write transaction of "
                        + core.name + " already; end it before another one begins");
            }
            begun = core.writers.await(this::writer, limitMillis);
        }
        if (begun != null) {
            begun.noteThread();
        }
        return begun;
    }

    /**
     * Begins to write, but waits only for some time.
     *
     * @param limit how long to wait at most; zero not to wait
     * @return a transaction to be committed or closed, or null if the time has passed
     */
    public WriteTxn beginWrite(Duration limit) {
        long millis = Threads.millis(limit);
        TxnCore begun = Threads.isVirtual() ? virtualWriter(millis) : writer(millis);
        return begun == null ? null : new WriteTxn(this, begun, true);
    }

    /**
     * Reads in a transaction that ends afterwards.
     *
     * @param <R> the type of the result
     * @param work reads
     * @return what it returns
     */
    public <R> R read(Function<? super ReadTxn, ? extends R> work) {
        try (ReadTxn txn = new ReadTxn(this, reader(), false)) {
            return work.apply(txn);
        }
    }

    /**
     * Writes in a transaction, and commits it unless an exception is thrown or the transaction has
     * ended.
     *
     * @param <R> the type of the result
     * @param work writes
     * @return what it returns
     */
    public <R> R write(Function<? super WriteTxn, ? extends R> work) {
        try (WriteTxn txn = new WriteTxn(this, writer(), false)) {
            R result = work.apply(txn);
            if (txn.isOpen()) {
                txn.commit();
            }
            return result;
        }
    }

    /**
     * Reads in a transaction that ends afterwards.
     *
     * @param work reads
     */
    public void reading(Consumer<? super ReadTxn> work) {
        read(txn -> {
            work.accept(txn);
            return null;
        });
    }

    /**
     * Writes in a transaction, and commits it unless an exception is thrown or the transaction has
     * ended.
     *
     * @param work writes
     */
    public void writing(Consumer<? super WriteTxn> work) {
        write(txn -> {
            work.accept(txn);
            return null;
        });
    }

    /**
     * The names of all tables.
     *
     * @return a list that does not change
     */
    public List<String> tables() {
        return read(Txn::tables);
    }

    /** Brings all commits to the disk. */
    public void sync() {
        call(scratch -> CALLS.sync(core.handle(), scratch.error()));
    }

    private interface Call {
        int call(Scratch scratch);
    }

    private boolean call(Call call) {
        Scratch scratch = core.take();
        try {
            return core.check(call.call(scratch), scratch);
        } finally {
            core.give(scratch);
        }
    }

    /**
     * Copies the newest state to a new file, while others read and write.
     *
     * @param path the file, which must not exist
     * @param compact whether to build a file without free space, which takes longer
     * @throws IllegalArgumentException if the path is not of the default file system
     */
    public void backup(Path path, boolean compact) {
        byte[] bytes = FilePaths.bytes(path);
        call(scratch -> {
            scratch.ensure(bytes.length + 1);
            FilePaths.put(scratch, bytes);
            return CALLS.backup(
                    core.handle(), scratch.at(Scratch.DATA), compact ? 1 : 0, scratch.error());
        });
    }

    /** Makes the file as short as possible, while others read and write. */
    public void compact() {
        call(scratch -> {
            scratch.clearOut();
            scratch.buffer().putLong(Scratch.OUT, 32);
            return CALLS.compact(core.handle(), scratch.at(Scratch.OUT), scratch.error());
        });
    }

    /**
     * Checks the whole file.
     *
     * @return what was found
     */
    public CheckReport check() {
        long[] numbers = new long[6];
        Scratch report = Scratch.take();
        try {
            report.clearOut();
            report.buffer().putLong(Scratch.OUT, 56);
            Listing damages = Listing.read(
                    (buffer, room, used, error) -> CALLS.check(
                            core.handle(), report.at(Scratch.OUT), buffer, room, used, error),
                    (code, scratch) ->
                            code == CheckReport.CORRUPTED || core.check(code, scratch));
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = report.number(i + 1);
            }
            return CheckReport.of(numbers, damages);
        } finally {
            report.release();
        }
    }

    /**
     * What this process has done since it opened the database.
     *
     * @return counts
     */
    public Metrics metrics() {
        return Metrics.of(numbers(104, (at, error) -> CALLS.metrics(core.handle(), at, error)));
    }

    /**
     * Counts of the database.
     *
     * @return counts
     */
    public DatabaseStat stat() {
        return DatabaseStat.of(numbers(96, (at, error) -> CALLS.stat(core.handle(), at, error)));
    }

    private interface Structure {
        int fill(long at, long error);
    }

    private long[] numbers(int size, Structure structure) {
        Scratch scratch = core.take();
        try {
            scratch.clearOut();
            scratch.buffer().putLong(Scratch.OUT, size);
            int code = structure.fill(scratch.at(Scratch.OUT), scratch.error());
            core.check(code, scratch);
            long[] numbers = new long[size / 8 - 1];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = scratch.number(i + 1);
            }
            return numbers;
        } finally {
            core.give(scratch);
        }
    }

    /**
     * Follows the commits of all processes, from the newest one on.
     *
     * @return a feed to be closed
     */
    public ChangeFeed changes() {
        return new ChangeFeed(this);
    }

    /**
     * The named snapshots.
     *
     * @return a list that does not change
     */
    public List<Snapshot> snapshots() {
        Listing listing = Listing.read((buffer, room, used, error) ->
                CALLS.snapshots(core.handle(), buffer, room, used, error), core::check);
        List<Snapshot> snapshots = new ArrayList<>();
        while (listing.hasMore()) {
            snapshots.add(Snapshot.read(listing));
        }
        return List.copyOf(snapshots);
    }

    /**
     * Begins to read the state of a named snapshot.
     *
     * @param name its name
     * @return a transaction to be closed
     * @throws NotFoundException if there is no such snapshot
     */
    public ReadTxn openSnapshot(String name) {
        byte[] bytes = Tables.bytes(name);
        Scratch scratch = core.take();
        try {
            scratch.ensure(bytes.length);
            scratch.put(Scratch.DATA, bytes);
            int code = CALLS.snapshotOpen(core.handle(), scratch.at(Scratch.DATA), bytes.length,
                    scratch.out(0), scratch.error());
            if (!core.check(code, scratch)) {
                throw noSnapshot(name);
            }
            return new ReadTxn(this, new TxnCore(core, scratch.number(0), false), true);
        } finally {
            core.give(scratch);
        }
    }

    static NotFoundException noSnapshot(String name) {
        return new NotFoundException(SNAPSHOT_NOT_FOUND, "no snapshot is named \"" + name + "\"");
    }

    /** Waits for a commit after a number. Returns whether there is one. */
    boolean waitForCommit(long after, long limitMillis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
        while (true) {
            // In parts, so that the thread notices that the database was closed.
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            long part = Math.max(0, Math.min(left, 50));
            if (call(scratch -> CALLS.waitForCommit(
                    core.handle(), after, part, scratch.out(0), scratch.error()))) {
                return true;
            }
            if (left <= 0) {
                return false;
            }
        }
    }

    /**
     * Whether the database is open.
     *
     * @return whether it is
     */
    public boolean isOpen() {
        return core.isOpen();
    }

    /**
     * Ends all transactions, brings all commits to the disk, and closes the database. What belongs
     * to it must not be used any more, and throws {@link ClosedException}.
     */
    @Override
    public void close() {
        core.close();
    }
}
