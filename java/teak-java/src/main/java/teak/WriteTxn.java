package teak;

import java.lang.ref.Cleaner;
import java.util.List;
import java.util.Objects;
import teak.internal.Calls;
import teak.internal.Scratch;

/**
 * A write transaction. There is one at a time. Its changes become visible to others, all at once,
 * when it commits. Use it in one thread at a time.
 */
public final class WriteTxn implements Txn {
    private static final Calls CALLS = Calls.CALLS;

    final TxnCore core;
    private final Cleaner.Cleanable cleanable;
    /** Keeps the database from being closed as a lost one. */
    @SuppressWarnings("unused")
    private final Database database;

    WriteTxn(Database database, TxnCore core, boolean isWatched) {
        this.database = database;
        this.core = core;
        this.cleanable = isWatched ? Database.CLEANER.register(this, core) : null;
    }

    @Override
    public Table table(String name) {
        return table(name, TableOptions.create());
    }

    /**
     * Opens a table with one value for each key, or creates it.
     *
     * @param name its name
     * @param options how it is created
     * @return the table
     * @throws ExistsException if it has other options
     */
    public Table table(String name, TableOptions options) {
        return new Table(this, core, create(name, options, false), name);
    }

    @Override
    public Table tableIfExists(String name) {
        long number = Tables.open(core, name, false);
        return number == 0 ? null : new Table(this, core, number, name);
    }

    @Override
    public MultiTable multiTable(String name) {
        return multiTable(name, TableOptions.create());
    }

    /**
     * Opens a table with several values for each key, or creates it.
     *
     * @param name its name
     * @param options how it is created
     * @return the table
     * @throws ExistsException if it has other options
     */
    public MultiTable multiTable(String name, TableOptions options) {
        return new MultiTable(this, core, create(name, options, true), name);
    }

    @Override
    public MultiTable multiTableIfExists(String name) {
        long number = Tables.open(core, name, true);
        return number == 0 ? null : new MultiTable(this, core, number, name);
    }

    private long create(String name, TableOptions options, boolean isMulti) {
        byte[] bytes = Tables.bytes(name);
        Scratch scratch = core.take();
        try {
            scratch.ensure(bytes.length);
            scratch.put(Scratch.DATA, bytes);
            options.store(scratch, isMulti);
            int code = CALLS.tableCreate(core.handle(), scratch.at(Scratch.DATA), bytes.length,
                    scratch.at(Scratch.OUT), scratch.out(31), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(31);
        } finally {
            core.give(scratch);
        }
    }

    @Override
    public List<String> tables() {
        return Tables.names(core);
    }

    /**
     * Drops a table with all its records.
     *
     * @param name its name
     * @return whether there was one
     */
    public boolean drop(String name) {
        return named(name, CALLS::tableDrop);
    }

    /**
     * Renames a table.
     *
     * @param oldName its name
     * @param newName the name that it gets
     * @throws NotFoundException if there is no such table
     * @throws ExistsException if there is one of the new name
     */
    public void rename(String oldName, String newName) {
        byte[] from = Tables.bytes(oldName);
        byte[] to = Tables.bytes(newName);
        Scratch scratch = core.take();
        try {
            scratch.ensure((long) from.length + to.length);
            int second = scratch.put(Scratch.DATA, from);
            scratch.put(second, to);
            core.noteChange();
            int code = CALLS.tableRename(core.handle(), scratch.at(Scratch.DATA), from.length,
                    scratch.at(second), to.length, scratch.error());
            Codes.check(code, scratch);
        } finally {
            core.give(scratch);
        }
    }

    /**
     * Keeps the state that this transaction commits under a name, until it is dropped.
     *
     * @param name the name
     * @throws ExistsException if there is one of that name
     */
    public void createSnapshot(String name) {
        named(name, CALLS::snapshotCreate);
    }

    /**
     * Drops a named snapshot.
     *
     * @param name its name
     * @throws NotFoundException if there is none
     */
    public void dropSnapshot(String name) {
        if (!named(name, CALLS::snapshotDrop)) {
            throw Database.noSnapshot(name);
        }
    }

    private interface Named {
        int call(long txn, long name, long length, long error);
    }

    private boolean named(String name, Named function) {
        byte[] bytes = Tables.bytes(name);
        Scratch scratch = core.take();
        try {
            scratch.ensure(bytes.length);
            scratch.put(Scratch.DATA, bytes);
            core.noteChange();
            int code = function.call(
                    core.handle(), scratch.at(Scratch.DATA), bytes.length, scratch.error());
            return Codes.check(code, scratch);
        } finally {
            core.give(scratch);
        }
    }

    @Override
    public long id() {
        return Tables.id(core);
    }

    @Override
    public boolean isOpen() {
        return core.isOpen();
    }

    /**
     * Sets a savepoint.
     *
     * @return the savepoint
     */
    public Savepoint savepoint() {
        return new Savepoint(core, numbered((txn, out, error) -> CALLS.savepoint(txn, out, error)));
    }

    /**
     * Commits, and goes on as a write transaction: no other writer comes in between. Savepoints end.
     *
     * @return the commit
     */
    public Ticket checkpoint() {
        core.noteChange();
        return new Ticket(core.db, numbered((txn, out, error) -> CALLS.checkpoint(txn, out, error)));
    }

    private interface Numbered {
        int call(long txn, long out, long error);
    }

    private long numbered(Numbered function) {
        Scratch scratch = core.take();
        try {
            int code = function.call(core.handle(), scratch.out(0), scratch.error());
            Codes.check(code, scratch);
            return scratch.number(0);
        } finally {
            core.give(scratch);
        }
    }

    /** Undoes all changes. The transaction stays open. Savepoints end. */
    public void rollBack() {
        core.noteChange();
        numbered((txn, out, error) -> CALLS.rollBack(txn, error));
    }

    /**
     * Commits with the durability of the database.
     *
     * @return the commit
     */
    public Ticket commit() {
        long id = core.commit();
        unwatch();
        return new Ticket(core.db, id);
    }

    /**
     * Commits.
     *
     * @param durability when the commit is to be on the disk
     * @return the commit
     */
    public Ticket commit(Durability durability) {
        int number = Objects.requireNonNull(durability, "durability").number;
        numbered((txn, out, error) -> CALLS.setDurability(txn, number, error));
        return commit();
    }

    /** Ends the transaction, and undoes its changes. */
    public void abort() {
        core.end();
        unwatch();
    }

    /** Ends the transaction, and undoes its changes unless it was committed. */
    @Override
    public void close() {
        abort();
    }

    private void unwatch() {
        if (cleanable != null) {
            cleanable.clean();
        }
    }
}
