//! The part of the library `libleveldb` that is written in Rust: databases in directories like
//! those of LevelDB, with its rules for locks, batches, snapshots, iterators and keys of any
//! length, over Teak. The classes of C++ and the functions of C, in `cpp/`, call it through
//! [`bridge`].
//!
//! | module | |
//! |---|---|
//! | `directory` | opening: `LOCK`, `CURRENT`, conversion of a directory of LevelDB |
//! | `comparator` | orders of keys |
//! | `files` | names of files |
//! | `removal` | removing and repairing databases |
//! | `store` | an open database: reading, writing, sizes, compaction |
//! | `writers` | several waiting batches are one transaction |
//! | `batch` | the bytes of a batch |
//! | `long_keys` | keys that are longer than the engine's: where they are |
//! | `iterator` | iteration in both directions, through long keys |
//! | `failure` | codes and texts of errors |
//! | `system` | differences of operating systems |
//! | `bridge` | the functions that C++ calls |

mod batch;
pub mod bridge;
mod comparator;
mod directory;
mod failure;
mod files;
mod iterator;
mod lock_file;
mod long_keys;
mod removal;
mod store;
mod system;
mod writers;

#[cfg(test)]
mod tests;
