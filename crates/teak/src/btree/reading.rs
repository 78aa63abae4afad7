//! Reading data that may turn out to be unreadable: at the end of each operation, the source is
//! asked whether everything read was valid.

use super::PageSource;
use crate::{Error, PageNumber, Result, page::page_len};

pub(crate) use crate::io::{Faults, IoWaitEstimator};

/// Calls `read`, and fails if an unreadable page was read.
#[inline(always)]
pub(crate) fn reading<S: PageSource + ?Sized, T>(
    source: &S,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let result = reading_from(source.faults(), source.page_size(), read);
    source.refuse_lost()?;
    result
}

/// Like [`reading`], for operations that can be repeated: the fault may have been elsewhere, in
/// another thread.
#[inline(always)]
pub(crate) fn reading_twice<S: PageSource + ?Sized, T>(
    source: &S,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    let faults = source.faults();
    let before = faults.count();
    let result = read();
    if faults.are_more_than(before) {
        return read_again(source, read);
    }
    source.refuse_lost()?;
    result
}

#[cold]
fn read_again<S: PageSource + ?Sized, T>(source: &S, read: impl FnMut() -> Result<T>) -> Result<T> {
    reading(source, read)
}

/// Like [`reading`], for callers that cannot borrow the source meanwhile.
#[inline(always)]
pub(crate) fn reading_from<T>(
    faults: &Faults,
    page_size: usize,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let before = faults.count();
    let result = read();
    match faults.are_more_than(before) {
        false => result,
        true => Err(unreadable(faults, page_size)),
    }
}

/// Makes an unreadable key or short value count as a fault now, and not later when its bytes are
/// used. Reading both ends suffices, because a file is truncated from its end.
#[inline(always)]
pub(crate) fn fault_in(bytes: &[u8]) {
    std::hint::black_box((bytes.first().copied(), bytes.last().copied()));
}

/// The error for a failed read.
#[cold]
pub(crate) fn unreadable(faults: &Faults, page_size: usize) -> Error {
    let (offset, error) = faults.last();
    let page = PageNumber((offset / page_len(page_size) as u64) as u32);
    let detail = format!("it cannot be read from the file: {error}");
    Error::corrupted(page, "read", detail)
}
