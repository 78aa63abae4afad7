//! Reading what may turn out not to be there: at the end of each operation its source is asked whether all that was
//! read was real.

use super::PageSource;
use crate::{Error, PageNumber, Result};

pub(crate) use crate::io::{Faults, IoWaitEstimator};

/// Does `read`, and fails if some of what it read was not there.
#[inline(always)]
pub(crate) fn reading<S: PageSource + ?Sized, T>(
    source: &S,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let result = reading_from(source.faults(), source.page_size(), read);
    source.refuse_lost()?;
    result
}

/// The same for what can be read twice: there may have been a fault of another thread, elsewhere.
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

/// The same for who cannot borrow the source meanwhile.
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

/// Has it counted now if a key or a short value is not there, and not when its bytes are looked at later. The ends tell: a file is
/// cut short from behind.
#[inline(always)]
pub(crate) fn fault_in(bytes: &[u8]) {
    std::hint::black_box((bytes.first().copied(), bytes.last().copied()));
}

/// Says what could not be read.
#[cold]
pub(crate) fn unreadable(faults: &Faults, page_size: usize) -> Error {
    let (offset, error) = faults.last();
    let page = PageNumber((offset / page_size as u64) as u32);
    let detail = format!("it cannot be read from the file: {error}");
    Error::corrupted(page, "read", detail)
}
