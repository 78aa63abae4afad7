//! Pages of a damaged file, and which of them were read.

use crate::{
    Error, PageNumber, Result, Run, page::value::ValueRun, tree::PageSource,
    txn::snapshot::Snapshot,
};

/// A state of a damaged file. The system is asked for each page before anybody looks at it.
#[derive(Debug)]
pub(super) struct Demanded<'s>(pub(super) &'s Snapshot);

impl Demanded<'_> {
    fn demand(&self, start: PageNumber, len: usize) -> Result<()> {
        let offset = u64::from(start.0) * PageSource::page_size(self.0) as u64;
        let demanded = self.0.mapping.demand(offset, len);
        demanded.map_err(Error::io("reading the file"))
    }
}

impl PageSource for Demanded<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(self.0)
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.demand(number, PageSource::page_size(self.0))?;
        PageSource::page(self.0, number)
    }

    fn value(&self, run: &ValueRun) -> Result<&[u8]> {
        let value = self.0.value(run)?;
        self.demand(run.start, value.len())?;
        Ok(value)
    }
}

/// Pages of the file that were read.
#[derive(Debug)]
pub(super) struct Seen {
    bits: Vec<u64>,
    page_count: u64,
    count: u64,
}

impl Seen {
    /// Nothing of a state was read yet. It may say that it is longer than the file is.
    pub(super) fn nothing_of(state: &Snapshot, file_len: u64) -> Self {
        let page_size = PageSource::page_size(state) as u64;
        let page_count = state.page_count().min(file_len / page_size);
        Self {
            bits: vec![0; page_count.div_ceil(64) as usize],
            page_count,
            count: 0,
        }
    }

    pub(super) fn is_in_file(&self, run: Run) -> bool {
        run.end() <= self.page_count
    }

    /// Adds pages of the file; `false`, and adds none, if one of them is there already.
    pub(super) fn insert(&mut self, run: Run) -> bool {
        if run.pages().any(|page| self.has(page)) {
            return false;
        }
        for page in run.pages() {
            self.bits[page.index() / 64] |= 1 << (page.index() % 64);
        }
        self.count += u64::from(run.len);
        true
    }

    fn has(&self, page: PageNumber) -> bool {
        self.bits[page.index() / 64] & (1 << (page.index() % 64)) != 0
    }

    /// How many pages were read.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}
