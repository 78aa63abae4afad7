//! Dead pages that some pin may see, in buckets by the pin that holds them.
//!
//! A run born in B that died in D may be used again when no pin s has `B <= s < D`. Of the pins
//! below D only the highest, s*, has to be looked at: if `s* < B` then so are all others, and the
//! run is free; else s* itself sees it, and the run goes into the bucket of s*. Nothing changes for
//! it until s* is no longer pinned (no pin can appear between s* and D later: a state that nothing
//! pins is gone for good), so a bucket is looked at when its pin is gone and never before. Each
//! entry then moves to the bucket of a lower pin or becomes free. The cost of a commit is that of
//! its own deaths and of what becomes free, whatever else is pending.
//!
//! Entries are *loose*, and then written in the space log, or stand in a segment on disk. A
//! segment's entries are all in one bucket; if they no longer belong together the segment is
//! dissolved, and its place on disk given up at the next fold. The number that may be dissolved
//! between two folds is limited, so that a fold stays small; what is left over stays where it is
//! until the next call.
//!
//! Segments of which it is not known which pin holds them (they were read, or written before their
//! deaths were looked at) are in the bucket of a pin that cannot exist, [`UNSORTED`].

use super::{bits::Bits, free_map::FreeMap, pins::Pins, segments::Segments};
use crate::{
    Error, Result,
    page::deaths::Death,
    planted::{Planted, is_planted},
    types::{Extent, TransactionId},
};
use std::sync::Arc;

/// Segments that may be dissolved between two folds, in addition to twice those just written: so
/// that dissolving keeps up with large transactions.
const DISSOLVED_MAX: usize = 128;
/// Bitmap pages that may differ from disk before only as many segments are dissolved as it takes
/// to keep up.
const CHANGED_MAX: usize = 1024;

/// The pin of segments that have not been looked at.
pub(super) const UNSORTED: TransactionId = TransactionId(u64::MAX);

/// Runs that the same pin holds.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) pin: TransactionId,
    pub(super) loose: Vec<Death>,
    pub(super) segments: Vec<u32>,
}

/// All dead pages that are not free.
#[derive(Default, Debug)]
pub(super) struct Pending {
    /// Deaths that have not been looked at since they were committed, all loose.
    pub(super) fresh: Vec<Death>,
    /// Ascending by pin.
    pub(super) buckets: Vec<Bucket>,
    pub(super) segments: Segments,
    /// A bit for each page that is dead: no page of a damaged tree dies twice.
    dead: Bits,
    page_count: u64,
    backlog: bool,
    written_last: usize,
    /// The pins that stayed when buckets were looked at last.
    permanent: Arc<[TransactionId]>,
    /// Pins of buckets that are not known to be among these.
    temporary: Vec<TransactionId>,
}

impl Pending {
    /// How many pages are pending.
    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Whether a page of the run is dead already.
    pub(super) fn has_dead(&self, extent: Extent) -> bool {
        !self.dead.none(extent)
    }

    /// Whether segments wait for a fold to be dissolved.
    pub(super) fn has_backlog(&self) -> bool {
        self.backlog
    }

    /// Has the next commit fold.
    pub(super) fn want_checkpoint(&mut self) {
        self.backlog = true;
    }

    /// Dissolves the segments at these positions of the array.
    pub(super) fn dissolve_at(&mut self, positions: &[u32]) {
        for &position in positions {
            let slot = self.segments.at(position);
            let buckets = self.buckets.iter_mut();
            for bucket in buckets {
                bucket.segments.retain(|other| *other != slot);
            }
            if !self.segments.dissolved().contains(&slot) {
                let entries = self.segments.dissolve(slot);
                self.fresh.extend(entries);
            }
        }
    }

    /// Takes pages that are in use again out of all deaths. Segments that speak of them are dissolved.
    pub(super) fn revive(&mut self, extents: &[Extent]) -> Result<()> {
        if extents.is_empty() {
            return Ok(());
        }
        let before = self.page_count;
        let is_touched = |death: &Death| subtract(death.extent, extents) != [death.extent];
        for index in 0..self.buckets.len() {
            let mut slots = std::mem::take(&mut self.buckets[index].segments);
            let touched: Vec<_> = slots
                .extract_if(.., |slot| {
                    self.segments.get(*slot).entries.iter().any(is_touched)
                })
                .collect();
            self.buckets[index].segments = slots;
            for slot in touched {
                let entries = self.segments.dissolve(slot);
                self.fresh.extend(entries);
                self.backlog = true;
            }
        }
        let loose = self.buckets.iter_mut().map(|bucket| &mut bucket.loose);
        for deaths in loose.chain([&mut self.fresh]) {
            let left = deaths.iter().flat_map(|death| {
                let left = subtract(death.extent, extents).into_iter();
                left.map(|extent| Death { extent, ..*death })
            });
            *deaths = left.collect();
        }
        self.page_count = self.deaths().map(|death| u64::from(death.extent.len)).sum();
        let known = self.dead.words().len() as u64 * 64;
        (extents.iter().filter(|extent| extent.end() <= known))
            .for_each(|extent| self.dead.clear(*extent));
        let revived: u64 = extents.iter().map(|extent| u64::from(extent.len)).sum();
        match before - self.page_count == revived {
            true => Ok(()),
            false => Err(Error::corrupted(
                extents[0].start,
                "rolling back",
                "it is to be used again, and is not among the dead pages",
            )),
        }
    }

    /// Adds deaths, to be looked at by the next [`Self::reclaim`].
    pub(super) fn add(&mut self, deaths: impl Iterator<Item = Death>) {
        let before = self.fresh.len();
        self.fresh
            .extend(deaths.inspect(|death| note_dead(&mut self.dead, death.extent)));
        self.page_count += page_count(&self.fresh[before..]);
    }

    /// Adds a segment that was read.
    pub(super) fn add_segment(&mut self, entries: Vec<Death>) {
        (entries.iter()).for_each(|death| note_dead(&mut self.dead, death.extent));
        self.page_count += page_count(&entries);
        let slot = self.segments.insert(self.segments.len() as u32, entries);
        self.bucket(UNSORTED).segments.push(slot);
    }

    /// Adds a segment that was read and is out of date, with what is left of its entries.
    pub(super) fn add_dissolved_segment(&mut self, entries: Vec<Death>) {
        let slot = self.segments.insert(self.segments.len() as u32, Vec::new());
        self.segments.dissolve(slot);
        self.add(entries.into_iter());
    }

    /// Frees what no pin sees.
    pub(super) fn reclaim(&mut self, pins: &Pins, free: &mut FreeMap) {
        let mut fresh = std::mem::take(&mut self.fresh);
        for death in fresh.drain(..) {
            self.place(death, pins, free);
        }
        self.fresh = fresh;
        self.backlog = false;
        for pin in self.gone(pins) {
            if let Ok(index) = self.position(pin) {
                let bucket = self.buckets.remove(index);
                self.empty(bucket, pins, free);
            }
        }
    }

    /// The pins of buckets that are not there any more, descending. As long as those that last are the same, only the few buckets of
    /// others are looked at.
    fn gone(&mut self, pins: &Pins) -> Vec<TransactionId> {
        if !Arc::ptr_eq(&self.permanent, &pins.permanent) {
            self.permanent = Arc::clone(&pins.permanent);
            self.temporary = self.buckets.iter().map(|bucket| bucket.pin).collect();
        }
        self.temporary.retain(|pin| !pins.is_permanent(*pin));
        let is_gone = |pin: &mut TransactionId| !pins.is_other(*pin);
        let mut gone: Vec<_> = self.temporary.extract_if(.., is_gone).collect();
        gone.sort_unstable_by(|a, b| b.cmp(a));
        gone.dedup();
        gone
    }

    fn position(&self, pin: TransactionId) -> Result<usize, usize> {
        self.buckets.binary_search_by_key(&pin, |bucket| bucket.pin)
    }

    /// Finds new places for what a bucket whose pin is gone held.
    fn empty(&mut self, mut bucket: Bucket, pins: &Pins, free: &mut FreeMap) {
        for death in bucket.loose.drain(..) {
            self.place(death, pins, free);
        }
        let mut segments = std::mem::take(&mut bucket.segments);
        segments.retain(|slot| !self.settle(*slot, pins, free));
        if !segments.is_empty() {
            self.bucket(bucket.pin).segments = segments;
            self.backlog = true;
        }
    }

    /// Gives a death to the pin that holds it, or frees its pages.
    fn place(&mut self, death: Death, pins: &Pins, free: &mut FreeMap) {
        let early = u64::from(is_planted(Planted::FreeEarly));
        match pins.highest_below(TransactionId(death.died.0 - early)) {
            Some(pin) if pin >= death.birth => self.bucket(pin).loose.push(death),
            _ => {
                self.dead.clear(death.extent);
                free.free(death.extent);
                self.page_count -= u64::from(death.extent.len);
            }
        }
    }

    /// Gives a segment to the pin that holds all of it, or dissolves it if there is no such pin.
    /// Returns whether it could.
    fn settle(&mut self, slot: u32, pins: &Pins, free: &mut FreeMap) -> bool {
        let segment = self.segments.get(slot);
        let pin = pins.highest_below(segment.died_max);
        if let Some(pin) = pin
            && segment.birth_max <= pin
            && pin < segment.died_min
        {
            self.bucket(pin).segments.push(slot);
            return true;
        }
        if !self.may_dissolve(free) {
            return false;
        }
        for death in self.segments.dissolve(slot) {
            self.place(death, pins, free);
        }
        true
    }

    fn may_dissolve(&self, free: &FreeMap) -> bool {
        let dissolved = self.segments.dissolved().len();
        let due = 1 + 2 * self.written_last;
        dissolved < due
            || dissolved < DISSOLVED_MAX + due && free.changed_bitmaps().len() < CHANGED_MAX
    }

    /// The bucket of a pin, made if need be.
    pub(super) fn bucket(&mut self, pin: TransactionId) -> &mut Bucket {
        let index = match self.position(pin) {
            Ok(index) => index,
            Err(index) => {
                self.temporary.push(pin);
                self.buckets.insert(
                    index,
                    Bucket {
                        pin,
                        loose: vec![],
                        segments: vec![],
                    },
                );
                index
            }
        };
        &mut self.buckets[index]
    }

    /// Notes that a fold has brought the disk up to date, and written so many segments.
    pub(super) fn checkpointed(&mut self, written: usize) {
        self.written_last = written;
        self.backlog = false;
    }

    /// All deaths that stand in the log and not in a segment.
    pub(super) fn loose(&self) -> impl Iterator<Item = &Death> {
        self.fresh
            .iter()
            .chain(self.buckets.iter().flat_map(|bucket| &bucket.loose))
    }

    /// All deaths.
    pub(super) fn deaths(&self) -> impl Iterator<Item = Death> {
        let segments = self.buckets.iter().flat_map(|bucket| &bucket.segments);
        let in_segments = segments.flat_map(|slot| &self.segments.get(*slot).entries);
        self.loose().chain(in_segments).copied()
    }
}

fn note_dead(dead: &mut Bits, extent: Extent) {
    let word_count = extent.end().div_ceil(64) as usize;
    if word_count > dead.words().len() {
        dead.resize(word_count.next_power_of_two());
    }
    dead.set(extent);
}

fn page_count(deaths: &[Death]) -> u64 {
    deaths.iter().map(|death| u64::from(death.extent.len)).sum()
}

/// What is left of `extent` outside of `holes`, which are sorted and apart.
pub(super) fn subtract(extent: Extent, holes: &[Extent]) -> Vec<Extent> {
    let mut left = Vec::new();
    let mut start = u64::from(extent.start.0);
    let first = holes.partition_point(|hole| hole.end() <= start);
    for hole in &holes[first..] {
        let hole_start = u64::from(hole.start.0);
        if hole_start >= extent.end() {
            break;
        }
        if hole_start > start {
            left.push(Extent::new(start as u32, (hole_start - start) as u32));
        }
        start = hole.end();
    }
    if start < extent.end() {
        left.push(Extent::new(start as u32, (extent.end() - start) as u32));
    }
    left
}
