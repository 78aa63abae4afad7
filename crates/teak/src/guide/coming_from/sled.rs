//! Coming from sled.
//!
//! The differences that a program notices:
//!
//! - Every change is in a transaction, over any tables. A transaction is not a closure that may run
//!   again: there is one write transaction at a time, so none conflicts.
//! - Keys and values have types; for sled's bytes use `&[u8]`.
//! - A commit is durable when it returns. sled flushes every 500 ms by default;
//!   [`Durability::Lazy`] with [`Options::flush_after`] is that.
//! - The file format is specified and versioned, memory is bounded, and
//!   several processes share a database.
//!
//! | sled | Teak |
//! |---|---|
//! | `sled::open(path)` | [`Database::open`] |
//! | `Config::new().temporary(true)` | a database in a temporary directory |
//! | `db.open_tree(name)` | [`WriteTxn::create_table`] |
//! | `drop_tree`, `tree_names` | [`WriteTxn::drop_table`], [`Transaction::tables`] |
//! | `tree.insert(k, v)`, which returns the old value | [`Table::insert`] in a transaction |
//! | `get`, `contains_key`, `remove` | [`Table::get`], [`Table::remove`] |
//! | `iter`, `range(a..b)`, `scan_prefix(p)` | [`Table::iter`], [`Table::range`], [`Table::prefix`] |
//! | `first`, `last` | [`Table::first`], [`Table::last`] |
//! | `get_lt`, `get_gt` | [`Table::cursor`] and [`Cursor::seek`] |
//! | `pop_min`, `pop_max` | [`Table::first`] or [`Table::last`], then [`Table::remove`] |
//! | `len()`, which scans | [`Table::len`], which does not |
//! | `compare_and_swap(k, old, new)` | [`Table::compare_and_swap`] |
//! | `update_and_fetch`, `fetch_and_update`, merge operators | [`Table::get`] and [`Table::insert`] in one transaction |
//! | `apply_batch(batch)` | one [`WriteTxn`] |
//! | `(&a, &b).transaction(\|(a, b)\| …)` | one [`WriteTxn`]; [`WriteTxn::nested`] to undo a part |
//! | `abort(error)` | dropping the transaction, or [`WriteTxn::abort`] |
//! | `watch_prefix(p)` | [`Database::follow`]: the differences of a table after each commit of any process |
//! | `generate_id` | [`Table::draw_sequence`] |
//! | `flush`, `flush_async().await` | [`Database::sync`]; [`WriteTxn::commit_async`] and its [`Ticket`], or [`Database::begin_sync`] |
//! | `was_recovered` | [`Database::info`] |
//! | `size_on_disk` | [`Database::stat`] |
//! | `export`, `import` | [`Database::backup`]; `teak dump` and `teak load` |
//! | `checksum` | [`Database::check`] |
//!
//! ```
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! let accounts = txn.create_table::<&[u8], u64>("accounts")?;
//! accounts.insert(&mut txn, b"Ada", 100)?;
//! txn.commit()?;
//!
//! // A transfer: both changes or none, and no retry.
//! let mut txn = database.begin_write()?;
//! let amount = 30;
//! let before = accounts.get(&txn, b"Ada")?.unwrap_or(0);
//! accounts.insert(&mut txn, b"Ada", before - amount)?;
//! accounts.insert(&mut txn, b"Grace", amount)?;
//! txn.commit()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doc)]
use crate::{Cursor, Database, Durability, Options, Table, Ticket, Transaction, WriteTxn};
