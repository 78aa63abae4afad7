//! Pages in memory: the tree without the layers below, for tests.

use super::{PageSink, PageSource};
use crate::{
    Checksum, Extent, PageNumber, Result, TransactionId,
    page::{header::Header, value::ValueExtent},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A sink whose pages are boxes. Each `commit` makes all pages old, so that they are copied.
#[derive(Clone, Debug)]
pub(crate) struct MemoryPages {
    page_size: usize,
    transaction: TransactionId,
    pages: BTreeMap<PageNumber, Box<[u64]>>,
    values: BTreeMap<PageNumber, Vec<u8>>,
    own: BTreeSet<PageNumber>,
    next: u32,
    reads: Arc<AtomicU64>,
}

impl MemoryPages {
    pub(crate) fn new(page_size: usize) -> Self {
        Self {
            page_size,
            transaction: TransactionId(1),
            pages: BTreeMap::new(),
            values: BTreeMap::new(),
            own: BTreeSet::new(),
            next: 4,
            reads: Arc::default(),
        }
    }

    pub(crate) fn commit(&mut self) {
        self.own.clear();
        self.transaction = self.transaction.next();
    }

    /// Counts the pages of trees, and the extents of large values, that have not been released.
    pub(crate) fn live(&self) -> (usize, usize) {
        (self.pages.len(), self.values.len())
    }

    /// Allocates new pages this far after the last one from now on.
    pub(crate) fn skip(&mut self, pages: u32) {
        self.next += pages;
    }

    /// The number of the next page.
    pub(crate) fn next_number(&self) -> u32 {
        self.next
    }

    /// The pages of two states, of which this is the older.
    pub(crate) fn with_pages_of(mut self, newer: &Self) -> Self {
        self.pages.extend(newer.pages.clone());
        self
    }

    /// How often pages of this sink and its clones were read.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub(crate) fn own_count(&self) -> usize {
        self.own.len()
    }
}

impl PageSource for MemoryPages {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let page = self.pages.get(&number);
        page.map(|page| bytemuck::cast_slice(page))
            .ok_or_else(|| crate::Error::corrupted(number, "test", "released, or never allocated"))
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.values
            .get(&extent.start)
            .map(|value| value.as_slice())
            .ok_or_else(|| {
                crate::Error::corrupted(extent.start, "test", "a value that was released")
            })
    }
}

impl PageSink for MemoryPages {
    fn transaction(&self) -> TransactionId {
        self.transaction
    }

    fn is_own(&self, number: PageNumber) -> bool {
        self.own.contains(&number)
    }

    fn is_dirty(&self, number: PageNumber) -> bool {
        self.own.contains(&number)
    }

    fn allocate(&mut self) -> Result<PageNumber> {
        let number = PageNumber(self.next);
        self.next += 1;
        let garbage = vec![0x5a5a_5a5a_5a5a_5a5a; self.page_size / 8];
        self.pages.insert(number, garbage.into_boxed_slice());
        self.own.insert(number);
        Ok(number)
    }

    fn page_mut(&mut self, number: PageNumber) -> Result<&mut [u8]> {
        assert!(self.own.contains(&number), "{number:?} is not own");
        Ok(bytemuck::cast_slice_mut(
            self.pages.get_mut(&number).expect("own pages exist"),
        ))
    }

    fn own(&mut self, number: PageNumber) -> Result<PageNumber> {
        if self.is_own(number) {
            return Ok(number);
        }
        let copy = self.page(number)?.to_vec();
        let new = self.allocate()?;
        let birth = self.transaction;
        let page = self.page_mut(new)?;
        page.copy_from_slice(&copy);
        let header = Header {
            number: new,
            birth,
            ..Header::read(page)
        };
        header.write(page);
        self.release(number)?;
        Ok(new)
    }

    fn release(&mut self, number: PageNumber) -> Result<()> {
        self.own.remove(&number);
        self.pages.remove(&number).expect("a page is released once");
        Ok(())
    }

    fn store_value(&mut self, value: &[u8]) -> Result<ValueExtent> {
        let start = PageNumber(self.next);
        let extent = ValueExtent {
            start,
            len_bytes: value.len() as u64,
            checksum: Checksum::of(value),
            birth: self.transaction,
        };
        let Extent { len, .. } = extent
            .pages(self.page_size)
            .expect("a value in a test is short");
        self.next += len;
        self.values.insert(start, value.to_vec());
        Ok(extent)
    }

    fn release_value(&mut self, extent: &ValueExtent) -> Result<()> {
        self.values
            .remove(&extent.start)
            .expect("a value is released once");
        Ok(())
    }

    fn known_checksum(&self, _number: PageNumber) -> Option<Checksum> {
        None
    }
}
