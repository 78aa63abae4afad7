//! The interface of `lmdb.h` 0.9 over Teak: programs linked to LMDB run on this library unchanged,
//! and their data is in a Teak database.
//!
//! This crate only translates. `docs/lmdb-compat.md` of the repository has the mapping and the
//! differences. C programs include `include/lmdb.h`, whose functions are implemented here.
//!
//! # Layers
//!
//! Files import files of the same or a lower layer, and no two import each other:
//!
//! 1. The C functions, one file for each group: `environments`, `environment_settings`,
//!    `reader_list`, `transactions`, `databases`, `data`, `cursors`, `messages`.
//! 2. Operations of a transaction: `cursor` and the files in `cursor/` (`MDB_cursor`), `put`.
//! 3. `transaction` and the files in `transaction/` (`MDB_txn`). It knows its cursors as a trait
//!    (`cursor_list`).
//! 4. Parts of a transaction: `writer`, `reserved_value`, `remembered_databases`, `cursor_list`,
//!    `cursor_position`, `engine_cursor`, `read_view`.
//! 5. `environment` (`MDB_env`) and `copy`; its parts `files`, and `readers`, whose slots keep
//!    objects of transactions without knowing their type.
//! 6. Databases: `handles`, `description`, `free_pages`, `orders` and the files in `orders/`.
//! 7. `border` (what crosses to C), `registry` (C's handles), `codes`, `compare`, `flags`,
//!    `limits`.
//! 8. `system`: the differences of operating systems.
//!
//! # Safety
//!
//! A handle that has ended is refused (module `registry`). C's other promises are trusted: one
//! thread at a time uses a transaction and its cursors, and pointers are valid as the header says.
//! Null pointers are refused where LMDB says so or would crash. A panic does not cross the border:
//! it becomes [`codes::PANIC`].

pub mod codes;
pub mod cursors;
pub mod data;
pub mod databases;
pub mod environment_settings;
pub mod environments;
pub mod flags;
pub mod messages;
pub mod reader_list;
pub mod transactions;

mod border;
mod compare;
mod copy;
mod cursor;
mod cursor_list;
mod cursor_position;
mod description;
mod engine_cursor;
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
mod system;
mod transaction;
mod writer;

pub use border::{EnvironmentInfo, Stat, Value};
pub use cursor::Cursor;
pub use environment::Environment;
pub use system::{FileHandle, Mode};
pub use transaction::Transaction;
