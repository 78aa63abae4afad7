//! The workload: small transactions that depend on seed and episode, the resulting states, and the
//! program that performs them while its calls are recorded.

use crate::peer::{Change, Engine, Promise};
use anyhow::Result;
use fastrand::Rng;
use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
    path::Path,
};
use xxhash_rust::xxh3::Xxh3;

/// Transactions of an episode. The states before the first and after each are numbered from 0.
pub(crate) const COMMIT_COUNT: usize = 48;

const KEY_COUNT: usize = 160;

/// The key of the record that identifies a state by its number.
const NUMBER_KEY: &[u8] = b"number";

pub(crate) type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Everything that an episode commits.
pub(crate) struct Workload {
    pub(crate) transactions: Vec<Vec<Change>>,
    /// For each state, whether a sync follows. Without syncs, commits alone promise nothing in some
    /// modes.
    syncs: Vec<bool>,
}

/// The lines that the recorded program writes to its standard output between its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProgressMark {
    /// A transaction begins that makes the state with this number.
    Begun(usize),
    /// Its commit has returned.
    Returned(usize),
    /// A sync after this state has returned.
    Synced(usize),
}

impl Workload {
    pub(crate) fn draw(seed: u64, episode: u64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ episode);
        let transactions = (1..=COMMIT_COUNT).map(|number| transaction(&mut rng, number));
        Self {
            transactions: transactions.collect(),
            // The first one ensures that the database exists.
            syncs: (0..=COMMIT_COUNT)
                .map(|number| number == 1 || rng.u8(0..8) == 0)
                .collect(),
        }
    }

    /// The number of each state, by the digest of its records.
    pub(crate) fn states(&self) -> HashMap<u128, usize> {
        let mut records = Records::new();
        let mut states = HashMap::from([(digest(&records), 0)]);
        for (changes, number) in self.transactions.iter().zip(1..) {
            apply(&mut records, changes);
            states.insert(digest(&records), number);
        }
        states
    }

    /// Performs the workload on a new database, and reports progress.
    pub(crate) fn perform(&self, engine: Engine, path: &Path) -> Result<()> {
        let peer = engine.open(path)?;
        let is_lazy = engine.promise() == Promise::Synced;
        let sync = |number: usize| -> Result<()> {
            if is_lazy && self.syncs[number] {
                peer.sync()?;
                say(ProgressMark::Synced(number))?;
            }
            Ok(())
        };
        for (changes, number) in self.transactions.iter().zip(1..) {
            say(ProgressMark::Begun(number))?;
            peer.commit(changes)?;
            say(ProgressMark::Returned(number))?;
            sync(number)?;
        }
        Ok(())
    }
}

fn transaction(rng: &mut Rng, number: usize) -> Vec<Change> {
    let mut changes = vec![Change::Put(
        NUMBER_KEY.to_vec(),
        number.to_string().into_bytes(),
    )];
    // Many changes at first, to build a tree. Then few, sometimes many.
    let count = match number {
        1 => KEY_COUNT / 2,
        _ if rng.u8(0..8) == 0 => rng.usize(10..40),
        _ => rng.usize(1..6),
    };
    for _ in 0..count {
        let key = format!("key-{:04}", rng.usize(0..KEY_COUNT)).into_bytes();
        changes.push(if rng.u8(0..4) == 0 {
            Change::Delete(key)
        } else {
            Change::Put(key, value(rng))
        });
    }
    changes
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let len = match rng.u8(0..16) {
        0 => rng.usize(3000..9000),
        1..6 => rng.usize(200..1200),
        _ => rng.usize(8..120),
    };
    std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
}

pub(crate) fn apply(records: &mut Records, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Put(key, value) => {
                records.insert(key.clone(), value.clone());
            }
            Change::Delete(key) => {
                records.remove(key);
            }
        }
    }
}

pub(crate) fn digest(records: &Records) -> u128 {
    let mut hasher = Xxh3::new();
    for (key, value) in records {
        for part in [key, value] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.digest128()
}

/// Written at once, so that the record has one call.
fn say(mark: ProgressMark) -> Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(mark.to_line().as_bytes())?;
    Ok(output.flush()?)
}

impl ProgressMark {
    fn to_line(self) -> String {
        match self {
            Self::Begun(number) => format!("begun {number}\n"),
            Self::Returned(number) => format!("returned {number}\n"),
            Self::Synced(number) => format!("synced {number}\n"),
        }
    }

    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "begun" => Some(Self::Begun(number)),
            "returned" => Some(Self::Returned(number)),
            "synced" => Some(Self::Synced(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_deterministic_and_its_states_differ() {
        let (first, again) = (Workload::draw(3, 4), Workload::draw(3, 4));
        assert_eq!(first.transactions, again.transactions);
        assert_ne!(first.transactions, Workload::draw(3, 5).transactions);
        assert_eq!(first.states().len(), COMMIT_COUNT + 1);
    }

    #[test]
    fn marks_are_parsed_from_their_text() {
        for mark in [
            ProgressMark::Begun(1),
            ProgressMark::Returned(23),
            ProgressMark::Synced(0),
        ] {
            assert_eq!(ProgressMark::of_line(&mark.to_line()), Some(mark));
        }
    }
}
