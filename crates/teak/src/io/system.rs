//! Parameters of the system: its page size, and the longest file that this process may create.

use super::sys::{Failure, Limit, limit, system_page_len};
use std::{io, ops::Range, sync::OnceLock};

/// Size of a system page in bytes, a power of two. A page is mapped as a whole, and gets all its
/// blocks when something is stored in it.
pub(super) fn page_len() -> u64 {
    static PAGE_LEN: OnceLock<u64> = OnceLock::new();
    let page_len = *PAGE_LEN.get_or_init(|| (system_page_len() as u64).max(pretended()));
    debug_assert!(
        page_len.is_power_of_two(),
        "bytes are rounded to pages with a mask"
    );
    page_len
}

#[cfg(not(any(test, feature = "testing")))]
fn pretended() -> u64 {
    0
}

/// A larger page size that a test simulates.
#[cfg(any(test, feature = "testing"))]
fn pretended() -> u64 {
    let set = std::env::var(PRETENDED_PAGE_LEN).ok();
    set.and_then(|len| len.parse().ok()).unwrap_or(0)
}

/// The environment variable with the simulated page size.
#[cfg(any(test, feature = "testing"))]
pub(super) const PRETENDED_PAGE_LEN: &str = "TEAK_TEST_PAGE_LEN";

/// The system pages that contain any of these bytes.
pub(super) fn pages_with(bytes: &Range<u64>) -> Range<u64> {
    let rest = page_len() - 1;
    let end = bytes.end.checked_add(rest);
    let pages = bytes.start & !rest..end.map_or(bytes.end, |end| end & !rest);
    debug_assert!(
        pages.start <= bytes.start && bytes.end <= pages.end,
        "the pages contain all the bytes"
    );
    pages
}

/// The system pages that contain only these bytes.
pub(super) fn pages_within(bytes: &Range<u64>) -> Range<u64> {
    let rest = page_len() - 1;
    let start = bytes.start.checked_add(rest);
    let start = start.map_or(bytes.end, |start| start & !rest);
    let pages = start..(bytes.end & !rest).max(start);
    debug_assert!(
        pages.is_empty() || bytes.start <= pages.start && pages.end <= bytes.end,
        "the pages contain none but these bytes"
    );
    pages
}

/// The longest file that this process may write to. The system ends a process that goes beyond.
pub(super) fn file_len_max() -> u64 {
    limit(Limit::FileLen).unwrap_or(u64::MAX)
}

/// Fails if this process must not create a file of this length.
///
/// # Errors
///
/// `FileTooLarge`.
pub(crate) fn refuse_file_len(len: u64) -> io::Result<()> {
    match len > file_len_max() {
        true => Err(Failure::FileTooLong.error()),
        false => Ok(()),
    }
}
