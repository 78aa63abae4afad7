//! Performs a script on both sides, and compares the results.
//!
//! Any list of operations can be performed. Operations that are invalid in the present state, or
//! that would show a known deviation, are skipped on both sides. A script therefore stays valid
//! when operations are removed from it.

mod both_sides;
mod slot;
mod slots;

pub(crate) use both_sides::{Difference, READER_COUNT, Runner, SLOT_COUNT, Tally};

use crate::{
    deviations::Deviation,
    kind::KINDS,
    operation::{
        Answer, CursorMove, Direction, Operation, OperationGroup, PutMode, ReadView, RecordPart,
        TableIndex, TransactionEnd,
    },
    side::TestedEngine,
};
use both_sides::{difference, first_other_record};
use slot::{CursorPosition, CursorSlot, is_possible_move, is_possible_put, is_possible_put_at};

/// The maximum number of readers of a side: one more than a script has.
pub(crate) const SIDE_READER_COUNT: usize = READER_COUNT + 1;
/// The reader for comparing commits.
const NEWEST: usize = READER_COUNT;
/// The maximum nesting depth of transactions.
const DEPTH_MAX: usize = 4;

impl<T: TestedEngine, L: TestedEngine> Runner<T, L> {
    pub(crate) fn new(teak: T, lmdb: L) -> Self {
        Self {
            teak,
            lmdb,
            slots: vec![None; SLOT_COUNT],
            readers: [false; READER_COUNT],
            is_writing: false,
            depth: 0,
            is_reshaped: false,
            tally: Tally::default(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Performs an operation, or skips it.
    pub(crate) fn perform(&mut self, operation: &Operation) -> Result<(), Difference> {
        if !self.is_possible(operation) {
            self.tally.left_out += 1;
            return Ok(());
        }
        self.tally.performed += 1;
        self.perform_possible(operation)
    }

    /// Ends all cursors and transactions, and compares the committed records.
    pub(crate) fn finish(&mut self) -> Result<(), Difference> {
        for reader in 0..READER_COUNT {
            self.perform(&Operation::CloseReader(reader))?;
        }
        while self.depth > 0 {
            self.perform(&Operation::EndNested(TransactionEnd::Commit))?;
        }
        self.perform(&Operation::End(TransactionEnd::Commit))?;
        self.perform(&Operation::Reopen { copied: None })?;
        self.compare_newest()
    }

    fn is_readable(&self, view: ReadView) -> bool {
        match view {
            ReadView::Writer => true,
            ReadView::Reader(reader) => self.readers[reader],
        }
    }

    fn is_possible(&self, operation: &Operation) -> bool {
        let is_multi = |table: &TableIndex| KINDS[*table].is_multi();
        let has_readers = self.readers.contains(&true);
        match operation {
            Operation::Create { .. } | Operation::Drop { .. } => self.depth == 0 && !has_readers,
            Operation::Put { table, mode, .. } => is_possible_put(is_multi(table), *mode),
            Operation::PutMany { table, .. } => KINDS[*table].is_packed(),
            Operation::Delete { .. }
            | Operation::Clear { .. }
            | Operation::PutOdd { .. }
            | Operation::Open { .. } => true,
            Operation::Get { view, .. } | Operation::Stat { view, .. } => self.is_readable(*view),
            Operation::Compare {
                view, table, of, ..
            } => self.is_readable(*view) && (is_multi(table) || *of == RecordPart::Keys),
            Operation::Walk { view, table, moves } => {
                let is_any_of_values = moves.iter().any(CursorMove::is_of_values);
                self.is_readable(*view) && (is_multi(table) || !is_any_of_values)
            }
            Operation::Packed { view, table, .. } => {
                self.is_readable(*view) && KINDS[*table].is_packed()
            }
            Operation::Move { slot, to } => self.slots[*slot]
                .as_ref()
                .is_some_and(|slot| is_possible_move(slot, to)),
            Operation::Refresh { .. } => false,
            Operation::PutAt {
                slot,
                key,
                value,
                mode,
            } => self.slots[*slot].as_ref().is_some_and(|slot| {
                is_possible_put_at(is_multi(&slot.table), *mode)
                    && KINDS[slot.table].fits(key, value)
                    && !(*mode == PutMode::Current && slot.position == CursorPosition::Gap)
            }),
            Operation::DeleteAt { slot, .. } => {
                let slot = self.slots[*slot].as_ref();
                slot.is_some_and(|slot| slot.position != CursorPosition::Gap)
            }
            Operation::BeginNested => self.depth < DEPTH_MAX,
            Operation::EndNested(_) => self.depth > 0,
            Operation::End(_) => self.is_writing && self.depth == 0,
            Operation::OpenReader(reader) => !self.readers[*reader] && !self.is_reshaped,
            Operation::RenewReader(reader) => self.readers[*reader] && !self.is_reshaped,
            Operation::CloseReader(reader) => self.readers[*reader],
            Operation::CompareAll(view) => self.is_readable(*view),
            Operation::Reopen { .. } => !self.is_writing && !has_readers,
        }
    }

    fn perform_possible(&mut self, operation: &Operation) -> Result<(), Difference> {
        match operation {
            Operation::CompareAll(view) => self.compare_all(*view),
            Operation::CloseReader(reader) => {
                self.compare_all(ReadView::Reader(*reader))?;
                self.readers[*reader] = false;
                self.ask(operation).map(drop)
            }
            Operation::PutAt {
                slot,
                value,
                mode: PutMode::Current,
                ..
            } => self.replace_at(*slot, value),
            _ => self.ask_and_follow(operation),
        }
    }

    /// Replaces the value at a cursor, if LMDB can do that.
    fn replace_at(&mut self, slot: usize, value: &[u8]) -> Result<(), Difference> {
        let Some(here) = self.slots[slot].clone() else {
            return Ok(());
        };
        let (key, old) = match here.position {
            CursorPosition::On(key, old) => (key, old),
            CursorPosition::Nowhere => (vec![1], Vec::new()),
            CursorPosition::Gap => return Ok(()),
        };
        if let (Some(values), false) = (KINDS[here.table].values, old.is_empty()) {
            Deviation::ReplacedValue.meet();
            let order = values.order;
            let stays = |neighbour: Answer, is_before: bool| match neighbour {
                Answer::Pair(_, neighbour) if is_before => order.compare(&neighbour, value).is_lt(),
                Answer::Pair(_, neighbour) => order.compare(value, &neighbour).is_lt(),
                _ => true,
            };
            let before = self.neighbour(here.table, &key, &old, CursorMove::PrevValue)?;
            let after = self.neighbour(here.table, &key, &old, CursorMove::NextValue)?;
            let is_possible = value.len() == old.len()
                && order.compare(value, &old).is_ne()
                && stays(before, true)
                && stays(after, false);
            if !is_possible {
                return Ok(());
            }
        }
        self.ask_and_follow(&Operation::PutAt {
            slot,
            key,
            value: value.to_vec(),
            mode: PutMode::Current,
        })
    }

    /// An adjacent pair, among the values of the key.
    fn neighbour(
        &mut self,
        table: TableIndex,
        key: &[u8],
        value: &[u8],
        to: CursorMove,
    ) -> Result<Answer, Difference> {
        let moves = vec![CursorMove::GetBoth(key.to_vec(), value.to_vec()), to];
        let view = ReadView::Writer;
        match self.ask(&Operation::Walk { view, table, moves })? {
            Answer::Several(mut answers) => Ok(answers.pop().unwrap_or(Answer::NotFound)),
            other => Ok(other),
        }
    }

    fn ask_and_follow(&mut self, operation: &Operation) -> Result<(), Difference> {
        let answer = self.ask(operation)?;
        self.is_writing |= is_of_writer(operation);
        match operation {
            Operation::BeginNested => self.depth += 1,
            Operation::EndNested(end) => {
                self.depth -= 1;
                self.slots.fill(None);
                if *end == TransactionEnd::Abort {
                    return self.compare_all(ReadView::Writer);
                }
            }
            Operation::End(end) => {
                (self.is_writing, self.is_reshaped) = (false, false);
                self.slots.fill(None);
                if *end == TransactionEnd::Commit {
                    return self.compare_newest();
                }
            }
            Operation::Create { .. } => self.is_reshaped = true,
            Operation::Drop { table } => {
                self.is_reshaped = true;
                return self.restart_both(|slot| slot.table == *table);
            }
            Operation::OpenReader(reader) => self.readers[*reader] = true,
            Operation::RenewReader(reader) => return self.compare_all(ReadView::Reader(*reader)),
            Operation::Reopen { .. } => return self.compare_newest(),
            Operation::Open { slot, table } => {
                self.slots[*slot] = (answer == Answer::Done).then(|| CursorSlot::new(*table));
            }
            Operation::Move { slot, to } => return self.follow_move(*slot, to, answer),
            Operation::PutAt {
                slot,
                key,
                value,
                mode,
            } => return self.follow_put_at(*slot, (key, value), *mode, &answer),
            Operation::DeleteAt { slot, is_whole_key } if answer == Answer::Done => {
                return self.follow_delete_at(*slot, *is_whole_key);
            }
            _ => {}
        }
        if matches!(operation, Operation::BeginNested | Operation::PutOdd { .. }) {
            self.slots.fill(None);
        }
        self.follow_change(operation, &answer)
    }

    /// Compares the committed records, using readers opened for this purpose.
    fn compare_newest(&mut self) -> Result<(), Difference> {
        self.ask(&Operation::OpenReader(NEWEST))?;
        self.compare_all(ReadView::Reader(NEWEST))?;
        self.ask(&Operation::CloseReader(NEWEST)).map(drop)
    }

    /// Compares all records of all tables.
    fn compare_all(&mut self, view: ReadView) -> Result<(), Difference> {
        self.is_writing |= view == ReadView::Writer;
        let (mut teak, mut lmdb) = (Vec::new(), Vec::new());
        for (table, kind) in KINDS.iter().enumerate() {
            if let Answer::Number(count) = self.ask(&Operation::Stat { view, table })? {
                self.tally.records += count;
                self.tally.records_max = self.tally.records_max.max(count);
            }
            for direction in [Direction::Forward, Direction::Back] {
                teak.clear();
                lmdb.clear();
                let answers = (
                    self.teak.records(view, table, direction, &mut teak),
                    self.lmdb.records(view, table, direction, &mut lmdb),
                );
                let description = format!("{view:?}, {:?}, {direction:?}", kind.name);
                if answers.0 != answers.1 {
                    return Err(difference(&description, &answers.0, &answers.1));
                }
                if teak != lmdb {
                    return Err(first_other_record(description, &teak, &lmdb));
                }
            }
        }
        Ok(())
    }
}

/// Whether an operation begins a write transaction if there is none.
fn is_of_writer(operation: &Operation) -> bool {
    match operation {
        Operation::Create { .. } | Operation::Drop { .. } | Operation::BeginNested => true,
        Operation::Get { view, .. }
        | Operation::Stat { view, .. }
        | Operation::Compare { view, .. }
        | Operation::Walk { view, .. }
        | Operation::Packed { view, .. } => *view == ReadView::Writer,
        other => matches!(
            other.group(),
            OperationGroup::Cursors | OperationGroup::Changes
        ),
    }
}
