package teak.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** Calls by the foreign function interface of Java 22 and later. */
final class FfmCalls implements Calls {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY = library();

    private static final MethodHandle OPEN = handle("teak_db_open", "JJJJ");
    private static final MethodHandle OPEN_IN_MEMORY = handle("teak_db_open_in_memory", "JJJ");
    private static final MethodHandle OPEN_BYTES = handle("teak_flat_db_open_bytes", "JJJJJ");
    private static final MethodHandle CLOSE = handle("teak_flat_db_close", "JJ");
    private static final MethodHandle SYNC = handle("teak_flat_db_sync", "JJ");
    private static final MethodHandle TICKET = handle("teak_flat_db_ticket", "JJJJ");
    private static final MethodHandle STAT = handle("teak_flat_db_get_stat", "JJJ");
    private static final MethodHandle METRICS = handle("teak_flat_db_metrics", "JJJ");
    private static final MethodHandle WAIT_FOR_COMMIT =
            handle("teak_flat_db_wait_for_commit", "JJJJJ");
    private static final MethodHandle BACKUP = handle("teak_java_backup", "JJIJ");
    private static final MethodHandle COMPACT = handle("teak_java_compact", "JJJ");
    private static final MethodHandle CHECK = handle("teak_java_check", "JJJJJJ");
    private static final MethodHandle BEGIN_READ = handle("teak_flat_txn_begin_read", "JJJ");
    private static final MethodHandle BEGIN_WRITE = handle("teak_flat_txn_begin_write", "JJJ");
    private static final MethodHandle BEGIN_WRITE_WITHIN =
            handle("teak_flat_txn_begin_write_within", "JJJJ");
    private static final MethodHandle REFRESH = handle("teak_flat_txn_refresh", "JJ");
    private static final MethodHandle COMMIT = handle("teak_flat_txn_commit", "JJJ");
    private static final MethodHandle CHECKPOINT = handle("teak_flat_txn_checkpoint", "JJJ");
    private static final MethodHandle END = handle("teak_flat_txn_end", "JJ");
    private static final MethodHandle ID = handle("teak_flat_txn_id", "JJJ");
    private static final MethodHandle SET_DURABILITY =
            handle("teak_flat_txn_set_durability", "JIJ");
    private static final MethodHandle ROLL_BACK = handle("teak_flat_txn_roll_back", "JJ");
    private static final MethodHandle SAVEPOINT = handle("teak_flat_txn_savepoint", "JJJ");
    private static final MethodHandle ROLL_BACK_TO = handle("teak_flat_txn_roll_back_to", "JJJ");
    private static final MethodHandle RELEASE = handle("teak_flat_txn_release", "JJJ");
    private static final MethodHandle TICKET_POLL = handle("teak_flat_ticket_poll", "JJ");
    private static final MethodHandle TICKET_WAIT = handle("teak_flat_ticket_wait", "JJJ");
    private static final MethodHandle TICKET_END = handle("teak_flat_ticket_end", "JJ");
    private static final MethodHandle TABLE_OPEN = handle("teak_flat_table_open", "JJJJJ");
    private static final MethodHandle TABLE_CREATE = handle("teak_flat_table_create", "JJJJJJ");
    private static final MethodHandle TABLE_DROP = handle("teak_flat_table_drop", "JJJJ");
    private static final MethodHandle TABLE_RENAME = handle("teak_flat_table_rename", "JJJJJJ");
    private static final MethodHandle TABLE_CLEAR = handle("teak_flat_table_clear", "JJJ");
    private static final MethodHandle DRAW_SEQUENCE =
            handle("teak_flat_table_draw_sequence", "JJJJJ");
    private static final MethodHandle TABLE_STAT = handle("teak_flat_table_get_stat", "JJJJ");
    private static final MethodHandle TABLES = handle("teak_java_tables", "JJJJJ");
    private static final MethodHandle GET = handle("teak_flat_get", "JJJJJJ");
    private static final MethodHandle COPY_VALUE = handle("teak_flat_copy_value", "JJJJJJJJ");
    private static final MethodHandle CONTAINS = handle("teak_flat_contains", "JJJJJ");
    private static final MethodHandle INSERT = handle("teak_flat_insert", "JJJJJJJ");
    private static final MethodHandle INSERT_NEW = handle("teak_flat_insert_new", "JJJJJJJ");
    private static final MethodHandle UPDATE = handle("teak_flat_update", "JJJJJJJ");
    private static final MethodHandle APPEND = handle("teak_flat_append", "JJJJJJJ");
    private static final MethodHandle INSERT_PACKED = handle("teak_flat_insert_packed", "JJJJJJ");
    private static final MethodHandle REMOVE = handle("teak_flat_remove", "JJJJJ");
    private static final MethodHandle REMOVE_RANGE = handle("teak_flat_remove_range", "JJIJJIJJJJ");
    private static final MethodHandle COUNT_RANGE = handle("teak_flat_count_range", "JJIJJIJJJJ");
    private static final MethodHandle SPLIT_RANGE =
            handle("teak_java_split_range", "JJIJJIJJJJJJJ");
    private static final MethodHandle COMPARE_KEYS = handle("teak_flat_compare_keys", "JJJJJJJJ");
    private static final MethodHandle FIND = handle("teak_flat_find", "JJIJJJJJJ");
    private static final MethodHandle INSERT_PAIR = handle("teak_flat_insert_pair", "JJJJJJJ");
    private static final MethodHandle CONTAINS_PAIR = handle("teak_flat_contains_pair", "JJJJJJJ");
    private static final MethodHandle COUNT_VALUES = handle("teak_flat_count_values", "JJJJJJ");
    private static final MethodHandle REMOVE_PAIR = handle("teak_flat_remove_pair", "JJJJJJJ");
    private static final MethodHandle REMOVE_VALUES = handle("teak_flat_remove_values", "JJJJJJ");
    private static final MethodHandle CURSOR_OPEN = handle("teak_flat_cursor_open", "JJJJ");
    private static final MethodHandle CURSOR_CLOSE = handle("teak_flat_cursor_close", "JJ");
    private static final MethodHandle CURSOR_MOVE = handle("teak_flat_cursor_move", "JJIJJ");
    private static final MethodHandle CURSOR_SEEK = handle("teak_flat_cursor_seek", "JJIJJJJ");
    private static final MethodHandle CURSOR_SEEK_PAIR =
            handle("teak_flat_cursor_seek_pair", "JJIJJJJJJ");
    private static final MethodHandle CURSOR_COPY = handle("teak_flat_cursor_copy", "JJIIJJJJJJJJ");
    private static final MethodHandle SNAPSHOT_CREATE = handle("teak_flat_snapshot_create", "JJJJ");
    private static final MethodHandle SNAPSHOT_DROP = handle("teak_flat_snapshot_drop", "JJJJ");
    private static final MethodHandle SNAPSHOT_OPEN = handle("teak_flat_snapshot_open", "JJJJJ");
    private static final MethodHandle SNAPSHOTS = handle("teak_java_snapshots", "JJJJJ");
    private static final MethodHandle CHANGED_TABLES = handle("teak_java_changed_tables", "JJJJJJ");
    private static final MethodHandle DIFFERENCES =
            handle("teak_java_differences", "JJJJJJJJJJJJ");

    private static SymbolLookup library() {
        SymbolLookup[] library = new SymbolLookup[1];
        try {
            NativeLibrary.load(path -> library[0] = open(path));
            return library[0];
        } catch (UnsatisfiedLinkError failure) {
            // No file system allows it: a file in memory does.
            byte[] content = NativeLibrary.content();
            if (content == null || !System.getProperty("teak.library.path", "").isEmpty()) {
                throw failure;
            }
            return SymbolLookup.libraryLookup(MemoryFile.create(content), Arena.global());
        }
    }

    /** Opens a file, which may be open for another class loader already. */
    private static SymbolLookup open(String path) {
        try {
            return SymbolLookup.libraryLookup(Path.of(path), Arena.global());
        } catch (IllegalArgumentException refused) {
            // This says why the system refuses it.
            System.load(path);
            return SymbolLookup.loaderLookup();
        }
    }

    /** A function that returns an int; {@code I} is an int argument, and {@code J} a long one. */
    private static MethodHandle handle(String symbol, String arguments) {
        MemoryLayout[] layouts = arguments.chars()
                .mapToObj(kind -> kind == 'I' ? JAVA_INT : JAVA_LONG)
                .toArray(MemoryLayout[]::new);
        MemorySegment function = LIBRARY.find(symbol).orElseThrow(() -> new UnsatisfiedLinkError(
                "the library " + NativeLibrary.load() + " has no function " + symbol
                        + "; use the library that comes with this version of teak-java"));
        return LINKER.downcallHandle(function, FunctionDescriptor.of(JAVA_INT, layouts));
    }

    @Override
    public long address(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer).address();
    }

    @Override
    public String mode() {
        return "FFM";
    }

    /** A downcall handle throws nothing. */
    private static AssertionError impossible(Throwable thrown) {
        return new AssertionError("a native function cannot throw", thrown);
    }

    @Override
    public int open(long path, long options, long db, long error) {
        try {
            return (int) OPEN.invokeExact(path, options, db, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int openInMemory(long options, long db, long error) {
        try {
            return (int) OPEN_IN_MEMORY.invokeExact(options, db, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int openBytes(long bytes, long length, long options, long db, long error) {
        try {
            return (int) OPEN_BYTES.invokeExact(bytes, length, options, db, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int close(long db, long error) {
        try {
            return (int) CLOSE.invokeExact(db, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int sync(long db, long error) {
        try {
            return (int) SYNC.invokeExact(db, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int ticket(long db, long transaction, long ticket, long error) {
        try {
            return (int) TICKET.invokeExact(db, transaction, ticket, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int stat(long db, long stat, long error) {
        try {
            return (int) STAT.invokeExact(db, stat, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int metrics(long db, long metrics, long error) {
        try {
            return (int) METRICS.invokeExact(db, metrics, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int waitForCommit(long db, long after, long limitMillis, long newest, long error) {
        try {
            return (int) WAIT_FOR_COMMIT.invokeExact(db, after, limitMillis, newest, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int backup(long db, long path, int compact, long error) {
        try {
            return (int) BACKUP.invokeExact(db, path, compact, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int compact(long db, long report, long error) {
        try {
            return (int) COMPACT.invokeExact(db, report, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int check(long db, long report, long buffer, long room, long used, long error) {
        try {
            return (int) CHECK.invokeExact(db, report, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int beginRead(long db, long txn, long error) {
        try {
            return (int) BEGIN_READ.invokeExact(db, txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int beginWrite(long db, long txn, long error) {
        try {
            return (int) BEGIN_WRITE.invokeExact(db, txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int beginWriteWithin(long db, long limitMillis, long txn, long error) {
        try {
            return (int) BEGIN_WRITE_WITHIN.invokeExact(db, limitMillis, txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int refresh(long txn, long error) {
        try {
            return (int) REFRESH.invokeExact(txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int commit(long txn, long id, long error) {
        try {
            return (int) COMMIT.invokeExact(txn, id, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int checkpoint(long txn, long id, long error) {
        try {
            return (int) CHECKPOINT.invokeExact(txn, id, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int end(long txn, long error) {
        try {
            return (int) END.invokeExact(txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int id(long txn, long id, long error) {
        try {
            return (int) ID.invokeExact(txn, id, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int setDurability(long txn, int durability, long error) {
        try {
            return (int) SET_DURABILITY.invokeExact(txn, durability, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int rollBack(long txn, long error) {
        try {
            return (int) ROLL_BACK.invokeExact(txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int savepoint(long txn, long savepoint, long error) {
        try {
            return (int) SAVEPOINT.invokeExact(txn, savepoint, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int rollBackTo(long txn, long savepoint, long error) {
        try {
            return (int) ROLL_BACK_TO.invokeExact(txn, savepoint, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int release(long txn, long savepoint, long error) {
        try {
            return (int) RELEASE.invokeExact(txn, savepoint, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int ticketPoll(long ticket, long error) {
        try {
            return (int) TICKET_POLL.invokeExact(ticket, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int ticketWait(long ticket, long limitMillis, long error) {
        try {
            return (int) TICKET_WAIT.invokeExact(ticket, limitMillis, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int ticketEnd(long ticket, long error) {
        try {
            return (int) TICKET_END.invokeExact(ticket, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableOpen(long txn, long name, long length, long table, long error) {
        try {
            return (int) TABLE_OPEN.invokeExact(txn, name, length, table, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableCreate(long txn, long name, long length, long options, long table, long error) {
        try {
            return (int) TABLE_CREATE.invokeExact(txn, name, length, options, table, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableDrop(long txn, long name, long length, long error) {
        try {
            return (int) TABLE_DROP.invokeExact(txn, name, length, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableRename(long txn, long oldName, long oldLength, long newName, long newLength,
            long error) {
        try {
            return (int) TABLE_RENAME.invokeExact(txn, oldName, oldLength, newName, newLength,
                    error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableClear(long txn, long table, long error) {
        try {
            return (int) TABLE_CLEAR.invokeExact(txn, table, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int drawSequence(long txn, long table, long count, long first, long error) {
        try {
            return (int) DRAW_SEQUENCE.invokeExact(txn, table, count, first, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tableStat(long txn, long table, long stat, long error) {
        try {
            return (int) TABLE_STAT.invokeExact(txn, table, stat, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int tables(long txn, long buffer, long room, long used, long error) {
        try {
            return (int) TABLES.invokeExact(txn, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int get(long txn, long table, long key, long length, long value, long error) {
        try {
            return (int) GET.invokeExact(txn, table, key, length, value, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int copyValue(long txn, long table, long key, long length, long buffer, long room,
            long used, long error) {
        try {
            return (int) COPY_VALUE.invokeExact(txn, table, key, length, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int contains(long txn, long table, long key, long length, long error) {
        try {
            return (int) CONTAINS.invokeExact(txn, table, key, length, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int insert(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error) {
        try {
            return (int) INSERT.invokeExact(txn, table, key, keyLength, value, valueLength, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int insertNew(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error) {
        try {
            return (int) INSERT_NEW.invokeExact(txn, table, key, keyLength, value, valueLength,
                    error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int update(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error) {
        try {
            return (int) UPDATE.invokeExact(txn, table, key, keyLength, value, valueLength, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int append(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error) {
        try {
            return (int) APPEND.invokeExact(txn, table, key, keyLength, value, valueLength, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int insertPacked(long txn, long table, long records, long length, long inserted,
            long error) {
        try {
            return (int) INSERT_PACKED.invokeExact(txn, table, records, length, inserted, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int remove(long txn, long table, long key, long length, long error) {
        try {
            return (int) REMOVE.invokeExact(txn, table, key, length, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int removeRange(long txn, long table, int lowKind, long low, long lowLength,
            int highKind, long high, long highLength, long count, long error) {
        try {
            return (int) REMOVE_RANGE.invokeExact(txn, table, lowKind, low, lowLength, highKind,
                    high, highLength, count, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int countRange(long txn, long table, int lowKind, long low, long lowLength, int highKind,
            long high, long highLength, long count, long error) {
        try {
            return (int) COUNT_RANGE.invokeExact(txn, table, lowKind, low, lowLength, highKind,
                    high, highLength, count, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int splitRange(long txn, long table, int lowKind, long low, long lowLength, int highKind,
            long high, long highLength, long parts, long buffer, long room, long used, long error) {
        try {
            return (int) SPLIT_RANGE.invokeExact(txn, table, lowKind, low, lowLength, highKind,
                    high, highLength, parts, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int compareKeys(long txn, long table, long a, long aLength, long b, long bLength,
            long order, long error) {
        try {
            return (int) COMPARE_KEYS.invokeExact(txn, table, a, aLength, b, bLength, order, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int find(long txn, long table, int seek, long key, long length, long buffer, long room,
            long used, long error) {
        try {
            return (int) FIND.invokeExact(txn, table, seek, key, length, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int insertPair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error) {
        try {
            return (int) INSERT_PAIR.invokeExact(txn, table, key, keyLength, value, valueLength,
                    error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int containsPair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error) {
        try {
            return (int) CONTAINS_PAIR.invokeExact(txn, table, key, keyLength, value, valueLength,
                    error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int countValues(long txn, long table, long key, long length, long count, long error) {
        try {
            return (int) COUNT_VALUES.invokeExact(txn, table, key, length, count, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int removePair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error) {
        try {
            return (int) REMOVE_PAIR.invokeExact(txn, table, key, keyLength, value, valueLength,
                    error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int removeValues(long txn, long table, long key, long length, long removed, long error) {
        try {
            return (int) REMOVE_VALUES.invokeExact(txn, table, key, length, removed, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorOpen(long txn, long table, long cursor, long error) {
        try {
            return (int) CURSOR_OPEN.invokeExact(txn, table, cursor, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorClose(long cursor, long error) {
        try {
            return (int) CURSOR_CLOSE.invokeExact(cursor, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorMove(long cursor, long txn, int to, long record, long error) {
        try {
            return (int) CURSOR_MOVE.invokeExact(cursor, txn, to, record, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorSeek(long cursor, long txn, int seek, long key, long length, long record,
            long error) {
        try {
            return (int) CURSOR_SEEK.invokeExact(cursor, txn, seek, key, length, record, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorSeekPair(long cursor, long txn, int seek, long key, long keyLength, long value,
            long valueLength, long record, long error) {
        try {
            return (int) CURSOR_SEEK_PAIR.invokeExact(cursor, txn, seek, key, keyLength, value,
                    valueLength, record, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int cursorCopy(long cursor, long txn, int direction, int boundKind, long bound,
            long boundLength, long buffer, long room, long max, long count, long used, long error) {
        try {
            return (int) CURSOR_COPY.invokeExact(cursor, txn, direction, boundKind, bound,
                    boundLength, buffer, room, max, count, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int snapshotCreate(long txn, long name, long length, long error) {
        try {
            return (int) SNAPSHOT_CREATE.invokeExact(txn, name, length, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int snapshotDrop(long txn, long name, long length, long error) {
        try {
            return (int) SNAPSHOT_DROP.invokeExact(txn, name, length, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int snapshotOpen(long db, long name, long length, long txn, long error) {
        try {
            return (int) SNAPSHOT_OPEN.invokeExact(db, name, length, txn, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int snapshots(long db, long buffer, long room, long used, long error) {
        try {
            return (int) SNAPSHOTS.invokeExact(db, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int changedTables(long older, long newer, long buffer, long room, long used,
            long error) {
        try {
            return (int) CHANGED_TABLES.invokeExact(older, newer, buffer, room, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }

    @Override
    public int differences(long older, long newer, long table, long key, long keyLength, long value,
            long valueLength, long buffer, long room, long count, long used, long error) {
        try {
            return (int) DIFFERENCES.invokeExact(older, newer, table, key, keyLength, value,
                    valueLength, buffer, room, count, used, error);
        } catch (Throwable thrown) {
            throw impossible(thrown);
        }
    }
}
