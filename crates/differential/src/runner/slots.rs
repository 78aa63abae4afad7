//! Cursors that stay open while tables change: when both sides agree on their positions, and when
//! they have to be reopened.

use super::{
    both_sides::{Difference, Runner, SLOT_COUNT},
    slot::{CursorPosition, CursorSlot},
};
use crate::{
    deviations::Deviation,
    kind::KINDS,
    operation::{Answer, CursorMove, Operation, PutMode, ReadView, Record, TableIndex},
    side::TestedEngine,
};
use std::mem;

/// A change to a table.
enum TableChange<'c> {
    /// Removal of a key, or only of this value.
    Removal(&'c [u8], Option<&'c [u8]>),
    Other,
}

impl TableChange<'_> {
    fn removes(&self, (key, value): Record<'_>) -> bool {
        match self {
            Self::Removal(removed, None) => *removed == key,
            Self::Removal(removed, Some(of_it)) => (*removed, *of_it) == (key, value),
            Self::Other => false,
        }
    }
}

impl<T: TestedEngine, L: TestedEngine> Runner<T, L> {
    pub(super) fn follow_move(
        &mut self,
        slot: usize,
        to: &CursorMove,
        answer: Answer,
    ) -> Result<(), Difference> {
        let Some(here) = &mut self.slots[slot] else {
            return Ok(());
        };
        here.is_at_end = match (to, &answer) {
            (CursorMove::Last, _) | (_, Answer::NotFound) => true,
            (CursorMove::Current | CursorMove::Count, _) => here.is_at_end,
            _ => false,
        };
        match answer {
            Answer::Pair(key, value) => here.position = CursorPosition::On(key, value),
            Answer::NotFound if to.loses_position() || here.position == CursorPosition::Gap => {
                match (to.is_search(), &here.position) {
                    (true, _) => Deviation::FailedSearch.meet(),
                    (false, CursorPosition::Gap) => Deviation::Gap.meet(),
                    (false, _) => Deviation::FailedKeyStep.meet(),
                }
                return self.restart_slot(slot);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn follow_put_at(
        &mut self,
        slot: usize,
        (key, value): Record<'_>,
        mode: PutMode,
        answer: &Answer,
    ) -> Result<(), Difference> {
        let Some(here) = &mut self.slots[slot] else {
            return Ok(());
        };
        let table = here.table;
        let mut replaced = None;
        match answer {
            Answer::Done => {
                let position = CursorPosition::On(key.to_vec(), value.to_vec());
                let before = mem::replace(&mut here.position, position);
                if let (PutMode::Current, CursorPosition::On(_, value)) = (mode, before) {
                    replaced = Some(value).filter(|_| KINDS[table].is_multi());
                }
                here.is_at_end = match mode {
                    PutMode::Append => true,
                    PutMode::Current => here.is_at_end,
                    _ => false,
                };
            }
            _ => {
                Deviation::RefusedPut.meet();
                self.restart_slot(slot)?;
            }
        }
        let change = match &replaced {
            Some(replaced) => TableChange::Removal(key, Some(replaced)),
            None => TableChange::Other,
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
        let position = mem::replace(&mut here.position, CursorPosition::Gap);
        if is_at_end {
            Deviation::RemovedAtEnd.meet();
            self.restart_slot(slot)?;
        }
        let CursorPosition::On(key, value) = position else {
            return Ok(());
        };
        if KINDS[table].is_multi() {
            let (view, key) = (ReadView::Writer, key.clone());
            if self.ask(&Operation::Get { view, table, key })? == Answer::NotFound {
                Deviation::RemovedKey.meet();
                self.restart_slot(slot)?;
            }
        }
        let is_one = KINDS[table].is_multi() && !is_whole_key;
        let value = is_one.then_some(&value[..]);
        self.follow_others(table, Some(slot), &TableChange::Removal(&key, value))
    }

    /// Updates the slots for a change that no cursor made.
    pub(super) fn follow_change(
        &mut self,
        operation: &Operation,
        answer: &Answer,
    ) -> Result<(), Difference> {
        match operation {
            Operation::Put { table, .. } | Operation::PutMany { table, .. } => {
                self.follow_others(*table, None, &TableChange::Other)
            }
            Operation::Delete { table, key, value } => {
                let change = match answer {
                    Answer::Done if KINDS[*table].is_multi() => {
                        TableChange::Removal(key, value.as_deref())
                    }
                    Answer::Done => TableChange::Removal(key, None),
                    _ => TableChange::Other,
                };
                self.follow_others(*table, None, &change)
            }
            Operation::Clear { table } => self.restart_both(|slot| slot.table == *table),
            _ => Ok(()),
        }
    }

    /// Updates all slots except that of the cursor that made a change.
    fn follow_others(
        &mut self,
        table: TableIndex,
        by: Option<usize>,
        change: &TableChange<'_>,
    ) -> Result<(), Difference> {
        let is_multi = KINDS[table].is_multi();
        for slot in 0..SLOT_COUNT {
            let Some(here) = &mut self.slots[slot] else {
                continue;
            };
            if here.table != table || by == Some(slot) {
                continue;
            }
            match &here.position {
                CursorPosition::On(key, value) if change.removes((key, value)) => {
                    Deviation::Gap.meet();
                    here.position = CursorPosition::Gap;
                    if is_multi {
                        Deviation::RemovedKey.meet();
                        self.restart_slot(slot)?;
                    } else if here.is_at_end {
                        Deviation::RemovedAtEnd.meet();
                        self.restart_slot(slot)?;
                    }
                }
                CursorPosition::On(key, value) if is_multi => {
                    Deviation::ChangeNextToPair.meet();
                    let (key, value) = (key.clone(), value.clone());
                    here.is_at_end = false;
                    self.ask(&Operation::Refresh { slot, key, value })?;
                }
                CursorPosition::Nowhere | CursorPosition::On(..) => {}
                CursorPosition::Gap => {
                    Deviation::ChangeInGap.meet();
                    self.restart_slot(slot)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn restart_both(
        &mut self,
        is_meant: impl Fn(&CursorSlot) -> bool,
    ) -> Result<(), Difference> {
        for slot in 0..SLOT_COUNT {
            if self.slots[slot].as_ref().is_some_and(&is_meant) {
                self.restart_slot(slot)?;
            }
        }
        Ok(())
    }

    /// Reopens the cursors of a slot.
    fn restart_slot(&mut self, slot: usize) -> Result<(), Difference> {
        let Some(table) = self.slots[slot].as_ref().map(|slot| slot.table) else {
            return Ok(());
        };
        let answer = self.ask(&Operation::Open { slot, table })?;
        self.slots[slot] = (answer == Answer::Done).then(|| CursorSlot::new(table));
        Ok(())
    }
}
