//! Counters of a campaign.

use super::workload::Workload;
use crate::names::Named;
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
};
use teak::Recovery;

/// The number of parts of the set of images. Parts reduce lock contention.
const SHARDS: usize = 64;

/// Images by a 64-bit hash. Two different images have the same hash very rarely; then one of them
/// is not counted.
pub(super) struct SeenImages {
    shards: Vec<Mutex<HashSet<u64>>>,
}

impl SeenImages {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether the image is seen for the first time.
    pub(super) fn insert(&self, hash: u64) -> bool {
        let shard = &self.shards[hash as usize % SHARDS];
        shard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(hash)
    }
}

#[derive(Clone, Default, Debug)]
pub(super) struct CrashTally {
    pub(super) episodes: u64,
    /// Inspected images.
    pub(super) images: u64,
    pub(super) violations: u64,
    /// Counters of images that were seen for the first time:
    pub(super) distinct: u64,
    pub(super) torn: u64,
    pub(super) kills: u64,
    /// Crashes during recovery from a crash, or during the commit and the close after it.
    pub(super) double: u64,
    pub(super) workloads: BTreeMap<Workload, u64>,
    pub(super) clean: u64,
    pub(super) verified: u64,
    pub(super) rolled_back: u64,
    pub(super) sequences: u64,
}

impl CrashTally {
    pub(super) fn note_recovery(&mut self, recovery: &Recovery) {
        match recovery {
            Recovery::Clean => self.clean += 1,
            Recovery::Verified { .. } => self.verified += 1,
            Recovery::RolledBack { .. } => self.rolled_back += 1,
            _ => {}
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.episodes, other.episodes),
            (&mut self.images, other.images),
            (&mut self.violations, other.violations),
            (&mut self.distinct, other.distinct),
            (&mut self.torn, other.torn),
            (&mut self.kills, other.kills),
            (&mut self.double, other.double),
            (&mut self.clean, other.clean),
            (&mut self.verified, other.verified),
            (&mut self.rolled_back, other.rolled_back),
            (&mut self.sequences, other.sequences),
        ] {
            *sum += more;
        }
        for (workload, images) in &other.workloads {
            *self.workloads.entry(*workload).or_default() += images;
        }
    }

    /// All counters by name, for printing and for the file of results.
    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        let mut counters = vec![
            ("episodes".to_owned(), self.episodes),
            ("looked-at".to_owned(), self.images),
            ("sub-sector".to_owned(), self.torn),
            ("double-crash".to_owned(), self.double),
            ("kill".to_owned(), self.kills),
            ("clean".to_owned(), self.clean),
            ("verified".to_owned(), self.verified),
            ("rolled-back".to_owned(), self.rolled_back),
            ("sequences".to_owned(), self.sequences),
        ];
        let workloads = self.workloads.iter();
        counters.extend(workloads.map(|(workload, images)| (workload.name(), *images)));
        counters
    }
}
