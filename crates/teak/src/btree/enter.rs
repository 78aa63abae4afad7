//! Descents: from a root to its page, from an inner page to a child, from a record to its large
//! value. This is the only place that has checksums of a tree verified: if its source requires
//! that, a page is compared with its checksum before any other code reads it.
//!
//! Invariant: every page number by which the tree reads a page came through here, or belongs to a
//! page that this transaction wrote. So no page is copied before its checksum was verified either.

use super::{PageSource, TreeRoot};
use crate::{
    Checksum, Error, PageNumber, Result, TransactionId,
    page::{header::Header, inner::Inner, value::ValueExtent},
};

/// Enters the page of a root.
#[inline(always)]
pub(super) fn root<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    operation: &'static str,
) -> Result<PageNumber> {
    page(source, root.page, root.checksum, operation)?;
    Ok(root.page)
}

/// Enters a page whose checksum is known.
#[inline(always)]
pub(super) fn page<S: PageSource + ?Sized>(
    source: &S,
    number: PageNumber,
    checksum: Checksum,
    operation: &'static str,
) -> Result<()> {
    if source.needs_check(number) {
        // The transaction of the pointer is not known. The source knows its own state.
        source.check_page(number, checksum, TransactionId(u64::MAX), operation)?;
    }
    Ok(())
}

/// The child `index` of the inner page `number`.
#[inline(always)]
pub(super) fn child<S: PageSource + ?Sized>(
    source: &S,
    inner: &Inner<'_>,
    number: PageNumber,
    index: usize,
    operation: &'static str,
) -> Result<PageNumber> {
    let child = inner
        .child(index)
        .map_err(|damage| damage.at(number, operation))?;
    if source.needs_check(child) {
        check_child(source, number, index, operation)?;
    }
    Ok(child)
}

/// Compares that child with its checksum. It reads the inner page again, so that the caller's view
/// of it need not be kept in memory.
#[cold]
fn check_child<S: PageSource + ?Sized>(
    source: &S,
    number: PageNumber,
    index: usize,
    operation: &'static str,
) -> Result<()> {
    let page = source.page(number)?;
    let written = Header::read(page).birth;
    let child =
        Inner::parse(page).and_then(|inner| Ok((inner.child(index)?, inner.checksum(index)?)));
    let (child, checksum) = child.map_err(|damage| damage.at(number, operation))?;
    source.check_page(child, checksum, written, operation)
}

/// Returns the bytes of a large value.
#[inline]
pub(crate) fn value<'s, S: PageSource + ?Sized>(
    source: &'s S,
    extent: &ValueExtent,
) -> Result<&'s [u8]> {
    if source.needs_check(extent.start) {
        source.check_value(extent)?;
    }
    let value = source.value(extent)?;
    if value.last() == Some(&0) && source.faults().are_cut(value) {
        let detail = "it cannot be read from the file, which was cut short";
        return Err(Error::corrupted(extent.start, "read", detail));
    }
    Ok(value)
}
