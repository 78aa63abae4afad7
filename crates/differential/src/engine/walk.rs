//! Teak's cursors, moved as LMDB's are.

use super::{Handle, PlainTable, ValueTable, put_pair};
use crate::{
    deviations::Deviation,
    operation::{Answer, How, Move},
};
use teak::{Cursor, FreeCursor, MultiCursor, Result, Transaction, WriteTxn};

/// A cursor that stays while the table changes.
pub(super) enum Slot {
    Plain {
        cursor: FreeCursor,
        /// Whether it was ever on a record.
        is_placed: bool,
    },
    /// Of a table in which a key has several values; the pair is where the cursor is, or was.
    Multi {
        table: ValueTable,
        pair: Option<(Vec<u8>, Vec<u8>)>,
        is_in_gap: bool,
    },
}

impl Slot {
    pub(super) fn new(writer: &WriteTxn, handle: &Handle) -> Result<Self> {
        Ok(match handle {
            Handle::Plain(table) => {
                table.stat(writer)?;
                Self::Plain {
                    cursor: FreeCursor::new(table),
                    is_placed: false,
                }
            }
            Handle::Multi(table) => {
                table.stat(writer)?;
                Self::Multi {
                    table: table.clone(),
                    pair: None,
                    is_in_gap: false,
                }
            }
        })
    }

    pub(super) fn go(&mut self, writer: &WriteTxn, to: &Move) -> Result<Answer> {
        match self {
            Self::Plain { cursor, is_placed } => go_freely(cursor, is_placed, writer, to),
            Self::Multi {
                table,
                pair,
                is_in_gap,
            } => {
                Deviation::CursorOfValues.meet();
                let mut cursor = table.cursor(writer)?;
                let answer = match (&*pair, *is_in_gap) {
                    (Some(gap), true) if !to.is_absolute() => leave_gap(&mut cursor, gap, to)?,
                    (Some((key, value)), false) => {
                        let mut is_placed = cursor.seek_pair_exact(key, value)?;
                        if !is_placed {
                            return Ok(Answer::Unexpected("the pair is lost".to_owned()));
                        }
                        go_by_pairs(&mut cursor, &mut is_placed, to)?
                    }
                    _ => go_by_pairs(&mut cursor, &mut false, to)?,
                };
                if let Answer::Pair(key, value) = &answer {
                    *pair = Some((key.clone(), value.clone()));
                    *is_in_gap = false;
                }
                Ok(answer)
            }
        }
    }

    pub(super) fn put(
        &mut self,
        writer: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
        how: How,
    ) -> Result<Answer> {
        match self {
            Self::Plain { cursor, is_placed } => {
                let answer = put_freely(cursor, writer, key, value, how)?;
                *is_placed |= answer != Answer::NotPlaced;
                Ok(answer)
            }
            Self::Multi {
                table,
                pair,
                is_in_gap,
            } => {
                let answer = match (how, &*pair) {
                    (How::Current, None) => Answer::NotPlaced,
                    (How::Current, Some((key, old))) => {
                        match table.replace(writer, key, old, value)? {
                            true => Answer::Done,
                            false => Answer::Unexpected("the pair is lost".to_owned()),
                        }
                    }
                    _ => put_pair(table, writer, key, value, how)?,
                };
                if answer == Answer::Done {
                    *pair = Some((key.to_vec(), value.to_vec()));
                    *is_in_gap = false;
                }
                Ok(answer)
            }
        }
    }

    pub(super) fn delete(&mut self, writer: &mut WriteTxn, is_whole_key: bool) -> Result<Answer> {
        let is_there = match self {
            Self::Plain { cursor, .. } => cursor.remove(writer)?,
            Self::Multi { pair: None, .. } => false,
            Self::Multi {
                table,
                pair: Some((key, value)),
                is_in_gap,
            } => {
                *is_in_gap = true;
                match is_whole_key {
                    true => table.remove_key(writer, key)? > 0,
                    false => table.remove(writer, key, value)?,
                }
            }
        };
        Ok(match is_there {
            true => Answer::Done,
            false => Answer::NotPlaced,
        })
    }
}

fn put_freely(
    cursor: &mut FreeCursor,
    writer: &mut WriteTxn,
    key: &[u8],
    value: &[u8],
    how: How,
) -> Result<Answer> {
    match how {
        How::Upsert => cursor.insert(writer, key, value)?,
        How::NewKey => {
            if !cursor.insert_new(writer, key, value)? {
                return Ok(Answer::Exists(Some(cursor.value(writer)?.to_vec())));
            }
        }
        How::Append => cursor.append(writer, key, value)?,
        How::Current => {
            if !cursor.update(writer, value)? {
                return Ok(Answer::NotPlaced);
            }
        }
        How::NewPair | How::AppendValue | How::Reserve => {
            return Ok(Answer::Unexpected(format!("{how:?} by a cursor")));
        }
    }
    Ok(Answer::Done)
}

/// Moves a cursor that no transaction holds.
fn go_freely(
    cursor: &mut FreeCursor,
    is_placed: &mut bool,
    writer: &WriteTxn,
    to: &Move,
) -> Result<Answer> {
    let is_on_record = cursor.is_on_record(writer)?;
    let is_found = match to {
        Move::First => cursor.first(writer)?,
        Move::Last => cursor.last(writer)?,
        Move::Next | Move::NextKey => cursor.next(writer)?,
        Move::Prev | Move::PrevKey => cursor.prev(writer)?,
        Move::Set(key) | Move::SetKey(key) => cursor.seek_exact(writer, key)?,
        Move::SetRange(key) => cursor.seek(writer, key)?,
        Move::Current if !*is_placed => return Ok(Answer::NotPlaced),
        Move::Current => cursor.current(writer)?,
        of_values => return Ok(Answer::Unexpected(format!("{of_values:?} in records"))),
    };
    if is_found {
        *is_placed = true;
        let value = cursor.value(writer)?.to_vec();
        return Ok(Answer::Pair(cursor.key().to_vec(), value));
    }
    match to {
        Move::Next if is_on_record => {
            Deviation::FailedStep.meet();
            cursor.last(writer)?;
        }
        Move::Prev if is_on_record => {
            Deviation::FailedStep.meet();
            cursor.first(writer)?;
        }
        _ if !*is_placed => cursor.reset(),
        _ => {}
    }
    Ok(Answer::NotFound)
}

/// From where a pair was removed.
fn leave_gap(
    cursor: &mut MultiCursor<'_>,
    (key, value): &(Vec<u8>, Vec<u8>),
    to: &Move,
) -> Result<Answer> {
    let is_behind = cursor.seek_pair(key, value)?;
    let is_found = match to {
        Move::Next => is_behind,
        Move::Prev => cursor.prev()?,
        other => return Ok(Answer::Unexpected(format!("{other:?} in a gap"))),
    };
    Ok(match is_found {
        true => pair_of(cursor),
        false => Answer::NotFound,
    })
}

/// A cursor through the records of a state.
pub(super) fn through_records<T: Transaction>(
    table: &PlainTable,
    txn: &T,
    moves: &[Move],
) -> Result<Answer> {
    let mut answers = Vec::with_capacity(moves.len());
    let (mut cursor, mut is_placed) = (table.cursor(txn)?, false);
    for to in moves {
        let answer = go_by_records(&mut cursor, &mut is_placed, to)?;
        if answer == Answer::NotFound && to.loses_place() {
            (cursor, is_placed) = (table.cursor(txn)?, false);
        }
        answers.push(answer);
    }
    Ok(Answer::Several(answers))
}

fn go_by_records(cursor: &mut Cursor<'_>, is_placed: &mut bool, to: &Move) -> Result<Answer> {
    let is_found = match to {
        Move::First => cursor.first()?,
        Move::Last => cursor.last()?,
        Move::Next | Move::NextKey => cursor.next()?,
        Move::Prev | Move::PrevKey => cursor.prev()?,
        Move::Set(key) | Move::SetKey(key) => cursor.seek_exact(key)?,
        Move::SetRange(key) => cursor.seek(key)?,
        Move::Current if !*is_placed => return Ok(Answer::NotPlaced),
        Move::Current => cursor.is_on_record(),
        of_values => return Ok(Answer::Unexpected(format!("{of_values:?} in records"))),
    };
    if is_found {
        *is_placed = true;
        return Ok(Answer::Pair(
            cursor.key().to_vec(),
            cursor.value()?.to_vec(),
        ));
    }
    match to {
        Move::Next if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.prev()?;
        }
        Move::Prev if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.next()?;
        }
        _ => {}
    }
    Ok(Answer::NotFound)
}

/// A cursor through the pairs of a state.
pub(super) fn through_pairs<T: Transaction>(
    table: &ValueTable,
    txn: &T,
    moves: &[Move],
) -> Result<Answer> {
    let mut answers = Vec::with_capacity(moves.len());
    let (mut cursor, mut is_placed) = (table.cursor(txn)?, false);
    for to in moves {
        let answer = go_by_pairs(&mut cursor, &mut is_placed, to)?;
        if answer == Answer::NotFound && to.loses_place() {
            (cursor, is_placed) = (table.cursor(txn)?, false);
        }
        answers.push(answer);
    }
    Ok(Answer::Several(answers))
}

fn go_by_pairs(cursor: &mut MultiCursor<'_>, is_placed: &mut bool, to: &Move) -> Result<Answer> {
    let is_found = match to {
        Move::First => cursor.first()?,
        Move::Last => cursor.last()?,
        Move::Next => cursor.next()?,
        Move::Prev => cursor.prev()?,
        Move::NextKey => cursor.next_key()?,
        Move::PrevKey => cursor.prev_key()?,
        Move::NextValue | Move::PrevValue if !*is_placed => {
            Deviation::ValueStepFromNowhere.meet();
            match to {
                Move::NextValue => cursor.first()?,
                _ => cursor.last()?,
            }
        }
        Move::NextValue => cursor.next_value()?,
        Move::PrevValue => cursor.prev_value()?,
        Move::Set(key) | Move::SetKey(key) => cursor.seek_exact(key)?,
        Move::SetRange(key) => cursor.seek(key)?,
        Move::GetBoth(key, value) => cursor.seek_pair_exact(key, value)?,
        Move::GetBothRange(key, value) => cursor.seek_value(key, value)?,
        _ if !*is_placed => return Ok(Answer::NotPlaced),
        Move::FirstValue => cursor.first_value()?,
        Move::LastValue => cursor.last_value()?,
        Move::Current => cursor.is_on_pair(),
        Move::Count => return Ok(Answer::Number(cursor.count())),
    };
    if is_found {
        *is_placed = true;
        return Ok(pair_of(cursor));
    }
    match to {
        Move::Next if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.prev()?;
        }
        Move::Prev if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.next()?;
        }
        _ => {}
    }
    Ok(Answer::NotFound)
}

fn pair_of(cursor: &MultiCursor<'_>) -> Answer {
    Answer::Pair(cursor.key().to_vec(), cursor.value().to_vec())
}
