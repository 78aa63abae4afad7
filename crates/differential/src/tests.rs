//! Tests that wrong answers are found.

use crate::{
    both,
    engine::{Setup, Teak},
    lmdb::Lmdb,
    operation::{Answer, Direction, Operation, PutMode, ReadView, TableIndex},
    runner::{Runner, SIDE_READER_COUNT, SLOT_COUNT},
    scratch,
    script::Script,
    side::TestedEngine,
};
use anyhow::Result;

const SETUP: Setup = Setup {
    page_size: 4096,
    write_memory_bytes: 1 << 20,
};

/// An engine with one planted error.
struct Wrong<S> {
    side: S,
    lie: Lie,
    /// The number of correct answers before the first wrong one.
    truths: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// Reports an existing record as missing.
    LostGet,
    /// Reports a put as done, without doing it.
    LostPut,
    /// Reports a key as removed, without removing it.
    LostDelete,
    /// Omits the last record.
    ShortScan,
    /// Counts one record too many.
    WrongCount,
    /// Ends nested transactions in the same way whether they are kept or rolled back.
    KeptRollback,
    /// Moves one step too few.
    StaleCursor,
}

const LIES: [Lie; 7] = [
    Lie::LostGet,
    Lie::LostPut,
    Lie::LostDelete,
    Lie::ShortScan,
    Lie::WrongCount,
    Lie::KeptRollback,
    Lie::StaleCursor,
];

impl<S: TestedEngine> Wrong<S> {
    /// Whether to give the wrong answer now.
    fn lies(&mut self, lie: Lie) -> bool {
        if self.lie != lie {
            return false;
        }
        let is_due = self.truths == 0;
        self.truths = self.truths.saturating_sub(1);
        is_due
    }
}

impl<S: TestedEngine> TestedEngine for Wrong<S> {
    fn perform(&mut self, operation: &Operation) -> Answer {
        match operation {
            Operation::Put {
                mode: PutMode::Upsert,
                ..
            } if self.lies(Lie::LostPut) => return Answer::Done,
            Operation::EndNested(_) if self.lies(Lie::KeptRollback) => {
                let kept = Operation::EndNested(crate::operation::TransactionEnd::Commit);
                return self.side.perform(&kept);
            }
            Operation::Delete { table, key, .. } => {
                let (view, table, key) = (ReadView::Writer, *table, key.clone());
                let get = Operation::Get { view, table, key };
                let is_there = matches!(self.side.perform(&get), Answer::Value(_));
                if is_there && self.lies(Lie::LostDelete) {
                    return Answer::Done;
                }
            }
            _ => {}
        }
        match self.side.perform(operation) {
            Answer::Value(_) if self.lies(Lie::LostGet) => Answer::NotFound,
            Answer::Number(count) if self.lies(Lie::WrongCount) => Answer::Number(count + 1),
            Answer::Several(mut answers) if answers.len() > 1 && self.lies(Lie::StaleCursor) => {
                answers.rotate_right(1);
                Answer::Several(answers)
            }
            answer => answer,
        }
    }

    fn records(
        &mut self,
        view: ReadView,
        table: TableIndex,
        direction: Direction,
        records: &mut Vec<u8>,
    ) -> Answer {
        let answer = self.side.records(view, table, direction, records);
        if !records.is_empty() && self.lies(Lie::ShortScan) {
            records.truncate(records.len() - 1);
        }
        answer
    }
}

fn is_found_within(lie: Lie, episode: u64, count: usize) -> Result<bool> {
    let directory = scratch()?;
    let side = Teak::create(
        &directory.path().join("teak"),
        SETUP,
        SLOT_COUNT,
        SIDE_READER_COUNT,
    )?;
    let lmdb = Lmdb::create(
        &directory.path().join("lmdb"),
        SLOT_COUNT,
        SIDE_READER_COUNT,
    )?;
    let wrong = Wrong {
        side,
        lie,
        truths: 3,
    };
    let mut runner = Runner::new(wrong, lmdb);
    let (mut script, _) = Script::new(7, episode);
    for _ in 0..count {
        if runner.perform(&script.next()).is_err() {
            return Ok(true);
        }
    }
    Ok(runner.finish().is_err())
}

#[test]
fn planted_wrong_answers_are_found() -> Result<()> {
    for (number, lie) in LIES.into_iter().enumerate() {
        let mut is_found = false;
        for episode in 0..10 {
            is_found = is_found || is_found_within(lie, episode, 2000)?;
        }
        assert!(is_found, "lie {number} was not found");
    }
    Ok(())
}

#[test]
fn correct_engines_have_no_differences() -> Result<()> {
    for episode in 0..3 {
        let directory = scratch()?;
        let (mut script, setup) = Script::new(11, episode);
        let mut runner = both(directory.path(), setup)?;
        for _ in 0..1000 {
            assert_eq!(runner.perform(&script.next()), Ok(()));
        }
        assert_eq!(runner.finish(), Ok(()));
    }
    Ok(())
}
