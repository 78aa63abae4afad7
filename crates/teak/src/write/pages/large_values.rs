//! Writing large values to their final positions.

use super::WritePages;
use crate::{Error, Extent, Result};

/// Lazy transactions store values up to this many bytes through the mapped file. A system call
/// costs more for such values, and less for longer ones.
const STORED_VALUE_MAX: u64 = 64 << 10;

impl WritePages {
    /// Writes a large value to its final position.
    pub(super) fn write_value(&mut self, extent: Extent, value: &[u8]) -> Result<()> {
        self.writer.committer().refuse_evicted()?;
        let (offset, len) = (
            self.offset_of(extent.start),
            u64::from(extent.len) << self.file.page_shift,
        );
        if len <= STORED_VALUE_MAX
            && let Some(mut bytes) = self.writable_extent(extent)?
        {
            bytes[..value.len()].copy_from_slice(value);
            bytes[value.len()..].fill(0);
            self.file.storage.mark_written(offset, len);
            return Ok(());
        }
        assert!(
            value.len() as u64 <= len,
            "the pages of a large value have room for it"
        );
        let birth = self.transaction;
        (self.file.storage)
            .write_value(offset, value, len as usize, birth)
            .map_err(Error::io("writing a large value"))
    }
}
