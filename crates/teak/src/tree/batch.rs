//! Changing many records at once: in the order of keys, whatever order they come in.
//!
//! Neighbours then meet their leaf and the pages above it while these are near, new pages lie in
//! the file in the order of their keys, and while one record is changed the leaf of one that comes
//! soon is on its way into the cache.

use super::{
    PageSink,
    bulk::{Appender, Builder},
    insert::{Existing, Inserted, Tree},
    lookup::find_leaf,
};
use crate::{
    Result,
    page::{key::KeyOrder, value::StoredValue},
};

/// A leaf is asked for so many records before it is changed.
const AHEAD: usize = 4;
/// Cache lines of it that are asked for: those that a search reads and those where copying it
/// begins; no more than a processor fetches at once.
const LEAF_LINES: usize = 12;

impl<S: PageSink> Tree<'_, S> {
    /// Inserts records, or replaces their values; returns how many keys were not there. Of records
    /// with equal keys the last one counts. No key may be longer than the longest that a page
    /// carries.
    pub(crate) fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        records: &[(K, V)],
    ) -> Result<u64> {
        if records.is_empty() {
            return Ok(0);
        }
        let order = in_order(self.root.order, records.len(), |index| {
            records[index].0.as_ref()
        });
        let record = |index: usize| {
            let (key, value) = &records[index];
            (key.as_ref(), StoredValue::inline(value.as_ref()))
        };
        if self.root.is_empty() {
            let mut builder = Builder::new(self);
            for (key, value) in order.into_iter().map(record) {
                builder.push(key, value)?;
            }
            return builder.finish();
        }
        let (last_key, key_order) = (self.last_key()?, self.root.order);
        let behind =
            order.partition_point(|&index| key_order.compare(record(index).0, &last_key).is_le());
        let (among, behind) = order.split_at(behind);
        let mut added = behind.len() as u64;
        for (place, &index) in among.iter().enumerate() {
            if let Some(&ahead) = among.get(place + AHEAD) {
                self.fetch_leaf(record(ahead).0)?;
            }
            let (key, value) = record(index);
            let inserted = self.insert(key, value, Existing::Replace)?;
            added += u64::from(inserted == Inserted::New);
        }
        if !behind.is_empty() {
            let mut appender = Appender::new(self)?;
            for (key, value) in behind.iter().copied().map(record) {
                appender.push(key, value)?;
            }
        }
        Ok(added)
    }

    /// Removes records; returns how many there were.
    pub(crate) fn remove_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<u64> {
        let order = in_order(self.root.order, keys.len(), |index| keys[index].as_ref());
        let mut removed = 0;
        for (place, &index) in order.iter().enumerate() {
            if let Some(&ahead) = order.get(place + AHEAD) {
                self.fetch_leaf(keys[ahead].as_ref())?;
            }
            removed += u64::from(self.remove(keys[index].as_ref())?);
        }
        Ok(removed)
    }

    /// Asks for the leaf of a key.
    fn fetch_leaf(&self, key: &[u8]) -> Result<()> {
        if !self.root.is_empty() {
            let leaf = find_leaf(&*self.sink, self.root, key)?;
            self.sink.prefetch(leaf, 0, LEAF_LINES);
        }
        Ok(())
    }
}

/// The indices of keys in the order of these; of equal keys the last one.
fn in_order<'k>(order: KeyOrder, count: usize, key: impl Fn(usize) -> &'k [u8]) -> Vec<usize> {
    // Most keys are told apart by what stands beside their index.
    let lead = |key: &[u8]| match order {
        KeyOrder::Bytes => lead_of(key),
        _ => u64::from(order.head(key)),
    };
    let compare = |a: &(u64, usize), b: &(u64, usize)| {
        let by_key = || order.compare(key(a.1), key(b.1));
        a.0.cmp(&b.0).then_with(by_key)
    };
    let mut leads: Vec<(u64, usize)> = (0..count).map(|index| (lead(key(index)), index)).collect();
    leads.sort_unstable_by(|a, b| compare(a, b).then(b.1.cmp(&a.1)));
    leads.dedup_by(|later, earlier| compare(later, earlier).is_eq());
    leads.into_iter().map(|(_, index)| index).collect()
}

/// The first eight bytes of a key, as a number that compares like them.
fn lead_of(key: &[u8]) -> u64 {
    let mut eight = [0; 8];
    let len = key.len().min(8);
    eight[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(eight)
}
