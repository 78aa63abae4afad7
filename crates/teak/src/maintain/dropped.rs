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
    btree::{
        PageSource, TableClass, TreeRoot, cursor::TreeCursor, mutable_tree::Tree, reading::reading,
        seal,
    },
    page::comparison::Comparisons,
    types::TypeNames,
};
use crate::{
    instance::dropped_trees::DropBacklog,
    maintain::{
        empty_tail::policy_of,
        expired::{self, ExpiringTables},
    },
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

/// The number of visible tables of a state, which are all but dropped trees and indexes of expiring
/// tables, and the number of pages still to be released.
pub(crate) fn counts(snapshot: &PinnedSnapshot) -> Result<(u64, u64)> {
    let (mut tables, mut pages) = (snapshot.catalog().records, 0_u64);
    for_each(snapshot, snapshot.catalog(), |Dropped { root, .. }| {
        tables = tables.saturating_sub(1);
        let of_tree = u64::from(root.inner_pages) + u64::from(root.leaf_pages);
        pages = pages.saturating_add(of_tree.saturating_add(root.value_pages));
        ControlFlow::Continue(())
    })?;
    let indexes = expired::index_count(snapshot, snapshot.catalog())?;
    Ok((tables.saturating_sub(indexes), pages))
}

/// Puts the rests of trees that were too large to be released at once into the catalog. No
/// savepoint has begun since they were changed.
pub(crate) fn store_parked(txn: &mut WriteTransaction) -> Result<()> {
    while let Some(root) = txn.pages.parked.trees.pop() {
        let number = txn.pages.parked.names;
        txn.pages.parked.names = number.checked_add(1).ok_or_else(|| {
            let text = "too many tables dropped in one transaction; commit and continue in another";
            Error::InvalidArgument(text.into())
        })?;
        let name = [&name_start(txn)[..], &number.to_be_bytes()].concat();
        debug_assert!(
            is_reserved(&name),
            "the rest of a dropped tree has a name that no table can have"
        );
        store_dropped(txn, Dropped { name, root })?;
    }
    Ok(())
}

/// Prefix of the names of trees that this transaction has dropped.
fn name_start(txn: &WriteTransaction) -> Vec<u8> {
    [&NAME_START[..], &txn.id().0.to_be_bytes()].concat()
}

/// Writes the rest of a dropped tree to the catalog.
fn store_dropped(txn: &mut WriteTransaction, dropped: Dropped) -> Result<()> {
    let Dropped { name, mut root } = dropped;
    if root.is_empty() {
        txn.change_catalog(|pages, catalog| catalog::remove(pages, catalog, &name))?;
        return Ok(());
    }
    root.kind.dropped = true;
    root.kind.typed = false;
    if root.kind.class == TableClass::Expiring {
        root.kind.class = TableClass::Single;
    }
    changing(&mut txn.pages, |pages| seal::seal(pages, &mut root))?;
    txn.change_catalog(|pages, catalog| {
        catalog::insert(pages, catalog, &name, &root, TypeNames::default())
    })
}

/// The first dropped tree that can be released, as far as is known. Trees dropped by this
/// transaction are skipped.
fn first_dropped(txn: &WriteTransaction) -> Result<Option<Dropped>> {
    let mut first = None;
    let damaged = &txn.pages.writer.dropped.damaged;
    let own = name_start(txn);
    for_each(&txn.pages, &txn.catalog, |dropped| {
        if dropped.name.starts_with(&own) || damaged.contains(&dropped.name) {
            return ControlFlow::Continue(());
        }
        first = Some(dropped);
        ControlFlow::Break(())
    })?;
    Ok(first)
}

/// Whether the state of this transaction is known to have neither dropped trees nor expiring
/// tables, whose expired records the same step removes. A finished commit passes this on to the
/// next transaction.
pub(crate) fn has_none_dropped(txn: &WriteTransaction) -> bool {
    let dropped = &txn.pages.writer.dropped;
    let had_none = dropped.none_in == Some(txn.base.transaction());
    had_none && !txn.pages.parked.has_parked && txn.named.revived.is_none()
}

/// Notes a finished commit.
pub(crate) fn note_dropped(txn: &mut WriteTransaction, is_none: bool) {
    txn.pages.writer.dropped.none_in = is_none.then(|| txn.id());
}

/// Releases some of the trees dropped by earlier transactions, and removes some expired records.
/// Returns whether there are neither dropped trees nor expiring tables any more.
pub(crate) fn release_some_dropped(txn: &mut WriteTransaction) -> Result<bool> {
    if has_none_dropped(txn) {
        return Ok(true);
    }
    if txn.status.is_broken || txn.status.is_compacting || txn.named.revived.is_some() {
        return Ok(false);
    }
    let expiring = expired::remove_some(txn)?;
    let (limits, taken) = (&txn.engine.policies.drop_limits, txn.pages.taken_count());
    let has_grown = txn.pages.supply.has_grown;
    let budget = policy_of(txn).release_budget(taken, limits, has_grown, txn.commit_count);
    if budget == 0 || !is_rested(txn) {
        return Ok(false);
    }
    let released = release_dropped(txn, budget)?;
    let has_dropped = released != Released::Nothing || txn.pages.parked.has_parked;
    Ok(!has_dropped && expiring == ExpiringTables::None)
}

/// Whether no release has failed lately.
fn is_rested(txn: &mut WriteTransaction) -> bool {
    let resting = &mut txn.pages.writer.dropped.resting;
    let is_rested = *resting == 0;
    *resting = resting.saturating_sub(1);
    is_rested
}

/// Releases up to `budget` pages of the first tree that can be released. A failed release is
/// undone completely.
fn release_dropped(txn: &mut WriteTransaction, budget: u64) -> Result<Released> {
    loop {
        let Dropped { name, mut root } = match first_dropped(txn) {
            Ok(Some(dropped)) => dropped,
            Ok(None) => return Ok(Released::Nothing),
            Err(error) => return failed_to_release(txn, error),
        };
        if !is_findable(txn, &name, &root)? {
            txn.pages.writer.dropped.damaged.insert(name);
            continue;
        }
        let savepoint = txn.begin_savepoint()?;
        txn.pages.allocate_low(Some(u64::MAX));
        let released = changing(&mut txn.pages, |pages| {
            Tree::new(pages, &mut root).drop_front(budget)
        });
        let kept = released.and_then(|()| {
            let name = name.clone();
            store_dropped(txn, Dropped { name, root })?;
            // A nested tree may be too large to be released at once, even if the budget allows
            // it.
            store_parked(txn)
        });
        txn.pages.allocate_low(None);
        if kept.is_err() {
            txn.roll_back_to(savepoint)?;
        }
        txn.end_savepoint(savepoint)?;
        match kept {
            Ok(()) => {
                assert!(
                    txn.pages.parked.trees.is_empty(),
                    "a release keeps what it parks"
                );
                return Ok(Released::Some);
            }
            // Nothing can be done about it here; `check` reports the damage.
            Err(Error::Corrupted { .. }) => {
                txn.pages.writer.dropped.damaged.insert(name);
            }
            Err(error) => return failed_to_release(txn, error),
        }
    }
}

/// Whether a search finds the entry that the catalog lists. Otherwise the rest of the tree
/// could not be written, and the same pages would be released again and again.
fn is_findable(txn: &WriteTransaction, name: &[u8], root: &TreeRoot) -> Result<bool> {
    let comparisons = Comparisons::default();
    let found = catalog::entry(&txn.pages, &txn.catalog, name, &comparisons);
    match found {
        Ok(found) => Ok(matches!(found, Some(CatalogEntry::Dropped(found)) if found == *root)),
        Err(Error::Corrupted { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Pauses after an undone release. A lack of space that only the release met is no error, and
/// `check` reports damage.
fn failed_to_release(txn: &mut WriteTransaction, error: Error) -> Result<Released> {
    txn.pages.writer.dropped.resting = PAUSE_TRANSACTIONS;
    let is_harmless = error.is_lack_of_space() || matches!(error, Error::Corrupted { .. });
    match is_harmless && txn.engine.committer.refuse_poisoned().is_ok() {
        true => Ok(Released::Failed),
        false => Err(error),
    }
}

/// Releases as much as an earlier transaction wanted and did not find, or some of it, by
/// commits of its own. If there is no space for that either, the transaction begins again.
pub(crate) fn release_backlog(txn: &mut WriteTransaction, backlog: DropBacklog) -> Result<()> {
    if txn.pages.writer.dropped.wanted == 0 || !is_rested(txn) {
        return Ok(());
    }
    let durability = txn.pages.limits.durability;
    // Pages that die now can be reused once this is durable.
    txn.set_durability(Durability::Durable);
    loop {
        let ready = txn.pages.writer.space.ready_count();
        if has_none_dropped(txn) || ready >= txn.pages.writer.dropped.wanted {
            txn.pages.writer.dropped.wanted = 0;
            break;
        }
        if !release_some_backlog(txn)? {
            break;
        }
        // If readers keep the dead pages, continuing does not help.
        let is_more = txn.pages.writer.space.ready_count() > ready;
        if backlog == DropBacklog::Some || !is_more {
            break;
        }
    }
    txn.set_durability(durability);
    Ok(())
}

/// Releases some by a commit of its own. Returns whether that succeeded, in which case there
/// may be more.
fn release_some_backlog(txn: &mut WriteTransaction) -> Result<bool> {
    let limits = txn.engine.policies.drop_limits;
    let budget = limits.later_max.saturating_mul(limits.wanted);
    let released = release_dropped(txn, budget)?;
    match released {
        Released::Some => {}
        Released::Nothing => {
            txn.pages.writer.dropped.wanted = 0;
            return Ok(false);
        }
        Released::Failed => return Ok(false),
    }
    let paid = txn.checkpoint();
    let is_paid = paid.is_ok();
    if let Err(error) = paid {
        failed_to_release(txn, error)?;
    }
    // The commit stands, even if the next transaction could not begin.
    if txn.status.is_broken {
        txn.roll_back()?;
    }
    Ok(is_paid)
}

/// Releases up to `budget` pages in a compacting transaction. Returns whether there was
/// something to release.
pub(crate) fn release_to_compact(txn: &mut WriteTransaction, budget: u64) -> Result<bool> {
    if has_none_dropped(txn) {
        return Ok(false);
    }
    Ok(release_dropped(txn, budget)? == Released::Some)
}
