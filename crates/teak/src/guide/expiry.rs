//! Records that expire: caches, sessions, locks.
//!
//! # How do I let records expire?
//!
//! Create an [`ExpiringTable`](crate::ExpiringTable). Its records live for the time to live of the
//! table, or for one of their own.
//!
//! ```
//! use std::time::Duration;
//! use teak::{Database, Expiry, ExpiryOptions};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let hour = Duration::from_secs(3600);
//! let options = ExpiryOptions::new().ttl(hour);
//! let sessions = txn.create_expiring_table::<&str, &str>("sessions", &options)?;
//! sessions.insert(&mut txn, "7f3a", "Ada")?; // an hour
//! sessions.insert_with_expiry(&mut txn, "c041", "Grace", 24 * hour)?;
//! sessions.insert_with_expiry(&mut txn, "root", "admin", Expiry::Never)?;
//! sessions.set_expiry(&mut txn, "c041", Expiry::Default)?; // an hour from now
//! txn.commit()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | insert, with the time to live of the table | [`insert`](crate::ExpiringTable::insert) |
//! | insert, with another expiry | [`insert_with_expiry`](crate::ExpiringTable::insert_with_expiry) |
//! | insert if there is none: a lock | [`insert_new`](crate::ExpiringTable::insert_new) |
//! | read, or make what is missing: a cache | [`get_or_insert_with`](crate::ExpiringTable::get_or_insert_with) |
//! | change the value and keep the expiry | [`update`](crate::ExpiringTable::update) |
//! | extend the life of a record, or make it permanent | [`set_expiry`](crate::ExpiringTable::set_expiry) |
//! | know when it expires | [`get_with_expiry`](crate::ExpiringTable::get_with_expiry) |
//! | change the time to live | [`set_ttl`](crate::ExpiringTable::set_ttl) |
//!
//! # What does expired mean?
//!
//! A record is invisible from its expiry on: to lookups, ranges in both directions,
//! [`len`](crate::ExpiringTable::len), and changes, for which its key is free. A transaction sees
//! one moment. It takes it when it first uses an expiring table, so a record does not disappear
//! while you look at it. A read transaction that stays open for a day still sees what had not
//! expired at that moment; [`ReadTxn::refresh`](crate::ReadTxn::refresh) moves it on, if there is a
//! newer state, and a checkpoint a write transaction.
//!
//! The time is that of the system's clock, in milliseconds, or of
//! [`Options::clock`](crate::Options::clock). If the clock is set back, transactions continue with
//! the latest time that they have seen in this process, until the clock has caught up or the
//! database is closed: what has expired does not come back. Records that a commit has removed are
//! gone in any case.
//!
//! # When is the space free?
//!
//! A commit that changes something removes some expired records: up to 64, and two for each record
//! that was written to an expiring table. So a table that is written to does not grow with what has
//! expired. If nothing is committed, nothing is removed, nor by [small
//! commits](crate::guide::durability) of plain tables alone. Remove what has expired, in parts, before
//! a backup, or when a program has little else to write:
//!
//! ```
//! # use teak::{Database, ExpiryOptions, Transaction};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # txn.create_expiring_table::<&str, &str>("sessions", &ExpiryOptions::new())?;
//! # txn.commit()?;
//! loop {
//!     let mut txn = database.begin_write()?;
//!     let sessions = txn.open_expiring_table::<&str, &str>("sessions")?;
//!     let removed = sessions.remove_expired(&mut txn, 10_000)?;
//!     txn.commit()?;
//!     if removed < 10_000 {
//!         break;
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`stat`](crate::ExpiringTable::stat) tells how many records have expired and are not removed,
//! and how many were removed; [`Metrics`](crate::Metrics) counts the removals of this process, and
//! `teak stat` shows them for each table.
//!
//! # How do I bound a cache?
//!
//! With [`max_records`](crate::ExpiryOptions::max_records) or
//! [`max_bytes`](crate::ExpiryOptions::max_bytes), with or without a time to live. An insertion
//! above a limit removes expired records or, if there are none, those that were inserted longest
//! ago. Reading a record does not make it younger; inserting it again does.
//!
//! ```
//! # use teak::{Database, ExpiryOptions};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! let options = ExpiryOptions::new().max_records(2);
//! let pages = txn.create_expiring_table::<&str, &str>("pages", &options)?;
//! for path in ["/a", "/b", "/c"] {
//!     pages.insert(&mut txn, path, "<html>")?;
//! }
//! assert!(!pages.contains_key(&txn, "/a")?);
//! assert_eq!(pages.len(&txn)?, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How do I learn what has expired?
//!
//! By [`Changes::of_expiring`](crate::Changes::of_expiring) in a change feed, or
//! [`differences`](crate::ExpiringTable::differences) of two states: a record that has expired
//! comes as [`Expired`](crate::ExpiringDifference::Expired) when a commit has removed it, and one
//! that made room as [`Removed`](crate::ExpiringDifference::Removed).
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | keys | one value each, in any order but a custom one |
//! | table name | 8 bytes shorter than the longest key |
//! | size | 16 bytes for each record, and an entry of the index with its key for each record that expires; one more in a table with limits |
//! | writing | two trees are changed, and never by the memtable of [small commits](crate::guide::durability) |
//! | other versions | refuse such a table if they do not know it, and use the others |
