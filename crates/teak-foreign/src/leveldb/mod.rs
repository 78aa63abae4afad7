//! Directories of LevelDB.
//!
//! [`LevelDb::open`] finds the files of the current state and takes LevelDB's lock for reading.
//! [`LevelDb::records`] merges them: the records of the logs, the tables of level 0, and each
//! deeper level are sorted, and an entry with a higher sequence number hides the older ones of its
//! key. Nothing is written to the directory, and no byte of it is trusted: each length is checked
//! against its bounds, each block against its checksum, all entries for their order.
//! [`LevelDbWriter`] writes a directory that LevelDB opens.
//!
//! ```
//! use teak_foreign::leveldb::LevelDb;
//!
//! let source = LevelDb::open("tests/data/leveldb".as_ref())?;
//! let mut records = source.records(&std::env::temp_dir(), false)?;
//! let mut count = 0;
//! while let Some((key, _value)) = records.next_record()? {
//!     assert!(key.starts_with(b"key-"));
//!     count += 1;
//! }
//! assert_eq!(count, 2_600);
//! source.refuse_changed()?;
//! # Ok::<(), teak_foreign::Error>(())
//! ```
//!
//! The repository of LevelDB describes the format of logs and of tables, and has that of manifests
//! in its class `VersionEdit`.

mod batch;
mod block;
mod bloom;
mod directory;
mod entry;
mod level;
mod log;
mod manifest;
mod merge;
mod named_file;
mod parser;
mod sorter;
mod table_file;
mod table_writer;
mod varint;
mod writer;

#[cfg(test)]
mod tests;

pub use directory::LevelDb;
pub use merge::LevelDbRecords;
pub use table_writer::LevelDbOptions;
pub use writer::LevelDbWriter;
