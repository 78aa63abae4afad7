//! Blocks of tables: entries whose keys share their beginning with the key before.

use super::parser::Parser;
use crate::bytes::{PageSlice, u32_at};

/// The entries of a block, from the first on.
#[derive(Debug)]
pub(super) struct BlockEntries {
    block: PageSlice,
    at: usize,
    end: usize,
    /// The key of the current entry.
    pub(super) key: Vec<u8>,
}

impl BlockEntries {
    /// `None` if the block has no list of restart points.
    pub(super) fn new(block: PageSlice) -> Option<Self> {
        let count_at = block.len().checked_sub(4)?;
        let count = u32_at(&block, count_at)? as usize;
        let end = count_at.checked_sub(count.checked_mul(4)?)?;
        Some(Self {
            block,
            at: 0,
            end,
            key: Vec::new(),
        })
    }

    /// Moves to the next entry. Returns its value, `None` at the end of the block.
    ///
    /// # Errors
    ///
    /// A description of the damage.
    pub(super) fn next(&mut self) -> Result<Option<PageSlice>, &'static str> {
        if self.at == self.end {
            return Ok(None);
        }
        let mut rest = Parser(&self.block[self.at..self.end]);
        let mut parts = || {
            let shared = rest.varint32()? as usize;
            let unshared = rest.varint32()? as usize;
            let value_len = rest.varint32()? as usize;
            let key = rest.take(unshared)?;
            let value_at = self.end - rest.0.len();
            rest.take(value_len)?;
            (shared <= self.key.len()).then_some((shared, key, value_at, value_len))
        };
        let Some((shared, key, value_at, value_len)) = parts() else {
            return Err("an entry is longer than its block");
        };
        self.key.truncate(shared);
        self.key.extend_from_slice(key);
        self.at = value_at + value_len;
        Ok(self.block.part(value_at, value_len))
    }
}
