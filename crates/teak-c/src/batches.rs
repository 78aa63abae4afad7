//! Many records in one call: into an array, or to a function.

use crate::{
    cursors::{CursorObject, changing, teak_cursor},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OK, OutParameter, array_mut, teak_slice, whether},
    names::TableHandle,
    records::teak_record,
    teak_code,
    transactions::{either, read, teak_txn},
};
use std::{
    ffi::{c_int, c_void},
    ops::ControlFlow,
};
use teak::{Cursor, DetachedCursor, Direction, SeekOp, Transaction};

/// The direction in which a cursor moves.
#[repr(C)]
pub enum teak_direction {
    /// From the first record to the last.
    TEAK_FORWARD = 0,
    /// From the last record to the first.
    TEAK_BACKWARD = 1,
}

pub(crate) fn direction_of(number: u32) -> Result<Direction, Failure> {
    match number {
        0 => Ok(Direction::Forward),
        1 => Ok(Direction::Backward),
        other => {
            let text = format!("there is no teak_direction {other}; use 0 or 1");
            Err(Failure::invalid_argument(text))
        }
    }
}

/// Bytes that stay in their page, or bytes copied into the batch's buffer.
enum BytesLocation<'t> {
    InPage(&'t [u8]),
    Kept { begin: usize, len: usize },
}

/// The records of a batch that is being read into an array.
struct RecordBatch<'b, 't> {
    kept: &'b mut Vec<u8>,
    locations: Vec<(BytesLocation<'t>, BytesLocation<'t>)>,
    max: usize,
}

impl<'t> RecordBatch<'_, 't> {
    fn copy_bytes(&mut self, bytes: &[u8]) -> BytesLocation<'t> {
        let begin = self.kept.len();
        self.kept.extend_from_slice(bytes);
        BytesLocation::Kept {
            begin,
            len: bytes.len(),
        }
    }

    /// Adds the record that a cursor is on.
    fn add(&mut self, cursor: &Cursor<'t>) -> teak::Result<()> {
        let key = self.copy_bytes(cursor.key());
        let value = match cursor.value_in_page()? {
            Some(value) => BytesLocation::InPage(value),
            None => self.copy_bytes(cursor.value()?),
        };
        self.locations.push((key, value));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.locations.len() == self.max
    }

    /// Fills in an array, once the addresses do not change any more.
    fn fill(&self, records: &mut [teak_record]) {
        let slice = |bytes: &BytesLocation<'t>| match *bytes {
            BytesLocation::InPage(bytes) => teak_slice::new(bytes),
            BytesLocation::Kept { begin, len } => teak_slice::new(&self.kept[begin..][..len]),
        };
        for (record, (key, value)) in records.iter_mut().zip(&self.locations) {
            *record = teak_record {
                key: slice(key),
                value: slice(value),
            };
        }
    }
}

/// Moves to the first record to read: the one that the cursor is on, or the next one in its
/// direction.
fn begin<T: Transaction>(
    free: &mut DetachedCursor,
    txn: &T,
    direction: Direction,
) -> teak::Result<bool> {
    if free.is_on_record(txn)? {
        return Ok(true);
    }
    match direction {
        Direction::Forward => free.next(txn),
        Direction::Backward => free.prev(txn),
    }
}

/// Leaves the cursor where the next batch begins. At the end that is after the last record, or
/// before the first.
fn end<T: Transaction>(
    free: &mut DetachedCursor,
    txn: &T,
    direction: Direction,
) -> teak::Result<()> {
    match direction {
        Direction::Forward => free.last(txn)? && free.next(txn)?,
        Direction::Backward => free.first(txn)? && free.prev(txn)?,
    };
    Ok(())
}

fn read_records<'t, T: Transaction>(
    table: &TableHandle,
    free: &mut DetachedCursor,
    txn: &'t T,
    direction: Direction,
    batch: &mut RecordBatch<'_, 't>,
) -> teak::Result<()> {
    let mut cursor = match table {
        TableHandle::Plain(table) => table.cursor(txn)?,
        TableHandle::Multi(table) => table.cursor(txn)?,
    };
    let mut is_there = match table {
        TableHandle::Plain(_) => cursor.seek(SeekOp::Equal, free.key())?,
        TableHandle::Multi(_) => cursor.seek(SeekOp::Equal, (free.key(), &*free.value(txn)?))?,
    };
    while is_there && !batch.is_full() {
        batch.add(&cursor)?;
        is_there = match direction {
            Direction::Forward => cursor.next()?,
            Direction::Backward => cursor.prev()?,
        };
    }
    match (is_there, table) {
        (false, _) => end(free, txn, direction),
        (true, TableHandle::Plain(_)) => free.seek(txn, SeekOp::Equal, cursor.key()).map(drop),
        (true, TableHandle::Multi(_)) => {
            let pair = (cursor.key(), cursor.value()?);
            free.seek(txn, SeekOp::Equal, pair).map(drop)
        }
    }
}

fn read_batch<T: Transaction>(
    table: &TableHandle,
    held: &mut CursorObject,
    txn: &T,
    direction: Direction,
    records: &mut [teak_record],
) -> teak::Result<usize> {
    if records.is_empty() || !begin(&mut held.free, txn, direction)? {
        return Ok(0);
    }
    held.together.clear();
    let mut batch = RecordBatch {
        kept: &mut held.together,
        locations: Vec::with_capacity(records.len().min(1024)),
        max: records.len(),
    };
    read_records(table, &mut held.free, txn, direction, &mut batch)?;
    batch.fill(records);
    Ok(batch.locations.len())
}

/// Reads records into an array, beginning with the one that the cursor is on, and moves the cursor
/// to the first record that was not read. Returns TEAK_NONE if no records are left. Stores the
/// number of records read in `count`.
///
/// Threads: any, while no other call uses the cursor. Lives: keys until the next call with the
/// cursor; values as those of teak_get, or as the keys if keys have several values.
///
/// Errors: as teak_cursor_move.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_cursor cursor;
/// teak_record records[100];
/// size_t count, sum = 0;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("trees"), NULL, &table, &error));
/// check(teak_insert(txn, table, teak_text("ash"), teak_text("1"), &error));
/// check(teak_insert(txn, table, teak_text("elm"), teak_text("2"), &error));
/// check(teak_cursor_open(txn, table, &cursor, &error));
/// while (teak_cursor_read(cursor, txn, TEAK_FORWARD, records, 100, &count, &error) == TEAK_OK)
///     sum += count;
/// assert(sum == 2);
/// check(teak_cursor_close(cursor, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_read(
    cursor: teak_cursor,
    txn: teak_txn,
    direction: u32,
    records: *mut teak_record,
    max: usize,
    count: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(count, "count")?;
            out.set(0);
            let direction = direction_of(direction)?;
            let records = array_mut(records, max)?;
            let transaction = read(txn)?;
            let held = &mut *changing(cursor, &transaction)?;
            let table = transaction.opened.table(held.table.number)?;
            let read =
                either!(transaction, txn => read_batch(table, held, txn, direction, records))?;
            out.set(read);
            Ok(whether(read > 0))
        })
    }
}

/// A function that is called for each record. A result other than 0 ends the scan.
pub type teak_record_function =
    Option<unsafe extern "C" fn(user: *mut c_void, key: teak_slice, value: teak_slice) -> c_int>;

/// Calls a function for each record from the one that the cursor is on, without copies and without
/// further calls across the border. Returns TEAK_NONE when no records are left, and TEAK_OK if the
/// function ended the scan; the cursor is then on the record of that call. The function may read
/// with the same transaction, through other cursors.
///
/// Threads: any, while no other call uses the cursor. Lives: the function's arguments until it
/// returns.
///
/// Errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_cursor_scan(
    cursor: teak_cursor,
    txn: teak_txn,
    direction: u32,
    each: teak_record_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let Some(each) = each else {
                return Err(Failure::invalid_argument("the callback is a null pointer"));
            };
            let direction = direction_of(direction)?;
            let transaction = read(txn)?;
            let free = &mut changing(cursor, &transaction)?.free;
            let visit = |key: &[u8], value: &[u8]| match each(
                user,
                teak_slice::new(key),
                teak_slice::new(value),
            ) {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            };
            let is_ended = either!(transaction, txn => free.scan(txn, direction, visit))?;
            match is_ended {
                true => OK,
                false => Ok(teak_code::TEAK_NONE),
            }
        })
    }
}
