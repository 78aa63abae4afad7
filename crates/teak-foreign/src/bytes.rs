//! Bytes of a page that stay valid after the step to the next page, and numbers in bytes.

use std::{ops::Deref, rc::Rc};

/// A slice of a page. It keeps the page in memory.
#[derive(Clone, Default, Debug)]
pub struct PageSlice {
    page: Rc<Vec<u8>>,
    start: usize,
    end: usize,
}

impl PageSlice {
    /// The whole of `page`.
    pub(crate) fn whole(page: Vec<u8>) -> Self {
        let end = page.len();
        Self {
            page: Rc::new(page),
            start: 0,
            end,
        }
    }

    /// `len` bytes of this slice from `start` on, if it is long enough.
    pub(crate) fn part(&self, start: usize, len: usize) -> Option<Self> {
        let start = self.start.checked_add(start)?;
        let end = start.checked_add(len)?;
        (end <= self.end).then(|| Self {
            page: Rc::clone(&self.page),
            start,
            end,
        })
    }
}

impl Deref for PageSlice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.page[self.start..self.end]
    }
}

impl AsRef<[u8]> for PageSlice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// The little-endian number of two bytes at `at`. `None` if there are too few bytes.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

/// The little-endian number of four bytes at `at`. `None` if there are too few bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// The little-endian number of eight bytes at `at`. `None` if there are too few bytes.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}
