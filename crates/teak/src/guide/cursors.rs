//! Cursors and ranges: walking a table, counting, comparing.
//!
//! # How do I read a range?
//!
//! [`Table::range`] takes any Rust range of keys and returns a [`Range`](crate::Range), which is a
//! value: its methods take the transaction. [`Range::iter`](crate::Range::iter) returns an iterator
//! from both ends; other methods return the [keys](crate::Range::keys) or the
//! [values](crate::Range::values), or [remove](crate::Range::remove),
//! [copy](crate::Range::copy_to) and [count](crate::Range::count) the records. [`Table::iter`] is
//! all records, [`Table::prefix`] the range of keys that begin with some bytes.
//!
//! ```
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let heights = txn.create_table::<&str, u64>("heights")?;
//! heights.insert_many(&mut txn, &[("ash", 30), ("elm", 40), ("oak", 35), ("teak", 45)])?;
//!
//! let names = |range: teak::Range<'_, teak::codec::Str, u64>| range.keys(&txn)?.collect::<teak::Result<Vec<_>>>();
//! assert_eq!(names(heights.range("b".."p"))?, ["elm", "oak"]);
//! assert_eq!(names(heights.range("oak"..))?, ["oak", "teak"]);
//! assert_eq!(names(heights.prefix(b"a"))?, ["ash"]);
//! let (tallest_last, _) = heights.iter(&txn)?.next_back().expect("four records")?;
//! assert_eq!(tallest_last, "teak");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each item is a `Result`: a page is read when the walk comes to it, and may be damaged. After the
//! first error the iterator ends. Keys are owned, because pages store their common prefix once;
//! values are borrowed from the file. A key of a table with `&str` or `&[u8]` keys is a
//! [`Small<str>`](crate::codec::Small) or `Small<[u8]>`, which needs no heap up to 32 bytes and is
//! used like a `&str` or a `&[u8]`. With `String` or `Vec<u8>` as the type of keys it is a
//! `String` or a `Vec<u8>`. The tables are the same: [`Table::cast`](crate::Table::cast) changes
//! the types.
//!
//! # What is the fastest loop?
//!
//! A `for` loop copies keys. For text and bytes this takes longer than the rest of a step, also if
//! they are short and need no heap. [`Iter::lend`](crate::Iter::lend) and
//! [`lend_back`](crate::Iter::lend_back) return the next record without copying it: key and value
//! are valid until the next call. Numbers and arrays are copied by either, so a `for` loop over
//! them is as fast.
//!
//! ```
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let heights = txn.create_table::<&str, u64>("heights")?;
//! # heights.insert_many(&mut txn, &[("ash", 30), ("elm", 40), ("oak", 35)])?;
//! let mut longest = String::new();
//! let mut records = heights.iter(&txn)?;
//! while let Some((name, height)) = records.lend()? {
//!     if height > 32 && name.len() > longest.len() {
//!         name.clone_into(&mut longest);
//!     }
//! }
//! assert_eq!(longest, "elm");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which kind of walk should I use?
//!
//! | | borrows the transaction | table may change meanwhile | moves to another thread | speed per record |
//! |---|---|---|---|---|
//! | [`Iter`](crate::Iter), [`Cursor`](crate::Cursor) | yes | no | no | 15 to 20 ns |
//! | [`OwnedIter`](crate::OwnedIter) | holds a [`ReadTxn`](crate::ReadTxn) | (a snapshot) | yes | somewhat more |
//! | [`DetachedCursor`] | no; each call names it | yes | yes | 100 ns; its [`scan`](DetachedCursor::scan) 16 ns |
//!
//! Ranges are for loops. Cursors move in both directions, over raw bytes. Detached cursors are for
//! changing a table while walking it, and for programs that keep positions across transactions or
//! send them to other threads.
//!
//! # How do I seek?
//!
//! A [`Cursor`](crate::Cursor) moves with `first`, `last`, `next`, `prev` and
//! [`seek`](crate::Cursor::seek). A seek names what it looks for, compared with a key: the record
//! that is [equal](SeekOp::Equal), or the nearest one that is greater or smaller. Each move returns
//! whether it found a record.
//!
//! ```
//! # use teak::{Database, SeekOp};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let heights = txn.create_table::<&str, u64>("heights")?;
//! # heights.insert_many(&mut txn, &[("ash", 30), ("elm", 40), ("oak", 35)])?;
//! # txn.commit()?;
//! let txn = database.begin_read()?;
//! let mut cursor = heights.cursor(&txn)?;
//! assert!(!cursor.seek(SeekOp::Equal, b"b")?, "there is no such key");
//! assert_eq!(cursor.key(), b"elm", "the next greater one");
//! assert!(cursor.seek(SeekOp::GreaterOrEqual, b"b")?, "the first key that is not smaller");
//! assert_eq!(cursor.key(), b"elm");
//! assert!(cursor.next()?);
//! assert_eq!(cursor.value()?, 35u64.to_be_bytes());
//! assert!(!cursor.next()?, "after the last record");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For a single key, [`Table::get_or_next`](crate::Table::get_or_next) finds it or the next one
//! without a cursor.
//!
//! # How do I change a table while walking it?
//!
//! With a [`DetachedCursor`], whose position is a key. It stays right whatever is changed, by the
//! cursor or otherwise. If its record is removed, the cursor stays between its neighbours (in the
//! *gap*), and [`next`](DetachedCursor::next) goes to the record after it.
//!
//! ```
//! # use teak::{Database, DetachedCursor};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let heights = txn.create_table::<&str, u64>("heights")?;
//! # heights.insert_many(&mut txn, &[("ash", 30), ("elm", 40), ("oak", 35)])?;
//! let mut cursor = DetachedCursor::new(&heights);
//! while cursor.next(&txn)? {
//!     let is_small = *cursor.value(&txn)? < 35u64.to_be_bytes()[..];
//!     if is_small {
//!         cursor.remove(&mut txn)?;
//!     }
//! }
//! assert_eq!(heights.len(&txn)?, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To remove everything between two keys, [`Range::remove`](crate::Range::remove) drops whole pages.
//!
//! # How do I count?
//!
//! | question | method | cost |
//! |---|---|---|
//! | records of the table | [`Table::len`] | the root is read |
//! | records of a range | [`Range::count`](crate::Range::count) | the pages of the range; two descents if the table is [counted](crate::TableOptions::counted) |
//! | about how many records a range has | [`Range::estimate`](crate::Range::estimate) | two descents |
//! | the rank of a key; the n-th record | [`Table::rank`](crate::Table::rank), [`Table::nth`](crate::Table::nth) | one descent if the table is counted |
//!
//! A counted table stores the number of records below each child, which takes 8 bytes per child and
//! makes changes slightly slower.
//!
//! # How do I scan with several threads?
//!
//! [`Range::split`](crate::Range::split) cuts a range into parts of similar size, which are ranges
//! of the same table. Scoped threads read them through one transaction. For other threads,
//! [`Range::owned`](crate::Range::owned) returns an iterator that holds the transaction.
//!
//! # How do I find what changed?
//!
//! [`Table::differences`](crate::Table::differences) walks two states of a table and skips the pages
//! that they share, so it takes as long as there are changes. The older state is a transaction that
//! was kept, or a [named snapshot](crate::Database::open_snapshot). [`Database::follow`] returns a
//! feed of all commits, by whichever process.
//!
//! ```
//! # use teak::{Database, Difference};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let heights = txn.create_table::<&str, u64>("heights")?;
//! # heights.insert_many(&mut txn, &[("ash", 30), ("elm", 40)])?;
//! # txn.commit()?;
//! let older = database.begin_read()?;
//! # let mut txn = database.begin_write()?;
//! heights.insert(&mut txn, "oak", 35)?;
//! # txn.commit()?;
//! let newer = database.begin_read()?;
//! for difference in heights.differences(&older, &newer)? {
//!     assert!(matches!(difference?, Difference::Inserted { .. }));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What about data that is not in memory?
//!
//! A walk then waits for the disk at each leaf. [`Options::read_ahead`](crate::Options::read_ahead)
//! lets the system read ahead, which makes scans several times as fast and single lookups slower.
//! [`Table::get_many`](crate::Table::get_many) requests the pages of 32 keys at once.

#[allow(unused_imports, reason = "for the links above")]
use crate::{Database, DetachedCursor, SeekOp, Table};
