//! Teak is an embedded, ordered, transactional key-value store: one file, memory-mapped, a
//! copy-on-write B+tree.
//!
//! - A [`Database`] holds any number of named [`Table`]s, each of records sorted by key.
//! - A [`ReadTxn`] sees one committed state for as long as it lives. Readers wait for nobody, nobody
//!   waits for them, and they read straight from the mapped file.
//! - There is one [`WriteTxn`] at a time. It changes all tables together or none.
//! - A commit is durable when it returns, with one flush, or lazy: a power cut may then take the newest
//!   commits, and never a part of one ([`Durability`]).
//! - The file grows by itself. A reader that stays long keeps only the pages that it can see.
//!
//! # A first example
//!
//! ```
//! use teak::{Database, Transaction, codec::{Str, U64}};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("people.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! let ages = txn.create_table::<Str, U64>("ages")?;
//! ages.insert(&mut txn, "Ada", 36)?;
//! ages.insert(&mut txn, "Grace", 85)?;
//! txn.commit()?; // durable when this returns
//!
//! let txn = database.begin_read()?; // a snapshot: later commits do not change it
//! let ages = txn.open_table::<Str, U64>("ages")?;
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
//! # Where to go on
//!
//! | to | see |
//! |---|---|
//! | open and create with other options | [`Options`], [`TableOptions`], [`KeyOrder`] |
//! | keep other types than bytes | [`codec`] |
//! | give a key several values | [`MultiTable`], [`WriteTxn::create_multi_table`], [`ValueSize`] |
//! | bring an order of one's own | [`Comparison`], [`Options::comparison`], [`Database::add_comparison`] |
//! | read a range, a prefix, from both ends | [`Table::range`], [`Table::prefix`], [`Cursor`] |
//! | go through a table and change it meanwhile | [`DetachedCursor`], also over pairs |
//! | change a record by what is there | [`Table::modify`], [`Table::replace`], [`Table::compare_and_swap`] and their neighbours; [`MultiTable::modify`] |
//! | read many keys at once | [`Table::get_many`] |
//! | count a range, find the n-th record | [`Table::count_range`], [`Table::rank`], [`Table::nth`], [`Table::estimate_range`] |
//! | read a range with several threads | [`Table::split`] |
//! | take what was read to another thread | [`Table::get_owned`], [`Table::range_owned`], [`Table::cursor_owned`]; [`MultiTable::range_owned`] and its neighbours |
//! | undo a part of a transaction | [`WriteTxn::nested`], [`WriteTxn::savepoint`] |
//! | commit and go on, to write or to read | [`WriteTxn::checkpoint`], [`WriteTxn::commit_and_read`] |
//! | write what was decided by reading | [`Database::begin_write_at`] |
//! | read what is not committed yet with several threads | [`WriteTxn`] |
//! | draw numbers, and note how far one is | [`Table::draw_sequence`], [`WriteTxn::set_marks`] |
//! | load much at once | [`Table::bulk_load`], [`Table::bulk_load_unsorted`], [`MultiTable::bulk_load_unsorted`] |
//! | choose when a commit is on the disk | [`Durability`], [`Options::flush_after`], [`Database::sync`] |
//! | commit now and wait later | [`WriteTxn::commit_async`], [`Ticket`] |
//! | know what opening found | [`Database::recovery`] |
//! | know what changed between two states | [`Table::differences`], [`ReadTxn::changed_tables`] |
//! | follow what is committed, by whichever process | [`Database::follow`], [`Database::wait_for_commit`] |
//! | copy or move records to another table | [`Table::copy_range`], [`Table::move_range`], [`MultiTable::copy_range`] |
//! | know what fits, and what is in a file, without opening it | [`limits`], [`inspect`] |
//! | log what happens, count what was done | [`Options::on_event`], [`Database::metrics`] |
//! | know which lock file a database has | [`lock_file_of`] |
//! | delete a database | [`delete`] |
//! | look for damage | [`Database::check`] |
//! | have damage found when it is read | [`Verification`]; on by default |
//! | save what can be read of a damaged file | [`salvage`] |
//!
//! Errors are one type, [`Error`], whose texts say what happened and what to do. The repository has
//! more: `ARCHITECTURE.md` is the map of the code, `docs/format.md` the file format,
//! `docs/durability.md` what is promised after a crash, `docs/glossary.md` the words.

mod admin;
mod alloc;
mod api;
mod btree;
mod clock;
mod commit;
mod error;
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

pub use api::{
    Action, BackupProgress, BulkOptions, BulkProgress, CacheOutcome, CachedLookup, ChangeFeed,
    Changes, CheckProgress, CheckReport, CommitLatency, CompactObstacle, CompactOptions,
    CompactProgress, Cursor, Damage, Database, DatabaseStat, DeleteScope, Deletion, DenseProgress,
    DetachedCursor, Difference, Differences, Durability, Estimate, Event, Exactness, FileInfo,
    Keys, Limits, Loss, Marks, Metrics, MultiCursor, MultiTable, Options, OwnedCursor,
    OwnedMultiCursor, OwnedPairs, OwnedRange, OwnedValues, PageUse, PageVisit, PairDifference,
    PairDifferences, Pairs, ParkedReadTxn, Range, ReadAhead, ReadTxn, ReaderInfo, Recovery,
    ResetReadTxn, RestoreProgress, SalvageProgress, SalvageReport, SalvagedTable, Savepoint,
    SlowReader, SlowReaderChoice, SnapshotInfo, Swap, Table, TableChange, TableInfo, TableOptions,
    TableStat, Ticket, Transaction, ValueGuard, ValueSize, Values, Verification, WarmUp, Warmed,
    WriteInfo, WriteTxn, WriterGuard, codec, delete, inspect, limits, lock_file_of, restore,
    restore_like, salvage, salvage_with,
};
pub use error::{Error, KeyRange, Result, remedy};
pub use page::{comparison::Comparison, key::KeyOrder};
pub use types::{Checksum, Extent, Geometry, PageNumber, TransactionId};
