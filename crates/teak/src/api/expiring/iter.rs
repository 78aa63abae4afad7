//! Iterators over the records of an expiring table.

use super::stamped::Stamped;
use crate::{
    Result,
    api::{codec::Codec, iter::Iter, kind::Expiring},
};
use std::{fmt, iter::FusedIterator};

/// The records of a range that have not expired, in key order, from both ends; see
/// [`ExpiringTable::range`](crate::ExpiringTable::range).
pub struct ExpiringIter<'t, K, V> {
    records: Iter<'t, K, Stamped<V>, Expiring>,
    now_ms: u64,
}

impl<'t, K: Codec, V: Codec> ExpiringIter<'t, K, V> {
    pub(super) fn new(records: Iter<'t, K, Stamped<V>, Expiring>, now_ms: u64) -> Self {
        Self { records, now_ms }
    }
}

impl<'t, K: Codec, V: Codec> Iterator for ExpiringIter<'t, K, V> {
    type Item = Result<(K::Owned, V::Item<'t>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.records.next()? {
                Ok((_, stored)) if stored.stamp.is_expired(self.now_ms) => {}
                record => return Some(record.map(|(key, stored)| (key, stored.value))),
            }
        }
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for ExpiringIter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            match self.records.next_back()? {
                Ok((_, stored)) if stored.stamp.is_expired(self.now_ms) => {}
                record => return Some(record.map(|(key, stored)| (key, stored.value))),
            }
        }
    }
}

impl<K: Codec, V: Codec> FusedIterator for ExpiringIter<'_, K, V> {}

impl<K, V> fmt::Debug for ExpiringIter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringIter").finish_non_exhaustive()
    }
}
