//! Coming from heed.
//!
//! heed is a typed interface to LMDB, and Teak has LMDB's model: one memory-mapped file, values
//! that are read without a copy, one writer, many processes. The differences that a program
//! notices:
//!
//! - Opening is safe and needs no map size, no `max_dbs` and no `max_readers`. A database is a file
//!   with a lock file next to it, not a directory.
//! - A slow reader does not make the file grow without bound: it keeps only the pages that it can
//!   see.
//! - A commit is durable by default after one flush. The lazy mode cannot corrupt the file.
//! - No thread owns a transaction: it may move to another one. A thread may have any number of
//!   readers.
//! - Changing a table while walking it is safe, with a [`DetachedCursor`].
//!
//! | heed | Teak |
//! |---|---|
//! | `EnvOpenOptions::new().map_size(…).open(path)` | [`Database::open`], [`Options`] |
//! | `EnvFlags::READ_ONLY`, `NO_SYNC` | [`Options::read_only`]; [`Options::durability`] with [`Durability::Lazy`] |
//! | `env.write_txn()`, `read_txn()` | [`Database::begin_write`], [`Database::begin_read`] |
//! | `env.nested_write_txn(&mut txn)` | [`WriteTxn::nested`], [`WriteTxn::savepoint`] |
//! | `Database<Str, U64<BE>>` | `Table<&str, u64>` |
//! | `env.create_database(&mut txn, Some(name))` | [`WriteTxn::create_table`] |
//! | `env.open_database(&txn, Some(name))` | [`Transaction::open_table`] |
//! | the unnamed database, `None` | a table with any name |
//! | `DatabaseFlags::DUP_SORT`, `DUP_FIXED` | [`WriteTxn::create_multi_table`], [`TableOptions::value_size`] |
//! | `INTEGER_KEY`, `key_comparator` | [`TableOptions::order`], [`Comparison`](crate::Comparison) |
//! | `Bytes`, `Str`, `SerdeJson<T>`, `SerdeBincode<T>` | `&[u8]`, `&str`, the features `serde-json` and `serde-postcard` |
//! | `BytesEncode`, `BytesDecode` | [`EncodeAs`](crate::codec::EncodeAs), [`Codec`](crate::codec::Codec) |
//! | `remap_types` | [`Table::cast`] |
//! | `put`, `get`, `delete`, `clear`, `len` | [`Table::insert`], [`Table::get`], [`Table::remove`], [`Table::clear`], [`Table::len`] |
//! | `put_with_flags(NO_OVERWRITE)` | [`Table::insert_new`] |
//! | `put_with_flags(APPEND)` | [`Table::append`], [`Table::bulk_load`] |
//! | `put_reserved` | [`Table::insert_with`] |
//! | `iter`, `rev_iter`, `range`, `rev_range` | [`Table::iter`], [`Table::range`] with [`Range::iter`] or [`Range::rev`] |
//! | `prefix_iter`, `rev_prefix_iter` | [`Table::prefix`], the same ways |
//! | `get_greater_than`, `get_lower_than_or_equal_to`, … | [`Table::cursor`] and [`Cursor::seek`] |
//! | `iter_mut` with `del_current`, `put_current` | [`DetachedCursor`] |
//! | `delete_range` | [`Range::remove`] |
//! | `get_duplicates`, `delete_one_duplicate` | [`MultiTable::values`], [`MultiTable::remove`] |
//! | `env.copy_to_path(path, CompactionOption::Enabled)` | [`Database::backup`], [`ReadTxn::copy_dense`] |
//! | `env.force_sync()` | [`Database::sync`] |
//! | `env.clear_stale_readers()` | not needed: slots of dead processes are free at once |
//! | `env.resize` | not needed |
//! | `env.prepare_for_closing().wait()` | [`Database::close`] |
//!
//! ```
//! use teak::{Database, Transaction};
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("x.teak");
//!
//! let database = Database::open(&path)?; // no `unsafe`, no map size
//! let mut txn = database.begin_write()?;
//! let words = txn.create_table::<&str, u64>("words")?;
//! words.insert(&mut txn, "teak", 4)?;
//! words.insert(&mut txn, "tea", 3)?;
//! txn.commit()?;
//!
//! let txn = database.begin_read()?;
//! let words = txn.open_table::<&str, u64>("words")?;
//! assert_eq!(words.prefix(b"tea").count(&txn)?, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files of LMDB are not read directly: `teak import lmdb:data.mdb x.teak` converts one. Programs
//! in other languages that are linked to LMDB can run on the package `teak-lmdb` unchanged.

#[cfg(doc)]
use crate::{
    Cursor, Database, DetachedCursor, Durability, MultiTable, Options, Range, ReadTxn, Table,
    TableOptions, Transaction, WriteTxn,
};
