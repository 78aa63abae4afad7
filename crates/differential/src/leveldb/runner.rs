//! Performs a script on both libraries, and compares the replies.
//!
//! Any list of steps can be performed. Steps that are not possible in the present state are skipped
//! on both sides, so a script stays valid when steps are removed from it.

use super::{
    comparator::Comparator,
    model::DatabaseModel,
    side::LevelDbSide,
    step::{ITERATOR_COUNT, IteratorMove, Reply, SNAPSHOT_COUNT, ShownRecord, Step, View},
};
use std::fmt;

/// Two different replies.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct OtherReply {
    description: String,
    teak: String,
    leveldb: String,
    /// Whether the model gives the reply of the library over Teak.
    pub(crate) is_of_leveldb: bool,
}

impl fmt::Display for OtherReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.description)?;
        writeln!(f, "  Teak:    {}", self.teak)?;
        write!(f, "  LevelDB: {}", self.leveldb)?;
        match self.is_of_leveldb {
            true => write!(f, "\n  Teak is right."),
            false => Ok(()),
        }
    }
}

/// Counts of the steps performed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct StepTally {
    pub(crate) performed: u64,
    pub(crate) skipped: u64,
    /// Records in comparisons of whole databases.
    pub(crate) records: u64,
    pub(crate) records_max: u64,
    /// Replies that are errors, equal on both sides.
    pub(crate) errors: u64,
    /// Errors of LevelDB, each of which ended an episode.
    pub(crate) leveldb_errors: u64,
}

impl StepTally {
    pub(crate) fn add(&mut self, other: Self) {
        self.performed += other.performed;
        self.skipped += other.skipped;
        self.records += other.records;
        self.records_max = self.records_max.max(other.records_max);
        self.errors += other.errors;
        self.leveldb_errors += other.leveldb_errors;
    }
}

/// Both sides, and what is open.
pub(crate) struct PairRunner {
    teak: LevelDbSide,
    leveldb: LevelDbSide,
    snapshots: [bool; SNAPSHOT_COUNT],
    /// Whether the iterators have a position, if they are open.
    iterators: [Option<bool>; ITERATOR_COUNT],
    /// The performed steps.
    possible: Vec<Step>,
    comparator: Comparator,
    pub(crate) tally: StepTally,
}

impl PairRunner {
    pub(crate) fn new(teak: LevelDbSide, leveldb: LevelDbSide, comparator: Comparator) -> Self {
        Self {
            possible: Vec::new(),
            comparator,
            teak,
            leveldb,
            snapshots: [false; SNAPSHOT_COUNT],
            iterators: [None; ITERATOR_COUNT],
            tally: StepTally::default(),
        }
    }

    /// Performs a step, or skips it.
    pub(crate) fn perform(&mut self, step: &Step) -> Result<(), OtherReply> {
        if !self.is_possible(step) {
            self.tally.skipped += 1;
            return Ok(());
        }
        self.tally.performed += 1;
        let teak = self.teak.perform(step);
        let leveldb = self.leveldb.perform(step);
        self.possible.push(step.clone());
        if teak != leveldb || leveldb == Reply::Plausible(false) {
            let right = self.right_reply();
            let mut difference = difference(step, &teak, &leveldb);
            difference.is_of_leveldb = right.is_some_and(|right| right == teak);
            return Err(difference);
        }
        self.note(step, &leveldb);
        Ok(())
    }

    /// Compares all records before and after closing.
    pub(crate) fn finish(&mut self) -> Result<(), OtherReply> {
        for step in [Step::CompareAll(None), Step::Reopen, Step::CompareAll(None)] {
            self.perform(&step)?;
        }
        Ok(())
    }

    /// The right reply to the last step, if it depends only on the records.
    fn right_reply(&self) -> Option<Reply> {
        let mut model = DatabaseModel::new(self.comparator);
        let replies = self.possible.iter().map(|step| model.perform(step));
        replies.last().flatten()
    }

    fn is_possible(&self, step: &Step) -> bool {
        let is_readable = |view: &View| view.is_none_or(|slot| self.snapshots[slot]);
        match step {
            Step::Get { view, .. } | Step::CompareAll(view) => is_readable(view),
            Step::OpenIterator { slot, view } => {
                self.iterators[*slot].is_none() && is_readable(view)
            }
            Step::TakeSnapshot(slot) => !self.snapshots[*slot],
            Step::ReleaseSnapshot(slot) => self.snapshots[*slot],
            Step::CloseIterator(slot) => self.iterators[*slot].is_some(),
            Step::Move { slot, to } => match to {
                IteratorMove::Next | IteratorMove::Prev => self.iterators[*slot] == Some(true),
                _ => self.iterators[*slot].is_some(),
            },
            _ => true,
        }
    }

    fn note(&mut self, step: &Step, reply: &Reply) {
        match reply {
            Reply::Failed(_) | Reply::AtError(_) => self.tally.errors += 1,
            Reply::Records { forward, .. } => {
                let count = forward.len() as u64;
                self.tally.records += count;
                self.tally.records_max = self.tally.records_max.max(count);
            }
            _ => {}
        }
        let has_position = matches!(reply, Reply::At(Some(_)));
        match step {
            Step::TakeSnapshot(slot) => self.snapshots[*slot] = true,
            Step::ReleaseSnapshot(slot) => self.snapshots[*slot] = false,
            Step::CloseIterator(slot) => self.iterators[*slot] = None,
            Step::OpenIterator { slot, .. } | Step::Move { slot, .. } => {
                self.iterators[*slot] = Some(has_position);
            }
            step if closes(step) => {
                self.snapshots = [false; SNAPSHOT_COUNT];
                self.iterators = [None; ITERATOR_COUNT];
            }
            _ => {}
        }
    }
}

/// Whether a step closes the database.
pub(crate) fn closes(step: &Step) -> bool {
    use super::step::Refusal::{Exists, OtherComparator};
    matches!(
        step,
        Step::Reopen
            | Step::Destroy { .. }
            | Step::Repair
            | Step::Refused(Exists | OtherComparator)
    )
}

fn difference(step: &Step, teak: &Reply, leveldb: &Reply) -> OtherReply {
    if let (
        Reply::Records { forward, back },
        Reply::Records {
            forward: other_forward,
            back: other_back,
        },
    ) = (teak, leveldb)
    {
        let both = [
            ("forward", forward, other_forward),
            ("back", back, other_back),
        ];
        if let Some((direction, teak, leveldb)) = both.iter().find(|(_, a, b)| a != b) {
            return first_other(step, direction, teak, leveldb);
        }
    }
    OtherReply {
        description: format!("{step:?}"),
        teak: format!("{teak:?}"),
        leveldb: format!("{leveldb:?}"),
        is_of_leveldb: false,
    }
}

fn first_other(
    step: &Step,
    direction: &str,
    teak: &[ShownRecord],
    leveldb: &[ShownRecord],
) -> OtherReply {
    let equal = teak.iter().zip(leveldb).take_while(|(a, b)| a == b).count();
    OtherReply {
        description: format!("{step:?}, {direction}, record {equal}"),
        teak: format!("{:?} of {}", teak.get(equal), teak.len()),
        leveldb: format!("{:?} of {}", leveldb.get(equal), leveldb.len()),
        is_of_leveldb: false,
    }
}
