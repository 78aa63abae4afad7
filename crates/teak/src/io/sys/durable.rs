//! Writes that return when their bytes are on the disk, independently of other writes.

use super::system::write_durably;
use std::{
    fs::File,
    io::{self, IoSlice},
    sync::OnceLock,
};

/// Writes so, if the system can.
#[derive(Debug, Default)]
pub(crate) struct DurableWriter {
    /// The file as the system needs it for such writes, if it needs another description. `None`
    /// inside if it provides none.
    own: OnceLock<Option<File>>,
}

impl DurableWriter {
    /// Writes parts one after the other, or the first bytes of them. Returns the number of bytes,
    /// or `None` if the system does not support it: nothing is written then.
    pub(crate) fn write(
        &self,
        file: &File,
        parts: &[IoSlice<'_>],
        offset: u64,
    ) -> io::Result<Option<usize>> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        debug_assert!(len > 0, "a write has bytes");
        let written = write_durably(file, &self.own, parts, offset)?;
        assert!(
            written.is_none_or(|written| written <= len),
            "the system writes no more than it was given"
        );
        Ok(written)
    }
}
