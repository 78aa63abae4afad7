//! Copying only sound pages: copied pages are compared with the checksums that lead to them, up to
//! that of the catalog in the commit record, whatever [`Verification`](crate::Verification) the
//! database uses.
//!
//! The checksums are collected before the copy, from inner pages and from the leaves of tables with
//! large values. Keeping all of them would take much memory. Checksums of pages are therefore
//! summed, each multiplied by a number specific to the page, over as many pages as are copied at
//! once. If a sum differs, the walk is repeated to find the page. Large values are few, and their
//! checksums are kept. The pages of the free-space map were compared when it was loaded. For tables
//! that only a newer version can read, no checksum is known.

use crate::read::{
    catalog, located::located, reader::Reader, snapshot::PinnedSnapshot, state_key::StateKey,
};
use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    alloc::FIRST_PAGE,
    btree::{
        PageSource, TreeRoot,
        checksums::{self, ChecksummedExtent},
        reading::{Faults, reading},
    },
    io::Content,
    page::value::ValueExtent,
};
use std::{
    collections::{BTreeSet, VecDeque},
    hash::Hasher,
    ops::Range,
};
use twox_hash::XxHash3_64;

const COPYING: &str = "copying pages";

/// A state whose pages are compared with their checksums at each reference to them.
#[derive(Debug)]
pub(crate) struct Verified<'s>(pub(crate) &'s PinnedSnapshot);

impl PageSource for Verified<'_> {
    fn page_size(&self) -> usize {
        PageSource::page_size(self.0)
    }

    fn page_limit(&self) -> u64 {
        self.0.page_limit()
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        PageSource::page(self.0, number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.0.value(extent)
    }

    fn faults(&self) -> &'static Faults {
        self.0.faults()
    }

    fn needs_check(&self, _: PageNumber) -> bool {
        true
    }

    fn check_page(
        &self,
        number: PageNumber,
        checksum: Checksum,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        self.0.check_page(number, checksum, written, operation)
    }

    fn check_value(&self, extent: &ValueExtent) -> Result<()> {
        self.0.check_value(extent)
    }
}

/// Calls `visit` for each checksummed extent of the trees of a state and of the named states. An
/// error names the table.
pub(crate) fn for_each_checksummed(
    state: &PinnedSnapshot,
    named: &[(StateKey, Reader)],
    visit: &mut dyn FnMut(ChecksummedExtent) -> Result<bool>,
) -> Result<()> {
    tree(state, &state.named_list()?, None, visit)?;
    let mut seen = BTreeSet::new();
    let states = named.iter().map(|(_, named)| &**named);
    for state in std::iter::once(state).chain(states) {
        if !seen.insert((state.transaction(), state.catalog().checksum.0)) {
            continue;
        }
        let catalog = state.catalog();
        tree(state, catalog, None, visit)?;
        let mut tables = Vec::new();
        let source = Verified(state);
        reading(&source, || {
            catalog::for_each(&source, catalog, &state.comparisons, |name, entry, _| {
                tables.extend(entry.root().map(|root| (name.to_vec(), *root)));
                Ok(())
            })
        })?;
        for (name, root) in tables {
            tree(state, &root, Some(&name), visit)?;
        }
    }
    Ok(())
}

fn tree(
    state: &PinnedSnapshot,
    root: &TreeRoot,
    name: Option<&[u8]>,
    visit: &mut dyn FnMut(ChecksummedExtent) -> Result<bool>,
) -> Result<()> {
    let source = Verified(state);
    let walked = reading(&source, || checksums::for_each(&source, root, visit));
    walked.map_err(|error| match name {
        Some(name) => located(error, state, root, name, None),
        None => error,
    })
}

/// The use of a page for a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyUse {
    Unused,
    /// A commit record, a page of the free-space map or of a table that only a newer version can
    /// read, or an unreferenced page.
    Other,
    /// A page of a tree.
    Page,
    /// The first page of a large value.
    Value,
    /// A further page of a large value.
    ValueRest,
}

/// The uses of all pages of a copy.
#[derive(Debug)]
pub(crate) struct CopyUses(Vec<CopyUse>);

impl CopyUses {
    /// Only free pages are known.
    pub(crate) fn new(page_count: u64, free: &[Extent]) -> Self {
        let mut uses = vec![CopyUse::Other; page_count as usize];
        for extent in free {
            let end = extent.end().min(page_count) as usize;
            uses[extent.start.index().min(end)..end].fill(CopyUse::Unused);
        }
        Self(uses)
    }

    pub(crate) fn of(&self, pages: Range<u64>) -> &[CopyUse] {
        &self.0[pages.start as usize..pages.end as usize]
    }

    /// Notes the use of an extent; `false` if it is noted already.
    fn note(&mut self, checksummed: &ChecksummedExtent) -> Result<bool> {
        let Extent { start, .. } = checksummed.extent;
        let first = match checksummed.is_value {
            true => CopyUse::Value,
            false => CopyUse::Page,
        };
        let pages = start.index()..checksummed.extent.end() as usize;
        let uses = self.0.get_mut(pages);
        let Some(uses) = uses.filter(|uses| !uses.is_empty() && start.0 >= FIRST_PAGE) else {
            let text = "it is in use, but beyond the end of the copy";
            return Err(Error::corrupted(start, COPYING, text));
        };
        if uses[0] == first {
            return Ok(false);
        }
        if let Some(other) = uses.iter().find(|page| **page != CopyUse::Other) {
            let text = match other {
                CopyUse::Unused => "it is used, and the space map says that it is free",
                _ => "it is used twice",
            };
            return Err(Error::corrupted(start, COPYING, text));
        }
        uses.fill(CopyUse::ValueRest);
        uses[0] = first;
        Ok(true)
    }
}

/// The expected checksums of the pages to copy.
pub(crate) struct ExpectedPages {
    pub(crate) uses: CopyUses,
    /// One sum for each `pages_per_sum` pages, from the first page after the records on.
    sums: Vec<u64>,
    pages_per_sum: u64,
    /// Sorted by page.
    values: VecDeque<ChecksummedExtent>,
}

impl ExpectedPages {
    /// Collects the checksums of all trees. `each` is called periodically, and may end it.
    pub(crate) fn collect(
        state: &PinnedSnapshot,
        named: &[(StateKey, Reader)],
        uses: CopyUses,
        pages_per_sum: u64,
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let sum_count = (uses.0.len() as u64).div_ceil(pages_per_sum);
        let mut expected = Self {
            uses,
            sums: vec![0; sum_count as usize],
            pages_per_sum,
            values: VecDeque::new(),
        };
        let mut until_report = 0_u32;
        for_each_checksummed(state, named, &mut |checksummed| {
            until_report = until_report.wrapping_add(1);
            if until_report.is_multiple_of(4096) {
                each()?;
            }
            if !expected.uses.note(&checksummed)? {
                return Ok(false);
            }
            match checksummed.is_value {
                true => expected.values.push_back(checksummed),
                false => expected.add(checksummed.extent.start, checksummed.checksum),
            }
            Ok(true)
        })?;
        expected
            .values
            .make_contiguous()
            .sort_unstable_by_key(|value| value.extent.start);
        Ok(expected)
    }

    fn add(&mut self, page: PageNumber, checksum: Checksum) {
        let index = u64::from(page.0 - FIRST_PAGE) / self.pages_per_sum;
        let sum = &mut self.sums[index as usize];
        *sum = sum.wrapping_add(share(page, checksum));
    }

    /// Subtracts a copied page. Pages must be passed in order.
    pub(crate) fn copied(
        &mut self,
        page: PageNumber,
        bytes: &[u8],
        values: &mut ValueVerifier,
    ) -> Result<()> {
        match self.uses.0[page.index()] {
            CopyUse::Page => {
                let index = u64::from(page.0 - FIRST_PAGE) / self.pages_per_sum;
                let sum = &mut self.sums[index as usize];
                *sum = sum.wrapping_sub(share(page, Checksum::of(bytes)));
                Ok(())
            }
            CopyUse::Value | CopyUse::ValueRest => values.copied(page, bytes, &mut self.values),
            CopyUse::Unused | CopyUse::Other => Ok(()),
        }
    }

    /// Like [`Self::copied`], for a page of a file with a codec.
    pub(crate) fn copied_encoded(
        &mut self,
        state: &PinnedSnapshot,
        (page, bytes): (PageNumber, &[u8]),
        values: &mut EncodedVerifier,
    ) -> Result<()> {
        match self.uses.0[page.index()] {
            CopyUse::Page => {
                let index = u64::from(page.0 - FIRST_PAGE) / self.pages_per_sum;
                let found = decoded_checksum(state, page, bytes)?;
                let sum = &mut self.sums[index as usize];
                *sum = sum.wrapping_sub(share(page, found));
                Ok(())
            }
            _ => values.copied(state, (page, bytes), &mut self.values),
        }
    }

    /// Whether all pages that were copied together matched their checksums.
    pub(crate) fn is_sound(&self, pages: &Range<u64>) -> bool {
        let index = (pages.start - u64::from(FIRST_PAGE)) / self.pages_per_sum;
        self.sums[index as usize] == 0
    }
}

/// The contribution of a page to a sum. Swapped pages are detected too.
fn share(page: PageNumber, checksum: Checksum) -> u64 {
    checksum.0.wrapping_mul(2 * u64::from(page.0) + 1)
}

/// The checksum of a page that was copied from a file with a codec.
fn decoded_checksum(state: &PinnedSnapshot, page: PageNumber, bytes: &[u8]) -> Result<Checksum> {
    let mut bytes = bytes.to_vec();
    let decoded = state.mapping.decode_page(page.0, &mut bytes);
    decoded.map_err(|reason| Error::corrupted(page, COPYING, reason))?;
    Ok(Checksum::of(&bytes[..PageSource::page_size(state)]))
}

/// Compares pages that were copied from a file with a codec, one after the other, with checksums of
/// one or many pages.
#[derive(Default)]
pub(crate) struct EncodedVerifier {
    /// The extent under way, and its pages so far.
    open: Option<(ChecksummedExtent, Vec<u8>)>,
}

impl EncodedVerifier {
    /// Adds the next page, which belongs to the extent under way or begins the first one of `next`.
    pub(crate) fn copied(
        &mut self,
        state: &PinnedSnapshot,
        (page, bytes): (PageNumber, &[u8]),
        next: &mut VecDeque<ChecksummedExtent>,
    ) -> Result<()> {
        if self.open.is_none() && next.front().is_some_and(|next| next.extent.start == page) {
            self.open = next.pop_front().map(|next| (next, Vec::new()));
        }
        let Some((checksummed, mut pages)) = self.open.take() else {
            return Ok(());
        };
        let Extent { start, len } = checksummed.extent;
        pages.extend_from_slice(bytes);
        if pages.len() < len as usize * bytes.len() {
            self.open = Some((checksummed, pages));
            return Ok(());
        }
        let content_len = checksummed.len_bytes as usize;
        let decoded = match checksummed.is_value {
            true => (state.mapping).decode_value(start.0, content_len, &mut pages),
            false => state.mapping.decode_page(start.0, &mut pages),
        };
        decoded.map_err(|reason| Error::corrupted(start, COPYING, reason))?;
        let found = pages.get(..content_len).map(Checksum::of);
        match found == Some(checksummed.checksum) {
            true => Ok(()),
            false => Err(unsound(start)),
        }
    }
}

/// Compares copied pages, one after the other, with checksums of one or many pages.
#[derive(Default)]
pub(crate) struct ValueVerifier {
    /// The extent under way, its remaining bytes, and its hash so far.
    open: Option<(ChecksummedExtent, u64, XxHash3_64)>,
}

impl ValueVerifier {
    /// Adds the next page, which belongs to the extent under way or begins the first one of `next`.
    pub(crate) fn copied(
        &mut self,
        page: PageNumber,
        bytes: &[u8],
        next: &mut VecDeque<ChecksummedExtent>,
    ) -> Result<()> {
        if self.open.is_none() && next.front().is_some_and(|next| next.extent.start == page) {
            let started = next.pop_front();
            self.open = started.map(|next| (next, next.len_bytes, XxHash3_64::default()));
        }
        let Some((checksummed, left, hash)) = &mut self.open else {
            return Ok(());
        };
        let len = (*left).min(bytes.len() as u64);
        hash.write(&bytes[..len as usize]);
        *left -= len;
        if *left > 0 {
            return Ok(());
        }
        let (is_sound, start) = (
            Checksum(hash.finish()) == checksummed.checksum,
            checksummed.extent.start,
        );
        self.open = None;
        match is_sound {
            true => Ok(()),
            false => Err(unsound(start)),
        }
    }
}

pub(crate) fn unsound(page: PageNumber) -> Error {
    let text = "its content does not match the checksum in its parent";
    Error::corrupted(page, COPYING, text)
}

/// The error of the first page or value in this range that does not match its checksum, with its
/// table.
pub(crate) fn culprit(
    state: &PinnedSnapshot,
    named: &[(StateKey, Reader)],
    pages: &Range<u64>,
) -> Option<Error> {
    let page_size = u64::from(state.record().page_size);
    let mut uses = CopyUses::new(state.page_count(), &[]);
    let found = for_each_checksummed(state, named, &mut |checksummed| {
        let Extent { start, .. } = checksummed.extent;
        if !uses.note(&checksummed)? {
            return Ok(false);
        }
        if !pages.contains(&u64::from(start.0)) {
            return Ok(true);
        }
        let offset = u64::from(start.0) * page_size;
        let len = checksummed.len_bytes as usize;
        let content = match checksummed.is_value {
            true => Content::Value,
            false => Content::Pages,
        };
        // Borrowed only now: the frame of an encrypted page may have been empty before.
        let is_there = state.pages().prefault(offset, len, content).is_ok();
        let bytes = is_there.then(|| state.pages().bytes(offset, len)).flatten();
        match bytes.filter(|bytes| Checksum::of(bytes) == checksummed.checksum) {
            Some(_) => Ok(true),
            None => Err(unsound(start)),
        }
    });
    found.err()
}
