//! Coming from another store: a chapter for each, with a table of calls.
//!
//! | chapter | in short |
//! |---|---|
//! | [`redb`] | the same model: typed tables, transactions, one file. Tables are not borrowed, and processes share a database |
//! | [`heed`] | the same model and zero-copy reads, without a map size, `unsafe` or a limit of readers |
//! | [`fjall`] | a B+tree in one file in place of a log-structured tree in a directory |
//! | [`sled`] | transactions over all tables that cannot conflict, and a specified format |
//! | [`rusqlite`] | ordered keys and values in place of SQL: indexes are tables that you write |
//!
//! For LMDB and libmdbx themselves, the repository has a table of functions
//! (`docs/differences.md`), and the program `teak` imports their files (`docs/importing.md`).
//! Records of other stores are copied by a program that reads there and writes here:
//! [`Table::bulk_load`](crate::Table::bulk_load) takes an iterator of sorted records, and
//! [`bulk_load_unsorted`](crate::Table::bulk_load_unsorted) one of any order.

pub mod fjall;
pub mod heed;
pub mod redb;
pub mod rusqlite;
pub mod sled;
