//! The changes since the last durable commit, for the journal.

use crate::{
    Extent, PageNumber, TransactionId, alloc::deaths::contains, io::Mapping, planted::planted,
    record::JournalPages,
};
use std::{collections::BTreeMap, sync::Arc};

/// With more pages than this the commit is flushed instead.
pub(crate) const CHANGES_MAX: usize = 256;

/// Pages that a commit wrote, each with the page that it was copied from.
pub(crate) type NewPages = Vec<(PageNumber, Option<PageNumber>)>;

/// The pages of the newest commit that the last flush target does not have.
#[derive(Debug)]
pub(crate) struct UnflushedChanges {
    /// The commit that the changes are relative to.
    since: TransactionId,
    /// The newest commit.
    until: TransactionId,
    /// The pages with their sources, which are pages of commit `since`. `None` if there are too
    /// many or they are not known.
    pages: Option<PageSources>,
    /// Number of pages that died and that the last flushed commit uses.
    died: u64,
    /// Whether the file was being made shorter at the newest commit.
    is_to_shrink: bool,
    /// The journal of the newest commit, and the mapping of the file.
    journal: Option<(JournalPages, Arc<Mapping>)>,
}

/// Written pages with their sources.
pub(crate) type PageSources = BTreeMap<PageNumber, Option<PageNumber>>;

/// The changes of a commit since the last durable one, and the journal to write them to.
#[derive(Clone, Debug)]
pub(crate) struct JournalInput {
    pub(crate) since: TransactionId,
    pub(crate) pages: PageSources,
    pub(crate) died: u64,
    pub(crate) is_to_shrink: bool,
    pub(crate) journal: Option<(JournalPages, Arc<Mapping>)>,
}

impl JournalInput {
    /// Whether the commit has a journal.
    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }
}

/// The changes of one commit, for the journal.
#[derive(Debug)]
pub(crate) struct CommitChanges {
    /// The commit before.
    pub(crate) base: TransactionId,
    /// `None` if the commit does not fit the journal.
    pub(crate) new_pages: Option<NewPages>,
    /// Sorted.
    pub(crate) deaths: Vec<(Extent, TransactionId)>,
    /// Whether the file is being made shorter.
    pub(crate) is_to_shrink: bool,
    pub(crate) journal: Option<JournalPages>,
    /// The file's mapping at this commit.
    pub(crate) mapping: Arc<Mapping>,
}

impl UnflushedChanges {
    /// No changes since a commit.
    pub(crate) fn since(until: TransactionId) -> Self {
        Self {
            since: until,
            until,
            pages: Some(BTreeMap::new()),
            died: 0,
            is_to_shrink: false,
            journal: None,
        }
    }

    /// The newest commit.
    pub(crate) fn until(&self) -> TransactionId {
        self.until
    }

    /// Notes a commit.
    pub(crate) fn note(
        &mut self,
        transaction: TransactionId,
        commit: &CommitChanges,
        flushed: TransactionId,
    ) {
        let is_next =
            std::mem::replace(&mut self.until, transaction) == commit.base || planted!(EntryOfOwn);
        let mapping = || Arc::clone(&commit.mapping);
        self.journal = commit.journal.map(|journal| (journal, mapping()));
        self.is_to_shrink = commit.is_to_shrink;
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
        pages.retain(|number, _| !contains(&commit.deaths, *number) && !planted!(EntryOfSome));
        pages.extend(new_pages);
        if pages.len() > CHANGES_MAX {
            self.pages = None;
        }
    }

    /// Takes the changes up to `commit`, if they are known and it is the newest commit. From now on
    /// later changes are collected.
    pub(crate) fn take(&mut self, commit: TransactionId) -> Option<JournalInput> {
        let changes = std::mem::replace(self, Self::since(commit));
        let pages = changes.pages.filter(|_| changes.until == commit);
        pages.map(|pages| JournalInput {
            since: changes.since,
            pages,
            died: changes.died,
            is_to_shrink: changes.is_to_shrink,
            journal: changes.journal,
        })
    }
}
