//! Dead pages that some pin may see, in buckets by the pin that holds them.
//!
//! An extent born in B that died in D may be reused when no pin s has `B <= s < D`. Of the pins
//! below D only the highest, s*, matters: if `s* < B`, then so are all others, and the extent is
//! free. Otherwise s* itself sees it, and the extent goes into the bucket of s*. Nothing changes
//! for it until s* is no longer pinned (no pin can appear between s* and D later: a state that
//! nothing pins is gone for good). So a bucket is examined when its pin is gone and never before.
//! Each entry then moves to the bucket of a lower pin or becomes free. The cost of a commit is that
//! of its own deaths and of the pages that become free, however much else is pending.
//!
//! Entries are either *loose*, and then written in the space log, or in a segment on disk. All
//! entries of a segment are in one bucket. If they no longer belong together, the segment is
//! dissolved, and its page on disk is released at the next checkpoint. The number of segments that
//! may be dissolved between two checkpoints is limited, so that a checkpoint stays small; the rest
//! stays where it is until the next call.
//!
//! Segments whose pin is unknown (they were read, or written before their deaths were examined) are
//! in the bucket of a pin that cannot exist, [`UNSORTED`].

use super::{bits::Bits, free_map::FreeMap, pins::Pins, segments::Segments};
use crate::{
    Error, Result,
    page::deaths::Death,
    planted::planted,
    types::{Extent, TransactionId},
};
use std::sync::Arc;

/// Segments that may be dissolved between two checkpoints, in addition to twice those just written,
/// so that dissolving keeps up with large transactions.
const DISSOLVED_MAX: usize = 128;
/// The number of bitmap pages that may differ from disk before dissolving is limited to the
/// segments it takes to keep up.
const CHANGED_MAX: usize = 1024;

/// The pin of segments that have not been examined.
pub(super) const UNSORTED: TransactionId = TransactionId(u64::MAX);

/// Extents that one pin holds.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) pin: TransactionId,
    pub(super) loose: Vec<Death>,
    pub(super) segments: Vec<u32>,
}

impl Bucket {
    /// Whether the pin sees the pages of every loose death.
    fn holds_its_loose(&self) -> bool {
        let is_seen = |death: &Death| death.birth <= self.pin && self.pin < death.died;
        self.loose.iter().all(is_seen)
    }
}

/// All dead pages that are not free.
#[derive(Default, Debug)]
pub(super) struct Pending {
    /// Deaths that have not been examined since they were committed, all loose.
    pub(super) fresh: Vec<Death>,
    /// Ascending by pin.
    pub(super) buckets: Vec<Bucket>,
    pub(super) segments: Segments,
    /// A bit for each dead page: no page of a damaged tree dies twice.
    dead: Bits,
    page_count: u64,
    backlog: bool,
    written_last: usize,
    /// The permanent pins when buckets were last examined.
    permanent: Arc<[TransactionId]>,
    /// Pins of buckets that are not known to be among the permanent ones.
    temporary: Vec<TransactionId>,
}

impl Pending {
    /// Counts the pending pages.
    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Whether any page of the extent is dead already.
    pub(super) fn has_dead(&self, extent: Extent) -> bool {
        !self.dead.none(extent)
    }

    /// Whether segments wait for a checkpoint to be dissolved.
    pub(super) fn has_backlog(&self) -> bool {
        self.backlog
    }

    /// Makes the next commit write a checkpoint.
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

    /// Removes pages that are in use again from all deaths. Segments that mention them are
    /// dissolved.
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
        self.page_count = self.count_pages();
        let known = self.dead.words().len() as u64 * 64;
        (extents.iter().filter(|extent| extent.end() <= known))
            .for_each(|extent| self.dead.clear(*extent));
        let revived: u64 = extents.iter().map(|extent| u64::from(extent.len)).sum();
        match before - self.page_count == revived {
            true => Ok(()),
            false => Err(Error::corrupted(
                extents[0].start,
                "rolling back",
                "it is to be used again, but is not among the pending pages",
            )),
        }
    }

    /// Adds deaths, which the next [`Self::reclaim`] examines.
    pub(super) fn add(&mut self, deaths: impl Iterator<Item = Death>) {
        let before = self.fresh.len();
        self.fresh.extend(deaths.inspect(|death| {
            debug_assert!(death.birth < death.died, "a page dies after its birth");
            note_dead(&mut self.dead, death.extent);
        }));
        self.page_count += page_count(&self.fresh[before..]);
    }

    /// Adds a segment that was read.
    pub(super) fn add_segment(&mut self, entries: Vec<Death>) {
        (entries.iter()).for_each(|death| note_dead(&mut self.dead, death.extent));
        self.page_count += page_count(&entries);
        let slot = self.segments.insert(self.segments.len() as u32, entries);
        self.bucket(UNSORTED).segments.push(slot);
    }

    /// Adds a segment that was read and is out of date, with the rest of its entries.
    pub(super) fn add_dissolved_segment(&mut self, entries: Vec<Death>) {
        let slot = self.segments.insert(self.segments.len() as u32, Vec::new());
        self.segments.dissolve(slot);
        self.add(entries.into_iter());
    }

    /// Frees the pages that no pin sees.
    pub(super) fn reclaim(&mut self, pins: &Pins, free: &mut FreeMap) {
        let mut fresh = std::mem::take(&mut self.fresh);
        for death in fresh.drain(..) {
            self.assign_death(death, pins, free);
        }
        self.fresh = fresh;
        self.backlog = false;
        for pin in self.gone(pins) {
            if let Ok(index) = self.position(pin) {
                let bucket = self.buckets.remove(index);
                self.empty(bucket, pins, free);
            }
        }
        debug_assert!(
            self.buckets.is_sorted_by(|a, b| a.pin < b.pin),
            "buckets ascend by pin, one for each"
        );
        debug_assert!(
            self.buckets.iter().all(|bucket| bucket.holds_its_loose()),
            "a death is in the bucket of a pin that sees its pages"
        );
    }

    /// Returns the pins of buckets that no longer exist, descending. While the permanent pins do
    /// not change, only the few buckets of other pins are examined.
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

    /// Redistributes the entries of a bucket whose pin is gone.
    fn empty(&mut self, mut bucket: Bucket, pins: &Pins, free: &mut FreeMap) {
        for death in bucket.loose.drain(..) {
            self.assign_death(death, pins, free);
        }
        let mut segments = std::mem::take(&mut bucket.segments);
        segments.retain(|slot| !self.assign_segment(*slot, pins, free));
        if !segments.is_empty() {
            self.bucket(bucket.pin).segments = segments;
            self.backlog = true;
        }
    }

    /// Adds a death to the bucket of the pin that holds it, or frees its pages.
    fn assign_death(&mut self, death: Death, pins: &Pins, free: &mut FreeMap) {
        let early = u64::from(planted!(FreeEarly));
        match pins.highest_below(TransactionId(death.died.0 - early)) {
            Some(pin) if pin >= death.birth => self.bucket(pin).loose.push(death),
            _ => {
                self.dead.clear(death.extent);
                free.free(death.extent);
                self.page_count -= u64::from(death.extent.len);
            }
        }
    }

    /// Adds a segment to the bucket of the pin that holds all of it, or dissolves it if there is no
    /// such pin. Returns whether it could.
    fn assign_segment(&mut self, slot: u32, pins: &Pins, free: &mut FreeMap) -> bool {
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
            self.assign_death(death, pins, free);
        }
        true
    }

    /// Counts the pages of all deaths one by one.
    fn count_pages(&self) -> u64 {
        self.deaths().map(|death| u64::from(death.extent.len)).sum()
    }

    fn may_dissolve(&self, free: &FreeMap) -> bool {
        let dissolved = self.segments.dissolved().len();
        let due = 1 + 2 * self.written_last;
        dissolved < due
            || dissolved < DISSOLVED_MAX + due && free.changed_bitmaps().len() < CHANGED_MAX
    }

    /// Returns the bucket of a pin, and creates it if necessary.
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

    /// Records that a checkpoint has brought the disk up to date, and written this many segments.
    pub(super) fn checkpointed(&mut self, written: usize) {
        debug_assert_eq!(
            self.page_count,
            self.count_pages(),
            "the count of pending pages is the sum of all deaths"
        );
        debug_assert!(
            self.segments.dissolved().is_empty(),
            "a checkpoint removes all dissolved segments"
        );
        self.written_last = written;
        self.backlog = false;
    }

    /// All deaths that are in the log and not in a segment.
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
    debug_assert!(
        dead.none(extent),
        "a page that is dead does not die again before it was free and taken"
    );
    let word_count = extent.end().div_ceil(64) as usize;
    if word_count > dead.words().len() {
        dead.resize(word_count.next_power_of_two());
    }
    dead.set(extent);
}

fn page_count(deaths: &[Death]) -> u64 {
    deaths.iter().map(|death| u64::from(death.extent.len)).sum()
}

/// Returns the parts of `extent` outside of `holes`, which are sorted and disjoint.
pub(super) fn subtract(extent: Extent, holes: &[Extent]) -> Vec<Extent> {
    debug_assert!(
        Extent::are_apart(holes),
        "what is subtracted is sorted and disjoint"
    );
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
