//! Performs a script on both sides, and compares.
//!
//! Any list of operations can be performed: what makes no sense in the state that both are in, or where a known deviation would
//! show, is left out on both. So a script stays one when operations are taken out of it.

use crate::{
    brief::brief,
    deviations::Deviation,
    kind::KINDS,
    operation::{
        Answer, Direction, End, Group, How, Move, Operation, Record, TableIndex, View, split_record,
    },
    side::Side,
};
use std::{fmt, mem};

/// How many cursors stay while tables change.
pub(crate) const SLOT_COUNT: usize = 3;
/// How many readers a script has at most.
pub(crate) const READER_COUNT: usize = 3;
/// How many readers a side has at most: one more.
pub(crate) const SIDE_READER_COUNT: usize = READER_COUNT + 1;
/// The reader through which commits are compared.
const NEWEST: usize = READER_COUNT;
/// How deep transactions are nested at most.
const DEPTH_MAX: usize = 4;

/// Two answers that are not the same, or records that are not.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    what: String,
    teak: String,
    lmdb: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "  Teak: {}", self.teak)?;
        write!(f, "  LMDB: {}", self.lmdb)
    }
}

/// Where both cursors of a slot are.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Nowhere,
    On(Vec<u8>, Vec<u8>),
    /// Where the record was that is removed now.
    Gap,
}

#[derive(Clone, Debug)]
struct Slot {
    table: TableIndex,
    place: Place,
    /// Whether LMDB may have noted that its cursor is on the last record.
    is_at_end: bool,
}

impl Slot {
    fn new(table: TableIndex) -> Self {
        Self {
            table,
            place: Place::Nowhere,
            is_at_end: false,
        }
    }
}

/// Both sides, and what is open there.
pub(crate) struct Runner<T, L> {
    teak: T,
    lmdb: L,
    slots: Vec<Option<Slot>>,
    readers: [bool; READER_COUNT],
    is_writing: bool,
    depth: usize,
    /// Whether tables were created or dropped in this transaction.
    is_reshaped: bool,
    tally: Tally,
}

/// What was done.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) performed: u64,
    /// Operations that made no sense where they came.
    pub(crate) left_out: u64,
    /// Records that were compared, all of a table at a time.
    pub(crate) records: u64,
    /// Of the table that had most.
    pub(crate) records_max: u64,
}

impl Tally {
    /// Adds what another runner did.
    pub(crate) fn add(&mut self, other: Self) {
        self.performed += other.performed;
        self.left_out += other.left_out;
        self.records += other.records;
        self.records_max = self.records_max.max(other.records_max);
    }
}

impl<T: Side, L: Side> Runner<T, L> {
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

    /// Performs an operation, or leaves it out.
    pub(crate) fn perform(&mut self, operation: &Operation) -> Result<(), Difference> {
        if !self.is_possible(operation) {
            self.tally.left_out += 1;
            return Ok(());
        }
        self.tally.performed += 1;
        self.perform_possible(operation)
    }

    /// Has all cursors and transactions end, and compares what was committed.
    pub(crate) fn finish(&mut self) -> Result<(), Difference> {
        for reader in 0..READER_COUNT {
            self.perform(&Operation::CloseReader(reader))?;
        }
        while self.depth > 0 {
            self.perform(&Operation::EndNested(End::Commit))?;
        }
        self.perform(&Operation::End(End::Commit))?;
        self.perform(&Operation::Reopen)?;
        self.compare_newest()
    }

    fn is_readable(&self, view: View) -> bool {
        match view {
            View::Writer => true,
            View::Reader(reader) => self.readers[reader],
        }
    }

    fn is_possible(&self, operation: &Operation) -> bool {
        let is_multi = |table: &TableIndex| KINDS[*table].is_multi();
        let has_readers = self.readers.contains(&true);
        match operation {
            Operation::Create { .. } | Operation::Drop { .. } => self.depth == 0 && !has_readers,
            Operation::Put { table, how, .. } => is_possible_put(is_multi(table), *how),
            Operation::PutMany { table, .. } => KINDS[*table].is_packed(),
            Operation::Delete { .. }
            | Operation::Clear { .. }
            | Operation::PutOdd { .. }
            | Operation::Open { .. } => true,
            Operation::Get { view, .. } | Operation::Stat { view, .. } => self.is_readable(*view),
            Operation::Walk { view, table, moves } => {
                let is_any_of_values = moves.iter().any(Move::is_of_values);
                self.is_readable(*view) && (is_multi(table) || !is_any_of_values)
            }
            Operation::Packed { view, table, .. } => {
                self.is_readable(*view) && KINDS[*table].is_packed()
            }
            Operation::Move { slot, to } => self.slots[*slot]
                .as_ref()
                .is_some_and(|slot| is_possible_move(slot, to)),
            Operation::PutAt {
                slot,
                key,
                value,
                how,
            } => self.slots[*slot].as_ref().is_some_and(|slot| {
                is_possible_put_at(is_multi(&slot.table), *how)
                    && KINDS[slot.table].fits(key, value)
                    && !(*how == How::Current && slot.place == Place::Gap)
            }),
            Operation::DeleteAt { slot, .. } => {
                let slot = self.slots[*slot].as_ref();
                slot.is_some_and(|slot| slot.place != Place::Gap)
            }
            Operation::BeginNested => self.depth < DEPTH_MAX,
            Operation::EndNested(_) => self.depth > 0,
            Operation::End(_) => self.is_writing && self.depth == 0,
            Operation::OpenReader(reader) => !self.readers[*reader] && !self.is_reshaped,
            Operation::CloseReader(reader) => self.readers[*reader],
            Operation::CompareAll(view) => self.is_readable(*view),
            Operation::Reopen => !self.is_writing && !has_readers,
        }
    }

    fn perform_possible(&mut self, operation: &Operation) -> Result<(), Difference> {
        match operation {
            Operation::CompareAll(view) => self.compare_all(*view),
            Operation::CloseReader(reader) => {
                self.compare_all(View::Reader(*reader))?;
                self.readers[*reader] = false;
                self.ask(operation).map(drop)
            }
            Operation::PutAt {
                slot,
                value,
                how: How::Current,
                ..
            } => self.replace_at(*slot, value),
            _ => self.ask_and_follow(operation),
        }
    }

    /// Has both sides answer, and compares.
    fn ask(&mut self, operation: &Operation) -> Result<Answer, Difference> {
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

    fn ask_and_follow(&mut self, operation: &Operation) -> Result<(), Difference> {
        let answer = self.ask(operation)?;
        self.is_writing |= is_of_writer(operation);
        match operation {
            Operation::BeginNested => self.depth += 1,
            Operation::EndNested(end) => {
                self.depth -= 1;
                self.slots.fill(None);
                if *end == End::Abort {
                    return self.compare_all(View::Writer);
                }
            }
            Operation::End(end) => {
                (self.is_writing, self.is_reshaped) = (false, false);
                self.slots.fill(None);
                if *end == End::Commit {
                    return self.compare_newest();
                }
            }
            Operation::Create { .. } => self.is_reshaped = true,
            Operation::Drop { table } => {
                self.is_reshaped = true;
                return self.begin_anew(|slot| slot.table == *table);
            }
            Operation::OpenReader(reader) => self.readers[*reader] = true,
            Operation::Reopen => return self.compare_newest(),
            Operation::Open { slot, table } => {
                self.slots[*slot] = (answer == Answer::Done).then(|| Slot::new(*table));
            }
            Operation::Move { slot, to } => return self.follow_move(*slot, to, answer),
            Operation::PutAt {
                slot,
                key,
                value,
                how,
            } => return self.follow_put_at(*slot, (key, value), *how, &answer),
            Operation::DeleteAt { slot, .. } if answer == Answer::Done => {
                return self.follow_delete_at(*slot);
            }
            _ => {}
        }
        if matches!(operation, Operation::BeginNested | Operation::PutOdd { .. }) {
            self.slots.fill(None);
        }
        self.follow_change(operation, &answer)
    }

    fn follow_move(&mut self, slot: usize, to: &Move, answer: Answer) -> Result<(), Difference> {
        let Some(here) = &mut self.slots[slot] else {
            return Ok(());
        };
        here.is_at_end = match (to, &answer) {
            (Move::Last, _) | (_, Answer::NotFound) => true,
            (Move::Current | Move::Count, _) => here.is_at_end,
            _ => false,
        };
        match answer {
            Answer::Pair(key, value) => here.place = Place::On(key, value),
            Answer::NotFound if to.loses_place() || here.place == Place::Gap => {
                match to.is_search() {
                    true => Deviation::FailedSearch.meet(),
                    false => Deviation::FailedKeyStep.meet(),
                }
                return self.begin_anew_at(slot);
            }
            _ => {}
        }
        Ok(())
    }

    fn follow_put_at(
        &mut self,
        slot: usize,
        (key, value): Record<'_>,
        how: How,
        answer: &Answer,
    ) -> Result<(), Difference> {
        let Some(here) = &mut self.slots[slot] else {
            return Ok(());
        };
        let table = here.table;
        match answer {
            Answer::Done => {
                here.place = Place::On(key.to_vec(), value.to_vec());
                here.is_at_end = match how {
                    How::Append => true,
                    How::Current => here.is_at_end,
                    _ => false,
                };
            }
            _ => self.begin_anew_at(slot)?,
        }
        self.follow_others(table, Some(slot), key, answer == &Answer::Done, false)
    }

    fn follow_delete_at(&mut self, slot: usize) -> Result<(), Difference> {
        let Some(here) = &mut self.slots[slot] else {
            return Ok(());
        };
        Deviation::Gap.meet();
        let (table, is_at_end) = (here.table, here.is_at_end);
        let place = mem::replace(&mut here.place, Place::Gap);
        if is_at_end {
            Deviation::RemovedAtEnd.meet();
            self.begin_anew_at(slot)?;
        }
        let Place::On(key, _) = place else {
            return Ok(());
        };
        if KINDS[table].is_multi() {
            let (view, key) = (View::Writer, key.clone());
            if self.ask(&Operation::Get { view, table, key })? == Answer::NotFound {
                Deviation::RemovedKey.meet();
                self.begin_anew_at(slot)?;
            }
        }
        self.follow_others(table, Some(slot), &key, true, true)
    }

    /// What changes past cursors do to them.
    fn follow_change(&mut self, operation: &Operation, answer: &Answer) -> Result<(), Difference> {
        match operation {
            Operation::Put { table, key, .. } => {
                self.follow_others(*table, None, key, *answer == Answer::Done, false)
            }
            Operation::PutMany { table, key, .. } => {
                self.follow_others(*table, None, key, true, false)
            }
            Operation::Delete { table, key, .. } => {
                self.follow_others(*table, None, key, *answer == Answer::Done, true)
            }
            Operation::Clear { table } => self.begin_anew(|slot| slot.table == *table),
            _ => Ok(()),
        }
    }

    /// What the change of a key does to cursors but the one that made it.
    fn follow_others(
        &mut self,
        table: TableIndex,
        by: Option<usize>,
        key: &[u8],
        is_changed: bool,
        is_removed: bool,
    ) -> Result<(), Difference> {
        let is_multi = KINDS[table].is_multi();
        for slot in 0..SLOT_COUNT {
            let Some(here) = &mut self.slots[slot] else {
                continue;
            };
            if here.table != table || by == Some(slot) {
                continue;
            }
            match &here.place {
                Place::Nowhere => {}
                Place::On(_, _) if is_multi => self.begin_anew_at(slot)?,
                Place::On(here_key, _) => {
                    if !is_changed || !is_removed || here_key != key {
                        continue;
                    }
                    Deviation::Gap.meet();
                    here.place = Place::Gap;
                    if here.is_at_end {
                        Deviation::RemovedAtEnd.meet();
                        self.begin_anew_at(slot)?;
                    }
                }
                Place::Gap => {
                    Deviation::ChangeInGap.meet();
                    self.begin_anew_at(slot)?;
                }
            }
        }
        Ok(())
    }

    fn begin_anew(&mut self, is_meant: impl Fn(&Slot) -> bool) -> Result<(), Difference> {
        for slot in 0..SLOT_COUNT {
            if self.slots[slot].as_ref().is_some_and(&is_meant) {
                self.begin_anew_at(slot)?;
            }
        }
        Ok(())
    }

    /// Opens the cursors of a slot anew.
    fn begin_anew_at(&mut self, slot: usize) -> Result<(), Difference> {
        let Some(table) = self.slots[slot].as_ref().map(|slot| slot.table) else {
            return Ok(());
        };
        let answer = self.ask(&Operation::Open { slot, table })?;
        self.slots[slot] = (answer == Answer::Done).then(|| Slot::new(table));
        Ok(())
    }

    /// Puts a value in the place of that which a cursor is on, if LMDB can do that.
    fn replace_at(&mut self, slot: usize, value: &[u8]) -> Result<(), Difference> {
        let Some(here) = self.slots[slot].clone() else {
            return Ok(());
        };
        let (key, old) = match here.place {
            Place::On(key, old) => (key, old),
            Place::Nowhere => (vec![1], Vec::new()),
            Place::Gap => return Ok(()),
        };
        if let (Some(values), false) = (KINDS[here.table].values, old.is_empty()) {
            Deviation::ReplacedValue.meet();
            let order = values.order;
            let stays = |neighbour: Answer, is_before: bool| match neighbour {
                Answer::Pair(_, neighbour) if is_before => order.compare(&neighbour, value).is_lt(),
                Answer::Pair(_, neighbour) => order.compare(value, &neighbour).is_lt(),
                _ => true,
            };
            let before = self.neighbour(here.table, &key, &old, Move::PrevValue)?;
            let behind = self.neighbour(here.table, &key, &old, Move::NextValue)?;
            let is_possible = value.len() == old.len()
                && order.compare(value, &old).is_ne()
                && stays(before, true)
                && stays(behind, false);
            if !is_possible {
                return Ok(());
            }
        }
        self.ask_and_follow(&Operation::PutAt {
            slot,
            key,
            value: value.to_vec(),
            how: How::Current,
        })
    }

    /// The pair beside another one, among the values of the key.
    fn neighbour(
        &mut self,
        table: TableIndex,
        key: &[u8],
        value: &[u8],
        to: Move,
    ) -> Result<Answer, Difference> {
        let moves = vec![Move::GetBoth(key.to_vec(), value.to_vec()), to];
        let view = View::Writer;
        match self.ask(&Operation::Walk { view, table, moves })? {
            Answer::Several(mut answers) => Ok(answers.pop().unwrap_or(Answer::NotFound)),
            other => Ok(other),
        }
    }

    /// Compares what is committed, through readers that are there for this alone.
    fn compare_newest(&mut self) -> Result<(), Difference> {
        self.ask(&Operation::OpenReader(NEWEST))?;
        self.compare_all(View::Reader(NEWEST))?;
        self.ask(&Operation::CloseReader(NEWEST)).map(drop)
    }

    /// Compares all records of all tables.
    fn compare_all(&mut self, view: View) -> Result<(), Difference> {
        self.is_writing |= view == View::Writer;
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
                let what = format!("{view:?}, {:?}, {direction:?}", kind.name);
                if answers.0 != answers.1 {
                    return Err(difference(&what, &answers.0, &answers.1));
                }
                if teak != lmdb {
                    return Err(first_other_record(what, &teak, &lmdb));
                }
            }
        }
        Ok(())
    }
}

fn is_possible_put(is_multi: bool, how: How) -> bool {
    match how {
        How::Upsert | How::NewKey | How::Append => true,
        How::NewPair | How::AppendValue => is_multi,
        How::Reserve => !is_multi,
        How::Current => false,
    }
}

fn is_possible_put_at(is_multi: bool, how: How) -> bool {
    match how {
        How::Current => true,
        How::Reserve => false,
        how => is_possible_put(is_multi, how),
    }
}

fn is_possible_move(slot: &Slot, to: &Move) -> bool {
    let kind = &KINDS[slot.table];
    let is_multi = kind.is_multi();
    let is_fitting = match to {
        Move::Set(key) | Move::SetKey(key) | Move::SetRange(key) => kind.keys.fits(key),
        Move::GetBoth(key, value) | Move::GetBothRange(key, value) => kind.fits(key, value),
        _ => true,
    };
    if !is_fitting || (to.is_of_values() && !is_multi) {
        return false;
    }
    slot.place != Place::Gap
        || !is_multi
        || to.is_absolute()
        || matches!(to, Move::Next | Move::Prev)
}

/// Whether an operation begins a write transaction if there is none.
fn is_of_writer(operation: &Operation) -> bool {
    match operation {
        Operation::Create { .. } | Operation::Drop { .. } | Operation::BeginNested => true,
        Operation::Get { view, .. }
        | Operation::Stat { view, .. }
        | Operation::Walk { view, .. }
        | Operation::Packed { view, .. } => *view == View::Writer,
        other => matches!(other.group(), Group::Cursors | Group::Changes),
    }
}

fn difference(what: &impl fmt::Debug, teak: &Answer, lmdb: &Answer) -> Difference {
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
        what: brief(what) + &at,
        teak: brief(teak),
        lmdb: brief(lmdb),
    }
}

fn first_other_record(what: String, teak: &[u8], lmdb: &[u8]) -> Difference {
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
        what: format!("{what}, record {index}"),
        teak: brief(&split_record(teak).map(|split| split.0)),
        lmdb: brief(&split_record(lmdb).map(|split| split.0)),
    }
}
