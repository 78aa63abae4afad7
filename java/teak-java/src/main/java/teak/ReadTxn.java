package teak;

import java.lang.ref.Cleaner;
import java.util.List;

/**
 * A read transaction. Any number of threads may use it at the same time. It never waits for a
 * writer, and keeps the pages of its state from being reused, so close it soon.
 */
public final class ReadTxn implements Txn {
    final TxnCore core;
    private final Cleaner.Cleanable cleanable;
    /** Keeps the database from being closed as a lost one. */
    @SuppressWarnings("unused")
    private final Database database;

    ReadTxn(Database database, TxnCore core, boolean isWatched) {
        this.database = database;
        this.core = core;
        this.cleanable = isWatched ? Database.CLEANER.register(this, core) : null;
    }

    @Override
    public Table table(String name) {
        return Tables.found(tableIfExists(name), name);
    }

    @Override
    public Table tableIfExists(String name) {
        long number = Tables.open(core, name, false);
        return number == 0 ? null : new Table(this, core, number, name);
    }

    @Override
    public MultiTable multiTable(String name) {
        return Tables.found(multiTableIfExists(name), name);
    }

    @Override
    public MultiTable multiTableIfExists(String name) {
        long number = Tables.open(core, name, true);
        return number == 0 ? null : new MultiTable(this, core, number, name);
    }

    @Override
    public List<String> tables() {
        return Tables.names(core);
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
     * Moves to the newest state. Tables stay valid, and scans and cursors go on in the new state.
     * Values that are not copied end.
     *
     * @return whether there was a newer state
     */
    public boolean renew() {
        return core.renew();
    }

    @Override
    public void close() {
        core.end();
        if (cleanable != null) {
            cleanable.clean();
        }
    }
}
