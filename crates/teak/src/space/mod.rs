//! The space map: which pages are free, which are dead and may still be seen, and how that stands
//! on disk.
//!
//! # What is where
//!
//! | on disk | in memory |
//! |---|---|
//! | bitmap pages, found through an array by index ([`crate::page::bitmap`]) | [`free_map`]: bits and a tree of summaries |
//! | segments of deaths, found through an array ([`crate::page::deaths`]) | [`pending`]: buckets by the pin that holds them |
//! | the log of changes since, in the commit record ([`log`]) | the same bytes |
//!
//! A commit appends what it took and what died to the log. Only when the log has no room left (or
//! when dissolved segments pile up) is it folded into bitmaps and segments ([`fold`]).
//!
//! # Invariants
//!
//! - A page is free, pending, part of the space map itself, a commit record, or in use: one of
//!   these. Pages 0 to 3 are commit records. There are four and not three: while a flush runs, the
//!   last durable record, the one being flushed, and the newest must all be spared.
//! - A page behind the end of the file is free as soon as the file grows over it; a bitmap that is
//!   absent says that all its pages are free. So growing needs no trace on disk.
//! - Where the file has holes is known in memory only, as far as it is known ([`holes`]).
//! - A page is handed out only if no pin sees it, and so is free after [`Space::reclaim`].
//! - Reclaiming leaves no trace on disk: it follows from the pins. A page that the log takes is
//!   free or pending in what stands before it.
//!
//! # Order of calls
//!
//! A write transaction: [`Space::reclaim`], then [`Space::allocate`] and [`Space::grow`] as
//! needed, [`Space::give_back`] for what is left over, and [`Space::commit`]; or `give_back` for
//! everything, if it is rolled back. `commit` either changes nothing and returns an error, or has
//! done all it does; if the record cannot be written afterwards, the database is poisoned.

mod bits;
mod fold;
mod follow;
#[cfg(any(test, feature = "testing"))]
mod forge;
mod free_map;
mod holes;
mod load;
mod log;
mod page_array;
mod pending;
mod pins;
mod plan;
mod segments;
mod summary;
mod tail;
mod writer;

pub(crate) use crate::page::deaths::Death;
#[cfg(test)]
use fold::LOG_ROOM_MIN;
pub(crate) use follow::taken_since;
#[cfg(any(test, feature = "testing"))]
pub(crate) use forge::Forged;
pub(crate) use free_map::Policy;
pub(crate) use load::joined;
pub(crate) use page_array::ArrayRoot;
pub(crate) use pins::Pins;

use crate::{
    Error, Result,
    page::{array, bitmap, deaths},
    planted::{Planted, is_planted},
    types::{PageNumber, Run, TransactionId},
};
use free_map::FreeMap;
use page_array::PageArray;
use pending::Pending;
use std::{borrow::Cow, ops::Range};

/// The first page that is not a commit record.
pub(crate) const FIRST_PAGE: u32 = 4;

/// Where the space map is read from.
pub(crate) trait SpacePages {
    /// Size of a page in bytes: a power of two, 4 KiB to 64 KiB.
    fn page_size(&self) -> usize;
    /// A whole page. It is asked for pages below the page count only, and checked by its tag.
    fn page(&self, number: PageNumber) -> Result<&[u8]>;
    /// Says which pages are asked for next, in no order; such that there are not may be among them.
    fn announce(&self, _pages: &mut dyn Iterator<Item = PageNumber>) {}
}

/// The roots of both arrays, as they stand in the commit record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SpaceRoots {
    /// Element `i` is the bitmap page of the i-th stretch of the file; info: bits that are set.
    pub(crate) bitmaps: ArrayRoot,
    /// The segments in no order; info: deaths.
    pub(crate) deaths: ArrayRoot,
}

/// What a transaction did to space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// The transaction that is being committed, higher than any before.
    pub(crate) transaction: TransactionId,
    /// All that it took and keeps, sorted and apart.
    pub(crate) taken: &'a [Run],
    /// All that it no longer uses, sorted, with their births, which are earlier transactions.
    pub(crate) deaths: &'a [(Run, TransactionId)],
    /// Dead pages that some pin sees, and that are in use again, sorted and apart.
    pub(crate) revived: &'a [Run],
    /// How many bytes the record has for the log; at least [`LOG_ROOM_MIN`].
    pub(crate) log_room: usize,
    /// The longest that the file may become, in pages.
    pub(crate) page_limit: u64,
}

impl Change<'_> {
    fn deaths(&self) -> impl Iterator<Item = Death> {
        let died = self.transaction;
        self.deaths
            .iter()
            .map(move |&(run, birth)| Death { run, birth, died })
    }
}

/// What goes to disk for a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    /// For the record.
    pub(crate) roots: SpaceRoots,
    /// For the record.
    pub(crate) log: Vec<u8>,
    /// Pages of the space map to be written, sealed, in page order.
    pub(crate) fold_pages: Vec<(PageNumber, Vec<u8>)>,
    /// The runs they are in, sorted. The file may have become longer for them.
    pub(crate) fold_taken: Vec<Run>,
}

/// Every page that is not in use by the database's content.
#[derive(Debug)]
pub(crate) struct Census {
    /// Free runs, in order.
    pub(crate) free: Vec<Run>,
    /// Dead runs that some pin may see, in no order.
    pub(crate) pending: Vec<Death>,
    /// Bitmap pages, segments and array nodes, in order.
    pub(crate) own: Vec<PageNumber>,
}

/// The space map.
#[derive(Debug)]
pub(crate) struct Space {
    page_size: usize,
    pages_per_bitmap: u32,
    deaths_per_segment: usize,
    free: FreeMap,
    pending: Pending,
    bitmaps: PageArray,
    segments: PageArray,
    log: Vec<u8>,
    /// The transaction of the log's last group.
    log_transaction: TransactionId,
}

impl Space {
    /// The space map of an empty database: the records, and no pages behind them.
    pub(crate) fn new(page_size: usize, first_page: u32) -> Self {
        let pages_per_bitmap = bitmap::capacity(page_size);
        let fanout = array::fanout(page_size);
        Self {
            page_size,
            pages_per_bitmap,
            deaths_per_segment: deaths::capacity(page_size),
            free: FreeMap::new(pages_per_bitmap, u64::from(first_page)),
            pending: Pending::default(),
            bitmaps: PageArray::new(fanout),
            segments: PageArray::new(fanout),
            log: Vec::new(),
            log_transaction: TransactionId(0),
        }
    }

    /// Frees what no pin sees any more. The newest commit is among the pins.
    pub(crate) fn reclaim(&mut self, pins: &Pins) {
        self.pending.reclaim(pins, &mut self.free);
    }

    /// Takes at most `want` free pages in a row, as `policy` has it. `None` if there are none, or
    /// none that fit: the caller then makes the file longer, with [`Self::grow`].
    pub(crate) fn allocate(&mut self, want: u32, policy: Policy) -> Option<Run> {
        self.free.take_run(want, policy)
    }

    /// The same, but none in `zone`.
    pub(crate) fn allocate_outside(
        &mut self,
        want: u32,
        policy: Policy,
        zone: &Range<u64>,
    ) -> Option<Run> {
        self.free.take_outside(want, policy, zone)
    }

    /// Takes at most `want` free pages in a row within `zone`: the first that are as many from `from` on and around, else the longest stretch.
    pub(crate) fn allocate_within(
        &mut self,
        want: u32,
        zone: &Range<u64>,
        from: u64,
    ) -> Option<Run> {
        self.free.take_within(want, zone, from)
    }

    /// The lowest stretch of `want` free pages, or the longest if none is as long.
    pub(crate) fn longest_free(&mut self, want: u32) -> Option<Run> {
        self.free.longest(want)
    }

    /// How many pages of these are free, and in no hole.
    pub(crate) fn count_ready(&self, run: Run) -> u64 {
        self.free.count_ready(run)
    }

    /// Pages that were allocated, and are not used after all.
    pub(crate) fn give_back(&mut self, run: Run) {
        debug_assert!(self.free.none_free(run), "{run:?} is given back twice");
        self.free.free(run);
    }

    /// A part of the highest stretch of free pages that has at least `least` and is in no hole: its end, about `most` pages long.
    pub(crate) fn highest_free(&mut self, least: u32, most: u32) -> Option<Run> {
        self.free.highest(least, most)
    }

    /// Notes that free pages are in a hole of the file: they are handed out no more until it is opened.
    pub(crate) fn add_hole(&mut self, run: Run) {
        self.free.add_hole(run);
    }

    /// The same for pages that were handed out, and for those right behind them, up to `end`, that are free.
    pub(crate) fn give_back_hole(&mut self, run: Run, end: u64) {
        self.free.free(run);
        let hole = self.free.ready_from(run, end.max(run.end()));
        self.free.add_hole(hole);
    }

    /// Has the first pages of the lowest hole with at least `least` handed out again, at most `most` of them. Says which.
    pub(crate) fn open_hole(&mut self, least: u32, most: u32) -> Option<Run> {
        self.free.open_hole(least, most)
    }

    /// Has pages below `end` handed out again that are in holes.
    pub(crate) fn forget_holes(&mut self, end: u64) {
        self.free.forget_holes(end);
    }

    /// Makes the file that the map is of longer: up to `page_count` pages, the new ones free.
    pub(crate) fn grow(&mut self, page_count: u64) {
        assert!(
            page_count >= self.page_count(),
            "growing does not make shorter"
        );
        self.free.set_page_count(page_count);
    }

    /// Cuts off the end of the file, in which all pages are free.
    pub(crate) fn shrink(&mut self, page_count: u64) {
        let Some(cut) = self
            .page_count()
            .checked_sub(page_count)
            .filter(|cut| *cut > 0)
        else {
            return;
        };
        assert!(cut <= self.trailing_free(), "only free pages are cut off");
        self.free.set_page_count(page_count);
    }

    /// Pages of the file, records and free ones included.
    pub(crate) fn page_count(&self) -> u64 {
        self.free.page_count()
    }

    /// Pages that are in use, or dead and seen by some pin.
    pub(crate) fn used_count(&self) -> u64 {
        self.page_count() - self.free_count()
    }

    /// Pages that are free, also those in holes.
    pub(crate) fn free_count(&self) -> u64 {
        self.free.free_count()
    }

    /// Those of them that are not known to be in a hole of the file.
    pub(crate) fn ready_count(&self) -> u64 {
        self.free.ready_count()
    }

    /// Dead pages that some pin may see.
    pub(crate) fn pending_count(&self) -> u64 {
        self.pending.page_count()
    }

    /// How many dead pages none of these pins sees. `pins` ascends.
    pub(crate) fn unseen_count(&self, pins: &[TransactionId]) -> u64 {
        let is_unseen = |death: &Death| {
            let below = pins.partition_point(|pin| *pin < death.died);
            pins[..below].last().is_none_or(|pin| *pin < death.birth)
        };
        let unseen = self.pending.deaths().filter(is_unseen);
        unseen.map(|death| u64::from(death.run.len)).sum()
    }

    /// For each pin how many dead pages only it sees. `pins` ascends.
    pub(crate) fn kept_alone(&self, pins: &[TransactionId]) -> Vec<u64> {
        let mut kept = vec![0; pins.len()];
        for death in self.pending.deaths() {
            let below = pins.partition_point(|pin| *pin < death.died);
            let seen = pins.partition_point(|pin| *pin < death.birth)..below;
            if seen.len() == 1 {
                kept[seen.start] += u64::from(death.run.len);
            }
        }
        kept
    }

    /// Free pages in a row at the end of the file.
    pub(crate) fn trailing_free(&self) -> u64 {
        self.free.trailing_free()
    }

    /// Those of them that [`Self::allocate`] finds, since they are in no hole.
    pub(crate) fn trailing_ready(&self) -> u64 {
        self.free.trailing_ready()
    }

    /// Adds a transaction to the log, or folds. The file may have become longer for a fold: see
    /// [`Self::page_count`].
    ///
    /// # Errors
    ///
    /// [`Corrupted`](crate::Error::Corrupted) if a page dies that is free already, or twice, or that says that it was born in this
    /// transaction or later, and if pages are to be revived that overlap: a tree that is damaged may hold such pages.
    /// [`Full`](crate::Error::Full) if a fold finds no pages within the limit,
    /// [`InvalidArgument`](crate::Error::InvalidArgument) if there is hardly any room for a log.
    /// Nothing has changed then; the caller gives back what it allocated. Where pages were to be revived, the map is to be read
    /// anew.
    pub(crate) fn commit(&mut self, change: Change<'_>) -> Result<Committed> {
        if change.transaction <= self.log_transaction {
            // Another process has told of a log like that, in a damaged lock file.
            let detail = "the space log is of transactions to come";
            return Err(Error::corrupted(PageNumber(0), "commit", detail));
        }
        self.check_deaths(&change)?;
        check_revived(change.revived)?;
        let (len, last) = (self.log.len(), self.log_transaction);
        self.pending.revive(change.revived)?;
        // What is revived may die again.
        let is_dead = |(run, _): &&(Run, TransactionId)| self.pending.has_dead(*run);
        if let Some((run, _)) = change.deaths.iter().find(is_dead) {
            return Err(used_twice(*run));
        }
        let in_use = merged(change.taken, change.revived);
        let logged = match is_planted(Planted::LoseTaken) {
            true => &[],
            false => &in_use[..],
        };
        self.append_group(change.transaction, logged, change.deaths.iter().copied());
        if self.log.len() <= change.log_room && !self.pending.has_backlog() {
            self.pending.add(change.deaths());
            return Ok(Committed {
                roots: self.roots(),
                log: self.log.clone(),
                fold_pages: Vec::new(),
                fold_taken: Vec::new(),
            });
        }
        self.log.truncate(len);
        self.log_transaction = last;
        self.fold(&change)
    }

    /// Refuses deaths, sorted, of pages that are not in use, or that come twice, or before they were born.
    fn check_deaths(&self, change: &Change<'_>) -> Result<()> {
        let mut end = u64::from(FIRST_PAGE);
        for &(run, birth) in change.deaths {
            if birth >= change.transaction {
                let detail = "it says that it was born in a transaction to come";
                return Err(Error::corrupted(run.start, "commit", detail));
            }
            let is_possible = u64::from(run.start.0) >= end && run.end() <= self.page_count();
            if !is_possible || !self.free.none_free(run) {
                return Err(used_twice(run));
            }
            end = run.end();
        }
        Ok(())
    }

    fn append_group(
        &mut self,
        transaction: TransactionId,
        taken: &[Run],
        deaths: impl ExactSizeIterator<Item = (Run, TransactionId)>,
    ) {
        log::append(
            &mut self.log,
            self.log_transaction,
            transaction,
            taken,
            deaths,
        );
        self.log_transaction = transaction;
    }

    /// The roots as they are now.
    pub(crate) fn roots(&self) -> SpaceRoots {
        SpaceRoots {
            bitmaps: self.bitmaps.root(),
            deaths: self.segments.root(),
        }
    }

    /// All pages that are free, pending, or part of the space map itself.
    pub(crate) fn classify(&self) -> Census {
        let mut own: Vec<_> = self.bitmaps.pages().chain(self.segments.pages()).collect();
        own.sort_unstable();
        Census {
            free: self.free.runs(),
            pending: self.pending.deaths().collect(),
            own,
        }
    }
}

#[cold]
fn used_twice(run: Run) -> Error {
    let detail = "it is used twice, or used and free at once";
    Error::corrupted(run.start, "commit", detail)
}

/// Refuses pages, sorted, that are to be revived twice.
fn check_revived(revived: &[Run]) -> Result<()> {
    let overlap = revived
        .windows(2)
        .find(|pair| pair[0].end() > u64::from(pair[1].start.0));
    match overlap {
        None => Ok(()),
        Some(pair) => {
            let detail = "it is to be used again twice";
            Err(Error::corrupted(pair[1].start, "rolling back", detail))
        }
    }
}

/// Two lists of runs, each sorted, and apart from each other, as one.
fn merged<'r>(a: &'r [Run], b: &[Run]) -> Cow<'r, [Run]> {
    if b.is_empty() {
        return Cow::Borrowed(a);
    }
    let mut all = [a, b].concat();
    all.sort_unstable();
    Cow::Owned(all)
}

#[cfg(test)]
mod tests;
