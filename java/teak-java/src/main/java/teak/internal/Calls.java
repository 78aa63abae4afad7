package teak.internal;

/**
 * The functions of the native library. All arguments are numbers: handles, which the library checks,
 * and addresses within a {@link Scratch}. The result is a code of the C interface. Nothing else in
 * this module calls native code.
 */
public interface Calls {
    /** The way in which this machine's Java calls the library. */
    Calls CALLS = CallsChoice.choose();

    /** The address of a direct buffer. */
    long address(java.nio.ByteBuffer buffer);

    /** {@code "FFM"} or {@code "JNI"}. */
    String mode();

    int open(long path, long options, long db, long error);

    int openInMemory(long options, long db, long error);

    int openBytes(long bytes, long length, long options, long db, long error);

    int close(long db, long error);

    int sync(long db, long error);

    int ticket(long db, long transaction, long ticket, long error);

    int stat(long db, long stat, long error);

    int metrics(long db, long metrics, long error);

    int waitForCommit(long db, long after, long limitMillis, long newest, long error);

    int backup(long db, long path, int compact, long error);

    int compact(long db, long report, long error);

    int check(long db, long report, long buffer, long room, long used, long error);

    int beginRead(long db, long txn, long error);

    int beginWrite(long db, long txn, long error);

    int beginWriteWithin(long db, long limitMillis, long txn, long error);

    int refresh(long txn, long error);

    int commit(long txn, long id, long error);

    int checkpoint(long txn, long id, long error);

    int end(long txn, long error);

    int id(long txn, long id, long error);

    int setDurability(long txn, int durability, long error);

    int rollBack(long txn, long error);

    int savepoint(long txn, long savepoint, long error);

    int rollBackTo(long txn, long savepoint, long error);

    int release(long txn, long savepoint, long error);

    int ticketPoll(long ticket, long error);

    int ticketWait(long ticket, long limitMillis, long error);

    int ticketEnd(long ticket, long error);

    int tableOpen(long txn, long name, long length, long table, long error);

    int tableCreate(long txn, long name, long length, long options, long table, long error);

    int tableDrop(long txn, long name, long length, long error);

    int tableRename(long txn, long oldName, long oldLength, long newName, long newLength,
            long error);

    int tableClear(long txn, long table, long error);

    int drawSequence(long txn, long table, long count, long first, long error);

    int tableStat(long txn, long table, long stat, long error);

    int tables(long txn, long buffer, long room, long used, long error);

    int get(long txn, long table, long key, long length, long value, long error);

    int copyValue(long txn, long table, long key, long length, long buffer, long room, long used,
            long error);

    int contains(long txn, long table, long key, long length, long error);

    int insert(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int insertNew(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int update(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int append(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int insertPacked(long txn, long table, long records, long length, long inserted, long error);

    int remove(long txn, long table, long key, long length, long error);

    int removeRange(long txn, long table, int lowKind, long low, long lowLength, int highKind,
            long high, long highLength, long count, long error);

    int countRange(long txn, long table, int lowKind, long low, long lowLength, int highKind,
            long high, long highLength, long count, long error);

    int splitRange(long txn, long table, int lowKind, long low, long lowLength, int highKind,
            long high, long highLength, long parts, long buffer, long room, long used, long error);

    int compareKeys(long txn, long table, long a, long aLength, long b, long bLength, long order,
            long error);

    int find(long txn, long table, int seek, long key, long length, long buffer, long room,
            long used, long error);

    int insertPair(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int containsPair(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int countValues(long txn, long table, long key, long length, long count, long error);

    int removePair(long txn, long table, long key, long keyLength, long value, long valueLength,
            long error);

    int removeValues(long txn, long table, long key, long length, long removed, long error);

    int cursorOpen(long txn, long table, long cursor, long error);

    int cursorClose(long cursor, long error);

    int cursorMove(long cursor, long txn, int to, long record, long error);

    int cursorSeek(long cursor, long txn, int seek, long key, long length, long record, long error);

    int cursorSeekPair(long cursor, long txn, int seek, long key, long keyLength, long value,
            long valueLength, long record, long error);

    int cursorCopy(long cursor, long txn, int direction, int boundKind, long bound,
            long boundLength, long buffer, long room, long max, long count, long used, long error);

    int snapshotCreate(long txn, long name, long length, long error);

    int snapshotDrop(long txn, long name, long length, long error);

    int snapshotOpen(long db, long name, long length, long txn, long error);

    int snapshots(long db, long buffer, long room, long used, long error);

    int changedTables(long older, long newer, long buffer, long room, long used, long error);

    int differences(long older, long newer, long table, long key, long keyLength, long value,
            long valueLength, long buffer, long room, long count, long used, long error);
}
