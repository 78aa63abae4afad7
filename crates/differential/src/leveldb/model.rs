//! A model of a database, which judges when the two libraries give different replies: LevelDB
//! itself brings deleted records back after some compactions.

use super::{
    comparator::Comparator,
    runner::closes,
    step::{
        BATCH_COUNT, BatchEntry, ITERATOR_COUNT, IteratorMove, Reply, SNAPSHOT_COUNT, ShownBytes,
        ShownRecord, Step, View,
    },
};
use std::cmp::Ordering;

/// Records in their order.
type ModelRecords = Vec<ShownRecord>;

/// The records that the steps so far have made.
pub(crate) struct DatabaseModel {
    comparator: Comparator,
    records: ModelRecords,
    batches: [Vec<BatchEntry>; BATCH_COUNT],
    snapshots: [Option<ModelRecords>; SNAPSHOT_COUNT],
    /// The records that an iterator sees, and its position.
    iterators: [Option<(ModelRecords, Option<usize>)>; ITERATOR_COUNT],
}

impl DatabaseModel {
    pub(crate) fn new(comparator: Comparator) -> Self {
        Self {
            comparator,
            records: Vec::new(),
            batches: Default::default(),
            snapshots: Default::default(),
            iterators: Default::default(),
        }
    }

    /// The reply to a possible step, if it depends only on the records.
    pub(crate) fn perform(&mut self, step: &Step) -> Option<Reply> {
        match step {
            Step::Put { key, value, .. } => {
                self.apply(&BatchEntry::Put(key.clone(), value.clone()));
            }
            Step::Delete { key, .. } => self.apply(&BatchEntry::Delete(key.clone())),
            Step::Fill { batch, entries } => self.batches[*batch].extend_from_slice(entries),
            Step::Clear(batch) => self.batches[*batch].clear(),
            Step::Append { to, from } => {
                let entries = self.batches[*from].clone();
                self.batches[*to].extend(entries);
            }
            Step::Iterate(batch) => return Some(Reply::Entries(self.batches[*batch].clone())),
            Step::Write { batch, .. } => {
                for entry in self.batches[*batch].clone() {
                    self.apply(&entry);
                }
            }
            Step::Get { view, key } => {
                let records = self.view(*view);
                let found = self.find(records, key).ok();
                return Some(Reply::Value(found.map(|index| records[index].1.clone())));
            }
            Step::TakeSnapshot(slot) => self.snapshots[*slot] = Some(self.records.clone()),
            Step::ReleaseSnapshot(slot) => self.snapshots[*slot] = None,
            Step::OpenIterator { slot, view } => {
                self.iterators[*slot] = Some((self.view(*view).clone(), None));
                return Some(Reply::At(None));
            }
            Step::CloseIterator(slot) => self.iterators[*slot] = None,
            Step::Move { slot, to } => return self.move_iterator(*slot, to),
            Step::CompareAll(view) => {
                let forward = self.view(*view).clone();
                let back = forward.iter().rev().cloned().collect();
                return Some(Reply::Records { forward, back });
            }
            step if closes(step) => {
                self.snapshots = Default::default();
                self.iterators = Default::default();
                if matches!(step, Step::Destroy { .. }) {
                    self.records.clear();
                }
                return None;
            }
            _ => return None,
        }
        Some(Reply::Done)
    }

    fn view(&self, view: View) -> &ModelRecords {
        let snapshot = view.and_then(|slot| self.snapshots[slot].as_ref());
        snapshot.unwrap_or(&self.records)
    }

    /// The index of a key, or that of the next one.
    fn find(&self, records: &ModelRecords, key: &ShownBytes) -> Result<usize, usize> {
        let compare = |(other, _): &ShownRecord| self.comparator.compare(&other.0, &key.0);
        records.binary_search_by(compare)
    }

    fn apply(&mut self, entry: &BatchEntry) {
        let (BatchEntry::Put(key, _) | BatchEntry::Delete(key)) = entry;
        let found = self.find(&self.records, key);
        match (entry, found) {
            (BatchEntry::Put(key, value), Ok(index)) => {
                self.records[index] = (key.clone(), value.clone());
            }
            (BatchEntry::Put(key, value), Err(index)) => {
                self.records.insert(index, (key.clone(), value.clone()));
            }
            (BatchEntry::Delete(_), Ok(index)) => {
                self.records.remove(index);
            }
            (BatchEntry::Delete(_), Err(_)) => {}
        }
    }

    fn move_iterator(&mut self, slot: usize, to: &IteratorMove) -> Option<Reply> {
        let comparator = self.comparator;
        let (records, position) = self.iterators[slot].as_mut()?;
        let is_less = |(other, _): &ShownRecord, key: &ShownBytes| {
            comparator.compare(&other.0, &key.0) == Ordering::Less
        };
        let index = match (to, *position) {
            (IteratorMove::First, _) => Some(0),
            (IteratorMove::Last, _) => records.len().checked_sub(1),
            (IteratorMove::Seek(key), _) => {
                Some(records.partition_point(|record| is_less(record, key)))
            }
            (IteratorMove::Next, at) => at.map(|at| at + 1),
            (IteratorMove::Prev, at) => at.and_then(|at| at.checked_sub(1)),
        };
        *position = index.filter(|index| *index < records.len());
        Some(Reply::At(position.map(|index| records[index].clone())))
    }
}
