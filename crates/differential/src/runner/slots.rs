//! Cursors that stay while tables change: where both sides have them, and where they have to begin anew.

use super::{
    both_sides::{Difference, Runner, SLOT_COUNT},
    slot::{Place, Slot},
};
use crate::{
    deviations::Deviation,
    kind::KINDS,
    operation::{Answer, How, Move, Operation, Record, TableIndex, View},
    side::Side,
};
use std::mem;

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
}
