//! The state that the writer keeps from one transaction to the next.

use crate::{
    Extent, TransactionId,
    alloc::Space,
    io::Storage,
    record::{Record, durability::Durability},
};
use crate::{
    commit::{disk::UnwrittenPage, written_extents::WrittenExtents},
    instance::{
        arena::Arena,
        dropped_trees::DroppedTrees,
        policies::RequestedPolicies,
        shrink_state::{ShrinkState, TruncationPoint},
        zone_state::ZoneState,
    },
    read::named_list::NamedPins,
};
use std::{sync::Arc, time::Instant};

/// State that only the writer accesses, kept from one write transaction to the next.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) space: Space,
    pub(crate) arena: Arena,
    /// The record of the newest commit. Its slot and sequence are decided when it is written.
    pub(crate) newest: Record,
    pub(crate) asked: RequestedPolicies,
    /// The durability of the last commit of this process.
    pub(crate) last_durability: Option<Durability>,
    pub(crate) written: WrittenExtents,
    /// Pages of the newest commit that may not be in the file yet, sorted.
    pub(crate) unwritten: Arc<[UnwrittenPage]>,
    /// Whether a clean close has to be recorded.
    pub(crate) is_changed: bool,
    /// Whether all of this has to be read from the file again.
    pub(crate) is_stale: bool,
    /// The shared count of released blocks when it was last read.
    pub(crate) blocks_given_back: u64,
    pub(crate) shrink: ShrinkState,
    /// When the file last grew.
    pub(crate) last_growth: Option<Instant>,
    pub(crate) zone: ZoneState,
    pub(crate) dropped: DroppedTrees,
    /// The states that stay because of names.
    pub(crate) named: NamedPins,
}

impl WriterState {
    /// Continues from a commit of another process. The free-space map is up to date already.
    pub(crate) fn take_over(&mut self, record: Record) {
        self.written = WrittenExtents::of(&record);
        self.newest = Record {
            clean_close: false,
            ..record
        };
        self.asked.note(&mut self.newest);
        self.unwritten = Arc::default();
        self.is_changed = true;
        self.is_stale = false;
        self.shrink.truncation_point = TruncationPoint::of(&self.newest);
    }

    /// Whether the file is being made shorter, which proceeds with flushes.
    pub(crate) fn is_to_shrink(&self, storage: &dyn Storage) -> bool {
        self.shrink.tail.is_emptying() || self.is_to_cut(storage)
    }

    /// Whether the file is longer than necessary once the commit that made the database shorter is
    /// on the disk.
    pub(crate) fn is_to_cut(&self, storage: &dyn Storage) -> bool {
        storage.len() > self.least_bytes()
    }

    /// The length to which the file may be truncated once that commit is on the disk.
    pub(crate) fn least_bytes(&self) -> u64 {
        let point = &self.shrink.truncation_point;
        let page_count = point.page_count().max(self.space.page_count());
        page_count * u64::from(self.newest.page_size)
    }

    /// Notes a commit, and the sorted extents that died in it.
    pub(crate) fn note_record(&mut self, record: Record, deaths: &[(Extent, TransactionId)]) {
        debug_assert!(
            record.has_same_file(&self.newest),
            "a file keeps its identity and its page size"
        );
        (self.shrink.truncation_point).note(&record, &self.newest);
        self.newest = record;
        self.asked = RequestedPolicies::default();
        self.written.forget_dead(deaths);
        self.is_changed = true;
    }
}
