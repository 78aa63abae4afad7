//! Reading pages that may not be in memory. The system is asked for each page first, so that an
//! unreadable sector or a truncated file is an error and not a signal.

use crate::{
    Error, Extent, PageNumber, Result,
    alloc::SpacePages,
    btree::{PageSource, reading::Faults},
    page::{page_len, value::ValueExtent},
};
use crate::{
    io::{Content, file_reads::into_extents},
    read::snapshot::PinnedSnapshot,
};
use std::{
    cell::{Cell, RefCell},
    io::ErrorKind,
};

/// A state whose pages are prefaulted before they are read.
#[derive(Debug)]
pub(crate) struct Prefault<'s>(pub(crate) &'s PinnedSnapshot);

impl Prefault<'_> {
    fn prefault(&self, start: PageNumber, len: usize, content: Content) -> Result<()> {
        let offset = u64::from(start.0) * page_len(PageSource::page_size(self.0)) as u64;
        let loaded = self.0.mapping.prefault(offset, len, content);
        loaded.map_err(|error| match error.kind() {
            // The codec has refused it.
            ErrorKind::InvalidData => Error::corrupted(start, "read", error.to_string()),
            _ => Error::io("reading the file")(error),
        })
    }
}

impl PageSource for Prefault<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(self.0)
    }

    fn page_limit(&self) -> u64 {
        self.0.page_limit()
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.prefault(number, PageSource::page_size(self.0), Content::Pages)?;
        PageSource::page(self.0, number)
    }

    fn faults(&self) -> &'static Faults {
        self.0.faults()
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        let len = match self.0.mapping.is_coded() {
            true => extent.len_bytes as usize,
            false => self.0.value(extent)?.len(),
        };
        self.prefault(extent.start, len, Content::Value)?;
        self.0.value(extent)
    }
}

/// The pages of the free-space map of a state. Announced pages are prefaulted together: the system
/// reads them all at once, with one call for each extent.
#[derive(Debug)]
pub(crate) struct FreeMapPages<'s> {
    pages: Prefault<'s>,
    /// The pages announced last, in order.
    announced: RefCell<Vec<Extent>>,
    /// The extent among them that is in memory.
    resident: Cell<Extent>,
}

impl<'s> FreeMapPages<'s> {
    pub(crate) fn new(state: &'s PinnedSnapshot) -> Self {
        Self {
            pages: Prefault(state),
            announced: RefCell::default(),
            resident: Cell::new(Extent::new(0, 0)),
        }
    }

    /// Whether the page was prefaulted together with its extent. If that fails, each page is
    /// prefaulted on its own.
    fn is_resident(&self, number: PageNumber) -> bool {
        let holds = |extent: Extent| extent.start <= number && u64::from(number.0) < extent.end();
        if holds(self.resident.get()) {
            return true;
        }
        let announced = self.announced.borrow();
        let later = announced.partition_point(|extent| extent.start <= number);
        let found = announced[..later]
            .last()
            .copied()
            .filter(|extent| holds(*extent));
        let Some(extent) = found.filter(|extent| extent.len > 1) else {
            return false;
        };
        let page_len = page_len(SpacePages::page_size(self));
        let len = (extent.len as usize).saturating_mul(page_len);
        let is_there = (self.pages.prefault(extent.start, len, Content::Pages)).is_ok();
        if is_there {
            self.resident.set(extent);
        }
        is_there
    }
}

impl SpacePages for FreeMapPages<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(&self.pages)
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        match self.is_resident(number) {
            true => PageSource::page(self.pages.0, number),
            false => PageSource::page(&self.pages, number),
        }
    }

    fn announce(&self, pages: &mut dyn Iterator<Item = PageNumber>) {
        let mut pages: Vec<_> = pages.collect();
        let extents = into_extents(&mut pages);
        let page_size = page_len(SpacePages::page_size(self)) as u64;
        let mapping = &self.pages.0.mapping;
        if extents.len() > 1 {
            for extent in &extents {
                let (start, len) = (u64::from(extent.start.0), u64::from(extent.len));
                mapping.announce(start * page_size, len * page_size);
            }
        }
        self.announced.replace(extents);
        self.resident.set(Extent::new(0, 0));
    }
}
