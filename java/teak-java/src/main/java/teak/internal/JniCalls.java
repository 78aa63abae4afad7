package teak.internal;

import java.nio.ByteBuffer;

/** Calls by JNI, for Java 17 to 21. */
final class JniCalls implements Calls {
    JniCalls() {
        NativeLibrary.load();
    }

    @Override
    public native long address(ByteBuffer buffer);

    @Override
    public String mode() {
        return "JNI";
    }

    @Override
    public native int open(long path, long options, long db, long error);

    @Override
    public native int openInMemory(long options, long db, long error);

    @Override
    public native int openBytes(long bytes, long length, long options, long db, long error);

    @Override
    public native int close(long db, long error);

    @Override
    public native int sync(long db, long error);

    @Override
    public native int ticket(long db, long transaction, long ticket, long error);

    @Override
    public native int stat(long db, long stat, long error);

    @Override
    public native int metrics(long db, long metrics, long error);

    @Override
    public native int waitForCommit(long db, long after, long limitMillis, long newest, long error);

    @Override
    public native int backup(long db, long path, int compact, long error);

    @Override
    public native int compact(long db, long report, long error);

    @Override
    public native int check(long db, long report, long buffer, long room, long used, long error);

    @Override
    public native int beginRead(long db, long txn, long error);

    @Override
    public native int beginWrite(long db, long txn, long error);

    @Override
    public native int beginWriteWithin(long db, long limitMillis, long txn, long error);

    @Override
    public native int refresh(long txn, long error);

    @Override
    public native int commit(long txn, long id, long error);

    @Override
    public native int checkpoint(long txn, long id, long error);

    @Override
    public native int end(long txn, long error);

    @Override
    public native int id(long txn, long id, long error);

    @Override
    public native int setDurability(long txn, int durability, long error);

    @Override
    public native int rollBack(long txn, long error);

    @Override
    public native int savepoint(long txn, long savepoint, long error);

    @Override
    public native int rollBackTo(long txn, long savepoint, long error);

    @Override
    public native int release(long txn, long savepoint, long error);

    @Override
    public native int ticketPoll(long ticket, long error);

    @Override
    public native int ticketWait(long ticket, long limitMillis, long error);

    @Override
    public native int ticketEnd(long ticket, long error);

    @Override
    public native int tableOpen(long txn, long name, long length, long table, long error);

    @Override
    public native int tableCreate(long txn, long name, long length, long options, long table,
            long error);

    @Override
    public native int tableDrop(long txn, long name, long length, long error);

    @Override
    public native int tableRename(long txn, long oldName, long oldLength, long newName,
            long newLength, long error);

    @Override
    public native int tableClear(long txn, long table, long error);

    @Override
    public native int drawSequence(long txn, long table, long count, long first, long error);

    @Override
    public native int tableStat(long txn, long table, long stat, long error);

    @Override
    public native int tables(long txn, long buffer, long room, long used, long error);

    @Override
    public native int get(long txn, long table, long key, long length, long value, long error);

    @Override
    public native int copyValue(long txn, long table, long key, long length, long buffer, long room,
            long used, long error);

    @Override
    public native int contains(long txn, long table, long key, long length, long error);

    @Override
    public native int insert(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int insertNew(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int update(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int append(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int insertPacked(long txn, long table, long records, long length, long inserted,
            long error);

    @Override
    public native int remove(long txn, long table, long key, long length, long error);

    @Override
    public native int removeRange(long txn, long table, int lowKind, long low, long lowLength,
            int highKind, long high, long highLength, long count, long error);

    @Override
    public native int countRange(long txn, long table, int lowKind, long low, long lowLength,
            int highKind, long high, long highLength, long count, long error);

    @Override
    public native int splitRange(long txn, long table, int lowKind, long low, long lowLength,
            int highKind, long high, long highLength, long parts, long buffer, long room, long used,
            long error);

    @Override
    public native int compareKeys(long txn, long table, long a, long aLength, long b, long bLength,
            long order, long error);

    @Override
    public native int find(long txn, long table, int seek, long key, long length, long buffer,
            long room, long used, long error);

    @Override
    public native int insertPair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int containsPair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int countValues(long txn, long table, long key, long length, long count,
            long error);

    @Override
    public native int removePair(long txn, long table, long key, long keyLength, long value,
            long valueLength, long error);

    @Override
    public native int removeValues(long txn, long table, long key, long length, long removed,
            long error);

    @Override
    public native int cursorOpen(long txn, long table, long cursor, long error);

    @Override
    public native int cursorClose(long cursor, long error);

    @Override
    public native int cursorMove(long cursor, long txn, int to, long record, long error);

    @Override
    public native int cursorSeek(long cursor, long txn, int seek, long key, long length,
            long record, long error);

    @Override
    public native int cursorSeekPair(long cursor, long txn, int seek, long key, long keyLength,
            long value, long valueLength, long record, long error);

    @Override
    public native int cursorCopy(long cursor, long txn, int direction, int boundKind, long bound,
            long boundLength, long buffer, long room, long max, long count, long used, long error);

    @Override
    public native int snapshotCreate(long txn, long name, long length, long error);

    @Override
    public native int snapshotDrop(long txn, long name, long length, long error);

    @Override
    public native int snapshotOpen(long db, long name, long length, long txn, long error);

    @Override
    public native int snapshots(long db, long buffer, long room, long used, long error);

    @Override
    public native int changedTables(long older, long newer, long buffer, long room, long used,
            long error);

    @Override
    public native int differences(long older, long newer, long table, long key, long keyLength,
            long value, long valueLength, long buffer, long room, long count, long used,
            long error);
}
