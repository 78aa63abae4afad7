//! Damaged logs. Entries that were changed, and all after them, do not count, so the content is
//! that after an earlier commit, or there is an error.

use super::member::{Expected, open, state_of};
use crate::{Context, Result, campaign::database::log_of};
use fastrand::Rng;
use std::{fs, ops::Range, path::Path};

/// Copies of a database with damaged logs.
const COPIES: u64 = 3;
/// Damages of a log.
const DAMAGES_MAX: usize = 3;
const BLOCK: usize = 512;

/// Opens copies of a database that a killed program left, with damaged logs. The last commit that
/// returned is `returned`; `older` is a log that was there before. Returns the number of copies.
pub(super) fn open_damaged(
    path: &Path,
    expected: &Expected,
    returned: u64,
    older: &[u8],
    rng: &mut Rng,
) -> Result<u64> {
    let (file, log) = (fs::read(path)?, fs::read(log_of(path))?);
    let copy = path.with_extension("damaged.teak");
    for _ in 0..COPIES {
        let mut damaged = log.clone();
        for _ in 0..rng.usize(1..=DAMAGES_MAX) {
            damage(&mut damaged, older, rng);
        }
        fs::write(&copy, &file)?;
        fs::write(log_of(&copy), &damaged)?;
        let opened = open(&copy).or_else(|_| {
            // As the error says.
            fs::remove_file(log_of(&copy))?;
            open(&copy).context("without the log")
        });
        let database = opened?;
        let mut expected = expected.clone();
        let earliest = expected.number();
        expected.compare_possible(&state_of(&database)?, earliest, returned)?;
        drop(database);
        for left in [&log_of(&copy), &copy] {
            let _ = fs::remove_file(left);
        }
    }
    Ok(COPIES)
}

fn damage(log: &mut Vec<u8>, older: &[u8], rng: &mut Rng) {
    if log.is_empty() {
        return;
    }
    // Most of a log has not been written yet.
    let written = log.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    let part = |rng: &mut Rng| -> Range<usize> {
        let start = rng.usize(0..written.min(log.len()).max(1));
        start..(start + rng.usize(1..=BLOCK)).min(log.len())
    };
    let (one, other) = (part(rng), part(rng));
    match rng.u8(0..6) {
        0 => log[one].iter_mut().for_each(|byte| *byte = 0),
        1 => log[one.start] ^= 1 << rng.u8(0..8),
        2 => log.truncate(one.start),
        3 => {
            let len = one.len().min(other.len());
            log.copy_within(one.start..one.start + len, other.start);
        }
        4 => rng.fill(&mut log[one]),
        _ => {
            // The system had not written this part yet.
            let end = one.end.min(older.len());
            let start = one.start.min(end);
            log[start..end].copy_from_slice(&older[start..end]);
        }
    }
}
