//! How far emptying the end of the file is.

use crate::{
    TransactionId,
    btree::relocate::{Relocation, ResumePoint},
};

/// A value that is larger than what a commit moves is moved by one of the commits of the round after the one that came by it, if it has no more
/// pages than this: all commits would wait for it.
pub(crate) const VALUE_MAX: u64 = 256;

/// So many rounds are made at most before it is looked anew whether it is worth it.
pub(crate) const ROUNDS_MAX: u32 = 16;

/// How far the walk through all tables is.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tail {
    pub(crate) is_emptying: bool,
    /// Pages from here on are moved.
    pub(crate) boundary: u64,
    pub(crate) place: TailPosition,
    pub(crate) moved_in_round: u64,
    /// Rounds since it began.
    pub(crate) rounds: u32,
    /// Nothing is done before this commit.
    pub(crate) rests_until: TransactionId,
    /// Nor before so many pages were written, unless a fourth of the pages that were in use then are free before.
    pub(crate) resting: u64,
    pub(crate) used: u64,
    /// How often in a row it was of little use.
    pub(crate) fruitless: u32,
    pub(crate) moved: u64,
    /// The pages of the smallest value that was left in this round since it is too large, and how large one may be that is moved all the same.
    pub(crate) passed_over: u64,
    pub(crate) value_pages: u64,
    /// Pages that were written since the last sample, and the table that it was of.
    pub(crate) written: u64,
    pub(crate) sampled: Option<Vec<u8>>,
}

impl Tail {
    /// Begins to move what is behind the pages in use, whether that is worth it or not, in so many rounds at most.
    pub(crate) fn begin(&mut self, rounds: u32) {
        *self = Self {
            is_emptying: true,
            rounds: ROUNDS_MAX.saturating_sub(rounds),
            ..Self::default()
        };
    }

    /// Notes which values a commit of this round has left.
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

    /// Where the file shall end, while pages behind that are moved.
    pub(crate) fn boundary(&self) -> Option<u64> {
        self.is_emptying.then_some(self.boundary)
    }
}

#[derive(Clone, Default, Debug)]
pub(crate) enum TailPosition {
    #[default]
    Begin,
    /// In a table, from a key on, or from its first.
    Table {
        name: Vec<u8>,
        from: Option<ResumePoint>,
    },
    /// Behind all tables, in the catalog.
    Catalog,
    /// Behind it, in the list of named snapshots.
    Names,
}
