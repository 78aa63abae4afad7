package teak.benchmarks;

import java.nio.file.Path;
import java.util.function.Consumer;
import teak.Database;
import teak.Durability;
import teak.Order;
import teak.ReadTxn;
import teak.Table;
import teak.TableOptions;
import teak.WriteTxn;

/** A database of Teak. */
final class TeakStore implements AutoCloseable {
    private final Database database;
    private ReadTxn txn;

    TeakStore(Path directory) {
        database = Database.open(directory.resolve("database.teak"));
    }

    /** Stores all records in one transaction. */
    void write(Data data, Consumer<Table> into) {
        TableOptions options = TableOptions.create()
                .order(data.isSequential() ? Order.INTEGER : Order.BYTES);
        try (WriteTxn writer = database.beginWrite()) {
            into.accept(writer.table("db", options));
            writer.commit(Durability.LAZY);
        }
    }

    Table table() {
        txn = database.beginRead();
        return txn.table("db");
    }

    @Override
    public void close() {
        if (txn != null) {
            txn.close();
        }
        database.close();
    }
}
