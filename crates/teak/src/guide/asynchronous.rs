//! Async programs: commits, turns and change feeds without a blocked thread.
//!
//! Teak needs no runtime: its futures work with any executor. `examples/tokio` in the repository is
//! a whole program.
//!
//! # Which calls wait, and what do I await instead?
//!
//! | call | waits for | in a task |
//! |---|---|---|
//! | [`Database::begin_read`], lookups, inserts | nothing, or a page of a file that is not in memory | call it directly |
//! | [`Database::begin_write`] | other writers, of all processes | [`Database::begin_write_async`] |
//! | [`WriteTxn::commit`](crate::WriteTxn::commit) | a flush of the disk: milliseconds | [`WriteTxn::commit_async`](crate::WriteTxn::commit_async), which returns a [`Ticket`](crate::Ticket), a future |
//! | [`Database::sync`] | a flush | [`Database::begin_sync`](crate::Database::begin_sync), also a [`Ticket`](crate::Ticket) |
//! | [`ChangeFeed::next`] | the next commit | [`ChangeFeed::next_async`] |
//! | long scans, bulk loads, backups, [`Database::check`], [`Database::close`] | the disk, and they take long | a thread of the executor for blocking work |
//!
//! ```
//! use teak::{Database, codec::Str};
//! async fn visit(database: &Database, name: &str) -> teak::Result<u64> {
//!     let mut txn = database.begin_write_async().await?;
//!     let visits = txn.create_table::<Str, u64>("visits")?;
//!     let count = visits.get(&txn, name)?.unwrap_or(0) + 1;
//!     visits.insert(&mut txn, name, count)?;
//!     txn.commit_async()?.await?; // on disk from here on
//!     Ok(count)
//! }
//! # use std::{pin::pin, task::{Context, Poll, Waker}, thread, time::Duration};
//! # let database = Database::in_memory()?;
//! # let mut visited = pin!(visit(&database, "Ada"));
//! # let count = loop {
//! #     match visited.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
//! #         Poll::Ready(count) => break count?,
//! #         Poll::Pending => thread::sleep(Duration::from_millis(1)),
//! #     }
//! # };
//! # assert_eq!(count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How many threads does that take?
//!
//! None for a task. While tasks wait for a ticket, one thread of the database flushes for all of
//! them. While tasks wait to begin, one thread waits for the writer lock, and hands it to the task
//! that came first. While tasks wait for commits, one thread waits for all of them. Each starts
//! when it is first needed, and the last two end when nobody needs them.
//!
//! Tasks and threads that call [`Database::begin_write`] share one queue. Dropping a future gives
//! its turn up; a transaction that had begun for it is rolled back. Dropping a
//! [`Ticket`](crate::Ticket) or the future of a feed loses nothing.
//!
//! # May I hold a transaction across an await?
//!
//! Yes: [`ReadTxn`](crate::ReadTxn) and [`WriteTxn`](crate::WriteTxn) are `Send`, and may end on
//! another thread than they began on. But all other writers of all processes wait until a write
//! transaction ends. So await only what is quick, or collect the input first. A read transaction
//! blocks nobody, but keeps the pages of its state.
//!
//! A task that holds a [`WriteTxn`](crate::WriteTxn) and begins another one waits forever, as a
//! thread does. For a thread this is reported as [`Event::WaitsForItself`](crate::Event).
//!
//! # How do I stream a range?
//!
//! With the feature `stream`, `Range::stream` and `Range::stream_rev` return a `RangeStream`, of a
//! table of either kind. It reads in batches and lets other tasks run after each, so a long scan
//! does not starve the executor. It owns its transaction, and dropping it is all that cancelling
//! takes.
//! Likewise `ChangeFeed::into_stream` makes a stream of the commits.
//!
//! ```ignore
//! use tokio_stream::StreamExt;
//! let mut people = ages.range("A"..).stream(&database.begin_read()?)?;
//! while let Some((name, age)) = people.try_next().await? {
//!     println!("{name}: {age}");
//! }
//! ```
//!
//! A stream reads on the thread that polls it, which waits for pages that are not in memory. Where
//! most are not, read in a thread for blocking work, and send records through a bounded channel:
//! transactions and tables can be moved there. Or read a page of records with each call from a
//! [`DetachedCursor`](crate::DetachedCursor), which keeps its place between two calls.
//!
//! ```
//! # use teak::{Database, ReadTxn, Table, codec::Str};
//! use std::{sync::mpsc, thread};
//! /// With tokio: `tokio::sync::mpsc` and `tokio::task::spawn_blocking`.
//! fn stream(txn: ReadTxn, ages: Table<Str, u64>) -> mpsc::Receiver<teak::Result<(String, u64)>> {
//!     let (sender, receiver) = mpsc::sync_channel(64);
//!     thread::spawn(move || -> teak::Result<()> {
//!         for record in ages.iter(&txn)? {
//!             let record = record.map(|(name, age)| (name.to_string(), age));
//!             if sender.send(record).is_err() {
//!                 break; // the receiver was dropped
//!             }
//!         }
//!         Ok(())
//!     });
//!     receiver
//! }
//! # let database = Database::in_memory()?;
//! # let mut txn = database.begin_write()?;
//! # let ages = txn.create_table::<Str, u64>("ages")?;
//! # ages.insert(&mut txn, "Ada", 36)?;
//! # txn.commit()?;
//! let mut people = stream(database.begin_read()?, ages).into_iter();
//! assert_eq!(people.next().unwrap()?, ("Ada".to_owned(), 36));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[allow(unused_imports, reason = "for the links")]
use crate::{ChangeFeed, Database};
