//! The state that the writer keeps from one transaction to the next to keep the file short.
//! `maintain/policy.rs` decides with it.
//!
//! Invariants:
//!
//! - The end of the file is not emptied during a pause.
//! - The file is not cut below the pages of any commit since the one that made it shorter.

use crate::{
    TransactionId,
    btree::relocate::{Relocation, ResumePoint},
    instance::high_water::HighWater,
    record::Record,
};

/// A large value does not fit into what one commit moves. It is moved by a commit of the round
/// after the one that found it, if it has no more pages than this. Moving a larger value would
/// delay all commits.
const VALUE_MAX: u64 = 256;

/// The most rounds before it is decided again whether to continue.
pub(crate) const ROUNDS_MAX: u32 = 16;
/// A round that moves a smaller part of the pages in use has found little.
const MOVED_FRACTION_MIN: u64 = 64;
/// After the last round, this part of the pages in use plus some pages must be written before the
/// next one. After rounds of little use this doubles each time, up to this power.
const PAUSE_FRACTION: u64 = 8;
const PAUSE_DOUBLINGS_MAX: u32 = 7;
/// After so many commits in vain, it is not expected any more that the file becomes shorter.
const IN_VAIN_MAX: u32 = 64;
/// Samples of leaves are taken when this part of all pages in use was written, plus `LEAVES_MIN`.
const SAMPLE_FRACTION: u64 = 16;
/// Tables with fewer leaves are not worth a sample.
pub(crate) const LEAVES_MIN: u32 = 512;

/// The memory of everything that shortens the file.
#[derive(Default, Debug)]
pub(crate) struct ShrinkState {
    pub(crate) high_water: HighWater,
    pub(crate) tail: Tail,
    pub(crate) punching: Punching,
    /// Where the file may be truncated, and when.
    pub(crate) truncation_point: TruncationPoint,
    /// Whether it is expected that the file becomes shorter by more commits.
    pub(crate) is_shrinking: bool,
    /// After how many commits in a row that was probable, and the file was not shorter.
    in_vain: u32,
    page_count: u64,
}

impl ShrinkState {
    /// The memory when a database is opened.
    pub(crate) fn new(newest: &Record) -> Self {
        Self {
            truncation_point: TruncationPoint::of(newest),
            ..Self::default()
        }
    }

    /// Notes whether it is probable that the file becomes shorter, and its length. Growth steps, or
    /// flushes that do not come, may keep the length. So after some commits in vain that is not
    /// expected any more, unless pages are being moved.
    pub(crate) fn note_probable(&mut self, is_probable: bool, page_count: u64) {
        let is_shorter = page_count < self.page_count;
        self.page_count = page_count;
        self.in_vain = match is_probable && !is_shorter && !self.tail.is_emptying() {
            true => self.in_vain.saturating_add(1),
            false => 0,
        };
        let is_expected = is_probable && self.in_vain <= IN_VAIN_MAX;
        self.is_shrinking = is_expected || self.tail.is_emptying();
    }
}

/// Whether blocks of free pages are being given back to the file system.
#[derive(Clone, Default, Debug)]
pub(crate) struct Punching {
    pub(crate) is_punching: bool,
    /// The file system does not support it or refuses it.
    pub(crate) is_refused: bool,
}

/// How far the file may be truncated, and when. Truncation is safe once, after any crash, no record
/// can count that needs a longer file. Two flushed records must fit the shorter file, so that one
/// of them may be damaged.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TruncationPoint {
    /// The commit that made the database shorter.
    since: TransactionId,
    /// The largest page count of a commit since then.
    page_count: u64,
    /// The last flushed commit when commit `since` was first seen to be flushed.
    seen: Option<TransactionId>,
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

    /// Notes a commit that follows `newest`.
    pub(crate) fn note(&mut self, record: &Record, newest: &Record) {
        assert!(
            newest.transaction < record.transaction,
            "commits are noted in order"
        );
        match record.page_count < newest.page_count {
            true => *self = Self::of(record),
            false => self.page_count = self.page_count.max(record.page_count),
        }
        assert!(
            self.page_count >= record.page_count,
            "no commit loses pages"
        );
    }

    /// The largest page count that a record since then refers to.
    pub(crate) fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Whether the commit that made the database shorter is flushed.
    pub(crate) fn is_flushed(&self, flushed: TransactionId) -> bool {
        flushed >= self.since
    }

    /// Whether two flushed records fit the shorter file: that commit is flushed, and a later commit
    /// was flushed after this was first seen.
    pub(crate) fn is_due(&mut self, flushed: TransactionId) -> bool {
        self.is_flushed(flushed) && flushed > *self.seen.get_or_insert(flushed)
    }
}

/// Progress of the walk through all tables that empties the end of the file.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tail {
    is_emptying: bool,
    /// Pages from this one on are moved.
    boundary: u64,
    pub(crate) position: TailPosition,
    moved_in_round: u64,
    /// Rounds since the start.
    rounds: u32,
    /// Nothing is moved before this commit.
    rests_until: TransactionId,
    /// Nor before this many pages were written, unless a quarter of the pages that were in use then
    /// become free earlier.
    resting: u64,
    used: u64,
    /// How often in a row it achieved little.
    fruitless: u32,
    moved: u64,
    /// Pages of the smallest value that was too large for this round, and (below) the largest value
    /// that is moved nevertheless.
    passed_over: u64,
    pub(crate) value_pages: u64,
    /// Pages written since the last sample, and (below) the table of that sample.
    written: u64,
    pub(crate) sampled: Option<Vec<u8>>,
}

impl Tail {
    /// Begins to move pages after those in use, whether or not that is worth it, in at most
    /// `rounds` rounds.
    pub(crate) fn begin(&mut self, rounds: u32) {
        *self = Self {
            is_emptying: true,
            rounds: ROUNDS_MAX.saturating_sub(rounds),
            ..Self::default()
        };
    }

    /// Notes a commit that has taken `taken` pages while `used` are in use. Returns whether the
    /// pause after the last rounds is over.
    pub(crate) fn note_commit(&mut self, taken: u64, used: u64) -> bool {
        assert!(
            self.resting == 0 || !self.is_emptying,
            "nothing is moved during a pause"
        );
        self.written += taken;
        let is_other = used + u64::from(LEAVES_MIN) < self.used && used < self.used / 4 * 3;
        self.resting = match is_other {
            true => 0,
            false => self.resting.saturating_sub(taken),
        };
        self.resting == 0
    }

    /// Whether so many pages were written since the last sample that another one is due. If so, the
    /// count begins again.
    pub(crate) fn is_sample_due(&mut self, used: u64) -> bool {
        let is_due =
            !self.is_emptying && self.written > used / SAMPLE_FRACTION + u64::from(LEAVES_MIN);
        if is_due {
            self.written = 0;
        }
        is_due
    }

    /// Pages from `boundary` on are moved from now on, if `is_wanted` or if that has begun.
    pub(crate) fn empty_from(&mut self, boundary: u64, is_wanted: bool) {
        self.boundary = boundary;
        self.is_emptying |= is_wanted;
    }

    /// Whether pages are moved by the commit `id`.
    pub(crate) fn is_at_work(&self, id: TransactionId) -> bool {
        self.is_emptying && id >= self.rests_until
    }

    /// Pauses until the commit `until`. The next round begins at the beginning.
    pub(crate) fn rest_until(&mut self, until: TransactionId) {
        self.rests_until = self.rests_until.max(until);
        self.position = TailPosition::Begin;
    }

    /// Notes pages that a commit has moved while `used` were in use. Back at the beginning, the
    /// round is over; after rounds that found little, or many rounds, a pause follows.
    pub(crate) fn note_moved(&mut self, moved: u64, used: u64) {
        self.moved_in_round += moved;
        if !matches!(self.position, TailPosition::Begin) {
            return;
        }
        self.rounds += 1;
        let moved_in_round = std::mem::take(&mut self.moved_in_round);
        self.moved += moved_in_round;
        // Pages written meanwhile may lie at the end again.
        if moved_in_round > used / MOVED_FRACTION_MIN && self.rounds < ROUNDS_MAX {
            return;
        }
        self.fruitless = match self.moved <= used / MOVED_FRACTION_MIN {
            true => (self.fruitless + 1).min(PAUSE_DOUBLINGS_MAX),
            false => 0,
        };
        self.resting = (used / PAUSE_FRACTION + u64::from(LEAVES_MIN)) << self.fruitless;
        self.used = used;
        self.moved = 0;
        self.is_emptying = false;
        self.rounds = 0;
    }

    /// Notes which values a commit of this round has skipped.
    pub(crate) fn note_values(&mut self, work: &Relocation) {
        self.value_pages = work.value_pages_max;
        self.passed_over = match (self.passed_over, work.passed_over) {
            (0, other) | (other, 0) => other,
            (one, other) => one.min(other),
        };
        if matches!(self.position, TailPosition::Begin) {
            let passed_over = std::mem::take(&mut self.passed_over);
            self.value_pages = if passed_over <= VALUE_MAX {
                passed_over
            } else {
                0
            };
        }
    }

    /// Whether it pauses after rounds that moved little, or after many.
    pub(crate) fn is_resting(&self) -> bool {
        self.resting > 0
    }

    pub(crate) fn is_emptying(&self) -> bool {
        self.is_emptying
    }

    /// The future end of the file, while pages after it are moved.
    pub(crate) fn boundary(&self) -> Option<u64> {
        self.is_emptying.then_some(self.boundary)
    }
}

#[derive(Clone, Default, Debug)]
pub(crate) enum TailPosition {
    #[default]
    Begin,
    /// In a table, from a key on, or from its first key.
    Table {
        name: Vec<u8>,
        from: Option<ResumePoint>,
    },
    /// After all tables: in the catalog.
    Catalog,
    /// After the catalog: in the list of named snapshots.
    Names,
}

#[cfg(test)]
#[path = "shrink_state_tests.rs"]
mod tests;
