//! Coming from redb.
//!
//! The models are the same: one file of copy-on-write B+trees, typed tables, one write transaction
//! at a time, readers that see a snapshot. The differences that a program notices:
//!
//! - A [`Table`] is a name with types. It does not borrow a transaction: it is created once,
//!   cloned, kept in a struct, and gets the transaction as an argument. One table serves every
//!   [`WriteTxn`] and [`ReadTxn`].
//! - A value that was read borrows from its transaction, not from a guard: [`Table::get`] returns
//!   `Option<&str>` or `Option<u64>`. In a write transaction the next change ends the borrow.
//! - [`Database::open`] creates the file if there is none, and several processes may have it open.
//! - All errors are one type, [`Error`](crate::Error).
//!
//! | redb | Teak |
//! |---|---|
//! | `Database::create(path)` | [`Database::open`] |
//! | `Database::open(path)`, an error if there is no file | [`Options::create`] with [`Create::Never`] |
//! | `ReadOnlyDatabase::open` | [`Options::read_only`]; others may write meanwhile |
//! | `TableDefinition<K, V>` | the types and the name in [`WriteTxn::create_table`], or a constant |
//! | `begin_write`, `begin_read` | [`Database::begin_write`], [`Database::begin_read`] |
//! | `write_txn.open_table(T)` | [`WriteTxn::create_table`] |
//! | `read_txn.open_table(T)` | [`Transaction::open_table`], or the table of an earlier transaction |
//! | `open_multimap_table` | [`WriteTxn::create_multi_table`], [`Transaction::open_multi_table`] |
//! | `table.insert(k, v)`, which returns the old value | [`Table::insert`] |
//! | `get(k)?.map(\|v\| v.value())` | [`Table::get`] |
//! | `remove(k)` | [`Table::remove`] says whether there was a record |
//! | `range(a..b)`, `iter()`, `.rev()` | [`Table::range`], [`Table::iter`], [`Range::rev`] |
//! | `first`, `last`, `len`, `is_empty` | [`Table::first`], [`Table::last`], [`Table::len`] |
//! | `retain`, `retain_in`, `extract_if` | [`Range::remove`] for a whole range; a [`DetachedCursor`] to choose records |
//! | `pop_first`, `pop_last` | [`Table::first`], then [`Table::remove`] |
//! | `insert_reserve` | [`Table::insert_with`] |
//! | `delete_table`, `rename_table`, `list_tables` | [`WriteTxn::drop_table`], [`WriteTxn::rename_table`], [`Transaction::tables`] |
//! | `set_durability(None)` | [`WriteTxn::set_durability`] with [`Durability::Lazy`]: flushed within a second, never torn |
//! | `set_two_phase_commit`, `set_quick_repair` | not needed: recovery looks at the newest commits only |
//! | `ephemeral_savepoint`, `restore_savepoint` | [`WriteTxn::savepoint`], [`WriteTxn::rollback_to`], [`WriteTxn::nested`] |
//! | `persistent_savepoint` | [`WriteTxn::create_snapshot`], [`WriteTxn::roll_back_to_snapshot`] |
//! | `compact` | [`Database::compact`]; readers go on, and the file also shrinks by itself |
//! | `check_integrity` | [`Database::check`] |
//! | `Key`, `Value` | [`Codec`](crate::codec::Codec), or a derive with the feature `derive` |
//! | `stats`, `cache_stats` | [`Database::stat`], [`Table::stat`], [`Database::metrics`]. There is no cache to size: the system's page cache is the cache |
//!
//! ```
//! use teak::{Database, Table};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! let ages: Table<&str, u64> = txn.create_table("ages")?;
//! ages.insert(&mut txn, "Ada", 36)?;
//! txn.commit()?;
//!
//! let txn = database.begin_read()?;
//! assert_eq!(ages.get(&txn, "Ada")?, Some(36)); // the same table, another transaction
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doc)]
use crate::{
    Create, Database, DetachedCursor, Durability, Options, Range, ReadTxn, Table, Transaction,
    WriteTxn,
};
