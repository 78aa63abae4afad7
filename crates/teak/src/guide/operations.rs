//! Operations: backup, check, salvage, metrics, slow readers, sizes.
//!
//! All of this works while other threads and processes read and write. The program `teak` has a
//! command for each (`docs/program.md` in the repository).
//!
//! # How do I make a backup?
//!
//! | | copies | use it for |
//! |---|---|---|
//! | [`Database::backup`] | the newest state and all named snapshots, page by page | a full copy, as fast as the disk |
//! | [`Database::backup`] with `since` | the pages changed since a named snapshot | daily increments; [`restore`](crate::restore) applies them |
//! | [`ReadTxn::copy_dense`](crate::ReadTxn::copy_dense) | the records of one state, rebuilt without free space | a small copy to distribute; no named snapshots |
//! | [`ReadTxn::write_backup`](crate::ReadTxn::write_backup) | like the first two, to any writer | pipes and object stores |
//!
//! ```
//! use std::ops::ControlFlow;
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let copy = directory.path().join("copy.teak");
//! database.backup(&copy, None, &mut |_| ControlFlow::Continue(()))?;
//! assert!(Database::open(&copy)?.check(&mut |_| ControlFlow::Continue(()))?.is_clean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every page is compared with its checksum while it is copied, so a backup never propagates
//! damage. The file gets its name when it is complete and on disk. Do not copy the file of an open
//! database with other tools: the copy mixes states.
//!
//! For increments, name a state with each backup ([`Database::create_snapshot`]), make the next
//! increment since that name, and then drop it:
//!
//! ```
//! # use std::{fs::File, ops::ControlFlow};
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let path = |name: &str| directory.path().join(name);
//! # let database = Database::open(path("x.teak"))?;
//! # let go_on = ControlFlow::Continue(());
//! database.create_snapshot("sunday")?;
//! database.backup(path("full.teak"), None, &mut |_| go_on)?;
//! # let mut txn = database.begin_write()?;
//! # txn.create_table::<&str, u64>("ages")?.insert(&mut txn, "Ada", 36)?;
//! # txn.commit()?;
//! let since = database.open_snapshot("sunday")?;
//! database.backup(path("monday.delta"), Some(&since), &mut |_| go_on)?;
//!
//! let (mut full, mut monday) = (File::open(path("full.teak"))?, File::open(path("monday.delta"))?);
//! let restored = path("restored.teak");
//! let report = teak::restore(&mut full, &mut [&mut monday], &[], &restored, &mut |_| go_on)?;
//! assert!(report.is_clean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Is my database sound?
//!
//! [`Database::check`] reads every page and compares it with its checksum and with the page that
//! refers to it. Like a backup, a restore and a salvage, it ends with
//! [`Error::Cancelled`](crate::Error::Cancelled) if its progress callback breaks. Damage is listed
//! with page, table and keys. Reads find damage too, when they come
//! to it: [`Error::Corrupted`](crate::Error::Corrupted), never wrong data
//! ([`Verification`](crate::Verification), which costs less than 3 % by default).
//!
//! # What do I do about damage?
//!
//! 1. Keep the damaged file, and look into the system's log: the disk may be failing.
//! 2. Restore the newest backup.
//! 3. Without one, [`salvage`](crate::salvage) copies everything that can be read into a new
//!    database, and lists what was lost. It also reads files that cannot be opened.
//!
//! Records on sound pages remain readable and writable. Dropping or replacing damaged records works
//! where it needs no damaged page.
//!
//! # How do I see what happens?
//!
//! | | |
//! |---|---|
//! | [`Database::metrics`] | counters since opening: commits, flushes, pages copied, splits |
//! | [`Database::stat`] | file length, used, free and pending pages, readers |
//! | [`Table::stat`](crate::Table::stat) | records, depth and pages of a table |
//! | [`Options::on_event`] | a callback for commits, flushes, growth, slow readers, deaths of other processes |
//! | [`WriteTxn::commit_measured`](crate::WriteTxn::commit_measured) | where the time of a commit went |
//! | [`inspect`](crate::inspect) | the records of a file, without opening it |
//!
//! ```
//! # use teak::Options;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//! let database = Options::new()
//!     .on_event(|event| eprintln!("x.teak: {event}"))
//!     .open(&path)?;
//! let stat = database.stat()?;
//! assert!(stat.file_bytes >= 4 * 4096);
//! assert_eq!(database.metrics().commits, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How do I trace it?
//!
//! With the feature `tracing`, Teak reports to the subscribers of the crate [`tracing`], under the
//! target `teak`. Without the feature nothing of it is in the program. Without a subscriber, or at
//! a level above `DEBUG`, a transaction costs a comparison or two more.
//!
//! | span | level | covers | fields |
//! |---|---|---|---|
//! | `open` | INFO | opening and recovery | `database` |
//! | `write` | DEBUG | a write transaction, from its turn to its end | `database`; `waited_us`, until it was its turn; `outcome`: `committed`, `unchanged`, `aborted` or `failed` |
//! | `commit` | DEBUG | a commit, also of a checkpoint, with the wait for the disk; in `write` | `durability`; if something has changed `transaction`, `pages`, `bytes` |
//! | `compact` | INFO | [`Database::compact`] | `database`, `moved_pages`, `file_bytes` |
//!
//! | event | level | fields besides `event` and `database` |
//! |---|---|---|
//! | `opened`, `closed` | INFO | `file_bytes`; the message of `opened` has the result of recovery |
//! | `commit` | DEBUG | `transaction`, `durability`, `bytes`, `latency_us` |
//! | `flush` | DEBUG | `bytes`, `duration_us` |
//! | `grown`, `shrunk` | DEBUG | `old_bytes`, `file_bytes` |
//! | `slow_reader` | WARN | `process`, `thread`, `kept_bytes`, `wanted_pages` |
//! | `writer_died` | WARN | `newest` |
//! | `name_lost`, `waits_for_itself` | WARN | |
//! | `poisoned` | ERROR | `operation`, `error` |
//!
//! Events are those of [`Event`](crate::Event), with their text as the message, and come when these
//! are delivered: usually at the end of a transaction. A `write` span belongs to the span in which
//! the transaction was asked for; it is not entered, because a transaction may change threads.
//! Spans are reported while the writer lock is held, so a subscriber must not write to the
//! database.
//!
//! [`tracing`]: https://docs.rs/tracing
//!
//! # What makes the file grow?
//!
//! Data, and states that something keeps: a slow reader, a named snapshot, lazy commits that were
//! not flushed. A state keeps the pages that it uses, and nothing younger.
//!
//! - [`Database::readers`] lists the readers of all processes, with their age and the bytes that
//!   each keeps. [`Database::cancel_reader`] asks one to end: its next operation returns
//!   [`Error::SnapshotLost`](crate::Error::SnapshotLost). An idle reader keeps its pages until it
//!   is dropped.
//! - [`Options::on_slow_reader`] is asked before the file grows because of a reader. It decides to
//!   wait, to cancel the reader, to grow, or to fail. By default the file grows.
//! - [`Database::snapshots`] lists named snapshots with the bytes that each keeps.
//!   [`Database::drop_snapshot`] drops one.
//!
//! # How do I bound the file, or make it shorter?
//!
//! - [`Options::size_limit_bytes`] is stored in the file. A change that does not fit returns
//!   [`Error::Full`](crate::Error::Full) and does not affect committed data. Deleting works at the
//!   limit.
//! - [`Options::geometry`] sets the least and the greatest length, and the steps in which the file
//!   grows and shrinks.
//! - The file shrinks by itself, as part of commits and when it is closed. Pages move from its end
//!   when free pages amount to a third of the used ones for a while. `Options::move_percent(0)`
//!   stops pages from being moved; a free end is still cut off. A `shrink_threshold_bytes` of
//!   `u64::MAX` in the [`Geometry`](crate::Geometry) stops cutting while the database is open.
//! - [`Database::compact`] makes it as short as possible now, in commits of some thousand pages.
//!   [`CompactOptions`](crate::CompactOptions) limit its speed and extent.
//!
//! ```
//! use teak::CompactOptions;
//! # use teak::{Database, codec::Bytes};
//! # use std::ops::ControlFlow;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let numbers = txn.create_table::<u64, Bytes>("numbers")?;
//! # for number in 0..1000 { numbers.insert(&mut txn, number, &[7; 500])?; }
//! # txn.commit()?;
//! let mut txn = database.begin_write()?;
//! numbers.range(100..).remove(&mut txn)?;
//! txn.commit()?;
//! let done = database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))?;
//! assert!(done.obstacle.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How much memory does it use?
//!
//! Reading uses the page cache of the system, which counts as memory of the process in some tools
//! and can be taken away at any time. The engine itself needs about half a byte for each page of
//! the file, and up to 256 MiB for the changed pages of a durable write transaction
//! ([`Options::write_memory_bytes`]). [`Database::warm_up`] reads the file into memory, or locks it
//! there; [`Database::release_memory`] gives memory back.
//!
//! # How do I delete a database?
//!
//! With [`delete`](crate::delete), which also removes the lock file and the write-ahead log
//! (`NAME-wal`), and refuses if somebody has the database open.

#[allow(unused_imports, reason = "for the links above")]
use crate::{Database, Options};
