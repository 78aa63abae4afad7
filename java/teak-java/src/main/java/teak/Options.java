package teak;

import java.nio.file.Path;
import java.util.Objects;
import teak.internal.Calls;
import teak.internal.Scratch;

/**
 * How a database is opened. Everything has a default. Options of the file, such as its page size,
 * matter when it is created.
 *
 * <pre>{@code
 * Database database = Options.create().pageSize(16384).durability(Durability.ASYNC).open(path);
 * }</pre>
 */
public final class Options {
    private boolean createIfMissing = true;
    private boolean errorIfExists;
    private boolean readOnly;
    private boolean exclusive;
    private boolean verifyAlways;
    private Durability durability;
    private int pageSize;
    private int compression;
    private int compressionLevel;
    private long sizeLimitBytes;
    private long writeMemoryBytes;
    private long journalBytes;
    private long flushAfterBytes;
    private long flushAfterMillis;

    private Options() {}

    /**
     * The defaults.
     *
     * @return options that can be changed
     */
    public static Options create() {
        return new Options();
    }

    /**
     * Whether a file is created if there is none, which is the default.
     *
     * @param create whether to create it
     * @return these options
     */
    public Options createIfMissing(boolean create) {
        createIfMissing = create;
        return this;
    }

    /**
     * Whether an existing file is an error.
     *
     * @param isError whether the file must be new
     * @return these options
     */
    public Options errorIfExists(boolean isError) {
        errorIfExists = isError;
        return this;
    }

    /**
     * Whether the database is only read.
     *
     * @param only whether changes are refused
     * @return these options
     */
    public Options readOnly(boolean only) {
        readOnly = only;
        return this;
    }

    /**
     * Whether no other process may have the database open.
     *
     * @param alone whether to refuse others
     * @return these options
     */
    public Options exclusive(boolean alone) {
        exclusive = alone;
        return this;
    }

    /**
     * Whether a page is compared with its checksum each time that it is read, and not only the
     * first time.
     *
     * @param always whether to compare always
     * @return these options
     */
    public Options verifyAlways(boolean always) {
        verifyAlways = always;
        return this;
    }

    /**
     * The durability of commits that name none. It is stored in the file.
     *
     * @param chosen the durability
     * @return these options
     */
    public Options durability(Durability chosen) {
        durability = Objects.requireNonNull(chosen, "durability");
        return this;
    }

    /**
     * The page size of a new database.
     *
     * @param bytes a power of two from 4,096 (the default) to 65,536; for a compressed database
     *     from 8,192, and 32,768 is the default
     * @return these options
     */
    public Options pageSize(int bytes) {
        pageSize = bytes;
        return this;
    }

    /**
     * Compresses the pages of a new database with LZ4: the fastest compression. An existing
     * database is what it is. The file system must support holes.
     *
     * @return these options
     */
    public Options lz4() {
        compression = 1;
        compressionLevel = 0;
        return this;
    }

    /**
     * Compresses the pages of a new database with Zstandard. An existing database is what it is.
     * The file system must support holes.
     *
     * @param level from 1 to 19; 3 is usual. Higher levels make smaller files and slower commits
     * @return these options
     */
    public Options zstd(int level) {
        if (level < 1 || level > 19) {
            throw new IllegalArgumentException("the level is " + level + "; give one from 1 to 19");
        }
        compression = 2;
        compressionLevel = level;
        return this;
    }

    /**
     * The greatest length of the file. It is stored in the file.
     *
     * @param bytes a number of bytes, or {@link Long#MAX_VALUE} for no limit
     * @return these options
     */
    public Options sizeLimit(long bytes) {
        sizeLimitBytes = bytes == Long.MAX_VALUE ? -1 : positive(bytes, "size limit");
        return this;
    }

    /**
     * The bytes of changed pages that a write transaction keeps in memory; 256 MiB by default.
     *
     * @param bytes a number of bytes
     * @return these options
     */
    public Options writeMemory(long bytes) {
        writeMemoryBytes = positive(bytes, "write memory");
        return this;
    }

    /**
     * The length of the journal for small durable commits.
     *
     * @param bytes a number of bytes, or 0 for no journal
     * @return these options
     */
    public Options journal(long bytes) {
        journalBytes = bytes == 0 ? -1 : positive(bytes, "journal");
        return this;
    }

    /**
     * When lazy commits are flushed. It is stored in the file.
     *
     * @param bytes after so many bytes
     * @param millis or after so many milliseconds
     * @return these options
     */
    public Options flushAfter(long bytes, long millis) {
        flushAfterBytes = positive(bytes, "flush after bytes");
        flushAfterMillis = positive(millis, "flush after milliseconds");
        return this;
    }

    private static long positive(long number, String name) {
        if (number <= 0) {
            throw new IllegalArgumentException(name + " is " + number + "; it must be positive");
        }
        return number;
    }

    /**
     * Opens a database.
     *
     * @param path its file
     * @return the open database
     * @throws TeakException if it cannot be opened
     * @throws IllegalArgumentException if the path is not of the default file system
     */
    public Database open(Path path) {
        byte[] bytes = FilePaths.bytes(path);
        return opened(bytes.length + 1, path.toAbsolutePath().toString(), (scratch, options) -> {
            FilePaths.put(scratch, bytes);
            return Calls.CALLS.open(
                    scratch.at(Scratch.DATA), options, scratch.out(31), scratch.error());
        });
    }

    /**
     * Creates a database in memory.
     *
     * @return the open database, which ends when it is closed
     */
    public Database openInMemory() {
        return opened(0, "(in memory)", (scratch, options) -> Calls.CALLS.openInMemory(
                options, scratch.out(31), scratch.error()));
    }

    /**
     * Opens a copy of a database file that is in memory, for reading.
     *
     * @param bytes the content of the file, which is copied
     * @return the open database
     * @throws TeakException if it cannot be opened
     */
    public Database openBytes(byte[] bytes) {
        return opened(bytes.length, "(bytes)", (scratch, options) -> {
            scratch.put(Scratch.DATA, bytes);
            return Calls.CALLS.openBytes(scratch.at(Scratch.DATA), bytes.length, options,
                    scratch.out(31), scratch.error());
        });
    }

    private interface Opening {
        int open(Scratch scratch, long options);
    }

    private Database opened(long bytes, String name, Opening opening) {
        Scratch scratch = Scratch.take();
        try {
            scratch.ensure(bytes);
            store(scratch);
            Codes.check(opening.open(scratch, scratch.at(Scratch.OUT)), scratch);
            return new Database(new DbCore(scratch.number(31), name));
        } finally {
            scratch.release();
        }
    }

    /** Writes a {@code teak_options} to the place for numbers. */
    private void store(Scratch scratch) {
        scratch.clearOut();
        var buffer = scratch.buffer();
        int at = Scratch.OUT;
        buffer.putLong(at, 184);
        buffer.putInt(at + 8, pageSize);
        int create = errorIfExists ? 2 : createIfMissing && !readOnly ? 0 : 1;
        buffer.putInt(at + 12, create);
        buffer.putInt(at + 16, readOnly ? 1 : 0);
        buffer.putInt(at + 20, exclusive ? 1 : 0);
        buffer.putInt(at + 32, durability == null ? 0 : durability.number);
        buffer.putInt(at + 36, verifyAlways ? 1 : 0);
        buffer.putLong(at + 40, flushAfterBytes);
        buffer.putLong(at + 48, flushAfterMillis);
        buffer.putLong(at + 56, sizeLimitBytes);
        buffer.putLong(at + 72, writeMemoryBytes);
        buffer.putLong(at + 152, journalBytes);
        buffer.putInt(at + 176, compression);
        buffer.putInt(at + 180, compressionLevel);
    }
}
