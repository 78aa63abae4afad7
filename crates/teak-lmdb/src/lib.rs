//! The interface of `lmdb.h` 0.9 over Teak: programs linked to LMDB run on this library unchanged,
//! and their data is in a Teak database.
//!
//! This crate only translates. `docs/lmdb-compat.md` of the repository has the mapping and the
//! differences. C programs include `include/lmdb.h`, whose functions are implemented here.
//!
//! A handle that has ended is refused (module `registry`). C's other promises are trusted: one
//! thread at a time uses a transaction and its cursors, and pointers are valid as the header says.
//! Null pointers are refused where LMDB says so or would crash. A panic does not cross the border:
//! it becomes [`codes::PANIC`].

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
mod limits;
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
