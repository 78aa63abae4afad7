//! The changes of a commit. They depend only on numbers, never on the database.

use super::{CommitMark, CommitScript};
use fastrand::Rng;
use std::collections::BTreeMap;
use teak::Durability;

/// The number of keys.
const KEYS: u32 = 400;
/// One commit in this many makes a small file grow.
const GROWTH_EVERY: u64 = 12;
/// So many successive small commits are all durable, or few are.
const DURABLE_RUN: u64 = 50;

/// The parameters of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ValueContent {
    pub(super) len: usize,
    pub(super) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordChange {
    Insert { key: u32, content: ValueContent },
    Remove { key: u32 },
    RemoveRange { first: u32, after: u32 },
}

/// The action after a commit has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterCommit {
    Nothing,
    /// Waits for the newest commit that has a ticket.
    Wait,
    Sync,
    /// Closes the database and opens it again.
    Reopen,
}

#[derive(Debug)]
pub(super) struct WorkloadCommit {
    pub(super) changes: Vec<RecordChange>,
    pub(super) durability: Durability,
    pub(super) then: AfterCommit,
}

impl WorkloadCommit {
    /// The commit with this mark.
    pub(super) fn draw(seed: u64, mark: CommitMark, script: CommitScript) -> Self {
        let seed = Rng::with_seed(seed).u64(..)
            ^ u64::from(mark.member).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ mark.count.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let mut rng = Rng::with_seed(seed);
        let is_in_run = (mark.count / DURABLE_RUN).is_multiple_of(2);
        let durability = match (rng.u8(0..32), script) {
            (_, CommitScript::Small) if is_in_run => Durability::Durable,
            (0, _) | (1..12, CommitScript::Plain | CommitScript::Flusher) => Durability::Durable,
            (12..24, CommitScript::Flusher) => Durability::Async,
            _ => Durability::Lazy,
        };
        let then_count = match script {
            CommitScript::Lazy | CommitScript::Small => 200,
            CommitScript::Plain | CommitScript::Flusher => 24,
        };
        let then = match rng.u8(0..then_count) {
            0 => AfterCommit::Reopen,
            1..3 => AfterCommit::Sync,
            3..6 => AfterCommit::Wait,
            _ => AfterCommit::Nothing,
        };
        let changes = if script == CommitScript::Small {
            (0..rng.usize(1..5))
                .map(|_| small_change(&mut rng))
                .collect()
        } else if (mark.count + u64::from(mark.member)) % GROWTH_EVERY == 1 {
            growth(&mut rng)
        } else {
            (0..rng.usize(1..16)).map(|_| change(&mut rng)).collect()
        };
        Self {
            changes,
            durability,
            then,
        }
    }
}

fn growth(rng: &mut Rng) -> Vec<RecordChange> {
    let first = rng.u32(0..KEYS - 60);
    let len_max = [900, 3000, 6000][rng.usize(0..3)];
    (first..first + 60)
        .map(|key| insert(rng, key, len_max))
        .collect()
}

fn small_change(rng: &mut Rng) -> RecordChange {
    let key = rng.u32(0..KEYS);
    match rng.u8(0..4) {
        0 => RecordChange::Remove { key },
        _ => insert(rng, key, 200),
    }
}

fn change(rng: &mut Rng) -> RecordChange {
    let key = rng.u32(0..KEYS);
    match rng.u8(0..64) {
        0..9 => RecordChange::Remove { key },
        9 => RecordChange::RemoveRange {
            first: key,
            after: key + rng.u32(1..80),
        },
        10 => insert(rng, key, 60_000),
        11..15 => insert(rng, key, 2000),
        _ => insert(rng, key, 200),
    }
}

fn insert(rng: &mut Rng, key: u32, len_max: usize) -> RecordChange {
    RecordChange::Insert {
        key,
        content: ValueContent {
            len: rng.usize(0..len_max),
            seed: rng.u64(..),
        },
    }
}

/// The expected contents of the table, by key.
pub(super) type TableState = BTreeMap<u32, ValueContent>;

pub(super) fn apply(state: &mut TableState, change: RecordChange) {
    match change {
        RecordChange::Insert { key, content } => drop(state.insert(key, content)),
        RecordChange::Remove { key } => drop(state.remove(&key)),
        RecordChange::RemoveRange { first, after } => {
            state.retain(|key, _| !(first..after).contains(key));
        }
    }
}

/// The bytes of a key.
pub(super) fn key_bytes(key: u32) -> Vec<u8> {
    format!("key {key:06}").into_bytes()
}

impl ValueContent {
    pub(super) fn bytes(self) -> Vec<u8> {
        let mut word = self.seed;
        let mut bytes = Vec::with_capacity(self.len + 8);
        while bytes.len() < self.len {
            bytes.extend_from_slice(&word.to_le_bytes());
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        }
        bytes.truncate(self.len);
        bytes
    }
}
