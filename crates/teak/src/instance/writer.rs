//! What the writer keeps from one transaction to the next.

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

/// What only the writer touches, kept from one write transaction to the next.
#[derive(Debug)]
pub(crate) struct WriterState {
    pub(crate) space: Space,
    pub(crate) arena: Arena,
    /// The record of the newest commit. Its slot and sequence are decided when it is written.
    pub(crate) newest: Record,
    pub(crate) asked: RequestedPolicies,
    pub(crate) written: WrittenExtents,
    /// Pages of the newest commit, those among them that may not be in the file yet, sorted.
    pub(crate) unwritten: Arc<[UnwrittenPage]>,
    /// Whether a clean close has to be noted.
    pub(crate) is_changed: bool,
    /// Whether all of this has yet to be read from the file.
    pub(crate) is_stale: bool,
    /// How often processes had given blocks of the file back.
    pub(crate) blocks_given_back: u64,
    /// Where the file may be cut, and when.
    pub(crate) truncation_point: TruncationPoint,
    pub(crate) tail: Tail,
    pub(crate) punching: Punching,
    pub(crate) high_water: HighWater,
    /// When the file became longer.
    pub(crate) last_growth: Option<Instant>,
    pub(crate) zone: Zone,
    pub(crate) dropped: DroppedTrees,
    /// The states that stay because they have a name.
    pub(crate) named: NamedPins,
}

/// What is known of how much of the file nobody needs. It may be cut off once no record can count, after whatever
/// crash, that speaks of a longer file; and two records are on the disk that do not, so that one may rot.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TruncationPoint {
    /// The commit that made the database shorter.
    pub(crate) since: TransactionId,
    /// The most pages that a commit since then has.
    pub(crate) page_count: u64,
    /// The last durable commit when it was first seen that the other one is durable.
    pub(crate) seen: Option<TransactionId>,
}

impl WriterState {
    /// Goes on from a commit of another process, as the space map does already.
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

    /// Whether the file is becoming shorter, which takes flushes.
    pub(crate) fn is_to_shrink(&self, storage: &dyn Storage) -> bool {
        self.tail.is_emptying() || self.is_to_cut(storage)
    }

    /// Whether the file is longer than it has to be when what made the database shorter is on the disk.
    pub(crate) fn is_to_cut(&self, storage: &dyn Storage) -> bool {
        storage.len() > self.least_bytes()
    }

    /// The file may be this long when what made the database shorter is on the disk.
    pub(crate) fn least_bytes(&self) -> u64 {
        let page_count = self
            .truncation_point
            .page_count
            .max(self.space.page_count());
        page_count * u64::from(self.newest.page_size)
    }

    /// Cuts off the end of the file that no commit has which recovery could choose, and says whether it tried to. If that fails it
    /// stays for another time.
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

    /// Notes a commit, with what died in it, sorted.
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
    /// From a commit on.
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            since: record.transaction,
            page_count: record.page_count,
            seen: None,
        }
    }
}
