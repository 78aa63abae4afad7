//! Follows the commits of other processes: the map in memory is updated from what their commits
//! appended to the log, without reloading it from the file.
//!
//! Pages that another process allocated were dead, and no pin saw them. No pin that could see them
//! can have appeared since: a state that nothing pins is gone for good. So once the deaths before
//! the allocation are examined with the current pins, these pages are free here as well.

use super::{log, map::Space, pins::Pins};
use crate::types::{Extent, TransactionId};

impl Space {
    /// Applies everything committed since; `log` is that of the newest commit, with no checkpoint
    /// since. Returns `false` if this is impossible; the map must be reloaded then, whatever it
    /// contains.
    #[must_use]
    pub(crate) fn follow(&mut self, log: &[u8], page_count: u64, pins: &Pins) -> bool {
        let Some(added) = log.strip_prefix(&self.log[..]) else {
            return false;
        };
        let Ok(groups) = log::groups(added, self.log_transaction) else {
            return false;
        };
        if page_count > 1 << 32 || page_count + self.trailing_free() < self.page_count() {
            return false;
        }
        // Growth by a transaction that was rolled back here is unknown to other processes.
        self.shrink(page_count);
        self.grow(page_count);
        // Other processes may have filled some holes.
        self.forget_holes(u64::MAX);
        for (transaction, group) in groups {
            self.reclaim(pins);
            for extent in &group.taken {
                if extent.end() > page_count
                    || self.free.count_free(*extent) != u64::from(extent.len)
                {
                    return false;
                }
                self.free.take(*extent);
            }
            for death in group.deaths {
                let extent = death.extent;
                let is_used = extent.end() <= page_count
                    && self.free.none_free(extent)
                    && !self.pending.has_dead(extent);
                if !is_used {
                    return false;
                }
                self.pending.add(std::iter::once(death));
            }
            self.log_transaction = transaction;
        }
        self.log = log.to_vec();
        assert_eq!(
            self.page_count(),
            page_count,
            "a map that follows is for a file of the newest commit's length"
        );
        true
    }
}

/// Returns the extents that commits have allocated since the one with the log `before`, if there
/// was no checkpoint of the free-space map since.
pub(crate) fn taken_since(before: &[u8], last: TransactionId, log: &[u8]) -> Option<Vec<Extent>> {
    let groups = log::groups(log.strip_prefix(before)?, last).ok()?;
    Some(
        groups
            .into_iter()
            .flat_map(|(_, group)| group.taken)
            .collect(),
    )
}
