//! The state that the writer keeps from one transaction to the next.

use crate::{
    Extent, TransactionId,
    alloc::Space,
    io::Storage,
    planted::{Planted, is_planted},
    record::Record,
};
use crate::{
    commit::{page_writes::UnwrittenPage, written_extents::WrittenExtents},
    instance::{
        arena::Arena, dropped_trees::DroppedTrees, high_water::HighWater, hot_zone::Zone,
        policies::RequestedPolicies, punching::Punching, truncate_state::Tail,
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
    pub(crate) written: WrittenExtents,
    /// Pages of the newest commit that may not be in the file yet, sorted.
    pub(crate) unwritten: Arc<[UnwrittenPage]>,
    /// Whether a clean close has to be recorded.
    pub(crate) is_changed: bool,
    /// Whether all of this has to be read from the file again.
    pub(crate) is_stale: bool,
    /// The shared count of released blocks when it was last read.
    pub(crate) blocks_given_back: u64,
    /// Where the file may be truncated, and when.
    pub(crate) truncation_point: TruncationPoint,
    pub(crate) tail: Tail,
    pub(crate) punching: Punching,
    pub(crate) high_water: HighWater,
    /// When the file last grew.
    pub(crate) last_growth: Option<Instant>,
    pub(crate) zone: Zone,
    pub(crate) dropped: DroppedTrees,
    /// The states that stay because of names.
    pub(crate) named: NamedPins,
}

/// How far the file may be truncated, and when. Truncation is safe once, after any crash, no record
/// can count that needs a longer file. Two records on the disk must be free of it, so that one of
/// them may be damaged.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TruncationPoint {
    /// The commit that made the database shorter.
    pub(crate) since: TransactionId,
    /// The largest page count of a commit since then.
    pub(crate) page_count: u64,
    /// The last durable commit when commit `since` was first seen to be durable.
    pub(crate) seen: Option<TransactionId>,
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
        self.truncation_point = TruncationPoint::of(&self.newest);
    }

    /// Whether the file is being made shorter, which requires flushes.
    pub(crate) fn is_to_shrink(&self, storage: &dyn Storage) -> bool {
        self.tail.is_emptying() || self.is_to_cut(storage)
    }

    /// Whether the file is longer than necessary once the commit that made the database shorter is
    /// on the disk.
    pub(crate) fn is_to_cut(&self, storage: &dyn Storage) -> bool {
        storage.len() > self.least_bytes()
    }

    /// The length to which the file may be truncated once that commit is on the disk.
    pub(crate) fn least_bytes(&self) -> u64 {
        let page_count = self
            .truncation_point
            .page_count
            .max(self.space.page_count());
        page_count * u64::from(self.newest.page_size)
    }

    /// Truncates the end of the file that no commit uses which recovery could choose. Returns
    /// whether it tried. A failed truncation is retried later.
    pub(crate) fn cut_file(&mut self, storage: &Arc<dyn Storage>, durable: TransactionId) -> bool {
        let bytes = self.least_bytes();
        let is_early = is_planted(Planted::CutEarly);
        if storage.len() <= bytes || durable < self.truncation_point.since && !is_early {
            return false;
        }
        let is_due = durable > *self.truncation_point.seen.get_or_insert(durable) || is_early;
        if is_due {
            let _ = storage.set_len(bytes);
        }
        is_due
    }

    /// Notes a commit, and the sorted extents that died in it.
    pub(crate) fn note_record(&mut self, record: Record, deaths: &[(Extent, TransactionId)]) {
        self.truncation_point = match record.page_count < self.newest.page_count {
            true => TruncationPoint::of(&record),
            false => TruncationPoint {
                page_count: self.truncation_point.page_count.max(record.page_count),
                ..self.truncation_point
            },
        };
        self.newest = record;
        self.asked = RequestedPolicies::default();
        self.written.forget_dead(deaths);
        self.is_changed = true;
    }
}

impl TruncationPoint {
    /// The truncation point of a commit.
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            since: record.transaction,
            page_count: record.page_count,
            seen: None,
        }
    }
}
