//! Progress of emptying the end of the file.

use crate::{
    TransactionId,
    btree::relocate::{Relocation, ResumePoint},
};

/// A large value does not fit into what one commit moves. It is moved by a commit of the round
/// after the one that found it, if it has no more pages than this. Moving a larger value would
/// delay all commits.
pub(crate) const VALUE_MAX: u64 = 256;

/// The most rounds before it is decided again whether to continue.
pub(crate) const ROUNDS_MAX: u32 = 16;

/// Progress of the walk through all tables.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tail {
    pub(crate) is_emptying: bool,
    /// Pages from this one on are moved.
    pub(crate) boundary: u64,
    pub(crate) place: TailPosition,
    pub(crate) moved_in_round: u64,
    /// Rounds since the start.
    pub(crate) rounds: u32,
    /// Nothing is moved before this commit.
    pub(crate) rests_until: TransactionId,
    /// Nor before this many pages were written, unless a quarter of the pages that were in use then
    /// become free earlier.
    pub(crate) resting: u64,
    pub(crate) used: u64,
    /// How often in a row it achieved little.
    pub(crate) fruitless: u32,
    pub(crate) moved: u64,
    /// Pages of the smallest value that was too large for this round, and (below) the largest value
    /// that is moved nevertheless.
    pub(crate) passed_over: u64,
    pub(crate) value_pages: u64,
    /// Pages written since the last sample, and (below) the table of that sample.
    pub(crate) written: u64,
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

    /// Notes which values a commit of this round has skipped.
    pub(crate) fn note_values(&mut self, work: &Relocation) {
        self.value_pages = work.value_pages_max;
        self.passed_over = match (self.passed_over, work.passed_over) {
            (0, other) | (other, 0) => other,
            (one, other) => one.min(other),
        };
        if matches!(self.place, TailPosition::Begin) {
            let passed_over = std::mem::take(&mut self.passed_over);
            self.value_pages = if passed_over <= VALUE_MAX {
                passed_over
            } else {
                0
            };
        }
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
