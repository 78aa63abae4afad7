//! Which life made which commit, and the state that they lead to.

use super::{
    Script,
    commit::{Change, Commit, Content, Origin},
};
use std::collections::BTreeMap;

/// What a table should hold, by key.
pub(super) type State = BTreeMap<u32, Content>;

/// All commits of a database that may still count.
#[derive(Clone, Debug)]
pub(crate) struct History {
    seed: u64,
    script: Script,
    /// The first number of each life; both grow.
    lives: Vec<(u64, u32)>,
    next_life: u32,
    /// A state that nothing can lead behind any more.
    base: State,
    base_number: u64,
}

impl History {
    pub(crate) fn new(seed: u64, script: Script) -> Self {
        Self {
            seed,
            script,
            lives: Vec::new(),
            next_life: 0,
            base: State::new(),
            base_number: 0,
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn script(&self) -> Script {
        self.script
    }

    /// A number for the next run of the program.
    pub(crate) fn next_life(&mut self) -> u32 {
        self.next_life += 1;
        self.next_life
    }

    /// Notes that `life` goes on from commit `number`: what came behind is none of this history.
    pub(crate) fn go_on(&mut self, number: u64, life: u32) {
        self.lives.retain(|(first, _)| *first <= number);
        self.lives.push((number + 1, life));
    }

    /// The commit of this number; that of no life where there is none.
    pub(super) fn origin(&self, number: u64) -> Origin {
        let behind = self.lives.partition_point(|(first, _)| *first <= number);
        let life = behind.checked_sub(1).map_or(0, |index| self.lives[index].1);
        Origin {
            seed: self.seed,
            life,
            number,
        }
    }

    pub(super) fn commit(&self, number: u64) -> Commit {
        Commit::draw(self.origin(number), self.script)
    }

    /// What the table holds behind the commit of this number.
    pub(super) fn state(&self, number: u64) -> State {
        let mut state = self.base.clone();
        for number in self.base_number + 1..=number {
            for change in self.commit(number).changes {
                apply(&mut state, change);
            }
        }
        state
    }

    /// Nothing before this number is asked for any more.
    pub(crate) fn settle(&mut self, number: u64) {
        if number > self.base_number {
            self.base = self.state(number);
            self.base_number = number;
        }
    }
}

pub(super) fn apply(state: &mut State, change: Change) {
    match change {
        Change::Insert { key, content } => {
            state.insert(key, content);
        }
        Change::Remove { key } => {
            state.remove(&key);
        }
        Change::RemoveRange { first, behind } => {
            state.retain(|key, _| !(first..behind).contains(key));
        }
    }
}
