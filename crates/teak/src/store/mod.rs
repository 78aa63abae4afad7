//! The file: mapping, growing, vectored writes, flush. The one place that talks to the system.
//!
//! Two implementations stand behind [`Storage`]: the real file, and a simulated disk that records
//! every write, flush and resize and can produce any state that a crash could have left.

use std::{
    io::{self, IoSlice},
    sync::Arc,
};

/// A file of pages, mapped at an address that stays while anybody holds the mapping.
pub(crate) trait Storage: Send + Sync + std::fmt::Debug {
    /// Length of the file in bytes.
    fn len(&self) -> u64;
    /// Makes the file longer, its blocks allocated, or shorter.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Writes all parts, one behind the other, from `offset` on.
    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()>;
    /// Returns when all that was written is on the disk, sizes included.
    fn flush(&self) -> io::Result<()>;
    /// The mapping that covers the file as it is now.
    fn mapping(&self) -> io::Result<Arc<Mapping>>;
}

/// Replaced by the real thing.
#[derive(Debug)]
pub(crate) struct Mapping;
