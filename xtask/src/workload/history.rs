//! The commits with the lives that made them, and the resulting state.

use super::{
    CommitScript,
    commit::{Origin, RecordChange, ValueContent, WorkloadCommit},
};
use std::collections::BTreeMap;

/// The expected contents of a table, by key.
pub(super) type TableState = BTreeMap<u32, ValueContent>;

/// All commits of a database that may still count.
#[derive(Clone, Debug)]
pub(crate) struct CommitHistory {
    seed: u64,
    script: CommitScript,
    /// The first number of each life; both grow.
    incarnations: Vec<(u64, u32)>,
    next_incarnation: u32,
    /// The oldest state that still matters.
    base: TableState,
    base_number: u64,
}

impl CommitHistory {
    pub(crate) fn new(seed: u64, script: CommitScript) -> Self {
        Self {
            seed,
            script,
            incarnations: Vec::new(),
            next_incarnation: 0,
            base: TableState::new(),
            base_number: 0,
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn script(&self) -> CommitScript {
        self.script
    }

    /// A number for the next run of the program.
    pub(crate) fn next_incarnation(&mut self) -> u32 {
        self.next_incarnation += 1;
        self.next_incarnation
    }

    /// Records that `incarnation` continues after commit `number`. Later commits of other lives are
    /// not part of this history.
    pub(crate) fn continue_from(&mut self, number: u64, incarnation: u32) {
        self.incarnations.retain(|(first, _)| *first <= number);
        self.incarnations.push((number + 1, incarnation));
    }

    /// The commit with this number; it belongs to no life if there is none.
    pub(super) fn origin(&self, number: u64) -> Origin {
        let after = self
            .incarnations
            .partition_point(|(first, _)| *first <= number);
        let incarnation = after
            .checked_sub(1)
            .map_or(0, |index| self.incarnations[index].1);
        Origin {
            seed: self.seed,
            incarnation,
            number,
        }
    }

    pub(super) fn commit(&self, number: u64) -> WorkloadCommit {
        WorkloadCommit::draw(self.origin(number), self.script)
    }

    /// The contents of the table after the commit of this number.
    pub(super) fn state(&self, number: u64) -> TableState {
        let mut state = self.base.clone();
        for number in self.base_number + 1..=number {
            for change in self.commit(number).changes {
                apply(&mut state, change);
            }
        }
        state
    }

    /// Forgets states before this number, which are not needed any more.
    pub(crate) fn settle(&mut self, number: u64) {
        if number > self.base_number {
            self.base = self.state(number);
            self.base_number = number;
        }
    }
}

pub(super) fn apply(state: &mut TableState, change: RecordChange) {
    match change {
        RecordChange::Insert { key, content } => {
            state.insert(key, content);
        }
        RecordChange::Remove { key } => {
            state.remove(&key);
        }
        RecordChange::RemoveRange { first, after } => {
            state.retain(|key, _| !(first..after).contains(key));
        }
    }
}
