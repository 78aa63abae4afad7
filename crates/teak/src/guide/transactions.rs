//! Transactions: reading a snapshot, writing, undoing.
//!
//! # How do I read?
//!
//! [`Database::begin_read`] takes a *snapshot*: the state of the newest visible commit. All tables
//! of a [`ReadTxn`] are in that state until it ends, whatever is committed meanwhile.
//!
//! ```
//! use teak::{Database, Transaction};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("people.teak");
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! txn.create_table::<&str, u64>("ages")?.insert(&mut txn, "Ada", 36)?;
//! txn.commit()?;
//!
//! let before = database.begin_read()?;
//! let ages = before.open_table::<&str, u64>("ages")?;
//!
//! let mut txn = database.begin_write()?;
//! ages.insert(&mut txn, "Ada", 37)?;
//! txn.commit()?;
//!
//! assert_eq!(ages.get(&before, "Ada")?, Some(36));
//! assert_eq!(ages.get(&database.begin_read()?, "Ada")?, Some(37));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Beginning and ending a read transaction takes about 50 nanoseconds, no lock, and one slot of the
//! reader table; a little more, and a second slot once it scans, while small commits wait in
//! the memtable ([`Options::memtable`](crate::Options::memtable)). Begin one for each request. Readers never wait for writers, and writers never wait
//! for readers.
//!
//! - A thread may have any number of read transactions, also while it has a write transaction.
//! - A [`ReadTxn`] can be cloned, shared by reference, and moved to another thread. A clone takes
//!   no slot.
//! - A [`Table`](crate::Table) is a name and two codecs. It belongs to no transaction, so keep it
//!   and pass the transaction with each call. If the table is missing in that transaction, the call
//!   returns [`Error::TableNotFound`].
//!
//! # How long does a value that I read stay valid?
//!
//! [`Table::get`](crate::Table::get) returns bytes of the mapped file, without a copy. They live as
//! long as the borrow of the transaction. In a write transaction the next change ends the borrow;
//! the compiler checks both. To return a value from a function, or send it to another thread, use
//! [`Table::get_owned`](crate::Table::get_owned): its [`ValueGuard`](crate::ValueGuard) keeps the
//! snapshot. Copy small values instead.
//!
//! # How do I write?
//!
//! [`Database::begin_write`] begins a write transaction. One write transaction runs at a time, over
//! all processes; others wait in order of arrival. It sees its own changes. [`WriteTxn::commit`]
//! makes all of them visible together, in all tables. Dropping the transaction undoes them.
//!
//! | to begin | if somebody else is writing |
//! |---|---|
//! | [`begin_write`](Database::begin_write) | waits |
//! | [`begin_write_with`](Database::begin_write_with)`(WriteOptions::new()`[`.timeout(limit)`](crate::WriteOptions::timeout)`)` | returns `None` after the timeout, at once if it is zero |
//! | ...[`.at(&reader)`](crate::WriteOptions::at) | waits; fails if the state that a reader saw is no longer the newest |
//!
//! A thread that begins a second write transaction would wait for itself, forever. Use a timeout
//! where that may happen. [`Database::info`] names the process that is writing.
//!
//! To decide by reading and then write, read within the write transaction. If deciding takes long,
//! read in a read transaction and begin with [`WriteOptions::at`](crate::WriteOptions::at). It returns
//! [`Error::SnapshotStale`] if somebody committed meanwhile; refresh the reader, and decide again.
//!
//! # How large may a transaction be?
//!
//! Any size. Up to 256 MiB of changed pages ([`Options::write_memory_bytes`]) stay in memory;
//! beyond that, leaves are written early to free pages of the file. A commit costs at least one
//! copied page per level of each changed tree (three or four pages), so group small changes. To
//! change thousands of records, use [`Table::insert_many`](crate::Table::insert_many),
//! [`Table::remove_many`](crate::Table::remove_many) or
//! [`Table::bulk_load`](crate::Table::bulk_load).
//!
//! # How do I undo a part of a transaction?
//!
//! With [`WriteTxn::nested`], which undoes the changes of a closure that fails, or with
//! [`WriteTxn::savepoint`] and [`WriteTxn::rollback_to`]. Both can be nested to any depth.
//!
//! ```
//! # use teak::{Database, Error};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let accounts = txn.create_table::<&str, u64>("accounts")?;
//! accounts.insert(&mut txn, "Ada", 10)?;
//! let paid = txn.nested(|txn| {
//!     accounts.insert(txn, "Ada", 0)?;
//!     Err::<(), _>(Error::InvalidArgument("Grace has no account".into()))
//! });
//! assert!(paid.is_err());
//! assert_eq!(accounts.get(&txn, "Ada")?, Some(10));
//! txn.commit()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What if a change fails?
//!
//! An error that is found before anything changed (a key that is too long, a missing table) leaves
//! the transaction unchanged. An error in the middle of a change, such as a full disk, leaves it
//! *broken*: every further change and the commit return [`Error::TransactionBroken`]. Roll back to
//! a savepoint, or all of it with [`WriteTxn::roll_back`], and continue. A panic in the middle of a
//! change does the same. Committed data is never affected.
//!
//! # How do I commit and continue?
//!
//! | to | use |
//! |---|---|
//! | continue writing, and let nobody write in between | [`WriteTxn::checkpoint`] |
//! | continue reading the state just committed | [`WriteTxn::commit_and_read`] |
//! | give up the changes and continue writing | [`WriteTxn::roll_back`] |
//! | commit now and wait for the disk later | [`WriteTxn::commit_async`] |
//!
//! # How do I commit in several databases, or not at all?
//!
//! With two-phase commit. [`WriteTxn::prepare`] makes a transaction durable under a name, and
//! invisible. When all databases have prepared theirs, note the decision somewhere durable, and
//! have each [commit](Database::commit_prepared), or else [roll back](Database::rollback_prepared). Both
//! are possible after a crash, in any process, so ask for [`Database::prepared`] when the program
//! starts, before it writes: until the decision, every other write transaction waits, or fails with
//! [`Error::TransactionPrepared`] after its timeout.
//!
//! ```
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let paths = ["debit", "credit"].map(|name| directory.path().join(name));
//! let databases = paths.map(|path| Database::open(path).unwrap());
//! for database in &databases {
//!     // An earlier run has ended before it noted a decision.
//!     for prepared in database.prepared()? {
//!         database.rollback_prepared(prepared.name)?;
//!     }
//! }
//! for (database, amount) in databases.iter().zip([-5, 5]) {
//!     let mut txn = database.begin_write()?;
//!     txn.create_table::<&str, i64>("accounts")?.insert(&mut txn, "Ada", amount)?;
//!     txn.prepare("transfer 7")?;
//! }
//! // Both are prepared. The decision is noted here.
//! for database in &databases {
//!     database.commit_prepared("transfer 7")?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What if a read transaction must stay open?
//!
//! It keeps the pages that its state uses and later commits replaced; they cannot be reused until
//! it ends. Pages written later are reused as usual, so the file grows by what changed since its
//! state, and not by every commit. Still, end what you do not need:
//!
//! - [`ReadTxn::refresh`] moves a transaction to the newest state.
//! - [`ReadTxn::reset`] and [`ResetReadTxn::renew`](crate::ResetReadTxn::renew) keep the slot, and
//!   nothing of the file.
//! - [`ReadTxn::park`] lets a writer take the state if it needs the space.
//!   [`ParkedReadTxn::resume`](crate::ParkedReadTxn::resume) returns [`Error::SnapshotLost`] then.
//!
//! To keep a state for days, also across restarts, give it a name:
//! [`Database::create_snapshot`]. How to find slow readers is in
//! [operations](super::operations#what-makes-the-file-grow).
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | write transactions | one at a time |
//! | read transactions | 1,048,576 at a time over all processes; 65,536 if opened exclusively |
//! | key | 0 bytes to [`DatabaseInfo::max_key_len`](crate::DatabaseInfo::max_key_len): 3,840 bytes with pages of 4 KiB, at most 32,767 |
//! | value | 0 bytes to what fits into memory and the file |
//! | table names | as long as a key; any number of tables |
//!
//! # Reading without copying: which types?
//!
//! A [codec](crate::codec) says how typed keys and values become bytes. Codecs of keys preserve
//! order. Use [`Bytes`](crate::codec::Bytes) for plain bytes, and
//! [`KeyOrder::Integer`](crate::KeyOrder::Integer) for keys that are native integers. A table does
//! not store its codecs: the code that opens it chooses the types.

#[allow(unused_imports, reason = "for the links above")]
use crate::{Database, Error, Options, ReadTxn, WriteTxn};
