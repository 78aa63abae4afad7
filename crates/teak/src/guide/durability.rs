//! Durability: when a commit is on disk, and what a crash can take.
//!
//! # Which kind of commit should I use?
//!
//! | [`Durability`] | [`commit`](WriteTxn::commit) returns when | a killed process loses | a power cut may take |
//! |---|---|---|---|
//! | `Durable` (default) | the commit is on disk | no commit that returned | no commit that returned |
//! | `Async` | the operating system has it; a thread flushes at once | no commit that returned | the newest commits, until their [`Ticket`] says that they are durable |
//! | `Lazy` | the operating system has it; flushed within 5 seconds | no commit that returned | the newest commits, until a flush |
//!
//! Commits are lost from the newest end only, each wholly or not at all. In no mode can a crash
//! damage the database. Use `Durable` unless you know that the last seconds can be repeated.
//!
//! The mode is a setting of the database ([`Options::durability`], stored in the file) that a
//! transaction can override:
//!
//! ```
//! use teak::{Database, Durability, Options};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//! let database = Options::new().durability(Durability::Lazy).open(&path)?;
//! let mut txn = database.begin_write()?;
//! let hits = txn.create_table::<&str, u64>("hits")?;
//! hits.insert(&mut txn, "/", 1)?;
//! txn.commit()?; // fast; may be lost if power fails within seconds
//!
//! let mut txn = database.begin_write()?;
//! txn.set_durability(Durability::Durable);
//! hits.insert(&mut txn, "/", 2)?;
//! txn.commit()?; // on disk, with the lazy commit before it
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How do I commit now and wait later?
//!
//! [`WriteTxn::commit_async`] returns a [`Ticket`]: wait for it, poll it, or `await` it.
//! [`Database::sync`] flushes everything committed so far and waits.
//!
//! ```
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # txn.create_table::<&str, u64>("hits")?;
//! let ticket = txn.commit_async()?;
//! // other work
//! ticket.wait()?;
//! assert!(ticket.is_durable()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How do I make durable commits fast?
//!
//! A durable commit waits for one flush. Threads that commit at the same time share flushes, so 16
//! threads commit two to three times as often as one. Or put more changes into a transaction, or
//! commit asynchronously. In files of 32 MiB and more small commits go to a journal first, which
//! takes one short write ([`Options::journal_bytes`]). In a process that is alone those of a few
//! records only flush a page of a log, which threads share ([`Options::memtable`]).
//!
//! Lazy commits are flushed when the oldest is 5 seconds old ([`Options::flush_after`]) or when
//! they have written a number of bytes ([`Options::flush_after_bytes`], no limit by default). For
//! small ones in the memtable both begin when they are merged, at most a second later. Until a
//! flush, pages of the last flushed state are not reused, so a file with heavy lazy changes is up
//! to twice as long; a limit of bytes bounds that.
//!
//! # When do readers see a commit?
//!
//! A durable commit when it is on disk, or earlier if an asynchronous or lazy commit builds on it;
//! the others when `commit` returns. So a reader never sees a commit that fails later, unless the
//! disk fails while commits that are not durable build on it.
//!
//! # What did opening find?
//!
//! [`Database::info`] says how the database was closed: cleanly, by a killed process, or by a
//! crash of the machine, and whether unfinished commits were rolled back. Recovery needs no
//! configuration, and takes time in proportion to what was written since the last flush.
//!
//! ```
//! # use teak::{Database, Recovery};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//! # Database::open(&path)?.close()?;
//! let database = Database::open(&path)?;
//! match database.info().recovery {
//!     Recovery::RolledBack { to, .. } => eprintln!("commits after {to} were not on disk"),
//!     recovery => assert!(matches!(recovery, Recovery::Clean)),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What do I do after an error?
//!
//! | error of a commit | state | next |
//! |---|---|---|
//! | [`Error::Io`] with `ENOSPC`, [`Error::Full`] | the transaction is undone, the database is fine | make room or raise the limit, and repeat. Deleting records works on a full disk |
//! | [`Error::Io`] while pages are written | likewise | repeat, or give up |
//! | a failed flush, or a failed write of the commit record | uncertain; the database is *poisoned* and serves reads only | drop all handles and open it again; opening verifies everything |
//! | [`Error::Poisoned`] | an earlier call failed that way | likewise |
//! | [`Error::TransactionBroken`] | an earlier call of the transaction failed in the middle | roll back, and repeat |
//! | [`Error::NameLost`] | the file was removed or replaced, and [`Options::require_name`] is set | put it back, or open the right one |
//!
//! A failed flush is never retried, because the system may have dropped the data and would report
//! success. A commit whose flush failed is not visible, but after a crash it may turn out to be
//! there, whole.
//!
//! # Must I close the database?
//!
//! A process that ends without closing loses no commit that returned; the next opening recovers.
//! [`Database::close`] flushes lazy commits, moves pages so that the file gets shorter (for a
//! second or an eighth of the time that it was open, at most 10 seconds) and reports errors.
//! Dropping the last handle does the same and reports nothing.
//!
//! A program that can repeat its last lazy commits after a power cut need not wait for that flush:
//! [`Options::flush_on_close`].
//!
//! # What does Teak rely on?
//!
//! A local file system on Linux whose `fdatasync` returns when the disk has the data, and a disk
//! that does not acknowledge flushes early. Do not copy the file of an open database: use a
//! [backup](super::operations#how-do-i-make-a-backup). The promises in full, and how they are
//! tested, are in the repository: `docs/durability.md`, `docs/testing-durability.md`.

#[allow(unused_imports, reason = "for the links above")]
use crate::{Database, Durability, Error, Options, Ticket, WriteTxn};
