//! The way down: from a root to its page, from an inner page to a child, from a record to its large
//! value. Here alone a page is compared with its tag, before anything else reads it, where its
//! source wants that.
//!
//! Invariant: every page number by which the tree reads a page came through here, or belongs to a
//! page that this transaction wrote. So no page is copied either before its tag was found right.

use super::{PageSource, TreeRoot};
use crate::{
    Error, PageNumber, Result, Tag,
    page::{inner::Inner, value::ValueRun},
};

/// The page of a root.
#[inline(always)]
pub(super) fn root<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    operation: &'static str,
) -> Result<PageNumber> {
    page(source, root.page, root.tag, operation)?;
    Ok(root.page)
}

/// A page whose tag is at hand.
#[inline(always)]
pub(super) fn page<S: PageSource + ?Sized>(
    source: &S,
    number: PageNumber,
    tag: Tag,
    operation: &'static str,
) -> Result<()> {
    if source.needs_check(number) {
        source.check_page(number, tag, operation)?;
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

/// Compares that child with its tag. Looks at the page anew, so that the caller's view of it need not stand in memory.
#[cold]
fn check_child<S: PageSource + ?Sized>(
    source: &S,
    number: PageNumber,
    index: usize,
    operation: &'static str,
) -> Result<()> {
    let inner = Inner::parse(source.page(number)?);
    let child = inner.and_then(|inner| Ok((inner.child(index)?, inner.tag(index)?)));
    let (child, tag) = child.map_err(|damage| damage.at(number, operation))?;
    source.check_page(child, tag, operation)
}

/// The bytes of a large value.
#[inline]
pub(crate) fn value<'s, S: PageSource + ?Sized>(source: &'s S, run: &ValueRun) -> Result<&'s [u8]> {
    if source.needs_check(run.start) {
        source.check_value(run)?;
    }
    let value = source.value(run)?;
    if value.last() == Some(&0) && source.faults().are_cut(value) {
        let detail = "it cannot be read from the file, which was cut short";
        return Err(Error::corrupted(run.start, "read", detail));
    }
    Ok(value)
}
