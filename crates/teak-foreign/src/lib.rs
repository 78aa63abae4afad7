//! Reads the files of other engines: LMDB 0.9 and 1.0, libmdbx, and LevelDB ([`leveldb`]), whose
//! directories it also writes. It uses none of their code, and nothing of Teak.
//!
//! A file of LMDB or libmdbx is read by offsets. It is never mapped, locked or written. Nothing in
//! it is trusted: each
//! number is checked against its bounds, each page is entered at most once per pass, and a tree
//! must have the depth that its description says. Any bytes therefore give records or an [`Error`],
//! in at most as many steps as the file has pages, with memory for a path of pages and one value.
//!
//! ```
//! let bytes = std::fs::read("tests/data/lmdb-0.9.mdb")?;
//! let environment = teak_foreign::Environment::open(bytes, None)?;
//! let tables = environment.tables()?;
//! let mut pass = environment.pass();
//! for table in &tables {
//!     let mut records = pass.records(table)?;
//!     while let Some((key, value)) = records.next_record()? {
//!         assert!(!key.is_empty() && value.len() < 20_000);
//!     }
//! }
//! environment.refuse_changed()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules: `format` has the layouts of pages, nodes and descriptions of trees, `meta` the
//! first pages of a file and the choice of the state, `tree` the walk through a tree, `records` the
//! meaning of its entries.

#![forbid(unsafe_code)]

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bytes;
mod environment;
mod error;
mod files;
mod format;
pub mod leveldb;
mod meta;
mod pages;
mod records;
mod source;
mod table;
mod tree;

#[cfg(test)]
mod tests;

pub use bytes::PageSlice;
pub use environment::{Environment, TableScan};
pub use error::{Error, Result};
pub use meta::{Engine, this_boot};
pub use records::Records;
pub use source::Source;
pub use table::{Order, Table, ValueKind};
