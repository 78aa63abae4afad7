//! Following what other processes commit: the map in memory is brought up to date by what their commits added
//! to the log, without reading it from the file again.
//!
//! What another process has taken was dead, and no pin saw it. No pin that could see it can have come since: a
//! state that nothing pins is gone for good. So once the deaths before it are looked at with the pins of now, it is free here as well.

use super::{log, map::Space, pins::Pins};
use crate::types::{Extent, TransactionId};

impl Space {
    /// Takes over what was committed since; `log` is that of the newest commit, which was not folded since. Says `false` if that cannot be done: the map is to be read anew then, whatever is in it.
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
        // What a transaction that came to nothing here had added is not known to the others.
        self.shrink(page_count);
        self.grow(page_count);
        // Others may have filled some.
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
            let is_used = |extent: Extent| {
                extent.end() <= page_count
                    && self.free.none_free(extent)
                    && !self.pending.has_dead(extent)
            };
            if !group.deaths.iter().all(|death| is_used(death.extent)) {
                return false;
            }
            self.pending.add(group.deaths.into_iter());
            self.log_transaction = transaction;
        }
        self.log = log.to_vec();
        true
    }
}

/// The runs that commits have taken since the one with this log, `before`, if the space map was not folded since.
pub(crate) fn taken_since(before: &[u8], last: TransactionId, log: &[u8]) -> Option<Vec<Extent>> {
    let groups = log::groups(log.strip_prefix(before)?, last).ok()?;
    Some(
        groups
            .into_iter()
            .flat_map(|(_, group)| group.taken)
            .collect(),
    )
}
