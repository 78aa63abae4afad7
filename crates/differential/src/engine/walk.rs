//! Teak's cursors, with the movements of LMDB's.

use super::handle::TableHandle;
use crate::{
    deviations::Deviation,
    operation::{Answer, CursorMove, PutMode},
};
use teak::{
    Cursor, DeleteScope, DetachedCursor, InsertMode, KeyStep, Result, SeekOp, SeekTarget,
    Transaction, WriteTxn,
};

/// A cursor that stays open while the table changes.
pub(super) struct TeakCursor {
    cursor: DetachedCursor,
    /// Whether a key has several values.
    has_several: bool,
}

impl TeakCursor {
    pub(super) fn new(writer: &WriteTxn, handle: &TableHandle) -> Result<Self> {
        let cursor = open_cursor(handle);
        cursor.is_on_record(writer)?;
        let has_several = matches!(handle, TableHandle::Multi(_));
        Ok(Self {
            cursor,
            has_several,
        })
    }

    pub(super) fn go(&mut self, writer: &WriteTxn, to: &CursorMove) -> Result<Answer> {
        go_with_cursor(&mut self.cursor, writer, to)
    }

    pub(super) fn put(
        &mut self,
        writer: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
        mode: PutMode,
    ) -> Result<Answer> {
        let cursor = &mut self.cursor;
        match mode {
            PutMode::Upsert => drop(cursor.insert(writer, key, value)?),
            PutMode::NewKey => {
                if !cursor.insert_as(writer, InsertMode::NewKey, key, value)? {
                    return Ok(Answer::Exists(Some(cursor.value(writer)?.to_vec())));
                }
            }
            PutMode::NewPair => {
                if !cursor.insert(writer, key, value)? {
                    return Ok(Answer::Exists(None));
                }
            }
            PutMode::Append => {
                let mut last = cursor.clone();
                if self.has_several && last.last(writer)? && last.key() == key {
                    Deviation::AppendToLastKey.meet();
                    return Ok(Answer::NotLast);
                }
                cursor.insert_as(writer, InsertMode::Last, key, value)?;
            }
            PutMode::AppendValue => {
                cursor.insert_as(writer, InsertMode::LastValue, key, value)?;
            }
            PutMode::Current => {
                if !cursor.update(writer, value)? {
                    return Ok(Answer::NotPlaced);
                }
            }
            PutMode::Reserve => return Ok(Answer::Unexpected(format!("{mode:?} by a cursor"))),
        }
        Ok(Answer::Done)
    }

    pub(super) fn delete(&mut self, writer: &mut WriteTxn, is_whole_key: bool) -> Result<Answer> {
        let is_there = match is_whole_key {
            true => self.cursor.remove_scope(writer, DeleteScope::AllValues)? > 0,
            false => self.cursor.remove(writer)?,
        };
        Ok(match is_there {
            true => Answer::Done,
            false => Answer::NotPlaced,
        })
    }
}

fn open_cursor(handle: &TableHandle) -> DetachedCursor {
    match handle {
        TableHandle::Plain(table) => DetachedCursor::new(table),
        TableHandle::Multi(table) => DetachedCursor::new(table),
    }
}

/// Moves a detached cursor.
fn go_with_cursor<T: Transaction>(
    cursor: &mut DetachedCursor,
    txn: &T,
    to: &CursorMove,
) -> Result<Answer> {
    let (was_nowhere, was_on_record) = (cursor.is_unset(), cursor.is_on_record(txn)?);
    let is_found = match to {
        CursorMove::First => cursor.first(txn)?,
        CursorMove::Last => cursor.last(txn)?,
        CursorMove::Next => cursor.next(txn)?,
        CursorMove::Prev => cursor.prev(txn)?,
        CursorMove::NextKey => cursor.step(txn, KeyStep::NextKey)?,
        CursorMove::PrevKey => cursor.step(txn, KeyStep::PrevKey)?,
        CursorMove::NextValue | CursorMove::PrevValue if was_nowhere => {
            Deviation::ValueStepFromNowhere.meet();
            match to {
                CursorMove::NextValue => cursor.first(txn)?,
                _ => cursor.last(txn)?,
            }
        }
        CursorMove::NextValue => cursor.step(txn, KeyStep::NextValue)?,
        CursorMove::PrevValue => cursor.step(txn, KeyStep::PrevValue)?,
        CursorMove::Set(key) | CursorMove::SetKey(key) => cursor.seek(txn, SeekOp::Equal, key)?,
        CursorMove::SetRange(key) => cursor.seek(txn, SeekOp::GreaterOrEqual, key)?,
        CursorMove::GetBoth(key, value) => {
            cursor.seek(txn, SeekOp::Equal, SeekTarget::Value(key, value))?
        }
        CursorMove::GetBothRange(key, value) => {
            cursor.seek(txn, SeekOp::GreaterOrEqual, SeekTarget::Value(key, value))?
        }
        _ if was_nowhere => return Ok(Answer::NotPlaced),
        CursorMove::FirstValue => cursor.step(txn, KeyStep::FirstValue)?,
        CursorMove::LastValue => cursor.step(txn, KeyStep::LastValue)?,
        CursorMove::Current => cursor.current(txn)?,
        CursorMove::Count => return Ok(Answer::Number(cursor.count(txn)?)),
    };
    if is_found {
        let value = cursor.value(txn)?.to_vec();
        return Ok(Answer::Pair(cursor.key().to_vec(), value));
    }
    match to {
        CursorMove::Next if was_on_record => {
            Deviation::FailedStep.meet();
            cursor.last(txn)?;
        }
        CursorMove::Prev if was_on_record => {
            Deviation::FailedStep.meet();
            cursor.first(txn)?;
        }
        _ if was_nowhere => cursor.reset(),
        _ => {}
    }
    Ok(Answer::NotFound)
}

/// Walks with a new cursor.
fn walk<C>(
    moves: &[CursorMove],
    begin: impl Fn() -> Result<C>,
    go: impl Fn(&mut C, &mut bool, &CursorMove) -> Result<Answer>,
) -> Result<Vec<Answer>> {
    let (mut cursor, mut is_placed) = (begin()?, false);
    let mut answers = Vec::with_capacity(moves.len());
    for to in moves {
        let answer = go(&mut cursor, &mut is_placed, to)?;
        if answer == Answer::NotFound && to.loses_position() {
            (cursor, is_placed) = (begin()?, false);
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// Walks over an unchanging state, with a borrowing cursor and a detached one.
pub(super) fn through<T: Transaction>(
    handle: &TableHandle,
    txn: &T,
    moves: &[CursorMove],
) -> Result<Answer> {
    let begin = || match handle {
        TableHandle::Plain(table) => table.cursor(txn),
        TableHandle::Multi(table) => table.cursor(txn),
    };
    let borrowing = walk(moves, begin, go_with_borrowing)?;
    let begin = || Ok(open_cursor(handle));
    let free = walk(moves, begin, |cursor, _, to| {
        go_with_cursor(cursor, txn, to)
    })?;
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

/// Moves a borrowing cursor.
fn go_with_borrowing(
    cursor: &mut Cursor<'_>,
    is_placed: &mut bool,
    to: &CursorMove,
) -> Result<Answer> {
    let is_found = match to {
        CursorMove::First => cursor.first()?,
        CursorMove::Last => cursor.last()?,
        CursorMove::Next => cursor.next()?,
        CursorMove::Prev => cursor.prev()?,
        CursorMove::NextKey => cursor.step(KeyStep::NextKey)?,
        CursorMove::PrevKey => cursor.step(KeyStep::PrevKey)?,
        CursorMove::NextValue | CursorMove::PrevValue if !*is_placed => {
            Deviation::ValueStepFromNowhere.meet();
            match to {
                CursorMove::NextValue => cursor.first()?,
                _ => cursor.last()?,
            }
        }
        CursorMove::NextValue => cursor.step(KeyStep::NextValue)?,
        CursorMove::PrevValue => cursor.step(KeyStep::PrevValue)?,
        CursorMove::Set(key) | CursorMove::SetKey(key) => cursor.seek(SeekOp::Equal, key)?,
        CursorMove::SetRange(key) => cursor.seek(SeekOp::GreaterOrEqual, key)?,
        CursorMove::GetBoth(key, value) => cursor.seek(SeekOp::Equal, (key, value))?,
        CursorMove::GetBothRange(key, value) => {
            cursor.seek(SeekOp::GreaterOrEqual, SeekTarget::Value(key, value))?
        }
        _ if !*is_placed => return Ok(Answer::NotPlaced),
        CursorMove::FirstValue => cursor.step(KeyStep::FirstValue)?,
        CursorMove::LastValue => cursor.step(KeyStep::LastValue)?,
        CursorMove::Current => cursor.is_on_record(),
        CursorMove::Count => return Ok(Answer::Number(cursor.count())),
    };
    if is_found {
        *is_placed = true;
        let value = cursor.value()?.to_vec();
        return Ok(Answer::Pair(cursor.key().to_vec(), value));
    }
    match to {
        CursorMove::Next if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.prev()?;
        }
        CursorMove::Prev if *is_placed => {
            Deviation::FailedStep.meet();
            cursor.next()?;
        }
        _ => {}
    }
    Ok(Answer::NotFound)
}
