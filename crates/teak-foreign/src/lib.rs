//! Reads the files of other engines: LMDB 0.9 and 1.0, and libmdbx. Their code is not used, and nothing is known here of Teak.
//!
//! A file is read by its offsets, never mapped, never locked and never written to. Nothing of it is trusted: each number is compared with
//! the bounds of what it stands in, each page is entered once in a pass, and a tree is as deep as its description says or damaged. So any
//! bytes give records or an [`Error`], after as many steps as the file has pages, with memory for a path of pages and one value.
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
//! What the formats are: `format` has the layouts of pages, nodes and descriptions of trees, `meta` the pages that a file begins with and
//! which of them counts, `tree` the way through a tree, `records` what its entries mean.

#![forbid(unsafe_code)]

mod bytes;
mod environment;
mod error;
mod format;
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
