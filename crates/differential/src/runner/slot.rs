//! A cursor that stays while tables change, as both sides have it, and what can be done with it.

use crate::{
    kind::KINDS,
    operation::{How, Move, TableIndex},
};

pub(super) fn is_possible_put(is_multi: bool, how: How) -> bool {
    match how {
        How::Upsert | How::NewKey | How::Append => true,
        How::NewPair | How::AppendValue => is_multi,
        How::Reserve => !is_multi,
        How::Current => false,
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
    pub(super) is_at_end: bool,
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
