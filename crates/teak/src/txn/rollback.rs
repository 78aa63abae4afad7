//! Rolling the database back to a named snapshot: its tables become those of that state. What died since is alive again, as
//! it stands; what was born since dies. So nothing is copied, and the states in between stay for those who see them: other named snapshots,
//! and readers.

use super::{
    catalog::{self, Entry},
    write::WriteTransaction,
};
use crate::{
    Error, PageNumber, Result, Run, TransactionId,
    tree::{
        PageSource, TreeRoot,
        pages::{PageSet, PageVisitor, visit_pages},
        reading::reading,
    },
};

impl WriteTransaction {
    /// Has the transaction go on from the state of a named snapshot. It must not have changed anything yet.
    pub(crate) fn roll_back_to_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        let is_begun =
            !self.pages.is_unchanged() || !self.named.is_empty() || !self.savepoints.is_empty();
        if is_begun || self.tables.iter().flatten().any(|table| table.is_changed) {
            let text = "only a transaction that has changed nothing can roll the database back to a snapshot; begin a new one";
            return Err(Error::InvalidArgument(text.into()));
        }
        let named = self.committed_named(name)?;
        let catalog = TreeRoot::decode(&named.catalog).map_err(|fault| {
            fault.at(
                self.snapshots.page,
                "rolling back",
                "the catalog of the snapshot",
            )
        })?;
        let pages = &self.pages;
        let page_count = pages.writer.space.page_count();
        let (past, died) = reading(pages, || {
            let mut past = PageSet::new(page_count);
            for_all_trees(pages, &catalog, &mut past)?;
            let mut present = Present {
                past: &past,
                seen: PageSet::new(page_count),
                died: Vec::new(),
            };
            for_all_trees(pages, &self.catalog, &mut present)?;
            let died = present.died;
            Ok((past, died))
        })?;
        let space = &self.pages.writer.space;
        self.revived = Some(space.pending_in(|page| past.contains(page)));
        self.pages.deaths = died;
        self.catalog = catalog;
        self.tables.clear();
        Ok(())
    }
}

/// Visits the pages of a catalog, and of all tables in it.
fn for_all_trees<S: PageSource + ?Sized, V: PageVisitor>(
    source: &S,
    catalog: &TreeRoot,
    visitor: &mut V,
) -> Result<()> {
    visit_pages(source, catalog, visitor)?;
    catalog::for_each(source, catalog, |name, entry| match entry {
        Entry::Table(root) => visit_pages(source, &root, visitor),
        Entry::Unknown(unknown) => Err(unknown.error(&catalog::in_words(name))),
    })
}

/// What the present state uses and the past one does not.
struct Present<'p> {
    past: &'p PageSet,
    seen: PageSet,
    died: Vec<(Run, TransactionId)>,
}

impl PageVisitor for Present<'_> {
    const READS_ALL: bool = true;

    fn enter(&mut self, run: Run, value_birth: Option<TransactionId>) -> Result<bool> {
        let is_wanted = !self.past.contains(run.start) && self.seen.add(run)?;
        if let Some(birth) = value_birth.filter(|_| is_wanted) {
            self.died.push((run, birth));
        }
        Ok(is_wanted)
    }

    fn birth(&mut self, page: PageNumber, birth: TransactionId) {
        self.died.push((
            Run {
                start: page,
                len: 1,
            },
            birth,
        ));
    }
}
