//! Coming from fjall.
//!
//! fjall is a log-structured merge tree in a directory; Teak is a B+tree in one memory-mapped file.
//! The differences that a program notices:
//!
//! - Every change is in a transaction. There is one write transaction at a time, so none conflicts
//!   and none is retried. For many small writes from many threads, [`WriteTxn::commit_async`] and
//!   concurrent durable commits share flushes.
//! - There is no compaction in the background, no memtable, and no write amplification by levels.
//!   Random writes to a database much larger than memory read pages first, which a log-structured
//!   tree does not; loads in the order of keys do not.
//! - There is no compression. Values are stored unchanged.
//! - Reads return slices of the mapped file. There is no block cache to size.
//! - Several processes share a database.
//!
//! | fjall | Teak |
//! |---|---|
//! | `Database::builder(path).open()` | [`Database::open`], [`Options`] |
//! | `db.keyspace(name, KeyspaceCreateOptions::default)` | [`WriteTxn::create_table`] |
//! | `keyspace.insert(k, v)` | [`Database::begin_write`], [`Table::insert`], [`WriteTxn::commit`] |
//! | `keyspace.get(k)`, `contains_key`, `size_of` | [`Database::begin_read`], [`Table::get`] |
//! | `keyspace.remove(k)` | [`Table::remove`] |
//! | `iter()`, `range(a..b)`, `prefix(p)`, `.rev()` | [`Table::iter`], [`Table::range`], [`Table::prefix`], [`Range::rev`] |
//! | `guard.key()`, `guard.value()`, `into_inner()` | [`Range::keys`], [`Range::values`], [`Range::iter`] |
//! | `first_key_value`, `last_key_value` | [`Table::first`], [`Table::last`] |
//! | `approximate_len`, `len` | [`Table::len`], which is exact and reads one page |
//! | `db.batch()` … `commit()` | one [`WriteTxn`] over any tables |
//! | `db.snapshot()` | [`ReadTxn`] |
//! | `SingleWriterTxDatabase::write_tx` | [`Database::begin_write`] |
//! | `OptimisticTxDatabase::write_tx` | read with a [`ReadTxn`], then [`WriteOptions::at`], which refuses a stale state |
//! | `fetch_update`, `update_fetch` | [`Table::get`] and [`Table::insert`] in one transaction |
//! | `persist(PersistMode::Buffer)` | [`Durability::Lazy`] |
//! | `persist(PersistMode::SyncAll)` | [`Durability::Durable`] (the default), or [`Database::sync`] for all earlier commits |
//! | `start_ingestion` | [`Table::bulk_load`] |
//! | `with_kv_separation` | not needed: large values have pages of their own, without a copy at each compaction |
//! | `delete_keyspace`, `clear` | [`WriteTxn::drop_table`], [`Table::clear`] |
//! | `list_keyspace_names` | [`Transaction::tables`] |
//! | `major_compact` | [`Database::compact`], only to return space to the file system at once |
//! | `disk_space` | [`Database::stat`] |
//!
//! ```
//! use teak::{Database, Durability};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! txn.set_durability(Durability::Lazy); // a power cut may take it, whole
//! let items = txn.create_table::<&[u8], &[u8]>("items")?;
//! let sizes = txn.create_table::<&[u8], u64>("sizes")?;
//! items.insert(&mut txn, b"a", b"hello")?;
//! sizes.insert(&mut txn, b"a", 5)?;
//! txn.commit()?;
//! database.sync()?; // on disk now
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doc)]
use crate::{
    Database, Durability, Options, Range, ReadTxn, Table, Transaction, WriteOptions, WriteTxn,
};
