//! Punching holes: giving blocks of free pages inside of the file back to the file system.
//!
//! No pin uses a page that is free in the writer's free-space map, so its content is irrelevant.
//! When a write transaction begins, it punches some of the long free extents, the highest first;
//! lower ones are allocated first. Nothing on the disk records the holes. After a crash such a page
//! has its old content or zeros, and no valid state refers to it.
//!
//! A database that loads and removes data in turns should not punch and fill holes all the time. It
//! therefore keeps as many free pages as were recently in use beyond the pages in use now, and some
//! more (`maintain/policy.rs`). Punching begins when there are twice as many, and ends when there
//! are no more than that.
//!
//! Holes are filled when the file would otherwise have to grow (`write/pages/extents.rs`).

use crate::{Extent, io::Storage, planted::planted};
use crate::{
    instance::writer::WriterState,
    maintain::policy::{PunchGoal, shrink_policy},
};

/// How many times the punched pages are searched for extents that are holes already.
const SEARCH_FACTOR: u64 = 16;

/// Gives some blocks back if there are far too many. Returns whether it tried to.
pub(crate) fn punch_some(writer: &mut WriterState, storage: &dyn Storage) -> bool {
    if writer.shrink.punching.is_refused {
        return false;
    }
    let policy = shrink_policy(writer, writer.newest.geometry);
    let Some(goal) = policy.holes() else {
        return false;
    };
    let ready = writer.space.ready_count();
    writer.shrink.punching.is_punching |= goal.begins(ready);
    if !writer.shrink.punching.is_punching {
        return false;
    }
    if policy.cut(writer.space.trailing_free()).is_some() {
        // The next commit truncates it.
        return false;
    }
    planted!(PunchPending => punch_pending(writer, storage));
    let most = goal.at_once(ready, writer.newest.page_size.into());
    let mut left = most;
    while left >= goal.least {
        match punch_highest(writer, storage, goal, left) {
            Some(count) => left = left.saturating_sub(count),
            None => {
                writer.shrink.punching.is_punching = false;
                break;
            }
        }
    }
    writer.shrink.punching.is_punching &= goal.goes_on(writer.space.ready_count());
    most >= goal.least
}

/// Punches a hole of at most `most` pages, or finds an existing one, which does not count
/// against the limit. Returns `None` if there is nothing left to punch.
fn punch_highest(
    writer: &mut WriterState,
    storage: &dyn Storage,
    goal: PunchGoal,
    most: u64,
) -> Option<u64> {
    let page_size = u64::from(writer.newest.page_size);
    let search_limit = most.saturating_mul(SEARCH_FACTOR);
    let found = writer.space.highest_free(
        goal.least as u32,
        u32::try_from(search_limit).unwrap_or(u32::MAX),
    )?;
    let boundary = writer.shrink.tail.boundary().unwrap_or(0);
    let candidate = goal.candidate(found, boundary)?;
    let data = storage.next_data(u64::from(candidate.start.0) * page_size);
    let is_hole = data.ok()? >= candidate.end() * page_size;
    let len = match is_hole {
        true => candidate.len,
        false => u64::from(candidate.len).min(most) as u32,
    };
    let extent = Extent::new((candidate.end() - u64::from(len)) as u32, len);
    if !punch(storage, page_size, extent) {
        writer.shrink.punching.is_refused = true;
        return None;
    }
    writer.space.add_hole(extent);
    Some(if is_hole { 0 } else { len.into() })
}

/// Punches pages that some pin may see: a planted error.
fn punch_pending(writer: &WriterState, storage: &dyn Storage) {
    for death in writer.space.classify().pending {
        punch(storage, writer.newest.page_size.into(), death.extent);
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
