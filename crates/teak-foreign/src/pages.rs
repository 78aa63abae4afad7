//! The pages of one pass: each is read at most once, and checked.

use crate::{
    Error, PageSlice, Result, Source,
    format::{Format, Header, kind},
    meta::ChosenState,
};
use std::{collections::BTreeMap, io};

/// The number of pages per entry of the map of pages read.
const CHUNK_BITS: u64 = 64 * 64;

/// The pages of a file, and the set of those already read.
#[derive(Debug)]
pub(crate) struct Pages<'e, S> {
    source: &'e S,
    state: &'e ChosenState,
    read: BTreeMap<u64, [u64; 64]>,
    read_count: u64,
}

/// A page with its header.
pub(crate) struct Page {
    pub(crate) number: u64,
    pub(crate) header: Header,
    pub(crate) bytes: PageSlice,
}

impl<'e, S: Source> Pages<'e, S> {
    pub(crate) fn new(source: &'e S, state: &'e ChosenState) -> Self {
        Self {
            source,
            state,
            read: BTreeMap::new(),
            read_count: 0,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.state.format
    }

    /// The number of pages read, and of all pages.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.read_count, self.state.page_count)
    }

    /// Reads a page of a tree.
    pub(crate) fn page(&mut self, number: u64, parent: u64) -> Result<Page> {
        self.enter(number, 1, parent)?;
        let bytes = self.read(number, self.state.page_size)?;
        let header = self.header(number, &bytes)?;
        if header.kind & (kind::RUN | kind::META | kind::WITHIN) != 0 {
            let detail = format!(
                "it is no page of a tree (kind {:#x}), though page {parent} says so",
                header.kind
            );
            return Err(Error::damaged(number, detail));
        }
        Ok(Page {
            number,
            header,
            bytes,
        })
    }

    /// Reads a value of `len` bytes on pages of its own.
    pub(crate) fn overflow_value(
        &mut self,
        number: u64,
        len: usize,
        parent: u64,
    ) -> Result<PageSlice> {
        let format = self.format();
        let header_len = format.header_len();
        let len_whole = header_len.saturating_add(len);
        let page_count = len_whole.div_ceil(self.state.page_size) as u64;
        self.enter(number, page_count, parent)?;
        // The first page is read alone, because it decides whether there is a value to allocate
        // memory for.
        let first = self.read(number, self.state.page_size.min(len_whole))?;
        let header = self.header(number, &first)?;
        if header.kind != kind::RUN {
            let detail = format!(
                "it does not begin a large value (kind {:#x}), though page {parent} says so",
                header.kind
            );
            return Err(Error::damaged(number, detail));
        }
        if header.overflow_page_count() < page_count {
            let detail = format!(
                "the large value of page {parent} has {len} bytes, which {} pages do not hold",
                header.overflow_page_count()
            );
            return Err(Error::damaged(number, detail));
        }
        let whole = match page_count {
            1 => first,
            _ => {
                let end = (number.saturating_add(page_count)).saturating_mul(self.page_bytes());
                let last = number + page_count - 1;
                let rest = (self.source.len_bytes()).map_err(|source| Error::Io {
                    page: number,
                    source,
                })?;
                if rest < end - self.page_bytes() {
                    return Err(Error::CutShort { page: last });
                }
                self.read(number, len_whole)?
            }
        };
        whole
            .part(header_len, len)
            .ok_or_else(|| Error::damaged(number, "the value is longer than its pages"))
    }

    fn page_bytes(&self) -> u64 {
        self.state.page_size as u64
    }

    /// Notes that pages are read. Fails if one was read before.
    fn enter(&mut self, number: u64, count: u64, parent: u64) -> Result<()> {
        let end = number.checked_add(count);
        if number == 0 || end.is_none_or(|end| end > self.state.page_count) {
            let detail = format!(
                "it leads to page {number}, and there are {}",
                self.state.page_count
            );
            return Err(Error::damaged(parent, detail));
        }
        for page in number..number + count {
            let chunk = self.read.entry(page / CHUNK_BITS).or_insert([0; 64]);
            let (word, bit) = (page % CHUNK_BITS / 64, 1 << (page % 64));
            if chunk[word as usize] & bit != 0 {
                let detail =
                    format!("it leads to page {page}, to which another page has led before");
                return Err(Error::damaged(parent, detail));
            }
            chunk[word as usize] |= bit;
        }
        self.read_count += count;
        Ok(())
    }

    fn read(&self, number: u64, len: usize) -> Result<PageSlice> {
        let mut bytes = vec![0; len];
        match self.source.read_at(&mut bytes, number * self.page_bytes()) {
            Ok(()) => Ok(PageSlice::whole(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(Error::CutShort { page: number })
            }
            Err(source) => Err(Error::Io {
                page: number,
                source,
            }),
        }
    }

    fn header(&self, number: u64, bytes: &PageSlice) -> Result<Header> {
        let header = self.format().header(bytes);
        let header = header.ok_or_else(|| Error::damaged(number, "it is too short"))?;
        if header.number != number {
            let detail = format!("its header has the number {}", header.number);
            return Err(Error::damaged(number, detail));
        }
        if header.transaction > self.state.transaction {
            let detail = format!(
                "it is of transaction {}, and the state that is read of {}: somebody writes to the file, or it is damaged",
                header.transaction, self.state.transaction
            );
            return Err(Error::damaged(number, detail));
        }
        Ok(header)
    }
}
