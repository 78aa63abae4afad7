//! Multi-value tables: several values for a key.
//!
//! # When do I need one?
//!
//! For indexes and sets: word to line numbers, author to books. A [`MultiTable`] keeps, for each
//! key, a sorted set of values without duplicates. A pair of key and value is a record. The
//! alternative, a plain table with tuples of both as keys, stores the key with each record; a
//! multi-value table stores it once.
//!
//! ```
//! use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let lines = txn.create_multi_table::<&str, u32>("lines")?;
//! assert!(lines.insert(&mut txn, "teak", 12)?);
//! assert!(lines.insert(&mut txn, "teak", 3)?);
//! assert!(!lines.insert(&mut txn, "teak", 3)?, "the pair is there already");
//! lines.insert_values(&mut txn, "oak", &[7, 8])?;
//!
//! let of_teak: Vec<u32> = lines.values(&txn, "teak")?.collect::<teak::Result<_>>()?;
//! assert_eq!(of_teak, [3, 12]);
//! assert_eq!(lines.len(&txn)?, 4, "pairs");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Values are compared as bytes, so use a [codec](crate::codec) that preserves order, or another
//! [`TableOptions::value_order`](crate::TableOptions::value_order).
//!
//! # How do I read the values of a key?
//!
//! | to get | use |
//! |---|---|
//! | the smallest, the greatest | [`first_value`](MultiTable::first_value), [`last_value`](MultiTable::last_value) |
//! | all, in order, from both ends | [`values`](MultiTable::values) |
//! | whether a pair, a key is there | [`contains`](MultiTable::contains), [`contains_key`](crate::Table::contains_key) |
//! | how many values a key has | [`count`](MultiTable::count) |
//! | all pairs, a range of keys, a range of pairs | [`iter`](crate::Table::iter), [`range`](crate::Table::range), [`range_pairs`](MultiTable::range_pairs) |
//! | each key once, with the number of its values | [`Range::keys`](crate::Range::keys) |
//! | values of one size as one slice per page | [`for_each_packed`](MultiTable::for_each_packed) |
//!
//! A [`Cursor`](crate::Cursor) moves by pair, by key, and among the values of a key. A
//! [`DetachedCursor`](crate::DetachedCursor) does so while the table changes. Both
//! [seek](crate::SeekTarget) a key, a pair, or a value of one key.
//!
//! ```
//! # use teak::{Database, SeekOp, SeekTarget};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let lines = txn.create_multi_table::<&str, u32>("lines")?;
//! # lines.insert_values(&mut txn, "teak", &[3, 12])?;
//! # lines.insert_values(&mut txn, "yew", &[7])?;
//! let mut cursor = lines.cursor(&txn)?;
//! let twelve = 12u32.to_be_bytes();
//! assert!(cursor.seek(SeekOp::Less, (b"teak", &twelve))?, "the pair before");
//! assert_eq!(cursor.value()?, 3u32.to_be_bytes());
//! assert!(cursor.seek(SeekOp::Greater, (b"teak", &twelve))?, "also of another key");
//! assert_eq!(cursor.key(), b"yew");
//! assert!(!cursor.seek(SeekOp::Greater, SeekTarget::Value(b"teak", &twelve))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How do I change them?
//!
//! ```
//! # use teak::Database;
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! # let mut txn = database.begin_write()?;
//! # let lines = txn.create_multi_table::<&str, u32>("lines")?;
//! lines.set_values(&mut txn, "teak", &[3, 5, 12])?; // exactly these
//! lines.replace(&mut txn, "teak", 5, 6)?; // one value by another
//! lines.remove(&mut txn, "teak", 12)?; // one pair
//! assert_eq!(lines.count(&txn, "teak")?, 2);
//! lines.remove_key(&mut txn, "teak")?; // all values of a key
//! assert!(lines.is_empty(&txn)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`MultiTable::modify`] changes the value that a closure
//! decides on, [`insert_many`](crate::Table::insert_many) and [`MultiTable::remove_many`] apply thousands of pairs
//! in key order, and [`bulk_load_unsorted`](crate::Table::bulk_load_unsorted) builds a table from unsorted pairs.
//!
//! # How are the values stored?
//!
//! | a key has | its values are | to change one |
//! |---|---|---|
//! | one value | in the leaf, like a plain record | the leaf is copied |
//! | a few: about half a page of key and values, at most 2,048 bytes of values | a sorted set in the leaf | the leaf is copied |
//! | more | a B+tree of their own, with its root in the leaf | the path of both trees is copied |
//!
//! The conversion is automatic in both directions. Millions of values of one key are fine.
//!
//! # What should I set?
//!
//! [`TableOptions`](crate::TableOptions), when the table is created
//! ([`MultiTableDef`](crate::MultiTableDef)):
//!
//! - **[`value_size`](crate::TableOptions::value_size)** if all values have one size. They then
//!   take no bytes besides their own, in pages that are arrays, and are located by index
//!   arithmetic.
//! - **[`value_order`](crate::TableOptions::value_order)** for native integers, or an order of the
//!   application.
//! - **[`counted`](crate::TableOptions::counted)** if you ask for ranks or counts of ranges.
//!
//! ```
//! # use teak::{Database, KeyOrder, MultiTableDef, TableOptions, ValueSize, codec::NativeU64};
//! # let directory = tempfile::tempdir()?;
//! # let database = Database::open(directory.path().join("x.teak"))?;
//! let mut txn = database.begin_write()?;
//! let options = TableOptions::new()
//!     .value_order(KeyOrder::Integer)
//!     .value_size(ValueSize::Bytes(8));
//! let postings = MultiTableDef::<&str, NativeU64>::new("postings").options(options);
//! let postings = postings.create(&mut txn)?;
//! postings.insert_values(&mut txn, "teak", &[700_000, 3])?;
//! assert_eq!(postings.first_value(&txn, "teak")?, Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | values of a key | any number |
//! | value | 0 bytes to [`DatabaseInfo::max_key_len`](crate::DatabaseInfo::max_key_len), like a key; otherwise [`Error::ValueTooLong`](crate::Error::ValueTooLong) |
//! | duplicates | none: a key has a value once |
//! | pairs in a table | 2^48 |
//! | older versions of Teak | one without multi-value tables cannot open a database that has ever had one |

#[allow(unused_imports, reason = "for the links above")]
use crate::MultiTable;
