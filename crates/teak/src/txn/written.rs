//! The runs that were written since the last durable commit and are still in use: what recovery looks
//! through, and so stands in each record.
//!
//! A flush makes durable what was written before it began. So the runs are kept in *generations*
//! that end where a flush began, and the oldest is forgotten when its flush has succeeded.

use crate::{Run, TransactionId, commit::record::Record};
use std::ops::Range;

#[derive(Debug)]
struct Generation {
    /// The newest commit in it.
    until: TransactionId,
    /// Sorted and apart; `None` if they are too many to list.
    runs: Option<Vec<Run>>,
}

/// Runs that were written and may not be on the disk.
#[derive(Debug)]
pub(super) struct WrittenRuns {
    /// More than these are not listed.
    runs_max: usize,
    generations: Vec<Generation>,
}

impl WrittenRuns {
    /// None, for records with pages of this size. They may have a quarter of a record; the space log
    /// is of more use.
    pub(super) fn new(page_size: usize) -> Self {
        Self {
            runs_max: page_size / 4 / size_of::<Run>(),
            generations: Vec::new(),
        }
    }

    /// Those that a record lists.
    pub(super) fn of(record: &Record) -> Self {
        let mut written = Self::new(record.page_size as usize);
        written.generations.push(Generation {
            until: record.transaction,
            runs: record.written.clone(),
        });
        written
    }

    /// Forgets what is durable.
    pub(super) fn forget(&mut self, durable: TransactionId) {
        self.generations
            .retain(|generation| generation.until > durable);
    }

    /// All runs, with those of one more commit; `None` if they are too many to list.
    pub(super) fn with(&self, taken: &[Run]) -> Option<Vec<Run>> {
        let mut all = taken.to_vec();
        for generation in &self.generations {
            all = union(&all, generation.runs.as_ref()?);
        }
        (all.len() <= self.runs_max).then_some(all)
    }

    /// Forgets what no commit to come leads to.
    pub(super) fn forget_dead(&mut self, deaths: &[(Run, TransactionId)]) {
        for runs in self.generations.iter_mut().filter_map(|g| g.runs.as_mut()) {
            *runs = without(runs, deaths);
        }
    }

    /// Forgets what is behind the new end of the file, where nothing is in use. A record lists what died in its own
    /// commit, and who goes on from the record of another process knows no better.
    pub(super) fn cut(&mut self, page_count: u64) {
        let end = Run::new(page_count.min(u64::from(u32::MAX)) as u32, u32::MAX);
        self.forget_dead(&[(end, TransactionId::default())]);
    }

    /// Notes what a commit wrote. `last_target` is the newest commit that a flush was begun for.
    pub(super) fn note(
        &mut self,
        transaction: TransactionId,
        taken: &[Run],
        last_target: TransactionId,
    ) {
        match self.generations.last_mut() {
            Some(last) if last.until > last_target => {
                last.until = transaction;
                let runs = last.runs.take().map(|runs| union(&runs, taken));
                last.runs = runs.filter(|runs| runs.len() <= self.runs_max);
            }
            _ => self.generations.push(Generation {
                until: transaction,
                runs: Some(taken.to_vec()),
            }),
        }
    }
}

/// The pages of a list of runs that are not in the other one, both sorted.
fn without(runs: &[Run], deaths: &[(Run, TransactionId)]) -> Vec<Run> {
    let mut left = Vec::with_capacity(runs.len());
    let mut add = |pages: Range<u64>| {
        if !pages.is_empty() {
            left.push(Run::new(
                pages.start as u32,
                (pages.end - pages.start) as u32,
            ));
        }
    };
    for run in runs {
        let mut start = u64::from(run.start.0);
        let first = deaths.partition_point(|(dead, _)| dead.end() <= start);
        for (dead, _) in &deaths[first..] {
            let dead_start = u64::from(dead.start.0);
            if dead_start >= run.end() {
                break;
            }
            add(start..dead_start);
            start = dead.end();
        }
        add(start..run.end());
    }
    left
}

/// All pages of two lists of runs, each sorted, as one.
pub(super) fn union(a: &[Run], b: &[Run]) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(x), Some(y)) if x.start <= y.start => left.next(),
            (_, Some(_)) => right.next(),
            (Some(_), None) => left.next(),
            (None, None) => return all,
        };
        let Some(&run) = next else { return all };
        match all.last_mut() {
            Some(last) if last.end() >= u64::from(run.start.0) => {
                let end = last.end().max(run.end());
                last.len = (end - u64::from(last.start.0)) as u32;
            }
            _ => all.push(run),
        }
    }
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
