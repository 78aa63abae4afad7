package teak;

import java.util.List;

/** A transaction. It sees one state of the database. */
public sealed interface Txn extends AutoCloseable permits ReadTxn, WriteTxn {
    /**
     * Opens a table with one value for each key. A write transaction creates it if it is missing.
     *
     * @param name its name
     * @return the table, to be used while this transaction is open
     * @throws NotFoundException in a read transaction, if there is none
     * @throws ExistsException if it has several values for each key
     */
    Table table(String name);

    /**
     * Opens a table, if there is one.
     *
     * @param name its name
     * @return the table, or null
     */
    Table tableIfExists(String name);

    /**
     * Opens a table with several values for each key. A write transaction creates it if it is
     * missing.
     *
     * @param name its name
     * @return the table, to be used while this transaction is open
     * @throws NotFoundException in a read transaction, if there is none
     * @throws ExistsException if it has one value for each key
     */
    MultiTable multiTable(String name);

    /**
     * Opens a table with several values for each key, if there is one.
     *
     * @param name its name
     * @return the table, or null
     */
    MultiTable multiTableIfExists(String name);

    /**
     * The names of all tables, in the order of their bytes.
     *
     * @return a list that does not change
     */
    List<String> tables();

    /**
     * The number of the commit that made the state. For a write transaction it is the number that
     * its commit will have.
     *
     * @return a number that grows with each commit
     */
    long id();

    /**
     * Whether the transaction has not ended.
     *
     * @return whether it is open
     */
    boolean isOpen();

    /** Ends the transaction. Changes that are not committed are undone. */
    @Override
    void close();
}
