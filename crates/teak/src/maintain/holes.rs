//! Punching holes: giving blocks of free pages inside of the file back to the file system.
//!
//! No pin uses a page that is free in the writer's free-space map, so its content is irrelevant.
//! When a write transaction begins, it punches some of the long free extents, the highest first;
//! lower ones are allocated first. Nothing on the disk records the holes. After a crash such a page
//! has its old content or zeros, and no valid state refers to it.
//!
//! A database that loads and removes data in turns should not punch and fill holes all the time. It
//! therefore keeps as many free pages as were recently in use
//! ([`high_water`](crate::instance::high_water)) beyond the pages in use now, and some more.
//! Punching begins when there are twice as many, and ends when there are no more than that.
//!
//! Holes are filled when the file would otherwise have to grow (`write/pages/extents.rs`).

use crate::instance::{high_water::FREE_MIN, writer::WriterState};
use crate::{
    Extent, Geometry,
    io::Storage,
    planted::{Planted, is_planted},
};

/// Bytes that are given back at once, and (below) how many times that is searched for extents that
/// are holes already.
const PUNCHED_MAX: u64 = 32 << 20;
const LOOKED_THROUGH: u64 = 16;
/// The shortest hole, unless the geometry sets a smaller threshold.
const HOLE_LEN_MIN: u64 = 1 << 20;

/// How much to give back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PunchGoal {
    /// Free pages that keep their blocks.
    kept: u64,
    /// The shortest hole, in pages.
    least: u64,
}

impl PunchGoal {
    /// The goal from the geometry and the use of pages: `used` are in use, and at most `lately`
    /// were recently in use.
    fn new(geometry: &Geometry, page_size: u64, used: u64, lately: u64) -> Option<Self> {
        let threshold = match geometry.shrink_threshold_bytes {
            0 => FREE_MIN,
            u64::MAX => return None,
            bytes => (bytes / page_size).max(1),
        };
        let lower_limit = geometry.lower_limit_bytes / page_size;
        let kept = lately
            .saturating_sub(used)
            .saturating_add(threshold)
            .saturating_add(used / 16)
            .max(lower_limit.saturating_sub(used));
        Some(Self {
            kept,
            least: (HOLE_LEN_MIN / page_size).min(threshold).max(1),
        })
    }
}

impl WriterState {
    /// The new page count of the file, if its free end should be truncated. If the geometry sets no
    /// threshold, the pages that were recently in use stay.
    pub(crate) fn shrunk(&self, geometry: &Geometry) -> Option<u64> {
        let page_size = u64::from(self.newest.page_size);
        let (page_count, trailing) = (self.space.page_count(), self.space.trailing_free());
        let free = match geometry.shrink_threshold_bytes {
            0 => trailing.min(page_count - self.high_water.of(page_count)),
            _ => trailing,
        };
        let shrunk = geometry.shrunk(page_count * page_size, free * page_size)?;
        Some(shrunk.div_ceil(page_size))
    }

    /// Gives some blocks back if there are far too many. Returns whether it tried to.
    pub(crate) fn punch_some(&mut self, storage: &dyn Storage) -> bool {
        let page_size = u64::from(self.newest.page_size);
        let (page_count, used) = (self.space.page_count(), self.space.used_count());
        let geometry = self.newest.geometry;
        let lately = self.high_water.of(page_count);
        let goal = PunchGoal::new(&geometry, page_size, used, lately);
        let Some(goal) = goal.filter(|_| !self.punching.is_refused) else {
            return false;
        };
        let ready = self.space.ready_count();
        self.punching.is_punching |= ready / 2 > goal.kept;
        if !self.punching.is_punching {
            return false;
        }
        if self.shrunk(&geometry).is_some() {
            // The next commit truncates it.
            return false;
        }
        if is_planted(Planted::PunchPending) {
            for death in self.space.classify().pending {
                let _ = punch(storage, page_size, death.extent);
            }
        }
        let most = ready.saturating_sub(goal.kept).min(PUNCHED_MAX / page_size);
        let mut left = most;
        while left >= goal.least {
            match self.punch_highest(storage, goal.least, left) {
                Some(count) => left = left.saturating_sub(count),
                None => {
                    self.punching.is_punching = false;
                    break;
                }
            }
        }
        self.punching.is_punching &= self.space.ready_count() > goal.kept + goal.least;
        most >= goal.least
    }

    /// Punches a hole of at most `most` pages, or finds an existing one, which does not count
    /// against the limit. Returns `None` if there is nothing left to punch.
    fn punch_highest(&mut self, storage: &dyn Storage, least: u64, most: u64) -> Option<u64> {
        let page_size = u64::from(self.newest.page_size);
        // Pages before the boundary are needed for pages that are moved from after it.
        let boundary = self.tail.boundary().unwrap_or(0);
        let looked_through = most.saturating_mul(LOOKED_THROUGH);
        let found = self.space.highest_free(
            least as u32,
            u32::try_from(looked_through).unwrap_or(u32::MAX),
        )?;
        let start = u64::from(found.start.0).max(boundary);
        let len = found.end().checked_sub(start).filter(|len| *len >= least)?;
        let data = storage.next_data(start * page_size).ok()?;
        let is_hole = data >= found.end() * page_size;
        let len = if is_hole { len } else { len.min(most) };
        let extent = Extent::new((found.end() - len) as u32, len as u32);
        if !punch(storage, page_size, extent) {
            self.punching.is_refused = true;
            return None;
        }
        self.space.add_hole(extent);
        Some(if is_hole { 0 } else { len })
    }
}

/// Punches a hole. Returns whether it exists. The pages are free, so the effect of an error is
/// irrelevant.
fn punch(storage: &dyn Storage, page_size: u64, extent: Extent) -> bool {
    let offset = u64::from(extent.start.0) * page_size;
    let punched = storage.punch(offset, u64::from(extent.len) * page_size);
    punched.unwrap_or(false)
}

#[cfg(test)]
#[path = "holes_tests.rs"]
mod tests;
