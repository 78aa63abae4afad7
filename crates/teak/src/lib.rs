//! Teak is an embedded, ordered, transactional key-value store: one memory-mapped file that holds
//! copy-on-write B+trees.
//!
//! - A [`Database`] holds any number of named [`Table`]s, each with records sorted by key.
//! - A [`ReadTxn`] sees one committed state for as long as it lives. Readers never block writers,
//!   writers never block readers, and values are read from the mapped file without a copy.
//! - One [`WriteTxn`] at a time changes all tables together, or none.
//! - A commit is durable when it returns, after one flush. Or it is lazy: then a power cut may take
//!   the newest commits, but never a part of one ([`Durability`]).
//! - Any number of processes share a database. The file grows by itself, and shrinks. A long-lived
//!   reader keeps only the pages that it can see.
//!
//! # A first example
//!
//! ```
//! use teak::{Database, Transaction};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("people.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! let ages = txn.create_table::<&str, u64>("ages")?;
//! ages.insert(&mut txn, "Ada", 36)?;
//! ages.insert(&mut txn, "Grace", 85)?;
//! txn.commit()?; // durable when this returns
//!
//! let txn = database.begin_read()?; // a snapshot: later commits do not change it
//! let ages = txn.open_table::<&str, u64>("ages")?;
//! assert_eq!(ages.get(&txn, "Ada")?, Some(36));
//! for record in ages.iter(&txn)? {
//!     let (name, age) = record?;
//!     println!("{name}: {age}");
//! }
//! # drop(txn);
//! database.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guide
//!
//! The [`guide`] has a chapter for each topic, with examples and limits:
//!
//! - [Transactions](guide::transactions): snapshots, writing, savepoints, lifetimes of values.
//! - [Cursors and ranges](guide::cursors): walking, seeking, counting, differences.
//! - [Multi-value tables](guide::multi_value): several values for a key.
//! - [Durability](guide::durability): when a commit is on disk, and errors.
//! - [Async programs](guide::asynchronous): commits, turns and feeds without a blocked thread.
//! - [Operations](guide::operations): backup, check, salvage, metrics, slow readers, sizes.
//! - [Many processes](guide::processes): sharing a database.
//! - [Coming from another store](guide::coming_from): tables of calls for users of redb, heed, fjall,
//!   sled and rusqlite.
//!
//! # Find an item
//!
//! | to | see |
//! |---|---|
//! | open and create with other options | [`Options`], [`TableOptions`], [`KeyOrder`] |
//! | use a database that ends with its last handle, as in tests | [`Database::in_memory`], [`Database::temporary`] |
//! | read a database that is in no file: a download, a part of the program | [`Options::open_bytes`], [`Options::open_read_at`] |
//! | define a table in a constant: name, types, options | [`TableDef`], [`MultiTableDef`] |
//! | store other types than bytes | [`codec`], [`TableTypes`], [`Table::cast`] |
//! | give a key several values | [`MultiTable`], [`WriteTxn::create_multi_table`], [`ValueSize`] |
//! | write a function for tables of both kinds | [`Kind`] |
//! | use an order of your own | [`Comparison`], [`Options::comparison`], [`Database::add_comparison`] |
//! | read a range or a prefix, from both ends | [`Table::range`], [`Table::prefix`], [`Range::iter`], [`Range::rev`], [`Range::keys`], [`Range::values`], [`Cursor`] |
//! | remove a range | [`Range::remove`] |
//! | walk a table and change it meanwhile | [`DetachedCursor`], also over pairs |
//! | change a record depending on its value | [`Table::entry`], [`Table::compare_and_swap`], [`MultiTable::modify`] |
//! | read many keys at once | [`Table::get_many`] |
//! | count a range, find the n-th record | [`Range::count`], [`Range::estimate`], [`Table::rank`], [`Table::nth`] |
//! | read a range with several threads | [`Range::split`] |
//! | send what was read to another thread | [`Table::get_owned`], [`Range::owned`], [`DetachedCursor`] |
//! | undo a part of a transaction | [`WriteTxn::nested`], [`WriteTxn::savepoint`] |
//! | commit and continue, to write or to read | [`WriteTxn::checkpoint`], [`WriteTxn::commit_and_read`] |
//! | write only if nothing changed since a read | [`Database::begin_write_with`], [`WriteOptions::at`] |
//! | read uncommitted data with several threads | [`WriteTxn`] |
//! | generate ids from a sequence; store three numbers with each commit | [`Table::draw_sequence`], [`WriteTxn::set_marks`] |
//! | load much at once | [`Table::bulk_load`], [`Table::bulk_load_unsorted`] |
//! | choose when a commit is on disk | [`Durability`], [`Options::flush_after`], [`Database::sync`] |
//! | commit now and wait later | [`WriteTxn::commit_async`], [`Ticket`] |
//! | write and follow commits in async programs | [`Database::begin_write_async`], [`ChangeFeed::next_async`] |
//! | learn what opening found | [`Database::info`] |
//! | learn what changed between two states | [`Table::differences`], [`Range::differences`], [`ReadTxn::changed_tables`] |
//! | follow commits of all processes | [`Database::follow`], [`Database::wait_for_commit`] |
//! | copy or move records to another table | [`Range::copy_to`], [`Range::move_to`] |
//! | keep a state under a name | [`Database::create_snapshot`], [`WriteTxn::roll_back_to_snapshot`] |
//! | look into a file without opening it; compute limits | [`inspect`], [`limits`] |
//! | log events, read counters | [`Options::on_event`], [`Database::metrics`]; `prometheus_text` with the feature `metrics`; the feature `tracing` |
//! | find the lock file of a database | [`lock_file_of`] |
//! | delete a database | [`delete`] |
//! | look for damage | [`Database::check`], [`Verification`] |
//! | save the readable part of a damaged file | [`salvage`] |
//!
//! # Features
//!
//! All are optional, and none is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `derive` | `#[derive(TeakKey)]` and `#[derive(TeakValue)]` for structs and enums: see [`codec`] |
//! | `compression` | compression of pages and large values with LZ4: `Compression` |
//! | `zstd` | also with Zstandard; needs a C compiler |
//! | `encryption` | encryption at rest: `EncryptionKey`, `Cipher` |
//! | `bytes`, `chrono`, `jiff`, `uuid` | the types of these crates as keys and values |
//! | `serde-json`, `serde-postcard` | values in these formats: `Json<T>`, `Postcard<T>` |
//! | `metrics` | `prometheus_text`: counters for Prometheus |
//! | `stream` | ranges and change feeds as streams: [guide](guide::asynchronous#how-do-i-stream-a-range) |
//! | `tracing` | [spans and events](guide::operations#how-do-i-trace-it) for the crate `tracing` |
//!
//! # Errors
//!
//! All errors are one type, [`Error`]. Its text says what happened, to which file, table, key or
//! page, and what to do. The repository has more: `docs/errors.md` lists all errors,
//! `docs/durability.md` the promises, `docs/format.md` the file format, and `ARCHITECTURE.md` is
//! the map of the code.

// Documentation on docs.rs says which feature an item needs.
// Without encryption or compression nothing uses coded files.
#![cfg_attr(
    not(all(feature = "encryption", feature = "compression")),
    allow(dead_code, unused_imports, unreachable_pub)
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod admin;
mod alloc;
mod api;
mod btree;
#[cfg(feature = "encryption")]
mod cipher;
mod clock;
mod commit;
mod error;
pub mod guide;
mod instance;
mod io;
mod maintain;
mod observe;
mod open;
mod page;
mod planted;
mod process;
mod read;
mod record;
mod share;
mod sync;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod types;
mod unique_id;
mod write;

#[cfg(test)]
mod format_tests;
#[cfg(test)]
mod transaction_tests;

#[cfg(feature = "compression")]
pub use api::Compression;
#[cfg(feature = "metrics")]
pub use api::prometheus_text;
pub use api::{
    Action, BackupProgress, Bounds, BulkOptions, BulkProgress, BulkRecord, CachedLookup,
    ChangeFeed, Changes, CheckProgress, CheckReport, CommitLatency, CompactObstacle,
    CompactOptions, CompactProgress, Create, Cursor, CursorEnds, Damage, Database, DatabaseInfo,
    DatabaseStat, DeleteScope, Deletion, DenseProgress, DetachedCursor, Difference, Differences,
    Direction, Durability, Entry, Estimate, Event, ExpiringDifference, ExpiringDifferences,
    ExpiringIter, ExpiringTable, Expiry, ExpiryOptions, ExpiryStat, FileInfo, InsertMode, Iter,
    KeyStep, Keys, Kind, Limits, Loss, Marks, Metrics, Multi, MultiTable, MultiTableDef, Options,
    OwnedIter, PageUse, PageVisit, ParkedReadTxn, PreparedInfo, Range, ReadAhead, ReadAt, ReadTxn,
    ReaderInfo, Recovery, ResetReadTxn, RestoreProgress, SalvageProgress, SalvageReport,
    SalvagedTable, Savepoint, SeekOp, SeekTarget, Sharing, Single, SlowReader, SlowReaderChoice,
    SnapshotInfo, Table, TableChange, TableDef, TableInfo, TableOptions, TableStat, Ticket,
    Transaction, ValueGuard, ValueSize, Values, Verification, WarmUp, Warmed, WriteInfo,
    WriteOptions, WriteTxn, codec, delete, inspect, limits, lock_file_of, restore, salvage,
};
#[cfg(feature = "stream")]
pub use api::{ChangeStream, RangeStream};
#[cfg(feature = "encryption")]
pub use cipher::{Cipher, EncryptionKey, KeyRequest};
pub use error::{Error, KeyRange, Result, remedy};
pub use page::{comparison::Comparison, key::KeyOrder};
#[cfg(feature = "derive")]
pub use teak_derive::{TeakKey, TeakValue};
pub(crate) use types::Checksum;
pub use types::{Extent, Geometry, PageNumber, TableTypes, TransactionId};
