//! Deferred release of dropped trees that are too large to be released at once: dropped or emptied
//! tables, and the values of a removed key.
//!
//! A dead page is recorded with its birth, which is stored in the page, so dropping a tree requires
//! reading all of it. Of a huge tree only the front is released at once (`btree/drop.rs`). The rest
//! stays in the catalog as a tree with a flag, under a name that no table can have. Code that walks
//! pages treats it like any other tree, and no transaction sees it. Each commit with changes
//! releases some more of it.
//!
//! Invariants, so that the space comes back and no operation suffers:
//!
//! 1. Release does not depend on successful commits. A transaction that found no space leaves a
//!    backlog. Before anything else, the next one releases as much by commits of its own, or some
//!    of it by one commit if it has a time limit.
//! 2. A failed release pauses for a while, and is tried again.
//! 3. Releasing does not grow the file, asks no reader, and makes no commit fail for lack of space:
//!    the pages that it writes go to free space, and a failed release is undone. Any other disk
//!    error is returned by the call that met it.
//! 4. One commit releases at most a fixed amount, or as many pages as it has taken. The file
//!    therefore does not grow without limit when large tables come and go.
//! 5. A tree with a damaged page is skipped, and the next one is released.
//! 6. Each release also keeps the trees that it parks: a commit with a tree that is in no catalog
//!    would lose its pages.

use crate::{
    Error, Result,
    btree::{PageSource, TreeRoot, cursor::TreeCursor, mutable_tree::Tree, reading::reading, seal},
    page::comparison::Comparisons,
};
use crate::{
    instance::dropped_trees::DropBacklog,
    read::{
        catalog::{self, CatalogEntry},
        snapshot::PinnedSnapshot,
    },
    record::durability::Durability,
    write::transaction::{WriteTransaction, changing},
};
use std::ops::ControlFlow;

/// Prefix of the names of such trees. The transaction that dropped the tree and a number follow.
const NAME_START: &[u8; 8] = b"\0dropped";
const NAME_LEN: usize = NAME_START.len() + 8 + 4;

/// A failed release is not tried again before this many transactions.
const PAUSE_TRANSACTIONS: u32 = 16;
/// Whether a name is one that tables cannot have.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    name.len() == NAME_LEN && name.starts_with(NAME_START)
}

/// A tree in the catalog that is being released.
struct Dropped {
    name: Vec<u8>,
    root: TreeRoot,
}

/// The result of a release.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Released {
    /// There is nothing that could be released.
    Nothing,
    Some,
    /// It failed, and pauses.
    Failed,
}

/// Visits the rests of dropped trees, until `visit` breaks.
fn for_each<S: PageSource>(
    source: &S,
    catalog: &TreeRoot,
    mut visit: impl FnMut(Dropped) -> ControlFlow<()>,
) -> Result<()> {
    let comparisons = Comparisons::default();
    reading(source, || {
        let mut cursor = TreeCursor::new(source, *catalog);
        let mut is_there = cursor.seek(NAME_START)?.is_some();
        while is_there && cursor.key().starts_with(NAME_START) {
            let entry = catalog::decode(catalog.page, cursor.stored_value(), &comparisons)?;
            if let (CatalogEntry::Dropped(root), true) = (entry, is_reserved(cursor.key())) {
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

/// The number of visible tables of a state, and the number of pages still to be released.
pub(crate) fn counts(snapshot: &PinnedSnapshot) -> Result<(u64, u64)> {
    let (mut tables, mut pages) = (snapshot.catalog().records, 0_u64);
    for_each(snapshot, snapshot.catalog(), |Dropped { root, .. }| {
        tables = tables.saturating_sub(1);
        let of_tree = u64::from(root.inner_pages) + u64::from(root.leaf_pages);
        pages = pages.saturating_add(of_tree.saturating_add(root.value_pages));
        ControlFlow::Continue(())
    })?;
    Ok((tables, pages))
}

impl WriteTransaction {
    /// Puts the rests of trees that were too large to be released at once into the catalog. No
    /// savepoint has begun since they were changed.
    pub(crate) fn store_parked(&mut self) -> Result<()> {
        while let Some(root) = self.pages.parked.trees.pop() {
            let number = self.pages.parked.names;
            self.pages.parked.names = number.checked_add(1).ok_or_else(|| {
                let text =
                    "too many tables dropped in one transaction; commit and continue in another";
                Error::InvalidArgument(text.into())
            })?;
            let name = [&self.name_start()[..], &number.to_be_bytes()].concat();
            debug_assert!(
                is_reserved(&name),
                "the rest of a dropped tree has a name that no table can have"
            );
            self.store_dropped(Dropped { name, root })?;
        }
        Ok(())
    }

    /// Prefix of the names of trees that this transaction has dropped.
    fn name_start(&self) -> Vec<u8> {
        [&NAME_START[..], &self.id().0.to_be_bytes()].concat()
    }

    /// Writes the rest of a dropped tree to the catalog.
    fn store_dropped(&mut self, dropped: Dropped) -> Result<()> {
        let Dropped { name, mut root } = dropped;
        if root.is_empty() {
            self.change_catalog(|pages, catalog| catalog::remove(pages, catalog, &name))?;
            return Ok(());
        }
        root.kind.dropped = true;
        changing(&mut self.pages, |pages| seal::seal(pages, &mut root))?;
        self.change_catalog(|pages, catalog| catalog::put(pages, catalog, &name, &root))
    }

    /// The first dropped tree that can be released, as far as is known. Trees dropped by this
    /// transaction are skipped.
    fn first_dropped(&self) -> Result<Option<Dropped>> {
        let mut first = None;
        let damaged = &self.pages.writer.dropped.damaged;
        let own = self.name_start();
        for_each(&self.pages, &self.catalog, |dropped| {
            if dropped.name.starts_with(&own) || damaged.contains(&dropped.name) {
                return ControlFlow::Continue(());
            }
            first = Some(dropped);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// Whether the state of this transaction is known to have no dropped trees. A finished commit
    /// passes this on to the next transaction.
    pub(crate) fn has_none_dropped(&self) -> bool {
        let dropped = &self.pages.writer.dropped;
        let had_none = dropped.none_in == Some(self.base.transaction());
        had_none && !self.pages.parked.has_parked && self.named.revived.is_none()
    }

    /// Notes a finished commit.
    pub(crate) fn note_dropped(&mut self, is_none: bool) {
        self.pages.writer.dropped.none_in = is_none.then(|| self.id());
    }

    /// Releases some of the trees dropped by earlier transactions. Returns whether none are left.
    pub(crate) fn release_some_dropped(&mut self) -> Result<bool> {
        if self.has_none_dropped() {
            return Ok(true);
        }
        if self.status.is_broken || self.status.is_compacting || self.named.revived.is_some() {
            return Ok(false);
        }
        let (limits, taken) = (&self.engine.policies.drop_limits, self.pages.taken_count());
        let has_grown = self.pages.supply.has_grown;
        let budget = self
            .shrink_policy()
            .release_budget(taken, limits, has_grown);
        if budget == 0 || !self.is_rested() {
            return Ok(false);
        }
        let released = self.release_dropped(budget)?;
        Ok(released == Released::Nothing && !self.pages.parked.has_parked)
    }

    /// Whether no release has failed lately.
    fn is_rested(&mut self) -> bool {
        let resting = &mut self.pages.writer.dropped.resting;
        let is_rested = *resting == 0;
        *resting = resting.saturating_sub(1);
        is_rested
    }

    /// Releases up to `budget` pages of the first tree that can be released. A failed release is
    /// undone completely.
    fn release_dropped(&mut self, budget: u64) -> Result<Released> {
        loop {
            let Dropped { name, mut root } = match self.first_dropped() {
                Ok(Some(dropped)) => dropped,
                Ok(None) => return Ok(Released::Nothing),
                Err(error) => return self.failed_to_release(error),
            };
            if !self.is_findable(&name, &root)? {
                self.pages.writer.dropped.damaged.insert(name);
                continue;
            }
            let savepoint = self.begin_savepoint()?;
            self.pages.allocate_low(Some(u64::MAX));
            let released = changing(&mut self.pages, |pages| {
                Tree::new(pages, &mut root).drop_front(budget)
            });
            let kept = released.and_then(|()| {
                let name = name.clone();
                self.store_dropped(Dropped { name, root })?;
                // A nested tree may be too large to be released at once, even if the budget allows
                // it.
                self.store_parked()
            });
            self.pages.allocate_low(None);
            if kept.is_err() {
                self.roll_back_to(savepoint)?;
            }
            self.end_savepoint(savepoint)?;
            match kept {
                Ok(()) => {
                    assert!(
                        self.pages.parked.trees.is_empty(),
                        "a release keeps what it parks"
                    );
                    return Ok(Released::Some);
                }
                // Nothing can be done about it here; `check` reports the damage.
                Err(Error::Corrupted { .. }) => {
                    self.pages.writer.dropped.damaged.insert(name);
                }
                Err(error) => return self.failed_to_release(error),
            }
        }
    }

    /// Whether a search finds the entry that the catalog lists. Otherwise the rest of the tree
    /// could not be written, and the same pages would be released again and again.
    fn is_findable(&self, name: &[u8], root: &TreeRoot) -> Result<bool> {
        let comparisons = Comparisons::default();
        let found = catalog::entry(&self.pages, &self.catalog, name, &comparisons);
        match found {
            Ok(found) => Ok(matches!(found, Some(CatalogEntry::Dropped(found)) if found == *root)),
            Err(Error::Corrupted { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Pauses after an undone release. A lack of space that only the release met is no error, and
    /// `check` reports damage.
    fn failed_to_release(&mut self, error: Error) -> Result<Released> {
        self.pages.writer.dropped.resting = PAUSE_TRANSACTIONS;
        let is_harmless = error.is_lack_of_space() || matches!(error, Error::Corrupted { .. });
        match is_harmless && self.engine.committer.refuse_poisoned().is_ok() {
            true => Ok(Released::Failed),
            false => Err(error),
        }
    }

    /// Releases as much as an earlier transaction wanted and did not find, or some of it, by
    /// commits of its own. If there is no space for that either, the transaction begins again.
    pub(crate) fn release_backlog(&mut self, backlog: DropBacklog) -> Result<()> {
        if self.pages.writer.dropped.wanted == 0 || !self.is_rested() {
            return Ok(());
        }
        let durability = self.pages.limits.durability;
        // Pages that die now can be reused once this is durable.
        self.set_durability(Durability::Durable);
        loop {
            let ready = self.pages.writer.space.ready_count();
            if self.has_none_dropped() || ready >= self.pages.writer.dropped.wanted {
                self.pages.writer.dropped.wanted = 0;
                break;
            }
            if !self.release_some_backlog()? {
                break;
            }
            // If readers keep the dead pages, continuing does not help.
            let is_more = self.pages.writer.space.ready_count() > ready;
            if backlog == DropBacklog::Some || !is_more {
                break;
            }
        }
        self.set_durability(durability);
        Ok(())
    }

    /// Releases some by a commit of its own. Returns whether that succeeded, in which case there
    /// may be more.
    fn release_some_backlog(&mut self) -> Result<bool> {
        let limits = self.engine.policies.drop_limits;
        let budget = limits.later_max.saturating_mul(limits.wanted);
        let released = self.release_dropped(budget)?;
        match released {
            Released::Some => {}
            Released::Nothing => {
                self.pages.writer.dropped.wanted = 0;
                return Ok(false);
            }
            Released::Failed => return Ok(false),
        }
        let paid = self.checkpoint();
        let is_paid = paid.is_ok();
        if let Err(error) = paid {
            self.failed_to_release(error)?;
        }
        // The commit stands, even if the next transaction could not begin.
        if self.status.is_broken {
            self.roll_back()?;
        }
        Ok(is_paid)
    }

    /// Releases up to `budget` pages in a compacting transaction. Returns whether there was
    /// something to release.
    pub(crate) fn release_to_compact(&mut self, budget: u64) -> Result<bool> {
        if self.has_none_dropped() {
            return Ok(false);
        }
        Ok(self.release_dropped(budget)? == Released::Some)
    }
}
