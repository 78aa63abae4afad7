//! The only list of known deviations: Teak intentionally answers differently from LMDB, or LMDB
//! must not be asked. Code that treats the two differently names the entry for which it does so.

use crate::operation::{Answer, CursorMove, Operation};
use std::sync::atomic::{AtomicU64, Ordering};

/// A known difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Deviation {
    FailedStep,
    FailedSearch,
    FailedKeyStep,
    ValueStepFromNowhere,
    Gap,
    RemovedKey,
    RemovedAtEnd,
    EmptiedTable,
    ChangeInGap,
    ChangeNextToPair,
    RefusedPut,
    AppendToLastKey,
    ReplacedValue,
    StoppedPutMany,
    EmptyOrLong,
    PackedPages,
    Handles,
}

/// The explanation of a known difference.
struct KnownDeviation {
    deviation: Deviation,
    /// The beginning of its row in docs/differences.md.
    row: &'static str,
    reason: &'static str,
}

const fn known(deviation: Deviation, row: &'static str, reason: &'static str) -> KnownDeviation {
    KnownDeviation {
        deviation,
        row,
        reason,
    }
}

/// The list.
const KNOWN: &[KnownDeviation] = &[
    known(
        Deviation::FailedStep,
        "`NEXT`, `PREV` at an end",
        "LMDB's cursor stays on the last record, Teak's is after it, so Teak's goes back by one \
         step",
    ),
    known(
        Deviation::FailedSearch,
        "a search that finds nothing",
        "LMDB's cursor is left near the key, Teak's is after it; both are reopened",
    ),
    known(
        Deviation::FailedKeyStep,
        "`NEXT_NODUP`, `PREV_NODUP` at an end",
        "LMDB's cursor is on the last key and treats its other values as the end; both are \
         reopened",
    ),
    known(
        Deviation::ValueStepFromNowhere,
        "`NEXT_DUP`, `PREV_DUP` from nowhere",
        "LMDB goes to the first or last pair, Teak has no current key; Teak is asked for the \
         first or last pair",
    ),
    known(
        Deviation::Gap,
        "where a record was removed",
        "LMDB's cursor is partly on the following record, which deletion and replacement would \
         affect; neither is asked for these there, nor for values of the key",
    ),
    known(
        Deviation::RemovedKey,
        "where a key with its last value was removed",
        "LMDB's cursor may continue with another than the first value of the following key; both \
         are reopened",
    ),
    known(
        Deviation::RemovedAtEnd,
        "where a record was removed that a cursor took for the last",
        "LMDB's cursor is marked as being at the end, and does not find records added after it \
         since; both are reopened",
    ),
    known(
        Deviation::EmptiedTable,
        "`GET_CURRENT` where the last record was removed",
        "LMDB's cursor has no position then, and returns another error than for a missing record",
    ),
    known(
        Deviation::ChangeInGap,
        "a change beside a gap",
        "LMDB's position is before the following record, Teak's is the removed key; both are \
         reopened at the next change",
    ),
    known(
        Deviation::ChangeNextToPair,
        "a change beside the pair that a cursor is on",
        "LMDB's cursor loses its position among the values of its key, and may delete all of them \
         instead of one; it searches for the pair again",
    ),
    known(
        Deviation::RefusedPut,
        "a put by a cursor that is refused",
        "LMDB's cursor is left near the key, Teak's stays or is on the key; both are reopened",
    ),
    known(
        Deviation::AppendToLastKey,
        "`MDB_APPEND` of a value to the last key",
        "LMDB refuses it, Teak accepts a pair that is after all others; Teak is not asked",
    ),
    known(
        Deviation::ReplacedValue,
        "`MDB_CURRENT` with several values",
        "LMDB puts a value that sorts elsewhere in the wrong place; it is only asked for values \
         of the same size that keep their position",
    ),
    known(
        Deviation::StoppedPutMany,
        "`MDB_MULTIPLE` with the only value of a key",
        "LMDB stops before it, returns success, and counts only the values stored before; it is \
         asked for the rest",
    ),
    known(
        Deviation::EmptyOrLong,
        "empty keys, long keys and values",
        "LMDB refuses empty keys, keys of more than 511 bytes and such values in multi-value \
         tables; Teak accepts all of them up to its own limits; tried in nested transactions that \
         are rolled back",
    ),
    known(
        Deviation::PackedPages,
        "`GET_MULTIPLE`, `NEXT_MULTIPLE`, `PREV_MULTIPLE`",
        "the number of values returned at once depends on pages; all values of the key are \
         compared together",
    ),
    known(
        Deviation::Handles,
        "dropped and created tables, and readers",
        "LMDB's handles belong to the environment and not to a snapshot; tables are dropped and \
         created only while nothing else is open",
    ),
];

static MET: [AtomicU64; KNOWN.len()] = [const { AtomicU64::new(0) }; KNOWN.len()];

impl Deviation {
    /// Counts an occurrence.
    pub(crate) fn meet(self) {
        MET[self as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The deviation because of which two answers may differ.
    pub(crate) fn excuse(operation: &Operation, teak: &Answer, lmdb: &Answer) -> Option<Self> {
        match (operation, teak, lmdb) {
            (Operation::PutOdd { .. }, Answer::Done, Answer::BadSize) => Some(Self::EmptyOrLong),
            (
                Operation::Move {
                    to: CursorMove::Current,
                    ..
                },
                Answer::NotFound,
                Answer::NotPlaced,
            ) => Some(Self::EmptiedTable),
            _ => None,
        }
    }
}

/// A text with the number of occurrences of each.
pub(crate) fn summary() -> String {
    let lines = KNOWN.iter().map(|known| {
        let count = MET[known.deviation as usize].load(Ordering::Relaxed);
        format!("  {count:>9}  {}: {}\n", known.row, known.reason)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_listed_and_documented() {
        let rows = include_str!("../../../docs/differences.md");
        for (index, known) in KNOWN.iter().enumerate() {
            assert_eq!(known.deviation as usize, index, "{:?}", known.deviation);
            let row = format!("\n| {} |", known.row);
            assert!(rows.contains(&row), "docs/differences.md lacks{row}");
        }
    }

    #[test]
    fn only_odd_sizes_that_lmdb_alone_refuses_are_accepted() {
        let odd = Operation::PutOdd {
            table: 0,
            key: Vec::new(),
            value: Vec::new(),
        };
        let excuse = |teak, lmdb| Deviation::excuse(&odd, &teak, &lmdb);
        assert_eq!(
            excuse(Answer::Done, Answer::BadSize),
            Some(Deviation::EmptyOrLong)
        );
        assert_eq!(excuse(Answer::BadSize, Answer::Done), None);
        let (teak, lmdb) = (Answer::Done, Answer::BadSize);
        assert_eq!(
            Deviation::excuse(&Operation::Reopen { copied: None }, &teak, &lmdb),
            None
        );
    }
}
