//! Cursors that stay while tables change: where both sides have them, and where they have to begin anew.

use super::{Difference, Runner, SLOT_COUNT, is_possible_put};
use crate::{
    deviations::Deviation,
    kind::KINDS,
    operation::{Answer, How, Move, Operation, Record, TableIndex, View},
    side::Side,
};
use std::mem;

/// Where both cursors of a slot are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Nowhere,
    On(Vec<u8>, Vec<u8>),
    /// Where the record was that is removed now.
    Gap,
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) table: TableIndex,
    pub(super) place: Place,
    /// Whether LMDB may have noted that its cursor is on the last record.
    is_at_end: bool,
}

impl Slot {
    pub(super) fn new(table: TableIndex) -> Self {
        Self {
            table,
            place: Place::Nowhere,
            is_at_end: false,
        }
    }
}

/// What happens to a table.
enum Change<'c> {
    /// This key goes, or this value of it alone.
    Removal(&'c [u8], Option<&'c [u8]>),
    Other,
}

impl Change<'_> {
    fn removes(&self, (key, value): Record<'_>) -> bool {
        match self {
            Self::Removal(removed, None) => *removed == key,
            Self::Removal(removed, Some(of_it)) => (*removed, *of_it) == (key, value),
            Self::Other => false,
        }
    }
}

impl<T: Side, L: Side> Runner<T, L> {
    pub(super) fn follow_move(
        &mut self,
        slot: usize,
        to: &Move,
        answer: Answer,
    ) -> Result<(), Difference> {
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
                match (to.is_search(), &here.place) {
                    (true, _) => Deviation::FailedSearch.meet(),
                    (false, Place::Gap) => Deviation::Gap.meet(),
                    (false, _) => Deviation::FailedKeyStep.meet(),
                }
                return self.begin_anew_at(slot);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn follow_put_at(
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
        let mut replaced = None;
        match answer {
            Answer::Done => {
                let place = Place::On(key.to_vec(), value.to_vec());
                let before = mem::replace(&mut here.place, place);
                if let (How::Current, Place::On(_, value)) = (how, before) {
                    replaced = Some(value).filter(|_| KINDS[table].is_multi());
                }
                here.is_at_end = match how {
                    How::Append => true,
                    How::Current => here.is_at_end,
                    _ => false,
                };
            }
            _ => {
                Deviation::RefusedPut.meet();
                self.begin_anew_at(slot)?;
            }
        }
        let change = match &replaced {
            Some(replaced) => Change::Removal(key, Some(replaced)),
            None => Change::Other,
        };
        self.follow_others(table, Some(slot), &change)
    }

    pub(super) fn follow_delete_at(
        &mut self,
        slot: usize,
        is_whole_key: bool,
    ) -> Result<(), Difference> {
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
        let Place::On(key, value) = place else {
            return Ok(());
        };
        if KINDS[table].is_multi() {
            let (view, key) = (View::Writer, key.clone());
            if self.ask(&Operation::Get { view, table, key })? == Answer::NotFound {
                Deviation::RemovedKey.meet();
                self.begin_anew_at(slot)?;
            }
        }
        let is_one = KINDS[table].is_multi() && !is_whole_key;
        let value = is_one.then_some(&value[..]);
        self.follow_others(table, Some(slot), &Change::Removal(&key, value))
    }

    /// What changes past cursors do to them.
    pub(super) fn follow_change(
        &mut self,
        operation: &Operation,
        answer: &Answer,
    ) -> Result<(), Difference> {
        match operation {
            Operation::Put { table, .. } | Operation::PutMany { table, .. } => {
                self.follow_others(*table, None, &Change::Other)
            }
            Operation::Delete { table, key, value } => {
                let change = match answer {
                    Answer::Done if KINDS[*table].is_multi() => {
                        Change::Removal(key, value.as_deref())
                    }
                    Answer::Done => Change::Removal(key, None),
                    _ => Change::Other,
                };
                self.follow_others(*table, None, &change)
            }
            Operation::Clear { table } => self.begin_anew(|slot| slot.table == *table),
            _ => Ok(()),
        }
    }

    /// What a change does to cursors but the one that made it.
    fn follow_others(
        &mut self,
        table: TableIndex,
        by: Option<usize>,
        change: &Change<'_>,
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
                Place::On(key, value) if change.removes((key, value)) => {
                    Deviation::Gap.meet();
                    here.place = Place::Gap;
                    if is_multi {
                        Deviation::RemovedKey.meet();
                        self.begin_anew_at(slot)?;
                    } else if here.is_at_end {
                        Deviation::RemovedAtEnd.meet();
                        self.begin_anew_at(slot)?;
                    }
                }
                Place::On(key, value) if is_multi => {
                    Deviation::ChangeBesidePair.meet();
                    let (key, value) = (key.clone(), value.clone());
                    here.is_at_end = false;
                    self.ask(&Operation::Refresh { slot, key, value })?;
                }
                Place::Nowhere | Place::On(..) => {}
                Place::Gap => {
                    Deviation::ChangeInGap.meet();
                    self.begin_anew_at(slot)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn begin_anew(
        &mut self,
        is_meant: impl Fn(&Slot) -> bool,
    ) -> Result<(), Difference> {
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
    pub(super) fn replace_at(&mut self, slot: usize, value: &[u8]) -> Result<(), Difference> {
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
}

pub(super) fn is_possible_put_at(is_multi: bool, how: How) -> bool {
    match how {
        How::Current => true,
        How::Reserve => false,
        how => is_possible_put(is_multi, how),
    }
}

pub(super) fn is_possible_move(slot: &Slot, to: &Move) -> bool {
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
