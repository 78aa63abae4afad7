//! A cursor that stays open while tables change, on both sides, and its operations.

use crate::{
    kind::KINDS,
    operation::{CursorMove, PutMode, TableIndex},
};

pub(super) fn is_possible_put(is_multi: bool, mode: PutMode) -> bool {
    match mode {
        PutMode::Upsert | PutMode::NewKey | PutMode::Append => true,
        PutMode::NewPair | PutMode::AppendValue => is_multi,
        PutMode::Reserve => !is_multi,
        PutMode::Current => false,
    }
}

pub(super) fn is_possible_put_at(is_multi: bool, mode: PutMode) -> bool {
    match mode {
        PutMode::Current => true,
        PutMode::Reserve => false,
        mode => is_possible_put(is_multi, mode),
    }
}

pub(super) fn is_possible_move(slot: &CursorSlot, to: &CursorMove) -> bool {
    let kind = &KINDS[slot.table];
    let is_multi = kind.is_multi();
    let is_fitting = match to {
        CursorMove::Set(key) | CursorMove::SetKey(key) | CursorMove::SetRange(key) => {
            kind.keys.fits(key)
        }
        CursorMove::GetBoth(key, value) | CursorMove::GetBothRange(key, value) => {
            kind.fits(key, value)
        }
        _ => true,
    };
    if !is_fitting || (to.is_of_values() && !is_multi) {
        return false;
    }
    slot.position != CursorPosition::Gap
        || !is_multi
        || to.is_absolute()
        || matches!(to, CursorMove::Next | CursorMove::Prev)
}

/// The position of both cursors of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CursorPosition {
    Nowhere,
    On(Vec<u8>, Vec<u8>),
    /// The position of a record that has been removed.
    Gap,
}

#[derive(Clone, Debug)]
pub(super) struct CursorSlot {
    pub(super) table: TableIndex,
    pub(super) position: CursorPosition,
    /// Whether LMDB may have marked its cursor as being on the last record.
    pub(super) is_at_end: bool,
}

impl CursorSlot {
    pub(super) fn new(table: TableIndex) -> Self {
        Self {
            table,
            position: CursorPosition::Nowhere,
            is_at_end: false,
        }
    }
}
