//! Emptying the end of the file, a few pages with each commit, so that it can be truncated.
//!
//! It begins when a third as much is free as is in use and was free for a while, or when samples
//! show that the leaves of a large table have become thin. It ends after a round through all tables
//! that found little to do, or after some rounds. The number of copied pages is a share of what the
//! commit writes anyway. Pages at the end of the file that old readers use cannot be moved.

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
    instance::{
        high_water::FREE_MIN,
        truncate_state::{ROUNDS_MAX, TailPosition},
    },
    read::catalog,
    write::transaction::{WriteTransaction, changing},
};

/// A small commit moves at least this many pages, if there are as many pages after the boundary as
/// before it, or this many times more, up to a limit, because every commit waits for it.
const MOVED_MIN: u64 = 2;
const MOVED_TIMES: u64 = 4;
/// Inner pages, or leaves of tables with large values, that one commit examines.
const LOOKED_AT: u64 = 64;
/// A round that moves a smaller part of the pages in use has found little.
const LITTLE: u64 = 64;
/// After a failure this many commits pass before the next attempt.
const REST: u64 = 64;
/// After the last round, this part of the pages in use plus some pages must be written before the
/// next one. After rounds of little use this doubles each time, up to this power.
const RESTING: u64 = 8;
const FRUITLESS_MAX: u32 = 7;
/// A sample examines this many leaves of a table. It is taken when this part of all pages in use
/// was written.
const SAMPLE: usize = 32;
const SAMPLED_AFTER: u64 = 16;
/// Leaves are thin if they are filled less than this. With keys in random order they are filled to
/// four fifths.
const THIN_PERCENT: usize = 72;
/// For commits that do this next to their own work, at least this many of sixteen leaves must be
/// saved. Leaves that are as full as with keys in random order are left alone.
const SAVED_MIN: usize = 3;
/// Tables with fewer leaves are not worth it, and (below) the most tables that are skipped at once.
const LEAVES_MIN: u32 = 512;
const PASSED_OVER_MAX: usize = 8;
/// Number of commits between two attempts to move pages of the free-space map.
const MAP_APART: u64 = 16;

impl WriteTransaction {
    /// Moves some pages from the end of the file, if that is worthwhile. A failing disk is an
    /// error. Damaged pages are reported when they are read.
    pub(crate) fn empty_tail(&mut self) -> Result<()> {
        let percent = u64::from(self.engine.policies.move_percent);
        if self.status.is_compacting || percent == 0 || self.status.is_broken {
            return Ok(());
        }
        let page_size = self.engine.file.page_size as u64;
        let least = match self.pages.limits.geometry.shrink_threshold_bytes / page_size {
            0 => FREE_MIN,
            threshold => threshold,
        };
        let space = &self.pages.writer.space;
        let used = space.used_count();
        let lately = self.pages.writer.high_water.of(space.page_count());
        let much = lately.max(used + used / 3).saturating_add(least);
        let lower_limit = self.pages.limits.geometry.lower_limit_bytes / page_size;
        // Free pages at the end are truncated without this.
        let is_bloated = space.page_count() > much.max(lower_limit)
            && space.page_count() - space.trailing_free() > much.max(lower_limit);
        let boundary = lately.max(used + used / 16).saturating_add(least / 4);
        let id = self.id();
        let taken = self.pages.taken_count();
        let tail = &mut self.pages.writer.tail;
        tail.written += taken;
        let is_other = used + u64::from(LEAVES_MIN) < tail.used && used < tail.used / 4 * 3;
        tail.resting = match is_other {
            true => 0,
            false => tail.resting.saturating_sub(taken),
        };
        if tail.resting > 0 {
            return Ok(());
        }
        tail.is_emptying |= is_bloated;
        if !tail.is_emptying && tail.written > used / SAMPLED_AFTER + u64::from(LEAVES_MIN) {
            tail.written = 0;
            // Damage is reported when the damaged page is read.
            let is_thin = self.has_thin_table().unwrap_or(false);
            self.pages.writer.tail.is_emptying = is_thin;
        }
        let tail = &mut self.pages.writer.tail;
        tail.boundary = boundary;
        if !tail.is_emptying || id < tail.rests_until {
            return Ok(());
        }
        if id.0.is_multiple_of(MAP_APART) {
            self.pages.writer.space.leave_tail(boundary);
        }
        let page_count = self.pages.writer.space.page_count();
        let times = (page_count / boundary.max(1)).clamp(1, MOVED_TIMES);
        let tail = &self.pages.writer.tail;
        let mut work = Relocation {
            boundary,
            pages_left: (taken * percent / 100).max(MOVED_MIN * times),
            visits_left: LOOKED_AT,
            value_pages_max: tail.value_pages,
            saved_min: SAVED_MIN,
            ..Relocation::default()
        };
        let lowered = self.relocate(&mut work);
        if lowered.is_err() {
            self.rest(REST);
        }
        self.pages.writer.tail.note_values(&work);
        match lowered {
            Err(error @ Error::Io { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the leaves of a large table are thin. Examines the first large table after that of
    /// the last sample.
    fn has_thin_table(&mut self) -> Result<bool> {
        let mut sampled = self.pages.writer.tail.sampled.take();
        for _ in 0..PASSED_OVER_MAX {
            let next =
                self.table_from(sampled.as_deref().unwrap_or_default(), sampled.is_none())?;
            let Some(TailPosition::Table { name, .. }) = next else {
                return Ok(false);
            };
            let root = match self.engine.known_handle(&name) {
                Some(handle) => self.root_of(handle, &name)?.as_deref().copied(),
                None => self.find(&name)?,
            };
            sampled = Some(name);
            // Samples examine the leaves with keys, which may be few in multi-value tables.
            let is_large = |root: &TreeRoot| root.leaf_pages >= LEAVES_MIN && !root.is_multi();
            let Some(root) = root.filter(is_large) else {
                continue;
            };
            let (pages, seed) = (&self.pages, self.id().0);
            let fill = reading(pages, || sampled_fill_percent(pages, &root, SAMPLE, seed))?;
            self.pages.writer.tail.sampled = sampled;
            return Ok(fill < THIN_PERCENT);
        }
        self.pages.writer.tail.sampled = sampled;
        Ok(false)
    }

    /// Pauses for this many commits.
    pub(crate) fn rest(&mut self, commits: u64) {
        let until = TransactionId(self.id().0.saturating_add(commits));
        let tail = &mut self.pages.writer.tail;
        tail.rests_until = tail.rests_until.max(until);
        tail.place = TailPosition::Begin;
    }

    /// Continues the walk through all tables as far as the work allows. If that fails, everything
    /// is undone and the transaction is unchanged.
    pub(crate) fn relocate(&mut self, work: &mut Relocation) -> Result<()> {
        self.pages.writer.space.forget_holes(work.boundary);
        // Lifting may grow the file.
        let is_lifting = !work.relocated_values.is_empty();
        self.pages.place_low((!is_lifting).then_some(work.boundary));
        let savepoint = self.begin_savepoint()?;
        let walked = self.walk(work);
        self.pages.place_low(None);
        if walked.is_err() {
            self.roll_back_to(savepoint)?;
        }
        self.end_savepoint(savepoint)?;
        walked?;
        self.pages.writer.tail.moved_in_round += work.moved;
        if matches!(self.pages.writer.tail.place, TailPosition::Begin) {
            self.end_round();
        }
        Ok(())
    }

    /// Walks until the work is used up, or the list of names is finished. The position is the
    /// beginning after that.
    fn walk(&mut self, work: &mut Relocation) -> Result<()> {
        loop {
            let place = std::mem::take(&mut self.pages.writer.tail.place);
            let next = match place {
                TailPosition::Begin => self.table_from(&[], true)?,
                TailPosition::Table { name, from } => {
                    match self.lower_table(&name, from.as_ref(), work)? {
                        from @ Some(_) => Some(TailPosition::Table { name, from }),
                        None => self.table_from(&name, false)?,
                    }
                }
                TailPosition::Catalog => {
                    self.change_catalog(|pages, catalog| {
                        Tree::new(pages, catalog).relocate(None, work)
                    })?;
                    Some(TailPosition::Names)
                }
                TailPosition::Names => {
                    let list = &mut self.named.list;
                    return changing(&mut self.pages, |pages| {
                        Tree::new(pages, list).relocate(None, work)
                    })
                    .map(drop);
                }
            };
            work.visits_left = work.visits_left.saturating_sub(1);
            self.pages.writer.tail.place = next.unwrap_or(TailPosition::Catalog);
            if work.is_spent() {
                return Ok(());
            }
        }
    }

    fn end_round(&mut self) {
        let used = self.pages.writer.space.used_count();
        let tail = &mut self.pages.writer.tail;
        tail.rounds += 1;
        tail.moved += tail.moved_in_round;
        // Pages written meanwhile may lie at the end again.
        if tail.moved_in_round <= used / LITTLE || tail.rounds >= ROUNDS_MAX {
            tail.fruitless = match tail.moved <= used / LITTLE {
                true => (tail.fruitless + 1).min(FRUITLESS_MAX),
                false => 0,
            };
            tail.resting = (used / RESTING + u64::from(LEAVES_MIN)) << tail.fruitless;
            tail.used = used;
            tail.moved = 0;
            tail.is_emptying = false;
            tail.rounds = 0;
        }
        tail.moved_in_round = 0;
    }

    /// The first table after a name, or from it on.
    fn table_from(&self, name: &[u8], is_included: bool) -> Result<Option<TailPosition>> {
        let pages = &self.pages;
        let found = reading(pages, || {
            catalog::table_from(
                pages,
                &self.catalog,
                &self.base.comparisons,
                name,
                is_included,
            )
        })?;
        Ok(found.map(|name| TailPosition::Table { name, from: None }))
    }

    fn lower_table(
        &mut self,
        name: &[u8],
        from: Option<&ResumePoint>,
        work: &mut Relocation,
    ) -> Result<Option<ResumePoint>> {
        // A table without a handle does not get one for this.
        if let Some(handle) = self.engine.known_handle(name) {
            return self.change(handle, name, |tree| tree.relocate(from, work));
        }
        let Some(mut root) = self.find(name)? else {
            return Ok(None);
        };
        let before = root;
        let next = changing(&mut self.pages, |pages| {
            Tree::new(pages, &mut root).relocate(from, work)
        })?;
        if root != before {
            seal::seal(&mut self.pages, &mut root)?;
            self.change_catalog(|pages, catalog| catalog::put(pages, catalog, name, &root))?;
            // A handle may be created meanwhile, and note the root of the base state.
            self.tables.has_other_roots = true;
        }
        Ok(next)
    }
}

#[cfg(test)]
#[path = "truncate_tests.rs"]
mod tests;
