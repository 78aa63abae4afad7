//! Memory that several parties read and change at any time: nothing but words that are atomic.

use super::stretch::Stretch;
use std::{fmt, slice, sync::atomic::AtomicU64};

/// Words that start out as zero.
pub(crate) struct Memory {
    stretch: Stretch,
}

impl Memory {
    /// Memory of this process, which the system provides as it is touched.
    pub(crate) fn private(len_bytes: usize) -> Self {
        Self {
            stretch: Stretch::zeroed(len_bytes),
        }
    }

    /// All words. The first stands at the start of a page.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let len = self.stretch.len() as usize / size_of::<AtomicU64>();
        // SAFETY: the stretch begins at a page, is that long, holds zeros or what was stored here, and is
        // read and written as atomic words only.
        unsafe { slice::from_raw_parts(self.stretch.base().as_ptr().cast(), len) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("len_bytes", &self.stretch.len())
            .finish()
    }
}
