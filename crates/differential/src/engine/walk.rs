//! Teak's cursors, moved as LMDB's are.

use super::handle::{Handle, PlainTable, ValueTable};
use crate::{
    deviations::Deviation,
    operation::{Answer, How, Move},
};
use teak::{Cursor, FreeCursor, MultiCursor, Result, Transaction, WriteTxn};

/// A cursor that stays while the table changes.
pub(super) struct Slot {
    cursor: FreeCursor,
    /// Whether a key has several values.
    has_several: bool,
}

impl Slot {
    pub(super) fn new(writer: &WriteTxn, handle: &Handle) -> Result<Self> {
        let cursor = free_cursor(handle);
        cursor.is_on_record(writer)?;
        let has_several = matches!(handle, Handle::Multi(_));
        Ok(Self {
            cursor,
            has_several,
        })
    }

    pub(super) fn go(&mut self, writer: &WriteTxn, to: &Move) -> Result<Answer> {
        go_freely(&mut self.cursor, writer, to)
    }

    pub(super) fn put(
        &mut self,
        writer: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
        how: How,
    ) -> Result<Answer> {
        let cursor = &mut self.cursor;
        match how {
            How::Upsert => cursor.insert(writer, key, value)?,
            How::NewKey => {
                if !cursor.insert_new(writer, key, value)? {
                    return Ok(Answer::Exists(Some(cursor.value(writer)?.to_vec())));
                }
            }
            How::NewPair => {
                if !cursor.insert_pair(writer, key, value)? {
                    return Ok(Answer::Exists(None));
                }
            }
            How::Append => {
                let mut last = cursor.clone();
                if self.has_several && last.last(writer)? && last.key() == key {
                    Deviation::AppendToLastKey.meet();
                    return Ok(Answer::NotBehind);
                }
                cursor.append(writer, key, value)?;
            }
            How::AppendValue => cursor.append_value(writer, key, value)?,
            How::Current => {
                if !cursor.update(writer, value)? {
                    return Ok(Answer::NotPlaced);
                }
            }
            How::Reserve => return Ok(Answer::Unexpected(format!("{how:?} by a cursor"))),
        }
        Ok(Answer::Done)
    }

    pub(super) fn delete(&mut self, writer: &mut WriteTxn, is_whole_key: bool) -> Result<Answer> {
        let is_there = match is_whole_key {
            true => self.cursor.remove_all_values(writer)? > 0,
            false => self.cursor.remove(writer)?,
        };
        Ok(match is_there {
            true => Answer::Done,
            false => Answer::NotPlaced,
        })
    }
}

fn free_cursor(handle: &Handle) -> FreeCursor {
    match handle {
        Handle::Plain(table) => FreeCursor::new(table),
        Handle::Multi(table) => FreeCursor::for_multi(table),
    }
}

/// Moves a cursor that no transaction holds.
fn go_freely<T: Transaction>(cursor: &mut FreeCursor, txn: &T, to: &Move) -> Result<Answer> {
    let (was_nowhere, was_on_record) = (cursor.is_nowhere(), cursor.is_on_record(txn)?);
    let is_found = match to {
        Move::First => cursor.first(txn)?,
        Move::Last => cursor.last(txn)?,
        Move::Next => cursor.next(txn)?,
        Move::Prev => cursor.prev(txn)?,
        Move::NextKey => cursor.next_key(txn)?,
        Move::PrevKey => cursor.prev_key(txn)?,
        Move::NextValue | Move::PrevValue if was_nowhere => {
            Deviation::ValueStepFromNowhere.meet();
            match to {
                Move::NextValue => cursor.first(txn)?,
                _ => cursor.last(txn)?,
            }
        }
        Move::NextValue => cursor.next_value(txn)?,
        Move::PrevValue => cursor.prev_value(txn)?,
        Move::Set(key) | Move::SetKey(key) => cursor.seek_exact(txn, key)?,
        Move::SetRange(key) => cursor.seek(txn, key)?,
        Move::GetBoth(key, value) => cursor.seek_value_exact(txn, key, value)?,
        Move::GetBothRange(key, value) => cursor.seek_value(txn, key, value)?,
        _ if was_nowhere => return Ok(Answer::NotPlaced),
        Move::FirstValue => cursor.first_value(txn)?,
        Move::LastValue => cursor.last_value(txn)?,
        Move::Current => cursor.current(txn)?,
        Move::Count => return Ok(Answer::Number(cursor.count(txn)?)),
    };
    if is_found {
        let value = cursor.value(txn)?.to_vec();
        return Ok(Answer::Pair(cursor.key().to_vec(), value));
    }
    match to {
        Move::Next if was_on_record => {
            Deviation::FailedStep.meet();
            cursor.last(txn)?;
        }
        Move::Prev if was_on_record => {
            Deviation::FailedStep.meet();
            cursor.first(txn)?;
        }
        _ if was_nowhere => cursor.reset(),
        _ => {}
    }
    Ok(Answer::NotFound)
}

/// A cursor that begins nowhere, and where it goes.
fn walk<C>(
    moves: &[Move],
    begin: impl Fn() -> Result<C>,
    go: impl Fn(&mut C, &mut bool, &Move) -> Result<Answer>,
) -> Result<Vec<Answer>> {
    let (mut cursor, mut is_placed) = (begin()?, false);
    let mut answers = Vec::with_capacity(moves.len());
    for to in moves {
        let answer = go(&mut cursor, &mut is_placed, to)?;
        if answer == Answer::NotFound && to.loses_place() {
            (cursor, is_placed) = (begin()?, false);
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// Goes through a state that stands still, with a cursor that borrows it and with one that does not.
pub(super) fn through<T: Transaction>(handle: &Handle, txn: &T, moves: &[Move]) -> Result<Answer> {
    let borrowing = match handle {
        Handle::Plain(table) => through_records(table, txn, moves)?,
        Handle::Multi(table) => through_pairs(table, txn, moves)?,
    };
    let begin = || Ok(free_cursor(handle));
    let free = walk(moves, begin, |cursor, _, to| go_freely(cursor, txn, to))?;
    let mut both = borrowing.iter().zip(&free).zip(moves);
    Ok(
        match both.find(|((borrowing, free), _)| borrowing != free) {
            Some(((borrowing, free), to)) => Answer::Unexpected(format!(
                "{to:?} leads one cursor to {borrowing:?} and the other to {free:?}"
            )),
            None => Answer::Several(borrowing),
        },
    )
}

fn through_records<T: Transaction>(
    table: &PlainTable,
    txn: &T,
    moves: &[Move],
) -> Result<Vec<Answer>> {
    walk(moves, || table.cursor(txn), go_by_records)
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

fn through_pairs<T: Transaction>(
    table: &ValueTable,
    txn: &T,
    moves: &[Move],
) -> Result<Vec<Answer>> {
    walk(moves, || table.cursor(txn), go_by_pairs)
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
        return Ok(Answer::Pair(cursor.key().to_vec(), cursor.value().to_vec()));
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
