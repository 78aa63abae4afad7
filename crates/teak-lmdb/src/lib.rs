//! The interface of `lmdb.h` 0.9 over Teak: programs that are linked to LMDB run on this library as they are, and their data lies in
//! a Teak database.
//!
//! Everything here is translation. What maps on what, and what differs, is in `docs/lmdb-compat.md` of the repository. C programs include
//! `include/lmdb.h`; what stands here is the other side of it.
//!
//! A handle that has ended is refused (module `registry`). C's other promises are trusted: that a transaction and its cursors are
//! used by one thread at a time, that pointers lead to what the header says. Null pointers are refused where LMDB says so or
//! would crash, and a panic does not cross the border: it becomes [`codes::PANIC`].

pub mod codes;
pub mod cursors;
pub mod data;
pub mod databases;
pub mod environments;
pub mod flags;
pub mod messages;
pub mod transactions;

mod border;
mod compare;
mod copy;
mod cursor;
mod description;
mod environment;
mod files;
mod free_pages;
mod handles;
mod orders;
mod put;
mod read_view;
mod readers;
mod registry;
mod remembered_databases;
mod reserved_value;
mod transaction;
mod untracked_cursor;
mod writer;

pub use border::{EnvironmentInfo, Stat, Value};
pub use cursor::Cursor;
pub use environment::Environment;
pub use transaction::Transaction;
