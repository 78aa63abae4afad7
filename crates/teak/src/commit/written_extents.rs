//! The written extents: extents written since the last flushed commit that are still in use. Each
//! record lists them, and recovery verifies them.
//!
//! A flush covers everything that was written before it began. The extents are therefore kept in
//! *generations*, one for each flush. A generation ends where a flush begins, and the oldest is
//! forgotten when its flush has succeeded.

use crate::{Extent, TransactionId, record::Record};
#[derive(Debug)]
struct FlushGeneration {
    /// The newest commit in the generation.
    until: TransactionId,
    /// Sorted and disjoint; `None` if there are too many to list.
    extents: Option<Vec<Extent>>,
}

/// Extents that were written and may not be on the disk.
#[derive(Debug)]
pub(crate) struct WrittenExtents {
    /// The most extents that are listed.
    extents_max: usize,
    generations: Vec<FlushGeneration>,
}

impl WrittenExtents {
    /// No extents, for records of this page size. The list may use a quarter of a record; the space
    /// log needs the rest more.
    pub(crate) fn new(page_size: usize) -> Self {
        Self {
            extents_max: page_size / 4 / size_of::<Extent>(),
            generations: Vec::new(),
        }
    }

    /// The extents that a record lists.
    pub(crate) fn of(record: &Record) -> Self {
        let mut written = Self::new(record.page_size as usize);
        written.generations.push(FlushGeneration {
            until: record.transaction,
            extents: record.written.clone(),
        });
        written
    }

    /// Forgets generations that are flushed.
    pub(crate) fn forget(&mut self, flushed: TransactionId) {
        self.generations
            .retain(|generation| generation.until > flushed);
    }

    /// All extents, with those of one more commit; `None` if there are too many to list.
    pub(crate) fn with(&self, taken: &[Extent]) -> Option<Vec<Extent>> {
        let mut all = taken.to_vec();
        for generation in &self.generations {
            all = union(&all, generation.extents.as_ref()?);
        }
        (all.len() <= self.extents_max).then_some(all)
    }

    /// The most extents that [`Self::with`] lists for a commit with `taken_count` extents.
    /// `None` if it cannot list them.
    pub(crate) fn listed_max(&self, taken_count: usize) -> Option<usize> {
        let mut generations = self.generations.iter();
        let count = generations.try_fold(taken_count, |count, generation| {
            Some(count + generation.extents.as_ref()?.len())
        });
        count.map(|count| count.min(self.extents_max))
    }

    /// Forgets extents that no later commit uses.
    pub(crate) fn forget_dead(&mut self, deaths: &[(Extent, TransactionId)]) {
        for extents in self
            .generations
            .iter_mut()
            .filter_map(|g| g.extents.as_mut())
        {
            take_out(extents, deaths);
        }
    }

    /// Forgets extents after the new end of the file, where nothing is in use. They may still be
    /// listed: a record also lists extents that died in its own commit, and a process that
    /// continues from another's record has only that list.
    pub(crate) fn cut(&mut self, page_count: u64) {
        let end = Extent::new(page_count.min(u64::from(u32::MAX)) as u32, u32::MAX);
        self.forget_dead(&[(end, TransactionId::default())]);
        let listed = self.generations.iter().flat_map(|g| &g.extents);
        debug_assert!(
            listed.flatten().all(|extent| extent.end() <= page_count),
            "no extent after the end of the file is listed"
        );
    }

    /// Notes the extents that a commit wrote. `last_target` is the newest commit for which a flush
    /// has begun.
    pub(crate) fn note(
        &mut self,
        transaction: TransactionId,
        taken: &[Extent],
        last_target: TransactionId,
    ) {
        debug_assert!(
            self.generations
                .iter()
                .all(|generation| generation.until <= transaction),
            "commits come in order"
        );
        match self.generations.last_mut() {
            Some(last) if last.until > last_target => {
                last.until = transaction;
                let extents = last.extents.take().map(|extents| union(&extents, taken));
                last.extents = extents.filter(|extents| extents.len() <= self.extents_max);
            }
            _ => self.generations.push(FlushGeneration {
                until: transaction,
                extents: Some(taken.to_vec()),
            }),
        }
        debug_assert!(
            self.generations
                .is_sorted_by_key(|generation| generation.until),
            "the oldest generation comes first"
        );
    }
}

/// Removes dead extents from a list of extents; both are sorted. Usually there are few dead extents
/// and many others.
fn take_out(extents: &mut Vec<Extent>, deaths: &[(Extent, TransactionId)]) {
    for (dead, _) in deaths {
        let dead = u64::from(dead.start.0)..dead.end();
        let first = extents.partition_point(|extent| extent.end() <= dead.start);
        let touched = extents[first..].iter();
        let touched = touched.take_while(|extent| u64::from(extent.start.0) < dead.end);
        let later = first + touched.count();
        if later == first {
            continue;
        }
        let left = [
            extents[first].start.0.into()..dead.start,
            dead.end..extents[later - 1].end(),
        ];
        let left = left.into_iter().filter(|pages| pages.start < pages.end);
        let left =
            left.map(|pages| Extent::new(pages.start as u32, (pages.end - pages.start) as u32));
        extents.splice(first..later, left);
    }
}

/// The union of two sorted lists of extents. Usually one is short, so the other is copied in long
/// ranges.
pub(crate) fn union(a: &[Extent], b: &[Extent]) -> Vec<Extent> {
    let (mut many, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut all = Vec::with_capacity(many.len() + few.len());
    for extent in few {
        let (before, later) =
            many.split_at(many.partition_point(|other| other.start <= extent.start));
        append(&mut all, before);
        append(&mut all, &[*extent]);
        many = later;
    }
    append(&mut all, many);
    debug_assert!(
        Extent::are_apart(&all),
        "a union is sorted and disjoint: no page is listed twice"
    );
    all
}

/// Whether one of the extents, which are sorted and disjoint, has all pages of `extent`.
pub(crate) fn covers(extents: &[Extent], extent: Extent) -> bool {
    let count = extents.partition_point(|other| other.start <= extent.start);
    let last = extents[..count].last();
    last.is_some_and(|last| extent.end() <= last.end())
}

/// Appends sorted, disjoint extents. The first ones may overlap or touch the last one in `all`.
fn append(all: &mut Vec<Extent>, mut extents: &[Extent]) {
    while let (Some(last), Some((extent, rest))) = (all.last_mut(), extents.split_first())
        && last.end() >= u64::from(extent.start.0)
    {
        let end = last.end().max(extent.end());
        last.len = (end - u64::from(last.start.0)) as u32;
        extents = rest;
    }
    all.extend_from_slice(extents);
}

#[cfg(test)]
#[path = "written_extents_tests.rs"]
mod tests;
