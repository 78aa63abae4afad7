//! A database file that is not in the file system of this machine: bytes in memory, or a function
//! that reads them. It is only read, and locked for nobody. Bytes are copied to memory as a whole.

use super::{
    address_range::AddressRange,
    fetched::{FetchedParts, ReadAt},
    mapping::Mapping,
    storage::Storage,
    writable::WritableMapping,
};
use std::{
    io::{self, IoSlice},
    sync::Arc,
};

/// A database file that is only read, and never changes.
#[derive(Debug)]
pub(crate) struct SourceStorage {
    len: u64,
    mapping: Arc<Mapping>,
}

impl SourceStorage {
    /// A copy of all bytes of a file.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`.
    pub(crate) fn of_bytes(bytes: &[u8]) -> io::Result<Self> {
        let copied = AddressRange::filled(bytes.len(), |out| {
            out.copy_from_slice(bytes);
            Ok(())
        });
        let len = bytes.len() as u64;
        let mapping = Mapping::new(Arc::new(copied?), len);
        Ok(Self {
            len,
            mapping: Arc::new(mapping),
        })
    }

    /// A file that is read by a function.
    ///
    /// # Errors
    ///
    /// The error of the source.
    pub(crate) fn of_source(source: Box<dyn ReadAt>) -> io::Result<Self> {
        let fetched = FetchedParts::of(source)?;
        Ok(Self {
            len: fetched.len(),
            mapping: Arc::new(Mapping::fetching(fetched)?),
        })
    }
}

impl Storage for SourceStorage {
    fn len(&self) -> u64 {
        self.len
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write(&self, _offset: u64, _parts: &[IoSlice<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        Ok(Arc::clone(&self.mapping))
    }

    fn secure(&self, _offset: u64, _len: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn punch(&self, _offset: u64, _len: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        Ok(None)
    }

    fn mark_written(&self, _offset: u64, _len: u64) {}
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
