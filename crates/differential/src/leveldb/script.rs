//! Random scripts.

use super::{
    keys::KeyDraw,
    setup::LevelDbSetup,
    step::{
        BATCH_COUNT, BatchEntry, ITERATOR_COUNT, IteratorMove, Refusal, SNAPSHOT_COUNT, ShownBytes,
        Step, View,
    },
};
use fastrand::Rng;

/// The greatest number of steps in a period of growing or shrinking.
const TIDE_MAX: usize = 1500;

const PROPERTIES: &[&str] = &[
    "leveldb.num-files-at-level7",
    "leveldb.num-files-at-level",
    "leveldb.num-files-at-level-1",
    "leveldb.num-files-at-level1x",
    "leveldb.num-files-at-level99999999999999999999",
    "leveldb.sstables",
    "leveldb.stats",
    "leveldb.approximate-memory-usage",
    "leveldb.num-files-at-level0",
    "leveldb.num-files-at-level06",
    "leveldb.stats ",
    "leveldb.",
    "stats",
    "",
];

const REFUSALS: &[Refusal] = &[
    Refusal::Exists,
    Refusal::Missing,
    Refusal::Locked,
    Refusal::OtherComparator,
    Refusal::NoParent,
    Refusal::NoDirectory,
    Refusal::DestroyOpen,
];

/// The source of steps.
pub(crate) struct LevelDbScript {
    rng: Rng,
    keys: KeyDraw,
    value_len_max: usize,
    /// The remaining steps of the period, and the percentage of changes that insert.
    tide: (usize, u32),
}

impl LevelDbScript {
    /// The script of an episode, and the options of its databases.
    pub(crate) fn new(seed: u64, episode: u64) -> (Self, LevelDbSetup) {
        let mut rng = Rng::with_seed(seed ^ episode.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let setup = LevelDbSetup::draw(&mut rng);
        let script = Self {
            keys: KeyDraw::draw(&mut rng, setup.comparator),
            value_len_max: [4, 20, 200, 3000][rng.usize(..4)],
            tide: (0, 50),
            rng,
        };
        (script, setup)
    }

    /// The next step.
    pub(crate) fn next(&mut self) -> Step {
        if self.tide.0 == 0 {
            let inserts = [10, 35, 60, 80, 95][self.rng.usize(..5)];
            self.tide = (self.rng.usize(1..TIDE_MAX), inserts);
        }
        self.tide.0 -= 1;
        match self.rng.u32(..1000) {
            0..300 => self.change(),
            300..450 => self.of_batch(),
            450..580 => Step::Get {
                view: self.view(),
                key: self.key(),
            },
            580..600 => Step::TakeSnapshot(self.rng.usize(..SNAPSHOT_COUNT)),
            600..615 => Step::ReleaseSnapshot(self.rng.usize(..SNAPSHOT_COUNT)),
            615..640 => Step::OpenIterator {
                slot: self.rng.usize(..ITERATOR_COUNT),
                view: self.view(),
            },
            640..650 => Step::CloseIterator(self.rng.usize(..ITERATOR_COUNT)),
            650..980 => Step::Move {
                slot: self.rng.usize(..ITERATOR_COUNT),
                to: self.iterator_move(),
            },
            980..985 => Step::Property(PROPERTIES[self.rng.usize(..PROPERTIES.len())].to_owned()),
            985..990 => Step::Sizes(self.key(), self.key()),
            _ => self.rare(),
        }
    }

    fn rare(&mut self) -> Step {
        match self.rng.u32(..100) {
            0..25 => Step::CompareAll(self.view()),
            25..45 => Step::Compact {
                start: self.rng.bool().then(|| self.key()),
                limit: self.rng.bool().then(|| self.key()),
            },
            45..75 => Step::Reopen,
            75..95 => Step::Refused(REFUSALS[self.rng.usize(..REFUSALS.len())]),
            95..98 => Step::Repair,
            _ => Step::Destroy {
                has_other_file: self.rng.bool(),
            },
        }
    }

    fn change(&mut self) -> Step {
        let is_synced = self.rng.u8(..10) == 0;
        match self.entry() {
            BatchEntry::Put(key, value) => Step::Put {
                key,
                value,
                is_synced,
            },
            BatchEntry::Delete(key) => Step::Delete { key, is_synced },
        }
    }

    fn entry(&mut self) -> BatchEntry {
        match self.rng.u32(..100) < self.tide.1 {
            true => BatchEntry::Put(self.key(), self.value()),
            false => BatchEntry::Delete(self.key()),
        }
    }

    fn of_batch(&mut self) -> Step {
        let batch = self.rng.usize(..BATCH_COUNT);
        match self.rng.u32(..100) {
            0..45 => {
                let count = [1, 3, 3, 20, 200][self.rng.usize(..5)];
                let count = self.rng.usize(0..=count);
                Step::Fill {
                    batch,
                    entries: (0..count).map(|_| self.entry()).collect(),
                }
            }
            45..60 => Step::Write {
                batch,
                is_synced: self.rng.u8(..5) == 0,
            },
            // Batches do not grow without end.
            60..88 => Step::Clear(batch),
            88..92 => Step::Append {
                to: batch,
                from: self.rng.usize(..BATCH_COUNT),
            },
            _ => Step::Iterate(batch),
        }
    }

    fn view(&mut self) -> View {
        let slot = self.rng.usize(..SNAPSHOT_COUNT * 2);
        (slot < SNAPSHOT_COUNT).then_some(slot)
    }

    fn iterator_move(&mut self) -> IteratorMove {
        match self.rng.u32(..100) {
            0..4 => IteratorMove::First,
            4..8 => IteratorMove::Last,
            8..30 => IteratorMove::Seek(self.keys.target(&mut self.rng)),
            30..67 => IteratorMove::Next,
            _ => IteratorMove::Prev,
        }
    }

    fn key(&mut self) -> ShownBytes {
        self.keys.key(&mut self.rng)
    }

    fn value(&mut self) -> ShownBytes {
        let rng = &mut self.rng;
        let max = match rng.u32(..2000) {
            0 => 200_000,
            1..40 => 10_000,
            _ => self.value_len_max,
        };
        let len = rng.usize(0..=max);
        ShownBytes(match rng.u8(..10) {
            0 => Vec::new(),
            1..6 => vec![rng.u8(..); len],
            _ => std::iter::repeat_with(|| rng.u8(..)).take(len).collect(),
        })
    }
}
