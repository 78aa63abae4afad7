//! Sizes that `lmdb.h` and the engine fix.

/// An empty Teak database has four pages, and one of LMDB's has two. The difference is not counted
/// in the number of the last page.
pub(crate) const PAGES_MORE: u64 = 2;

/// The size of a page.
pub(crate) const PAGE_SIZE: usize = 4096;

/// The longest key, and the longest value of a key that has several.
pub(crate) const MAX_KEY: usize = 511;

/// The longest value.
pub(crate) const MAX_VALUE: usize = 0xffff_ffff;
