//! Copying only what is sound: what is copied is compared with the tags that lead to it, up to that of the catalog in the commit
//! record, whatever reads of the database compare.
//!
//! The tags are collected before, from inner pages and the leaves of tables with large values. To keep them all would take much
//! memory, so those of pages are summed, each multiplied by a number that is the page's own, for as many pages as are copied at once.
//! Where a sum is another, the walk is done again and looks for the page. Large values are few, and their tags are kept. The pages
//! of the space map were compared when it was loaded. Of tables that only a newer version can read no tag is known.

use super::{catalog, located::located, reader::Reader, snapshot::Snapshot};
use crate::{
    Error, PageNumber, Result, Run, Tag, TransactionId,
    page::value::ValueRun,
    space::FIRST_PAGE,
    tree::{
        PageSource, TreeRoot,
        reading::{Faults, reading},
        tags::{self, Tagged},
    },
};
use std::{
    collections::{BTreeSet, VecDeque},
    hash::Hasher,
    ops::Range,
};
use twox_hash::XxHash3_64;

const COPYING: &str = "copying pages";

/// A state each of whose pages is compared with its tag whenever something leads to it.
#[derive(Debug)]
pub(super) struct Verified<'s>(pub(super) &'s Snapshot);

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

    fn value(&self, run: &ValueRun) -> Result<&[u8]> {
        self.0.value(run)
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
        tag: Tag,
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        self.0.check_page(number, tag, written, operation)
    }

    fn check_value(&self, run: &ValueRun) -> Result<()> {
        self.0.check_value(run)
    }
}

/// Calls `visit` with what the trees of a state have, and those of the named ones. An error names the table.
pub(super) fn for_each_tagged(
    state: &Snapshot,
    named: &[(Vec<u8>, Reader)],
    visit: &mut dyn FnMut(Tagged) -> Result<bool>,
) -> Result<()> {
    tree(state, &state.named_list()?, None, visit)?;
    let mut seen = BTreeSet::new();
    let states = named.iter().map(|(_, named)| &**named);
    for state in std::iter::once(state).chain(states) {
        if !seen.insert((state.transaction(), state.catalog().tag.0)) {
            continue;
        }
        let catalog = state.catalog();
        tree(state, catalog, None, visit)?;
        let mut tables = Vec::new();
        let source = Verified(state);
        reading(&source, || {
            catalog::for_each(&source, catalog, &state.comparisons, |name, entry| {
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
    state: &Snapshot,
    root: &TreeRoot,
    name: Option<&[u8]>,
    visit: &mut dyn FnMut(Tagged) -> Result<bool>,
) -> Result<()> {
    let source = Verified(state);
    let walked = reading(&source, || tags::for_each(&source, root, visit));
    walked.map_err(|error| match name {
        Some(name) => located(error, state, root, name, None),
        None => error,
    })
}

/// What a page of the file is to a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Unused,
    /// A commit record, a page of the space map or of a table that only a newer version can read, or one that nothing leads to.
    Other,
    /// A page of a tree.
    Page,
    /// The first page of a large value.
    Value,
    /// Another one of it.
    ValueRest,
}

/// What each page is to a copy, which has one for each.
#[derive(Debug)]
pub(super) struct Uses(Vec<Use>);

impl Uses {
    /// Nothing is known but what is free.
    pub(super) fn new(page_count: u64, free: &[Run]) -> Self {
        let mut uses = vec![Use::Other; page_count as usize];
        for run in free {
            let end = run.end().min(page_count) as usize;
            uses[run.start.index().min(end)..end].fill(Use::Unused);
        }
        Self(uses)
    }

    pub(super) fn of(&self, pages: Range<u64>) -> &[Use] {
        &self.0[pages.start as usize..pages.end as usize]
    }

    /// Notes something; `false` if it is noted already.
    fn note(&mut self, tagged: &Tagged) -> Result<bool> {
        let Run { start, .. } = tagged.run;
        let first = match tagged.is_value {
            true => Use::Value,
            false => Use::Page,
        };
        let pages = start.index()..tagged.run.end() as usize;
        let uses = self.0.get_mut(pages);
        let Some(uses) = uses.filter(|uses| !uses.is_empty() && start.0 >= FIRST_PAGE) else {
            let text = "it is used, and lies outside of what the copy has";
            return Err(Error::corrupted(start, COPYING, text));
        };
        if uses[0] == first {
            return Ok(false);
        }
        if let Some(other) = uses.iter().find(|page| **page != Use::Other) {
            let text = match other {
                Use::Unused => "it is used, and the space map says that it is free",
                _ => "it is used twice",
            };
            return Err(Error::corrupted(start, COPYING, text));
        }
        uses.fill(Use::ValueRest);
        uses[0] = first;
        Ok(true)
    }
}

/// What is known of the pages that are to be copied.
pub(super) struct Expected {
    pub(super) uses: Uses,
    /// For so many pages each, from the first behind the records on.
    sums: Vec<u64>,
    pages_per_sum: u64,
    /// In the order of their pages.
    values: VecDeque<Tagged>,
}

impl Expected {
    /// Collects the tags of all trees; `each` is called now and then, and may end it.
    pub(super) fn collect(
        state: &Snapshot,
        named: &[(Vec<u8>, Reader)],
        uses: Uses,
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
        let mut until_told = 0_u32;
        for_each_tagged(state, named, &mut |tagged| {
            until_told = until_told.wrapping_add(1);
            if until_told.is_multiple_of(4096) {
                each()?;
            }
            if !expected.uses.note(&tagged)? {
                return Ok(false);
            }
            match tagged.is_value {
                true => expected.values.push_back(tagged),
                false => expected.add(tagged.run.start, tagged.tag),
            }
            Ok(true)
        })?;
        expected
            .values
            .make_contiguous()
            .sort_unstable_by_key(|value| value.run.start);
        Ok(expected)
    }

    fn add(&mut self, page: PageNumber, tag: Tag) {
        let index = u64::from(page.0 - FIRST_PAGE) / self.pages_per_sum;
        let sum = &mut self.sums[index as usize];
        *sum = sum.wrapping_add(share(page, tag));
    }

    /// Takes out what a page that is copied has. It must be the next.
    pub(super) fn copied(
        &mut self,
        page: PageNumber,
        bytes: &[u8],
        values: &mut Values,
    ) -> Result<()> {
        match self.uses.0[page.index()] {
            Use::Page => {
                let index = u64::from(page.0 - FIRST_PAGE) / self.pages_per_sum;
                let sum = &mut self.sums[index as usize];
                *sum = sum.wrapping_sub(share(page, Tag::of(bytes)));
                Ok(())
            }
            Use::Value | Use::ValueRest => values.copied(page, bytes, &mut self.values),
            Use::Unused | Use::Other => Ok(()),
        }
    }

    /// Whether all of the pages that were copied together had their tags.
    pub(super) fn is_sound(&self, pages: &Range<u64>) -> bool {
        let index = (pages.start - u64::from(FIRST_PAGE)) / self.pages_per_sum;
        self.sums[index as usize] == 0
    }
}

/// What a page adds to a sum: two that change places are found, too.
fn share(page: PageNumber, tag: Tag) -> u64 {
    tag.0.wrapping_mul(2 * u64::from(page.0) + 1)
}

/// Compares what is copied, page for page, with tags of one or many pages.
#[derive(Default)]
pub(super) struct Values {
    /// What is under way, and how many bytes of it are to come.
    open: Option<(Tagged, u64, XxHash3_64)>,
}

impl Values {
    /// The next page, of something that is open or that is the first of `next`.
    pub(super) fn copied(
        &mut self,
        page: PageNumber,
        bytes: &[u8],
        next: &mut VecDeque<Tagged>,
    ) -> Result<()> {
        if self.open.is_none() && next.front().is_some_and(|next| next.run.start == page) {
            let started = next.pop_front();
            self.open = started.map(|next| (next, next.len_bytes, XxHash3_64::default()));
        }
        let Some((tagged, left, hash)) = &mut self.open else {
            return Ok(());
        };
        let len = (*left).min(bytes.len() as u64);
        hash.write(&bytes[..len as usize]);
        *left -= len;
        if *left > 0 {
            return Ok(());
        }
        let (is_sound, start) = (Tag(hash.finish()) == tagged.tag, tagged.run.start);
        self.open = None;
        match is_sound {
            true => Ok(()),
            false => Err(unsound(start)),
        }
    }
}

pub(super) fn unsound(page: PageNumber) -> Error {
    let text = "what begins there does not have the tag that is kept where it is pointed to";
    Error::corrupted(page, COPYING, text)
}

/// The error of the first page or value among these that does not have its tag, with its table.
pub(super) fn culprit(
    state: &Snapshot,
    named: &[(Vec<u8>, Reader)],
    pages: &Range<u64>,
) -> Option<Error> {
    let page_size = PageSource::page_size(state) as u64;
    let mut uses = Uses::new(state.page_count(), &[]);
    let found = for_each_tagged(state, named, &mut |tagged| {
        let Run { start, .. } = tagged.run;
        if !uses.note(&tagged)? {
            return Ok(false);
        }
        if !pages.contains(&u64::from(start.0)) {
            return Ok(true);
        }
        let offset = u64::from(start.0) * page_size;
        let len = tagged.len_bytes as usize;
        let bytes = state.mapping.bytes(offset, len);
        let bytes = bytes.filter(|_| state.mapping.demand(offset, len).is_ok());
        match bytes.filter(|bytes| Tag::of(bytes) == tagged.tag) {
            Some(_) => Ok(true),
            None => Err(unsound(start)),
        }
    });
    found.err()
}
