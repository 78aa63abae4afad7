//! Power cuts, made of copies of the files of a database while a program commits.
//!
//! Everything that the last flush of a file wrote is on the disk, and any part of later writes. So
//! each block of a file that a power cut leaves is either as in a copy made after that flush, or as
//! now. The state found must have every durable commit that returned.

use super::member::{Expected, TABLE, commit, open, open_first, state_of};
use crate::{Result, campaign::database::log_of};
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use teak::{Database, Durability, codec::Bytes, testing};

/// Commits of a database, and the length of a run of commits of one durability.
const COMMITS: u64 = 300;
const RUN_MAX: u64 = 40;
/// A disk writes so many bytes whole.
const BLOCK: usize = 512;

/// Copies of the parts of the files that are surely on the disk.
#[derive(Default)]
struct Flushed {
    /// The last commit whose trees are.
    in_trees: u64,
    file: Vec<u8>,
    /// How often the log was flushed, and what was there then.
    log_flushes: u64,
    log: Vec<u8>,
}

/// Commits to a new database, and cuts the power again and again. Returns how often.
pub(super) fn commit_and_cut(path: &Path, rng: &mut Rng) -> Result<u64> {
    // An even seed: this function chooses durabilities and readers.
    let seed = rng.u64(..) & !1;
    let database = open_first(path, seed)?;
    let mut txn = database.begin_write()?;
    let records = txn.create_table::<Bytes, Bytes>(TABLE)?;
    txn.set_durability(Durability::Durable);
    txn.commit()?;
    let mut flushed = Flushed::default();
    let (mut returned, mut cuts, mut run, mut durability) = (0, 0, 0, Durability::Durable);
    for number in 1..=COMMITS {
        if run == 0 {
            run = rng.u64(1..RUN_MAX);
            durability = match rng.u8(0..3) {
                0 => Durability::Lazy,
                _ => Durability::Durable,
            };
        }
        run -= 1;
        let mut txn = database.begin_write()?;
        commit(seed, &records, &mut txn)?;
        txn.set_durability(durability);
        if rng.u8(0..40) == 0 {
            // Makes it a whole transaction.
            let _ = records.len(&txn)?;
        }
        txn.commit()?;
        if durability == Durability::Durable {
            returned = number;
        }
        flushed.note(&database, path)?;
        match rng.u8(0..40) {
            0..4 => drop(state_of(&database)?),
            4 => thread::sleep(Duration::from_millis(12)),
            _ => {}
        }
        flushed.note(&database, path)?;
        if rng.u8(0..6) == 0 && flushed.cut(&database, path, rng)? {
            cuts += 1;
            let found = state_of(&open(&of_cut(path))?)?;
            Expected::new(seed).compare_within(&found, returned..=number)?;
        }
    }
    Ok(cuts)
}

impl Flushed {
    /// Copies the files of which more is on the disk than before.
    fn note(&mut self, database: &Database, path: &Path) -> Result {
        let log_flushes = testing::log_flush_count(database);
        if log_flushes != self.log_flushes {
            (self.log_flushes, self.log) = (log_flushes, read(&log_of(path))?);
        }
        while self.in_trees != testing::durable_in_trees(database) {
            self.in_trees = testing::durable_in_trees(database);
            self.file = fs::read(path)?;
        }
        Ok(())
    }

    /// Leaves copies of the files as after a power cut. Returns `false` if more reached the disk
    /// meanwhile.
    fn cut(&self, database: &Database, path: &Path, rng: &mut Rng) -> Result<bool> {
        let (file, log) = (fs::read(path)?, read(&log_of(path))?);
        if testing::durable_in_trees(database) != self.in_trees {
            return Ok(false);
        }
        let cut = of_cut(path);
        fs::write(&cut, mixed(&self.file, &file, rng))?;
        fs::write(log_of(&cut), mixed(&self.log, &log, rng))?;
        Ok(true)
    }
}

/// The content of a log; empty if there is none.
fn read(log: &Path) -> Result<Vec<u8>> {
    match log.exists() {
        true => Ok(fs::read(log)?),
        false => Ok(Vec::new()),
    }
}

/// The file that a power cut leaves.
fn of_cut(path: &Path) -> PathBuf {
    path.with_extension("cut.teak")
}

/// Any of the blocks as before, the others as now. The length is the present one.
fn mixed(before: &[u8], now: &[u8], rng: &mut Rng) -> Vec<u8> {
    let kept = rng.choice([0, 1, 50, 100]).expect("there are some");
    let mut mixed = now.to_vec();
    let blocks = mixed.chunks_mut(BLOCK).zip(before.chunks(BLOCK));
    for (block, before) in blocks {
        if rng.u8(0..100) >= kept {
            block[..before.len()].copy_from_slice(before);
        }
    }
    if kept == 0 {
        mixed[before.len().min(now.len())..].fill(0);
    }
    mixed
}
