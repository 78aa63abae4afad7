//! A commit in the space map: the change is checked, and goes into the log or is folded.

use super::{
    change::{Change, Committed},
    checked_pages::FIRST_PAGE,
    map::Space,
};
use crate::{
    Error, Result,
    planted::{Planted, is_planted},
    types::{PageNumber, Run, TransactionId},
};
use std::borrow::Cow;

impl Space {
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
