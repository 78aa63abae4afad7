//! What commits wrote since the last one that is durable, for the journal.

use crate::{
    Extent, PageNumber, TransactionId,
    alloc::deaths::contains,
    io::Mapping,
    planted::{Planted, is_planted},
    record::JournalPages,
};
use std::{collections::BTreeMap, sync::Arc};

/// More pages than these are flushed rather than noted.
pub(crate) const CHANGES_MAX: usize = 256;

/// Pages that a commit wrote, each with the one that it was copied from.
pub(crate) type NewPages = Vec<(PageNumber, Option<PageNumber>)>;

/// The pages of the newest commit that the last durable one has not.
#[derive(Debug)]
pub(crate) struct UnflushedChanges {
    /// The commit that they are new behind.
    since: TransactionId,
    /// The newest commit.
    until: TransactionId,
    /// With their sources, which the last durable commit has; `None` if they are too many, or not known.
    pages: Option<PageSources>,
    /// Pages that died and that the last flushed commit sees.
    died: u64,
    /// As the newest commit has it, and the file.
    journal: Option<(JournalPages, Arc<Mapping>)>,
}

/// Pages that were written, with their sources.
pub(crate) type PageSources = BTreeMap<PageNumber, Option<PageNumber>>;

/// What a commit has that the last durable one has not, and where that may be written.
#[derive(Clone, Debug)]
pub(crate) struct JournalInput {
    pub(crate) since: TransactionId,
    pub(crate) pages: PageSources,
    pub(crate) died: u64,
    pub(crate) journal: Option<(JournalPages, Arc<Mapping>)>,
}

impl JournalInput {
    /// Whether there are pages for an entry.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }
}

/// What a commit wrote, for the journal.
#[derive(Debug)]
pub(crate) struct CommitChanges {
    /// `None` if it is not for the journal.
    pub(crate) new_pages: Option<NewPages>,
    /// Sorted.
    pub(crate) deaths: Vec<(Extent, TransactionId)>,
    pub(crate) journal: Option<JournalPages>,
    /// The file as it is with this commit.
    pub(crate) mapping: Arc<Mapping>,
}

impl UnflushedChanges {
    /// None, behind a commit that is durable.
    pub(crate) fn behind(until: TransactionId) -> Self {
        Self {
            since: until,
            until,
            pages: Some(BTreeMap::new()),
            died: 0,
            journal: None,
        }
    }

    /// Notes a commit.
    pub(crate) fn note(
        &mut self,
        transaction: TransactionId,
        commit: &CommitChanges,
        flushed: TransactionId,
    ) {
        let is_next = std::mem::replace(&mut self.until, transaction).next() == transaction
            || is_planted(Planted::EntryOfOwn);
        let mapping = || Arc::clone(&commit.mapping);
        self.journal = commit.journal.map(|journal| (journal, mapping()));
        let kept = commit.deaths.iter().filter(|(_, birth)| *birth <= flushed);
        self.died += kept.map(|(extent, _)| u64::from(extent.len)).sum::<u64>();
        let (Some(new_pages), Some(pages), true) =
            (&commit.new_pages, self.pages.as_mut(), is_next)
        else {
            self.pages = None;
            return;
        };
        let first_source = |source: PageNumber| pages.get(&source).copied().unwrap_or(Some(source));
        let new_pages: Vec<_> = new_pages
            .iter()
            .map(|(number, source)| (*number, source.and_then(first_source)))
            .collect();
        pages.retain(|number, _| {
            !contains(&commit.deaths, *number) && !is_planted(Planted::EntryOfSome)
        });
        pages.extend(new_pages);
        if pages.len() > CHANGES_MAX {
            self.pages = None;
        }
    }

    /// What is new in `commit`, the newest one, if that is known; from now on it counts what comes behind.
    pub(crate) fn take(&mut self, commit: TransactionId) -> Option<JournalInput> {
        let changes = std::mem::replace(self, Self::behind(commit));
        let pages = changes.pages.filter(|_| changes.until == commit);
        pages.map(|pages| JournalInput {
            since: changes.since,
            pages,
            died: changes.died,
            journal: changes.journal,
        })
    }
}
