//! Both sides of a comparison, and their open objects.

use super::slot::CursorSlot;
use crate::{
    deviations::Deviation,
    operation::{Answer, Operation, split_record},
    side::TestedEngine,
};
use comparison::abbreviate::abbreviate;
use std::fmt;

/// The number of cursors that stay open while tables change.
pub(crate) const SLOT_COUNT: usize = 3;

/// The maximum number of readers of a script.
pub(crate) const READER_COUNT: usize = 3;

/// Two different results, or different records.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    description: String,
    teak: String,
    lmdb: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.description)?;
        writeln!(f, "  Teak: {}", self.teak)?;
        write!(f, "  LMDB: {}", self.lmdb)
    }
}

/// Both sides, and their open objects.
pub(crate) struct Runner<T, L> {
    pub(super) teak: T,
    pub(super) lmdb: L,
    pub(super) slots: Vec<Option<CursorSlot>>,
    pub(super) readers: [bool; READER_COUNT],
    pub(super) is_writing: bool,
    pub(super) depth: usize,
    /// Whether tables were created or dropped in this transaction.
    pub(super) is_reshaped: bool,
    pub(super) tally: Tally,
}

/// Counts of the operations performed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) performed: u64,
    /// Operations that were skipped as invalid.
    pub(crate) left_out: u64,
    /// Compared records, in comparisons of whole tables.
    pub(crate) records: u64,
    /// Records of the largest table.
    pub(crate) records_max: u64,
}

impl Tally {
    /// Adds the counts of another runner.
    pub(crate) fn add(&mut self, other: Self) {
        self.performed += other.performed;
        self.left_out += other.left_out;
        self.records += other.records;
        self.records_max = self.records_max.max(other.records_max);
    }
}

impl<T: TestedEngine, L: TestedEngine> Runner<T, L> {
    /// Lets both sides answer, and compares.
    pub(super) fn ask(&mut self, operation: &Operation) -> Result<Answer, Difference> {
        let teak = self.teak.perform(operation);
        let lmdb = self.lmdb.perform(operation);
        if teak == lmdb && !matches!(teak, Answer::Unexpected(_)) {
            return Ok(teak);
        }
        match Deviation::excuse(operation, &teak, &lmdb) {
            Some(deviation) => {
                deviation.meet();
                Ok(lmdb)
            }
            None => Err(difference(operation, &teak, &lmdb)),
        }
    }
}

pub(super) fn difference(
    description: &impl fmt::Debug,
    teak: &Answer,
    lmdb: &Answer,
) -> Difference {
    let of_moves = match (teak, lmdb) {
        (Answer::Several(teak), Answer::Several(lmdb)) => {
            let mut answers = teak.iter().zip(lmdb).enumerate();
            answers.find(|(_, (teak, lmdb))| teak != lmdb)
        }
        _ => None,
    };
    let (at, teak, lmdb) = match of_moves {
        Some((index, (teak, lmdb))) => (format!(", answer {index}"), teak, lmdb),
        None => (String::new(), teak, lmdb),
    };
    Difference {
        description: abbreviate(description) + &at,
        teak: abbreviate(teak),
        lmdb: abbreviate(lmdb),
    }
}

pub(super) fn first_other_record(description: String, teak: &[u8], lmdb: &[u8]) -> Difference {
    let (mut teak, mut lmdb) = (teak, lmdb);
    let mut index = 0;
    while let (Some(of_teak), Some(of_lmdb)) = (split_record(teak), split_record(lmdb)) {
        if of_teak.0 != of_lmdb.0 {
            break;
        }
        (teak, lmdb) = (of_teak.1, of_lmdb.1);
        index += 1;
    }
    Difference {
        description: format!("{description}, record {index}"),
        teak: abbreviate(&split_record(teak).map(|split| split.0)),
        lmdb: abbreviate(&split_record(lmdb).map(|split| split.0)),
    }
}
