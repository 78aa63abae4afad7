//! Tables that were dropped and are too large to be released at once.
//!
//! A page that dies is noted with its birth, which stands in the page; so whoever drops a table reads all of it. Of a huge one
//! only the front is released at once. The rest stays in the catalog, as a tree with a flag, under a name that no table can have; it is
//! a tree like any other for all that looks after pages, and nobody sees it. Each commit that changes something releases some more of it.

use super::{
    catalog::{self, Entry},
    engine::Engine,
    located::located,
    snapshot::Snapshot,
    write::{WriteTransaction, changing},
};
use crate::{
    Error, Result,
    page::comparison::Comparisons,
    tree::{PageSource, TreeRoot, cursor::Cursor, insert::Tree, reading::reading, seal},
};
use std::{ops::ControlFlow, sync::Arc};

/// How the names of such trees begin. The transaction follows that dropped the table, and a number.
const NAME_START: &[u8; 8] = b"\0dropped";
const NAME_LEN: usize = NAME_START.len() + 8 + 4;

/// Whether a name is one that tables cannot have.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name.len() == NAME_LEN && name.starts_with(NAME_START)
}

/// How much of dropped tables is released when, in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropLimits {
    /// By the transaction that drops one.
    pub(crate) at_once: u64,
    /// By each later one, if it takes few pages itself.
    pub(crate) later_min: u64,
    /// One that takes more pages releases so many times as many.
    pub(crate) later_share: u64,
    /// And so many times as many again, if the file had to become longer for it.
    pub(crate) later_grown: u64,
}

impl Default for DropLimits {
    fn default() -> Self {
        Self {
            at_once: 65_536,
            later_min: 64,
            later_share: 4,
            later_grown: 16,
        }
    }
}

/// A tree in the catalog that is being released.
struct Dropped {
    name: Vec<u8>,
    root: TreeRoot,
}

/// Shows what is left of dropped tables, as long as that is wanted.
fn for_each<S: PageSource>(
    source: &S,
    catalog: &TreeRoot,
    mut visit: impl FnMut(Dropped) -> ControlFlow<()>,
) -> Result<()> {
    let comparisons = Comparisons::default();
    reading(source, || {
        let mut cursor = Cursor::new(source, *catalog);
        let mut is_there = cursor.seek(NAME_START)?.is_some();
        while is_there && cursor.key().starts_with(NAME_START) {
            let entry = catalog::decode(catalog.page, cursor.stored_value(), &comparisons)?;
            if let (Entry::Dropped(root), true) = (entry, is_reserved(cursor.key())) {
                let name = cursor.key().to_vec();
                if visit(Dropped { name, root }).is_break() {
                    break;
                }
            }
            is_there = cursor.next()?;
        }
        Ok(())
    })
}

/// How many tables a state has that somebody sees.
pub(crate) fn table_count(snapshot: &Snapshot) -> Result<u64> {
    let mut count = snapshot.catalog().records;
    for_each(snapshot, snapshot.catalog(), |_| {
        count = count.saturating_sub(1);
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

impl WriteTransaction {
    /// Whether a tree is too large to be released at once.
    pub(super) fn is_huge(&self, root: &TreeRoot) -> bool {
        let pages = u64::from(root.inner_pages) + u64::from(root.leaf_pages);
        // Each large value belongs to a record.
        let values = root.value_pages.min(root.records);
        pages + values > self.engine.policies.drop_limits.at_once
    }

    /// Releases a tree that belongs to no table from now on: all of it, or of a huge one the front now and the rest later.
    pub(super) fn release_tree(&mut self, name: &[u8], mut root: TreeRoot) -> Result<()> {
        self.is_broken = true;
        let at_once = self.engine.policies.drop_limits.at_once;
        let is_huge = self.is_huge(&root);
        let released = changing(&mut self.pages, |pages| {
            let mut tree = Tree::new(pages, &mut root);
            match is_huge {
                true => tree.drop_front(at_once),
                false => tree.clear().map(drop),
            }
        });
        released.map_err(|error| located(error, &self.pages, &root, name, None))?;
        if !root.is_empty() {
            let name = self.free_name()?;
            self.keep_dropped(Dropped { name, root })?;
        }
        self.is_broken = false;
        Ok(())
    }

    /// A name for a tree that this transaction dropped.
    fn free_name(&self) -> Result<Vec<u8>> {
        for number in 0..u32::MAX {
            let mut name = NAME_START.to_vec();
            name.extend_from_slice(&self.id().0.to_be_bytes());
            name.extend_from_slice(&number.to_be_bytes());
            let (pages, comparisons) = (&self.pages, &self.base.comparisons);
            let entry = reading(pages, || {
                catalog::entry(pages, &self.catalog, &name, comparisons)
            })?;
            if entry.is_none() {
                return Ok(name);
            }
        }
        let text = "one transaction cannot drop so many tables; commit, and drop the others then";
        Err(Error::InvalidArgument(text.into()))
    }

    /// Has the catalog say what is left of a dropped tree.
    fn keep_dropped(&mut self, dropped: Dropped) -> Result<()> {
        let Dropped { name, mut root } = dropped;
        if root.is_empty() {
            self.change_catalog(|pages, catalog| catalog::remove(pages, catalog, &name))?;
            return Ok(());
        }
        root.kind.dropped = true;
        changing(&mut self.pages, |pages| seal::seal(pages, &mut root))?;
        self.change_catalog(|pages, catalog| catalog::put(pages, catalog, &name, &root))
    }

    /// The first tree that is being released.
    fn first_dropped(&self) -> Result<Option<Dropped>> {
        let mut first = None;
        for_each(&self.pages, &self.catalog, |dropped| {
            first = Some(dropped);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// Releases some of what was dropped by earlier transactions. A disk that fails is an error; if a page is damaged what was dropped
    /// stays where it is, and `check` tells of it.
    pub(super) fn release_some_dropped(&mut self) -> Result<()> {
        if self.is_broken || self.pages.writer.leaves_dropped {
            return Ok(());
        }
        let limits = &self.engine.policies.drop_limits;
        let mut budget = (limits.later_min).max(self.pages.taken_count() * limits.later_share);
        if self.pages.has_grown {
            budget *= limits.later_grown;
        }
        match self.release_dropped(budget) {
            Err(error @ Error::Io { .. }) => Err(error),
            Err(_) => {
                self.pages.writer.leaves_dropped = true;
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    /// Releases so much of the first tree that was dropped; says whether there was one. If that fails, all of it is undone.
    fn release_dropped(&mut self, budget: u64) -> Result<bool> {
        let Some(Dropped { name, mut root }) = self.first_dropped()? else {
            return Ok(false);
        };
        let savepoint = self.begin_savepoint()?;
        let released = changing(&mut self.pages, |pages| {
            Tree::new(pages, &mut root).drop_front(budget)
        });
        let kept = released.and_then(|()| self.keep_dropped(Dropped { name, root }));
        if kept.is_err() {
            self.roll_back_to(savepoint)?;
        }
        self.end_savepoint(savepoint)?;
        kept.map(|()| true)
    }
}

impl Engine {
    /// Releases all that was dropped, by commits that do nothing else.
    pub(super) fn release_all_dropped(self: &Arc<Self>) -> Result<()> {
        loop {
            let mut txn = WriteTransaction::begin(self)?;
            match txn.release_dropped(self.policies.drop_limits.at_once) {
                Ok(true) => drop(txn.commit()?),
                Ok(false) => return Ok(()),
                // Nothing can be done about it here.
                Err(Error::Corrupted { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
#[path = "dropped_tests.rs"]
mod tests;
