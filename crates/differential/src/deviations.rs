//! Where Teak is meant to answer otherwise than LMDB, or LMDB must not be asked: the one list. Code that treats the two differently names
//! the entry for which it does so.

use crate::operation::{Answer, CursorMove, Operation};
use std::sync::atomic::{AtomicU64, Ordering};

/// A difference that is known.
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
    ChangeBesidePair,
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
    /// As the row of docs/differences.md begins.
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
        "LMDB's cursor stays on the last record, Teak's is behind it; so Teak's goes back by one step",
    ),
    known(
        Deviation::FailedSearch,
        "a search that finds nothing",
        "LMDB's cursor is left at some place near the key, Teak's behind it; both begin anew",
    ),
    known(
        Deviation::FailedKeyStep,
        "`NEXT_NODUP`, `PREV_NODUP` at an end",
        "LMDB's cursor is on the last key and calls its other values the end; both begin anew",
    ),
    known(
        Deviation::ValueStepFromNowhere,
        "`NEXT_DUP`, `PREV_DUP` from nowhere",
        "LMDB goes to the first or the last pair, Teak has no key yet whose values it could go through; Teak is asked for the first or the last pair",
    ),
    known(
        Deviation::Gap,
        "where a record was removed",
        "LMDB's cursor is on the following record in part: deletion and replacement would hit that; neither is asked for them there, nor for values of the key",
    ),
    known(
        Deviation::RemovedKey,
        "where a key with its last value was removed",
        "LMDB's cursor may go on with another than the first value of the following key; both begin anew",
    ),
    known(
        Deviation::RemovedAtEnd,
        "where a record was removed that a cursor took for the last",
        "LMDB's cursor has noted that it is at the end, and does not find what was put behind it since; both begin anew",
    ),
    known(
        Deviation::EmptiedTable,
        "`GET_CURRENT` where the last record was removed",
        "LMDB's cursor is nowhere then, which is another error than that there is no record",
    ),
    known(
        Deviation::ChangeInGap,
        "a change beside a gap",
        "LMDB's place is before the following record, Teak's is the key that was removed; both begin anew where another change comes",
    ),
    known(
        Deviation::ChangeBesidePair,
        "a change beside the pair that a cursor is on",
        "LMDB's cursor loses its place among the values of its key, and may delete all of them for one; it searches for the pair anew",
    ),
    known(
        Deviation::RefusedPut,
        "a put by a cursor that is refused",
        "LMDB's cursor is left near the key, Teak's stays or is on the key; both begin anew",
    ),
    known(
        Deviation::AppendToLastKey,
        "`MDB_APPEND` of a value to the last key",
        "LMDB refuses it, Teak takes a pair that is behind all others; Teak is not asked",
    ),
    known(
        Deviation::ReplacedValue,
        "`MDB_CURRENT` with several values",
        "LMDB puts a value that sorts elsewhere in the wrong place; it is only asked for such of the same size that stay in their place",
    ),
    known(
        Deviation::StoppedPutMany,
        "`MDB_MULTIPLE` with the only value of a key",
        "LMDB stops before it, says success, and counts only what it stored before; it is asked for the rest",
    ),
    known(
        Deviation::EmptyOrLong,
        "empty keys, long keys and values",
        "LMDB refuses empty keys, keys of more than 511 bytes and values of several beyond that, all of which Teak takes up to its own limits; tried in nested transactions, which are undone",
    ),
    known(
        Deviation::PackedPages,
        "`GET_MULTIPLE`, `NEXT_MULTIPLE`, `PREV_MULTIPLE`",
        "how many values come at once follows from pages; all values of the key together are compared",
    ),
    known(
        Deviation::Handles,
        "dropped and created tables, and readers",
        "LMDB's handles are of the environment and not of a state; tables are dropped and created only while nothing else is open",
    ),
];

static MET: [AtomicU64; KNOWN.len()] = [const { AtomicU64::new(0) }; KNOWN.len()];

impl Deviation {
    /// Notes that a script came to it.
    pub(crate) fn meet(self) {
        MET[self as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The deviation for which two answers may differ.
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

/// How often scripts came to each, in words.
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
    fn each_has_its_place_in_the_list_and_a_row_in_the_documentation() {
        let rows = include_str!("../../../docs/differences.md");
        for (index, known) in KNOWN.iter().enumerate() {
            assert_eq!(known.deviation as usize, index, "{:?}", known.deviation);
            let row = format!("\n| {} |", known.row);
            assert!(rows.contains(&row), "docs/differences.md lacks{row}");
        }
    }

    #[test]
    fn only_odd_sizes_that_lmdb_alone_refuses_are_excused() {
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
