//! The B+tree over a source of pages: lookup, cursors, insert, delete, ranges, bulk build.
//!
//! Nothing here does I/O or knows where pages live. A [`PageSource`] provides pages to read; a
//! [`PageSink`] also provides new pages and copies of old ones to write.
//!
//! Invariants: all leaves are on level 0 and at the same depth; a page's level is one less than its
//! parent's, so that every descent ends; keys below child `i` are not smaller than separator `i`
//! and smaller than separator `i + 1`; all ancestors of a changeable page are changeable.

pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod cached;
pub(crate) mod checksums;
pub(crate) mod count;
pub(crate) mod cursor;
mod difference_side;
pub(crate) mod differences;
pub(crate) mod disorder;
pub(crate) mod drop;
pub(crate) mod enter;
pub(crate) mod estimate;
pub(crate) mod insert;
pub(crate) mod key_ranges;
pub(crate) mod locate;
pub(crate) mod lookup;
pub(crate) mod modify;
pub(crate) mod multi;
pub(crate) mod mutable_tree;
mod neighbours;
pub(crate) mod pages;
pub(crate) mod position;
pub(crate) mod range;
pub(crate) mod reading;
mod rebalance;
mod redistribute;
pub(crate) mod relocate;
pub(crate) mod remove;
mod restructure;
pub(crate) mod root;
pub(crate) mod seal;
pub(crate) mod seek;
pub(crate) mod seek_target;
pub(crate) mod sort;
pub(crate) mod walk;

pub(crate) use root::{
    RootFault, RootRef, TYPE_NAME_MAX, TableClass, TreeKind, TreeRoot, UnknownTree,
};

use crate::{
    Checksum, PageNumber, Result, TransactionId,
    page::{
        PageDamage,
        header::{Header, PageKind},
        inner::Inner,
        leaf::Leaf,
        value::ValueExtent,
    },
};

/// A source of pages to read.
///
/// Public only in name, because the trait that seals transactions returns a part of it.
#[allow(unreachable_pub, private_interfaces)]
pub trait PageSource {
    /// The usable bytes of every page: its size without what is reserved at its end.
    fn page_size(&self) -> usize;
    /// The bytes of a page, [`PageSource::page_size`] of them; an error if there is no such page.
    fn page(&self, number: PageNumber) -> Result<&[u8]>;
    /// An upper bound of the number of pages, as far as the source knows.
    fn page_limit(&self) -> u64 {
        u64::MAX
    }
    /// The bytes of a large value, without checking its checksum.
    fn value(&self, extent: &ValueExtent) -> Result<&[u8]>;
    /// Announces that cache lines of a page will be needed soon, from `offset` on.
    fn prefetch(&self, _number: PageNumber, _offset: usize, _lines: usize) {}
    /// The speed of reads: whether it helps to [announce](Self::announce) pages.
    #[inline]
    fn io_wait(&self) -> &reading::IoWaitEstimator {
        reading::IoWaitEstimator::fast()
    }
    /// Makes the system begin to read pages that will be needed soon. They may contain duplicates,
    /// and are sorted.
    fn announce(&self, _pages: &mut [PageNumber]) {}
    /// Counts the reads that failed, and returned zeros.
    #[inline]
    fn faults(&self) -> &'static reading::Faults {
        reading::Faults::none()
    }
    /// Fails if pages that a transaction has built were lost.
    #[inline]
    fn refuse_lost(&self) -> Result<()> {
        Ok(())
    }
    /// Fails if the reader was cancelled. Checked when cursors are positioned, and when they move
    /// to another leaf.
    #[inline]
    fn refuse_cancelled(&self) -> Result<()> {
        Ok(())
    }
    /// Whether a page, or the large value that begins there, must be compared with its checksum
    /// before it is read. Checked on every descent to a page.
    #[inline]
    fn needs_check(&self, _number: PageNumber) -> bool {
        false
    }
    /// Compares a page with the checksum stored with its pointer. Checks also that the page was
    /// born no later than the pointer, which transaction `written` wrote.
    fn check_page(
        &self,
        _number: PageNumber,
        _checksum: Checksum,
        _written: TransactionId,
        _operation: &'static str,
    ) -> Result<()> {
        Ok(())
    }
    /// Compares a large value with its checksum.
    fn check_value(&self, _extent: &ValueExtent) -> Result<()> {
        Ok(())
    }
}

/// A source of pages to read, change and add: a write transaction.
pub(crate) trait PageSink: PageSource {
    /// The transaction in which new pages are born.
    fn transaction(&self) -> TransactionId;
    /// Whether the page may be changed in place.
    fn is_own(&self, number: PageNumber) -> bool;
    /// Whether this transaction wrote the page, so that its checksum is not computed yet.
    fn is_dirty(&self, number: PageNumber) -> bool;
    /// Allocates a page, which is own; its bytes are undefined.
    fn allocate(&mut self) -> Result<PageNumber>;
    /// The bytes of an own page.
    fn page_mut(&mut self, number: PageNumber) -> Result<&mut [u8]>;
    /// Copies a page; the copy is own and has its new number and birth in the header, and the
    /// original leaves the tree. An own page is returned unchanged.
    fn own(&mut self, number: PageNumber) -> Result<PageNumber>;
    /// Removes a page, own or not, from the tree.
    fn release(&mut self, number: PageNumber) -> Result<()>;
    /// Writes a large value to an extent of pages.
    fn store_value(&mut self, value: &[u8]) -> Result<ValueExtent>;
    /// Whether `pages` consecutive free pages begin before page `boundary`.
    fn has_room_before(&mut self, _boundary: u64, _pages: u64) -> bool {
        true
    }
    /// Removes a large value from the tree.
    fn release_value(&mut self, extent: &ValueExtent) -> Result<()>;
    /// Trees that take more work to release than this are parked when they are emptied.
    fn parks_above(&self) -> u64 {
        u64::MAX
    }
    /// Takes over the rest of a tree that is no longer referenced.
    fn park(&mut self, _rest: TreeRoot) {}
    /// Records a page split.
    fn note_split(&mut self) {}
    /// Records a merge of two pages.
    fn note_merge(&mut self) {}
    /// The checksum of a dirty page, if it is known already.
    fn known_checksum(&self, number: PageNumber) -> Option<crate::Checksum>;
}

/// Reads a page that must be on `level`, and checks that it is the requested page.
#[inline(always)]
fn visit<'s, S: PageSource + ?Sized>(
    source: &'s S,
    number: PageNumber,
    level: u8,
    operation: &'static str,
) -> Result<(&'s [u8], Header)> {
    let page = source.page(number)?;
    let kind = if level == 0 {
        PageKind::Leaf
    } else {
        PageKind::Inner
    };
    if !Header::begins(page, number, kind, level) {
        require_fixed_leaf(page, number, level).map_err(|damage| damage.at(number, operation))?;
    }
    Ok((page, Header::read(page)))
}

/// Checks that a page on `level` that is neither a leaf nor an inner page is a fixed leaf.
#[cold]
fn require_fixed_leaf(page: &[u8], number: PageNumber, level: u8) -> Result<(), PageDamage> {
    if level != 0 || !Header::begins(page, number, PageKind::FixedLeaf, 0) {
        return Err(unexpected(page, number));
    }
    Ok(())
}

/// Reads a leaf by its number.
#[inline(always)]
fn visit_leaf<'s, S: PageSource + ?Sized>(
    source: &'s S,
    number: PageNumber,
    operation: &'static str,
) -> Result<Leaf<'s>> {
    let page = source.page(number)?;
    let leaf = if Header::begins(page, number, PageKind::Leaf, 0) {
        Leaf::with_nodes(page, &Header::read(page))
    } else {
        fixed_leaf(page, number)
    };
    leaf.map_err(|damage| damage.at(number, operation))
}

#[cold]
fn fixed_leaf(page: &[u8], number: PageNumber) -> Result<Leaf<'_>, PageDamage> {
    require_fixed_leaf(page, number, 0)?;
    Leaf::parse(page)
}

/// Reads an inner page by its number.
#[inline(always)]
fn visit_inner<'s, S: PageSource + ?Sized>(
    source: &'s S,
    number: PageNumber,
    level: u8,
    operation: &'static str,
) -> Result<Inner<'s>> {
    let page = source.page(number)?;
    let inner = if Header::begins(page, number, PageKind::Inner, level) {
        Inner::from_header(page, &Header::read(page))
    } else {
        Err(unexpected(page, number))
    };
    inner.map_err(|damage| damage.at(number, operation))
}

/// Describes a page that should be an inner page, or a leaf.
#[cold]
fn unexpected(page: &[u8], number: PageNumber) -> PageDamage {
    match Header::read(page).number == number {
        false => PageDamage("the page number in its header is another page's"),
        true => PageDamage("it is not of the kind and level that its parent says"),
    }
}

#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
