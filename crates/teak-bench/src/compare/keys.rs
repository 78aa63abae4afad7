//! Keys of several kinds, each computed from a number, so that they need not be stored.
//!
//! Invariants: a number has the same key in every process, and different numbers have different
//! keys. Consecutive numbers have keys anywhere in the order, except for integers, and for strings
//! beyond the first load, which are in order as they would be in practice.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::{Path, PathBuf},
};

const SEED: u64 = 0x7465_616b_6b65_7973;
const MISS_SEED: u64 = 0x6d69_7373;
/// Longer paths are skipped, because not every engine allows such keys.
const PATH_LEN_MAX: usize = 400;
const PATHS_MAX: usize = 200_000;
/// Enough rounds to separate any two halves.
const FEISTEL_ROUNDS: u64 = 4;

/// The kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyKind {
    /// 16 random bytes.
    Random16,
    /// 32 random bytes.
    Random32,
    /// Even integers from zero on, 8 bytes, big-endian.
    Integers,
    /// Integers in the processor's byte order, in tables that compare integers.
    NativeIntegers,
    /// Paths of the files below /usr, like in a backup of many machines: `/srv/NUMBER/usr/...`.
    Strings,
}

impl KeyKind {
    /// The kind in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random16 => "16 random bytes",
            Self::Random32 => "32 random bytes",
            Self::Integers => "integers",
            Self::NativeIntegers => "native integers",
            Self::Strings => "paths",
        }
    }
}

/// Makes keys.
pub(super) struct Keys {
    kind: KeyKind,
    /// Records of the first load.
    records: u64,
    paths: Vec<String>,
}

impl Keys {
    /// Keys for `records` records and all later ones. `paths` is the file that [`gather_paths`]
    /// wrote.
    pub(super) fn new(kind: KeyKind, records: u64, paths: &Path) -> Result<Self> {
        let paths = match kind {
            KeyKind::Strings => fs::read_to_string(paths).context("there are no paths")?,
            _ => String::new(),
        };
        Ok(Self {
            kind,
            records,
            paths: paths.lines().map(str::to_owned).collect(),
        })
    }

    /// Appends the key of `number` to `target`.
    pub(super) fn add(&self, number: u64, target: &mut Vec<u8>) {
        match self.kind {
            KeyKind::Random16 => add_random(number ^ SEED, 16, target),
            KeyKind::Random32 => add_random(number ^ SEED, 32, target),
            KeyKind::Integers => target.extend((2 * self.position(number)).to_be_bytes()),
            KeyKind::NativeIntegers => target.extend((2 * self.position(number)).to_ne_bytes()),
            KeyKind::Strings => self.add_path(number, target),
        }
    }

    /// Appends a key that no record has to `target`, between existing ones.
    pub(super) fn add_missing(&self, number: u64, target: &mut Vec<u8>) {
        match self.kind {
            KeyKind::Random16 => add_random(number ^ MISS_SEED << 32, 16, target),
            KeyKind::Random32 => add_random(number ^ MISS_SEED << 32, 32, target),
            KeyKind::Integers => target.extend((2 * self.position(number) + 1).to_be_bytes()),
            KeyKind::NativeIntegers => target.extend((2 * self.position(number) + 1).to_ne_bytes()),
            KeyKind::Strings => {
                self.add_path(number, target);
                target.push(b'~');
            }
        }
    }

    /// Bytes that sort in the order of the keys in the table.
    pub(super) fn sort_key(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.add(number, &mut key);
        if self.kind == KeyKind::NativeIntegers && cfg!(target_endian = "little") {
            key.reverse();
        }
        key
    }

    /// The approximate memory of this value in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        let lens = self
            .paths
            .iter()
            .map(|path| path.len() + size_of::<String>());
        lens.sum::<usize>() as u64
    }

    fn add_path(&self, number: u64, target: &mut Vec<u8>) {
        let (position, paths) = (self.position(number), self.paths.len() as u64);
        let path = &self.paths[(position % paths) as usize];
        target.extend(format!("/srv/{:05}", position / paths).into_bytes());
        target.extend(path.as_bytes());
    }

    /// The position in the order of a number of the first load, if keys are ordered: a random one,
    /// and different for each number.
    fn position(&self, number: u64) -> u64 {
        if number < self.records {
            permuted(number, self.records)
        } else {
            number
        }
    }
}

fn add_random(seed: u64, len: usize, target: &mut Vec<u8>) {
    let mut rng = Rng::with_seed(seed);
    let begin = target.len();
    target.resize(begin + len, 0);
    rng.fill(&mut target[begin..]);
}

/// A permutation of the numbers below `count`: a Feistel network over the next power of four,
/// applied until the result is below `count`.
pub(super) fn permuted(number: u64, count: u64) -> u64 {
    let half_bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).div_ceil(2);
    let mask = (1 << half_bits) - 1;
    let mut number = number;
    loop {
        let (mut left, mut right) = (number >> half_bits, number & mask);
        for round in 0..FEISTEL_ROUNDS {
            let mixed = Rng::with_seed(right << 8 | round).u64(..) & mask;
            (left, right) = (right, left ^ mixed);
        }
        number = left << half_bits | right;
        if number < count {
            return number;
        }
    }
}

/// Writes the paths of the files below /usr to a file that the processes of all engines read.
pub(super) fn gather_paths(target: &Path) -> Result<()> {
    let mut paths = Vec::new();
    let mut directories = vec![PathBuf::from("/usr")];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(path),
                Ok(_) => paths.extend(path.into_os_string().into_string()),
                Err(_) => {}
            }
        }
    }
    paths.retain(|path| path.len() <= PATH_LEN_MAX && !path.contains('\n'));
    paths.sort_unstable();
    paths.truncate(PATHS_MAX);
    ensure!(!paths.is_empty(), "there are no files below /usr");
    Ok(fs::write(target, paths.join("\n"))?)
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
