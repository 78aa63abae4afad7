//! Coming from rusqlite.
//!
//! SQLite answers questions that were not foreseen; Teak stores ordered keys and values, and leaves
//! the rest to the program. It suits data that is found by key, prefix or range, where SQL's
//! planning and row decoding cost more than the lookup itself. The differences that a program
//! notices:
//!
//! - A table has a key and a value. A row becomes a value with a codec, such as a tuple or a struct
//!   with the feature `derive`; its primary key becomes the key.
//! - An index is a table that the program writes in the same transaction. The example
//!   `secondary_index` shows one by a multi-value table and one by pairs.
//! - Readers never block and are never blocked, as in SQLite's WAL mode. A second writer waits for
//!   its turn, fairly, in place of `SQLITE_BUSY`.
//! - There are no statements to prepare, no schema and no migrations. A new type is a new table.
//!
//! | rusqlite | Teak |
//! |---|---|
//! | `Connection::open(path)` | [`Database::open`]; clone it, one for all threads |
//! | `PRAGMA journal_mode = WAL` | always so, without a second file |
//! | `PRAGMA synchronous = FULL`, `NORMAL` | [`Durability::Durable`], [`Durability::Lazy`] |
//! | `busy_timeout` | [`WriteOptions::timeout`] |
//! | `CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID` | [`WriteTxn::create_table`] |
//! | `INTEGER PRIMARY KEY AUTOINCREMENT` | `Table<u64, V>` and [`Table::draw_sequence`] |
//! | `CREATE INDEX` | a [`MultiTable`] from the indexed value to the key |
//! | `connection.transaction()`, `BEGIN IMMEDIATE` | [`Database::begin_write`] |
//! | `transaction.savepoint()` | [`WriteTxn::savepoint`], [`WriteTxn::nested`] |
//! | `commit`, `rollback` | [`WriteTxn::commit`], [`WriteTxn::abort`] |
//! | `INSERT OR REPLACE` | [`Table::insert`] |
//! | `INSERT`, an error if the key exists | [`Table::insert_new`] |
//! | `DELETE … WHERE k = ?` | [`Table::remove`] |
//! | `DELETE … WHERE k BETWEEN ? AND ?` | [`Range::remove`] |
//! | `SELECT v … WHERE k = ?`, `query_row` | [`Table::get`] |
//! | `SELECT … WHERE k >= ? ORDER BY k LIMIT n` | [`Table::range`], `.iter(&txn)?.take(n)` |
//! | `ORDER BY k DESC` | [`Range::rev`] |
//! | `WHERE k LIKE 'abc%'` | [`Table::prefix`] |
//! | `SELECT count(*)` | [`Table::len`], [`Range::count`] |
//! | `min(k)`, `max(k)` | [`Table::first`], [`Table::last`] |
//! | `JOIN` | a lookup for each record, or [`Table::get_many`] |
//! | `update_hook`, `sqlite3_session` | [`Database::follow`], [`Table::differences`]; also commits of other processes |
//! | `backup::Backup` | [`Database::backup`] |
//! | `VACUUM` | [`Database::compact`], seldom needed |
//! | `PRAGMA integrity_check` | [`Database::check`] |
//! | `:memory:` | a database in a temporary directory |
//!
//! ```
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//!
//! let database = Database::open(&path)?;
//! let mut txn = database.begin_write()?;
//! // CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, name TEXT)
//! let people = txn.create_table::<u64, (u32, &str)>("people")?;
//! // CREATE INDEX by_age ON people (age)
//! let by_age = txn.create_multi_table::<u32, u64>("people by age")?;
//! for (age, name) in [(36, "Ada"), (85, "Grace"), (41, "Alan")] {
//!     let id = people.draw_sequence(&mut txn, 1)?;
//!     people.insert(&mut txn, id, (age, name))?;
//!     by_age.insert(&mut txn, age, id)?;
//! }
//! txn.commit()?;
//!
//! // SELECT name FROM people WHERE age < 50 ORDER BY age
//! let txn = database.begin_read()?;
//! let mut names = Vec::new();
//! for record in by_age.range(..50).iter(&txn)? {
//!     let (_, id) = record?;
//!     let (_, name) = people.get(&txn, id)?.expect("an index has no other ids");
//!     names.push(name);
//! }
//! assert_eq!(names, ["Ada", "Alan"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doc)]
use crate::{Database, Durability, MultiTable, Range, Table, WriteOptions, WriteTxn};
