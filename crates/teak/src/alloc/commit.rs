//! A commit in the free-space map: the change is checked, and either appended to the log or written
//! by a checkpoint.

use super::{
    change::{SpaceChange, SpaceCommit},
    checked_pages::FIRST_PAGE,
    log,
    map::Space,
};
use crate::{
    Error, Result,
    planted::planted,
    types::{Extent, PageNumber, TransactionId},
};
use std::borrow::Cow;

impl Space {
    /// Appends a transaction to the log, or writes a checkpoint. The file may have grown for a
    /// checkpoint: see [`Self::page_count`].
    ///
    /// # Errors
    ///
    /// [`Corrupted`](crate::Error::Corrupted) if a page dies that is free already, dies twice, or
    /// claims a birth in this transaction or later, and if pages to be revived overlap: a damaged
    /// tree may hold such pages. [`Full`](crate::Error::Full) if a checkpoint finds no pages within
    /// the limit. [`InvalidArgument`](crate::Error::InvalidArgument) if there is hardly any room
    /// for a log. Nothing has changed then, and the caller gives back what it allocated. If pages
    /// were to be revived, the map must be reloaded.
    pub(crate) fn commit(&mut self, change: SpaceChange<'_>) -> Result<SpaceCommit> {
        if change.transaction <= self.log_transaction {
            // Another process published such a log in a damaged lock file.
            let detail = "the space log is of transactions to come";
            return Err(Error::corrupted(PageNumber(0), "commit", detail));
        }
        change.assert_taken(&self.free, self.page_count());
        self.check_deaths(&change)?;
        check_revived(change.revived)?;
        let (len, last) = (self.log.len(), self.log_transaction);
        self.pending.revive(change.revived)?;
        // Revived pages may die again.
        let is_dead = |(extent, _): &&(Extent, TransactionId)| self.pending.has_dead(*extent);
        if let Some((extent, _)) = change.deaths.iter().find(is_dead) {
            return Err(used_twice(*extent));
        }
        let in_use = merged(change.taken, change.revived);
        debug_assert!(
            Extent::are_apart(&in_use),
            "what was free and what was pending share no page"
        );
        let logged = planted!(LoseTaken => &[][..], else &in_use[..]);
        self.append_group(change.transaction, logged, change.deaths.iter().copied());
        if self.log.len() <= change.log_room && !self.pending.has_backlog() {
            self.pending.add(change.deaths());
            debug_assert!(
                log::decode(&self.log).is_ok_and(|(_, last)| last == change.transaction),
                "the log reads back, and ends with the group of the commit"
            );
            return Ok(SpaceCommit {
                roots: self.roots(),
                log: self.log.clone(),
                checkpoint_pages: Vec::new(),
                checkpoint_taken: Vec::new(),
            });
        }
        self.log.truncate(len);
        self.log_transaction = last;
        self.checkpoint(&change)
    }

    /// Refuses deaths, sorted, of pages that are not in use, that occur twice, or that died before
    /// they were born.
    fn check_deaths(&self, change: &SpaceChange<'_>) -> Result<()> {
        let mut end = u64::from(FIRST_PAGE);
        for &(extent, birth) in change.deaths {
            if birth >= change.transaction {
                let detail = "its birth is in the future";
                return Err(Error::corrupted(extent.start, "commit", detail));
            }
            let is_possible = u64::from(extent.start.0) >= end && extent.end() <= self.page_count();
            if !is_possible || !self.free.none_free(extent) {
                return Err(used_twice(extent));
            }
            end = extent.end();
        }
        Ok(())
    }
}

#[cold]
pub(super) fn used_twice(extent: Extent) -> Error {
    let detail = "it is used twice, or used and free at once";
    Error::corrupted(extent.start, "commit", detail)
}

/// Refuses pages, sorted, that are to be revived twice.
fn check_revived(revived: &[Extent]) -> Result<()> {
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

/// Merges two lists of extents, each sorted and disjoint from the other.
fn merged<'r>(a: &'r [Extent], b: &[Extent]) -> Cow<'r, [Extent]> {
    if b.is_empty() {
        return Cow::Borrowed(a);
    }
    let mut all = [a, b].concat();
    all.sort_unstable();
    Cow::Owned(all)
}
