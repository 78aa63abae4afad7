//! Checkpoint of the free-space map: the log is written to bitmap pages and segments, and a new log
//! begins.
//!
//! A checkpoint rewrites the bitmap pages that differ. If there are many loose deaths, it writes
//! segments of them. It releases the dissolved segments, and writes the array nodes above. The
//! pages that it allocates for this are *not* marked in the bitmaps it writes. They are in the
//! first group of the new log, as are (there, or in the new segments) the deaths of the pages it
//! replaces. So the work of the checkpoint does not change what the checkpoint has to write.
//!
//! The log stays short because the pages come in at most [`EXTENT_COUNT_MAX`] extents; if free
//! space is too fragmented for that, the file grows.

use crate::alloc::{
    array_entry::absent_bitmap,
    change::{SpaceChange, SpaceCommit},
    commit::used_twice,
    free_map::PlacementPolicy,
    log,
    map::Space,
    pending::UNSORTED,
    plan::CheckpointPlan,
    writer::PageWriter,
};
use crate::{
    Error, Result,
    page::{
        bitmap,
        deaths::{self, Death},
    },
    types::{Extent, TransactionId},
};

/// The number of free extents that a checkpoint uses before it grows the file instead.
const EXTENT_COUNT_MAX: usize = 8;

/// With less room than this in the record a checkpoint, and so a commit, is impossible.
pub(crate) const LOG_ROOM_MIN: usize = 256;

impl Space {
    /// Brings the disk up to date with a change. An error leaves everything unchanged.
    pub(super) fn checkpoint(&mut self, change: &SpaceChange<'_>) -> Result<SpaceCommit> {
        let plan = CheckpointPlan::new(self, change);
        self.check_room(plan.page_count(), change)?;
        self.check_own_dead(&plan, change)?;
        let extents = self.take_checkpoint_extents(plan.page_count(), change.page_limit);
        Ok(self.write_planned(&plan, change, &extents, extents.clone()))
    }

    /// Writes the planned pages to `target_extents`, sorted; `taken` are those of them that were
    /// free.
    pub(super) fn write_planned(
        &mut self,
        plan: &CheckpointPlan,
        change: &SpaceChange<'_>,
        target_extents: &[Extent],
        taken: Vec<Extent>,
    ) -> SpaceCommit {
        let extent_pages: u64 = target_extents
            .iter()
            .map(|extent| u64::from(extent.len))
            .sum();
        assert_eq!(
            extent_pages,
            plan.page_count() as u64,
            "a checkpoint has as many pages as it writes"
        );
        let died = change.transaction;
        let dead = plan.dead.iter().map(|(extent, birth)| Death {
            extent: *extent,
            birth: *birth,
            died,
        });
        self.pending.add(change.deaths().chain(dead));

        let mut writer = PageWriter::new(self.page_size, change.transaction, target_extents);
        self.write_bitmaps(plan, &taken, &mut writer);
        self.write_segments(plan, &mut writer);
        self.bitmaps.write_nodes(&plan.bitmap_nodes, &mut writer);
        self.segments.write_nodes(&plan.segment_nodes, &mut writer);

        assert_eq!(
            self.segments.elements().len(),
            self.pending.segments.len(),
            "each segment in memory is an element of the array on disk"
        );
        assert_eq!(
            self.bitmaps.elements().len(),
            plan.bitmap_count,
            "the array of bitmaps has the planned length"
        );
        self.free.changed().clear();
        taken
            .iter()
            .for_each(|extent| self.free.mark_changed(*extent));
        self.pending.checkpointed(plan.segment_count());
        self.begin_log(change.transaction, &taken);
        assert!(
            self.log.len() <= change.log_room,
            "a checkpoint leaves a log that fits into the record"
        );
        assert_eq!(
            self.log_transaction, change.transaction,
            "the log ends with the group of the commit"
        );
        SpaceCommit {
            roots: self.roots(),
            log: self.log.clone(),
            checkpoint_pages: writer.finish(),
            checkpoint_taken: taken,
        }
    }

    /// Checks that there are enough pages for a checkpoint, and room for its entries in the log.
    fn check_room(&self, count: usize, change: &SpaceChange<'_>) -> Result<()> {
        if change.log_room < LOG_ROOM_MIN {
            return Err(Error::InvalidArgument(format!(
                "a commit record must have at least {LOG_ROOM_MIN} bytes for the space log, \
                 not {}; leave out the written extents",
                change.log_room
            )));
        }
        let limit = change.page_limit.min(1 << 32);
        let can_grow = self.page_count() + count as u64 <= limit;
        let fits_fragmented = count * log::TAKEN_LEN_MAX <= change.log_room / 4;
        if can_grow || fits_fragmented && count as u64 <= self.free_count() {
            Ok(())
        } else {
            Err(Error::Full {
                limit_bytes: limit * self.page_size as u64,
            })
        }
    }

    /// Refuses to replace pages of the map that are not in use, or that a damaged tree has just
    /// released as its own: they would die twice.
    fn check_own_dead(&self, plan: &CheckpointPlan, change: &SpaceChange<'_>) -> Result<()> {
        for (extent, _) in &plan.dead {
            let before =
                (change.deaths).partition_point(|(dead, _)| u64::from(dead.start.0) < extent.end());
            let is_released = change.deaths[..before]
                .last()
                .is_some_and(|(dead, _)| dead.end() > u64::from(extent.start.0));
            let is_used = self.free.none_free(*extent) && !self.pending.has_dead(*extent);
            if is_released || !is_used {
                return Err(used_twice(*extent));
            }
        }
        Ok(())
    }

    /// Allocates `count` pages, sorted. [`Self::check_room`] found that there are as many.
    fn take_checkpoint_extents(&mut self, count: usize, page_limit: u64) -> Vec<Extent> {
        let mut extents = Vec::new();
        let mut left = count as u32;
        while left > 0 {
            let longer = self.page_count() + u64::from(left);
            if extents.len() >= EXTENT_COUNT_MAX && longer <= page_limit.min(1 << 32) {
                self.grow(longer);
            }
            if let Some(extent) = self.allocate(left, PlacementPolicy::UpTo) {
                left -= extent.len;
                extents.push(extent);
            } else if self.free.open_hole(1, left).is_none() {
                self.grow(longer);
            }
        }
        extents.sort_unstable();
        extents
    }

    fn write_bitmaps(&mut self, plan: &CheckpointPlan, taken: &[Extent], writer: &mut PageWriter) {
        let absent = absent_bitmap(self.pages_per_bitmap);
        self.bitmaps
            .elements_mut()
            .resize(plan.bitmap_count, absent);
        for &index in &plan.bitmaps {
            let words = self.free.bitmap_words(index, taken);
            let info = words.iter().map(|word| word.count_ones()).sum();
            let slot = writer.write(info, |page_size, number, birth| {
                bitmap::build(page_size, number, birth, &words)
            });
            self.bitmaps.elements_mut()[index as usize] = slot;
        }
    }

    fn write_segments(&mut self, plan: &CheckpointPlan, writer: &mut PageWriter) {
        let new = self.gather(plan);
        self.pending.segments.remove_dissolved();
        assert_eq!(
            new.len(),
            plan.segment_count(),
            "as many segments are written as planned"
        );
        let mut holes = plan.removed.as_slice();
        for (pin, entries) in new {
            let slot = writer.write(entries.len() as u32, |page_size, number, birth| {
                deaths::build(page_size, number, birth, &entries)
            });
            let position = holes.split_off_first().copied();
            let position = position.unwrap_or(self.pending.segments.len() as u32);
            let elements = self.segments.elements_mut();
            if position as usize == elements.len() {
                elements.push(slot);
            } else {
                elements[position as usize] = slot;
            }
            let segment = self.pending.segments.insert(position, entries);
            self.pending.bucket(pin).segments.push(segment);
        }
        self.close_holes(holes);
    }

    /// Moves segments from the end of the array to unused positions.
    fn close_holes(&mut self, mut holes: &[u32]) {
        while let Some((&last, before)) = holes.split_last() {
            if last as usize + 1 == self.pending.segments.len() {
                self.pending.segments.pop();
                self.segments.elements_mut().pop();
                holes = before;
            } else {
                self.pending.segments.move_last(holes[0]);
                self.segments.elements_mut().swap_remove(holes[0] as usize);
                holes = &holes[1..];
            }
        }
    }

    /// Takes the deaths that go into segments out of their loose lists. Returns the contents of the
    /// new segments, and the pin of each.
    fn gather(&mut self, plan: &CheckpointPlan) -> Vec<(TransactionId, Vec<Death>)> {
        let mut new = Vec::new();
        for planned in &plan.buckets {
            let bucket = self.pending.bucket(planned.pin);
            let mut deaths = std::mem::take(&mut bucket.loose);
            let absorbed = if planned.absorbs_last {
                bucket.segments.pop()
            } else {
                None
            };
            deaths.extend(
                absorbed
                    .into_iter()
                    .flat_map(|s| self.pending.segments.dissolve(s)),
            );
            cut(planned.pin, deaths, planned.segment_count, &mut new);
        }
        if let Some(count) = plan.fresh_segments {
            cut(
                UNSORTED,
                std::mem::take(&mut self.pending.fresh),
                count,
                &mut new,
            );
        }
        new
    }

    /// Begins a log with the deaths that stay in it and with the pages that the checkpoint
    /// allocated.
    fn begin_log(&mut self, transaction: TransactionId, taken: &[Extent]) {
        self.log.clear();
        self.log_transaction = TransactionId(0);
        let mut deaths: Vec<Death> = self.pending.loose().copied().collect();
        deaths.sort_unstable_by_key(|death| (death.died, death.extent));
        let (before, own) =
            deaths.split_at(deaths.partition_point(|death| death.died < transaction));
        assert!(
            own.iter().all(|death| death.died == transaction),
            "no page dies in a transaction to come"
        );
        for group in before.chunk_by(|a, b| a.died == b.died) {
            self.append_group(
                group[0].died,
                &[],
                group.iter().map(|d| (d.extent, d.birth)),
            );
        }
        self.append_group(transaction, taken, own.iter().map(|d| (d.extent, d.birth)));
    }
}

/// Splits deaths, sorted by birth, into `count` parts of about the same size.
fn cut(
    pin: TransactionId,
    mut deaths: Vec<Death>,
    count: usize,
    parts: &mut Vec<(TransactionId, Vec<Death>)>,
) {
    deaths.sort_unstable_by_key(|death| (death.birth, death.extent));
    let total = deaths.len();
    let mut rest = deaths.into_iter();
    for part in 0..count {
        let len = total * (part + 1) / count - total * part / count;
        parts.push((pin, rest.by_ref().take(len).collect()));
    }
    assert_eq!(rest.len(), 0, "every death goes into one of the segments");
}
