//! Many processes: sharing a database.
//!
//! # How do I share a database?
//!
//! Open the same path in each process. Nothing has to be configured or started. The first process
//! makes a lock file `NAME-lock` next to the database, and the last one removes it. Any number of
//! threads of up to 4,096 processes use a database at once, on one machine.
//!
//! | | |
//! |---|---|
//! | readers | never wait for a transaction, and take no lock unless the memtable has commits. If the only process has collected small commits ([`Options::memtable`]), its first reader that scans merges them |
//! | writers | one transaction at a time over all processes, about in order of arrival |
//! | commits | seen by all processes at the same moment |
//! | flushes | shared: a flush of one process makes the earlier commits of all durable |
//!
//! Opening the same path again in one process returns another handle of the same database. Options
//! that matter must agree ([`Error::OptionsDiffer`]). To pass a database to other threads, clone
//! the [`Database`].
//!
//! # How do I wait for another process's commit?
//!
//! [`Database::wait_for_commit`] sleeps until there is a newer state. [`Database::follow`] returns
//! a feed of commits that says which tables and records changed.
//!
//! ```
//! use std::time::Duration;
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut feed = database.follow(database.begin_read()?)?;
//!
//! let mut txn = database.begin_write()?; // here or in any process
//! txn.create_table::<&str, u64>("ages")?.insert(&mut txn, "Ada", 36)?;
//! txn.commit()?;
//!
//! let changes = feed.next(Some(Duration::from_secs(5)))?.expect("a commit");
//! assert_eq!(changes.tables()?[0].0, b"ages");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Commits made between two calls are reported as one change. A feed keeps the state that was seen
//! last, so ask often, or drop it.
//!
//! # What if a process dies?
//!
//! The others continue. A process that needs a lock or a reader slot of the dead one gets it within
//! 100 milliseconds. Its open write transaction is gone; commits that returned are there.
//! [`Event::WriterDied`](crate::Event::WriterDied) reports it. Process ids play no part, so
//! containers with PID namespaces of their own can share a database.
//!
//! # What if a process stops?
//!
//! A stopped process (`SIGSTOP`, a debugger) keeps its locks. If it was writing, other writers
//! wait, and readers do not. [`Database::info`] names it, and
//! [`WriteOptions::timeout`](crate::WriteOptions::timeout) limits the wait. A reader of a stopped
//! process keeps its pages; [`Database::cancel_reader`] only marks it, since a process that does
//! not run cannot end it.
//!
//! # May I fork?
//!
//! A child process cannot use the handles of its parent: each call returns [`Error::Forked`], and
//! dropping them does nothing to the parent. Open the database in the child. A child that only
//! calls `exec` needs no care.
//!
//! # Can I open a database for myself alone?
//!
//! [`Sharing::Alone`](crate::Sharing::Alone) refuses all other processes and needs no lock file. If
//! the directory is read-only, or another user's, open it with [`Options::read_only`]: it is read
//! without a lock file while nobody writes. [`Sharing::Unlocked`](crate::Sharing::Unlocked) reads
//! beside writers, with restrictions.
//! [`Options::lock_file`] puts the lock file elsewhere; all processes must use the same path.
//!
//! ```
//! use teak::{Options, Sharing};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//! let database = Options::new().sharing(Sharing::Alone).open(&path)?;
//! assert!(!database.info().has_lock_file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What must I not do?
//!
//! | do not | because | Teak |
//! |---|---|---|
//! | use a network file system | locks and mappings are not shared between machines | refuses ([`Error::NetworkFileSystem`]) unless [`Options::allow_network`] is set and one machine alone uses it |
//! | remove the lock file of an open database | others would not find each other | notices, and refuses with [`Error::InUse`] |
//! | move or copy it without `NAME-wal` after a process was killed | small commits of its last second are missing | opens it |
//! | copy, truncate or write to the file with other tools | the copy mixes states; readers would see zeros | reports errors; use [backups](super::operations#how-do-i-make-a-backup) |
//! | replace or rename the file while it is open | commits would go to a file without a name | commits, with an event; an error with [`Options::require_name`] |
//! | open a database by two hard links | their lock files differ | refuses with [`Error::InUse`] |
//! | share it between versions with other lock file layouts | they could not read each other's locks | refuses with [`Error::InUse`] |
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | processes | 4,096 at a time |
//! | read transactions | 1,048,576 at a time; more is [`Error::TooManyReaders`] |
//! | wait for the gate when opening | 60 seconds, then [`Error::Io`] with `TimedOut` |
//! | size of the lock file | 80 KiB of disk space; 64 bytes more for each reader |
//!
//! How it works, with diagrams, is in `docs/locking.md` of the repository.

#[allow(unused_imports, reason = "for the links above")]
use crate::{Database, Error, Options};
