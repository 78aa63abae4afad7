//! Emptying the end of the file, a few pages with each commit, so that it can be truncated.
//!
//! Emptying begins when much is free and was free for a while (`maintain/policy.rs`), or when
//! samples show that the leaves of a large table have become thin. It ends after a round through
//! all tables that found little to do, or after some rounds. The number of copied pages is a share
//! of what the commit writes anyway. Pages at the end of the file that old readers use cannot be
//! moved.

use crate::{
    Error, Result, TransactionId,
    btree::{
        TreeRoot,
        mutable_tree::Tree,
        reading::reading,
        relocate::{Relocation, ResumePoint, sampled_fill_percent},
        seal,
    },
};
use crate::{
    instance::shrink_state::{LEAVES_MIN, TailPosition},
    maintain::policy::{ShrinkPolicy, shrink_policy, written_pages},
    read::catalog,
    write::transaction::{WriteTransaction, changing},
};

/// After a failure this many commits pass before the next attempt.
const PAUSE_COMMITS: u64 = 64;
/// A sample examines this many leaves of a table.
const SAMPLE_LEAVES: usize = 32;
/// Leaves are thin if they are filled less than this. With keys in random order they are filled to
/// four fifths.
const THIN_PERCENT: usize = 72;
/// The most tables that are skipped at once.
const SKIPPED_TABLES_MAX: usize = 8;
/// Number of commits between two attempts to move pages of the free-space map.
const MAP_MOVE_INTERVAL_COMMITS: u64 = 16;

/// Moves some pages from the end of the file, if that is worthwhile. A failing disk is an
/// error. Damaged pages are reported when they are read.
pub(crate) fn empty_tail(txn: &mut WriteTransaction) -> Result<()> {
    let percent = u64::from(txn.engine.policies.move_percent);
    if txn.status.is_compacting || percent == 0 || txn.status.is_broken {
        return Ok(());
    }
    let (id, taken) = (txn.id(), txn.pages.taken_count());
    let policy = policy_of(txn);
    let goal = policy.tail();
    let writer = &mut *txn.pages.writer;
    let (space, tail) = (&mut writer.space, &mut writer.shrink.tail);
    let used = space.used_count();
    if !tail.note_commit(written_pages(taken, txn.commit_count), used) {
        return Ok(());
    }
    let is_bloated = space.page_count() > goal.begins_above
        && space.page_count() - space.trailing_free() > goal.begins_above;
    tail.empty_from(goal.boundary, is_bloated);
    if tail.is_sample_due(used) {
        // Damage is reported when the damaged page is read.
        let is_thin = has_thin_table(txn).unwrap_or(false);
        txn.pages
            .writer
            .shrink
            .tail
            .empty_from(goal.boundary, is_thin);
    }
    let writer = &mut *txn.pages.writer;
    if !writer.shrink.tail.is_at_work(id) {
        return Ok(());
    }
    let interval = |id: TransactionId| id.0 / MAP_MOVE_INTERVAL_COMMITS;
    if interval(id) > interval(txn.base.transaction()) {
        writer.space.leave_tail(goal.boundary);
    }
    txn.pages.give_up_zone_after(goal.boundary);
    let writer = &mut *txn.pages.writer;
    let value_pages = writer.shrink.tail.value_pages;
    let mut work = policy.tail_work(taken, percent, value_pages, txn.commit_count);
    let lowered = relocate(txn, &mut work);
    if lowered.is_err() {
        rest(txn, PAUSE_COMMITS);
    }
    txn.pages.writer.shrink.tail.note_values(&work);
    match lowered {
        Err(error @ Error::Io { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// The policy for the present file, with the geometry that this transaction leaves.
pub(super) fn policy_of(txn: &WriteTransaction) -> ShrinkPolicy {
    let geometry = txn.pages.limits.geometry;
    shrink_policy(&txn.pages.writer, geometry)
}

/// Whether the leaves of a large table are thin. Examines the first large table after that of
/// the last sample.
fn has_thin_table(txn: &mut WriteTransaction) -> Result<bool> {
    let mut sampled = txn.pages.writer.shrink.tail.sampled.take();
    for _ in 0..SKIPPED_TABLES_MAX {
        let next = table_from(
            txn,
            sampled.as_deref().unwrap_or_default(),
            sampled.is_none(),
        )?;
        let Some(TailPosition::Table { name, .. }) = next else {
            return Ok(false);
        };
        let root = match txn.engine.known_handle(&name) {
            Some(handle) => txn.root_of(handle, &name)?.as_deref().copied(),
            None => txn.find(&name)?,
        };
        sampled = Some(name);
        // Samples examine the leaves with keys, which may be few in multi-value tables.
        let is_large = |root: &TreeRoot| root.leaf_pages >= LEAVES_MIN && !root.is_multi();
        let Some(root) = root.filter(is_large) else {
            continue;
        };
        let (pages, seed) = (&txn.pages, txn.id().0);
        let fill = reading(pages, || {
            sampled_fill_percent(pages, &root, SAMPLE_LEAVES, seed)
        })?;
        txn.pages.writer.shrink.tail.sampled = sampled;
        return Ok(fill < THIN_PERCENT);
    }
    txn.pages.writer.shrink.tail.sampled = sampled;
    Ok(false)
}

/// Pauses for this many commits.
pub(crate) fn rest(txn: &mut WriteTransaction, commits: u64) {
    let until = TransactionId(txn.id().0.saturating_add(commits));
    txn.pages.writer.shrink.tail.rest_until(until);
}

/// Continues the walk through all tables as far as the work allows. If that fails, everything
/// is undone and the transaction is unchanged.
pub(crate) fn relocate(txn: &mut WriteTransaction, work: &mut Relocation) -> Result<()> {
    txn.pages.writer.space.forget_holes(work.boundary);
    // Lifting may grow the file.
    let is_lifting = !work.relocated_values.is_empty();
    txn.pages
        .allocate_low((!is_lifting).then_some(work.boundary));
    let savepoint = txn.begin_savepoint()?;
    let walked = walk(txn, work);
    txn.pages.allocate_low(None);
    if walked.is_err() {
        txn.roll_back_to(savepoint)?;
    }
    txn.end_savepoint(savepoint)?;
    walked?;
    let used = txn.pages.writer.space.used_count();
    txn.pages.writer.shrink.tail.note_moved(work.moved, used);
    Ok(())
}

/// Walks until the work is used up, or the list of names is finished. The position is the
/// beginning after that.
fn walk(txn: &mut WriteTransaction, work: &mut Relocation) -> Result<()> {
    loop {
        let position = std::mem::take(&mut txn.pages.writer.shrink.tail.position);
        let next = match position {
            TailPosition::Begin => table_from(txn, &[], true)?,
            TailPosition::Table { name, from } => {
                match lower_table(txn, &name, from.as_ref(), work)? {
                    from @ Some(_) => Some(TailPosition::Table { name, from }),
                    None => table_from(txn, &name, false)?,
                }
            }
            TailPosition::Catalog => {
                txn.change_catalog(|pages, catalog| {
                    Tree::new(pages, catalog).relocate(None, work)
                })?;
                Some(TailPosition::Names)
            }
            TailPosition::Names => {
                let list = &mut txn.named.list;
                return changing(&mut txn.pages, |pages| {
                    Tree::new(pages, list).relocate(None, work)
                })
                .map(drop);
            }
        };
        work.visits_left = work.visits_left.saturating_sub(1);
        txn.pages.writer.shrink.tail.position = next.unwrap_or(TailPosition::Catalog);
        if work.is_spent() {
            return Ok(());
        }
    }
}

/// The first table after a name, or from it on.
fn table_from(
    txn: &WriteTransaction,
    name: &[u8],
    is_included: bool,
) -> Result<Option<TailPosition>> {
    let pages = &txn.pages;
    let found = reading(pages, || {
        catalog::table_from(
            pages,
            &txn.catalog,
            &txn.base.comparisons,
            name,
            is_included,
        )
    })?;
    Ok(found.map(|name| TailPosition::Table { name, from: None }))
}

fn lower_table(
    txn: &mut WriteTransaction,
    name: &[u8],
    from: Option<&ResumePoint>,
    work: &mut Relocation,
) -> Result<Option<ResumePoint>> {
    // A table without a handle does not get one for this.
    if let Some(handle) = txn.engine.known_handle(name) {
        return txn.change(handle, name, |tree| tree.relocate(from, work));
    }
    let Some(mut root) = txn.find(name)? else {
        return Ok(None);
    };
    let before = root;
    let next = changing(&mut txn.pages, |pages| {
        Tree::new(pages, &mut root).relocate(from, work)
    })?;
    if root != before {
        seal::seal(&mut txn.pages, &mut root)?;
        txn.change_catalog(|pages, catalog| catalog::put(pages, catalog, name, &root))?;
        // A handle may be created meanwhile, and note the root of the base state.
        txn.tables.has_other_roots = true;
    }
    Ok(next)
}

#[cfg(test)]
#[path = "empty_tail_tests.rs"]
mod tests;
