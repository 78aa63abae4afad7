//! Functions that copy records into memory of the caller, for languages that cannot hold addresses
//! of the mapped file. The copy is made while the transaction is in use, so no other thread can end
//! it meanwhile.
//!
//! A packed record is the length of the key and that of the value, four bytes each in the order of
//! the machine, and then the bytes of both.

use super::arguments::{bound, slice};
use crate::{
    batches::direction_of,
    codes::teak_code,
    cursors::{changing, seek_op, teak_cursor},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, OK, OutParameter, array, array_mut, give, whether},
    names::TableHandle,
    records::plain_of,
    tables::{change_table, teak_table},
    transactions::{Transaction, TransactionKind, either, read, teak_txn},
};
use std::{
    cmp::Ordering,
    ffi::c_void,
    ops::{Bound, ControlFlow},
};
use teak::{DetachedCursor, Direction, Table, codec::Raw};

/// The bytes of the two lengths of a packed record.
const LENGTHS: usize = 8;

/// Copies the value of a key to `buffer`, which has room for `room` bytes, and stores its length in
/// `len`. Copies nothing if it does not fit: call again with at least `len` bytes. Returns TEAK_NONE
/// if the key does not exist.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_copy_value(
    txn: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    buffer: *mut c_void,
    room: usize,
    len: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(len, "len")?;
            let buffer = array_mut(buffer.cast::<u8>(), room)?;
            let transaction = read(teak_txn { handle: txn })?;
            let table = plain_of(&transaction.opened, teak_table { number: table })?;
            let key = slice(key, key_len).bytes()?;
            let found = find(&transaction, table, key)?;
            if let Some(value) = found {
                out.set(value.len());
                if let Some(buffer) = buffer.get_mut(..value.len()) {
                    buffer.copy_from_slice(value);
                }
            }
            Ok(whether(found.is_some()))
        })
    }
}

/// Finds a value. Many programs look up keys in their order.
#[inline]
pub(super) fn find<'t>(
    transaction: &'t Transaction,
    table: &Table<Raw, Raw>,
    key: &[u8],
) -> teak::Result<Option<&'t [u8]>> {
    match &transaction.side {
        TransactionKind::Read(txn) => table.get_in_order(txn, key),
        TransactionKind::Write(writer) => table.get(&writer.txn, key),
    }
}

/// Packed records in the caller's memory.
struct Packed<'b> {
    buffer: &'b mut [u8],
    used: usize,
    count: usize,
    /// Where the last record begins.
    last: usize,
    /// The bytes of the first record, if it does not fit.
    missing: Option<usize>,
}

impl<'b> Packed<'b> {
    fn new(buffer: &'b mut [u8]) -> Self {
        Self {
            buffer,
            used: 0,
            count: 0,
            last: 0,
            missing: None,
        }
    }

    /// Returns whether the record has been added.
    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        let len = LENGTHS + key.len() + value.len();
        let lengths = u32::try_from(key.len())
            .ok()
            .zip(u32::try_from(value.len()).ok());
        let room = self.buffer.get_mut(self.used..self.used + len);
        let (Some((key_len, value_len)), Some(room)) = (lengths, room) else {
            if self.count == 0 {
                self.missing = Some(len);
            }
            return false;
        };
        let (lengths, room) = room.split_at_mut(LENGTHS);
        lengths[..4].copy_from_slice(&key_len.to_ne_bytes());
        lengths[4..].copy_from_slice(&value_len.to_ne_bytes());
        let (key_room, value_room) = room.split_at_mut(key.len());
        copy(key_room, key);
        copy(value_room, value);
        self.last = self.used;
        self.used += len;
        self.count += 1;
        true
    }

    /// Forgets the records from the first one for whose key `is_outside` is true, and returns
    /// whether there is one.
    fn cut(
        &mut self,
        is_outside: impl Fn(&[u8]) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        // Most batches lie inside, so only their last key is compared.
        match unpacked(&self.buffer[self.last..self.used]).next() {
            Some((last, _)) if is_outside(last)? => {}
            _ => return Ok(false),
        }
        let mut keys = Vec::with_capacity(self.count);
        let mut at = 0;
        for (key, value) in unpacked(&self.buffer[..self.used]) {
            keys.push((at, key));
            at += LENGTHS + key.len() + value.len();
        }
        let (mut inside, mut outside) = (0, keys.len() - 1);
        while inside < outside {
            let middle = usize::midpoint(inside, outside);
            match is_outside(keys[middle].1)? {
                true => outside = middle,
                false => inside = middle + 1,
            }
        }
        self.used = keys[outside].0;
        self.count = outside;
        Ok(true)
    }
}

/// Copies bytes to memory of the same length. Short ones take two moves, which may overlap, and no
/// call.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    #[inline(always)]
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> Option<()> {
        *to.first_chunk_mut::<N>()? = *from.first_chunk()?;
        *to.last_chunk_mut::<N>()? = *from.last_chunk()?;
        Some(())
    }
    let is_copied = match from.len() {
        4..=7 => ends::<4>(to, from),
        8..=16 => ends::<8>(to, from),
        17..=32 => ends::<16>(to, from),
        _ => None,
    };
    if is_copied.is_none() {
        to.copy_from_slice(from);
    }
}

/// The packed records of `bytes`, up to the first that is not whole.
fn unpacked(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let (key_len, rest) = bytes.split_first_chunk::<4>()?;
        let (value_len, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_at_checked(u32::from_ne_bytes(*key_len) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_ne_bytes(*value_len) as usize)?;
        bytes = rest;
        Some((key, value))
    })
}

/// Copies packed records to `buffer`, beginning with the one that the cursor is on, and moves the
/// cursor to the first record that was not copied. Copies at most `max` records, as many as fit in
/// `room` bytes, and none after the bound, which is an upper one for TEAK_FORWARD and a lower one
/// for TEAK_BACKWARD. Stores the number of records in `count` and their bytes in `used`.
///
/// Returns TEAK_NONE if no records are left after these. If the first record does not fit, `count`
/// is 0 and `used` is the room that it needs.
///
/// Threads: any, while no other call uses the cursor. Errors: as teak_cursor_move.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_cursor_copy(
    cursor: u64,
    txn: u64,
    direction: u32,
    bound_kind: u32,
    bound_key: *const c_void,
    bound_key_len: usize,
    buffer: *mut c_void,
    room: usize,
    max: usize,
    count: *mut usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (count, used) = (
                OutParameter::new(count, "count")?,
                OutParameter::new(used, "used")?,
            );
            let bound = bound(bound_kind, bound_key, bound_key_len).to_engine()?;
            let direction = direction_of(direction)?;
            let mut packed = Packed::new(array_mut(buffer.cast(), room)?);
            let transaction = read(teak_txn { handle: txn })?;
            let held = &mut *changing(teak_cursor { handle: cursor }, &transaction)?;
            let mut left = max;
            let copy = |key: &[u8], value: &[u8]| {
                let has_room = left > 0 && packed.add(key, value);
                left = left.saturating_sub(1);
                match has_room {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            };
            let mut more = either!(transaction, txn => held.free.scan(txn, direction, copy))?;
            let table = transaction.opened.table(held.table.number)?;
            let outside = |key: &[u8]| is_outside(&transaction, table, key, bound, direction);
            let missing_is_outside = packed.missing.is_some() && outside(held.free.key())?;
            if missing_is_outside || packed.cut(outside)? {
                (packed.missing, more) = (None, false);
            }
            count.set(packed.count);
            used.set(packed.missing.unwrap_or(packed.used));
            Ok(whether(more))
        })
    }
}

/// Whether a key is beyond the bound at which a scan ends.
fn is_outside(
    transaction: &Transaction,
    table: &TableHandle,
    key: &[u8],
    bound: Bound<&[u8]>,
    direction: Direction,
) -> Result<bool, Failure> {
    let (end, is_included) = match bound {
        Bound::Unbounded => return Ok(false),
        Bound::Included(end) => (end, true),
        Bound::Excluded(end) => (end, false),
    };
    let order = either!(transaction, txn => match table {
        TableHandle::Plain(table) => table.compare_keys(txn, key, end),
        TableHandle::Multi(table) => table.compare_keys(txn, key, end),
    })?;
    Ok(match (order, direction) {
        (Ordering::Equal, _) => !is_included,
        (order, Direction::Forward) => order == Ordering::Greater,
        (order, Direction::Backward) => order == Ordering::Less,
    })
}

/// Copies one packed record to `buffer`: the one that a teak_seek finds for the key, without a
/// cursor. Without a key (NULL), it is the first record for TEAK_AT_LEAST and the last one for
/// TEAK_AT_MOST. Stores its bytes in `used`. Copies nothing if they do not fit: call again with
/// that room. Returns TEAK_NONE if there is no such record.
///
/// Threads, errors: as teak_get.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_find(
    txn: u64,
    table: u64,
    seek: u32,
    key: *const c_void,
    key_len: usize,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let out = OutParameter::new(used, "used")?;
            let mut packed = Packed::new(array_mut(buffer.cast(), room)?);
            let key_slice = slice(key, key_len).bytes()?;
            let op = seek_op(seek)?;
            let transaction = read(teak_txn { handle: txn })?;
            let mut free = match transaction.opened.table(table)? {
                TableHandle::Plain(table) => DetachedCursor::new(table),
                TableHandle::Multi(table) => DetachedCursor::new(table),
            };
            let is_there = either!(transaction, txn => match (key.is_null(), seek) {
                (false, _) => free.seek(txn, op, key_slice),
                (true, 0) => free.first(txn),
                (true, 4) => free.last(txn),
                (true, _) => {
                    let text = "a search without a key is TEAK_AT_LEAST or TEAK_AT_MOST";
                    return Err(Failure::invalid_argument(text));
                }
            })?;
            if is_there {
                let value = either!(transaction, txn => free.value(txn))?;
                packed.add(free.key(), &value);
                out.set(packed.missing.unwrap_or(packed.used));
            }
            Ok(whether(is_there))
        })
    }
}

/// Inserts the packed records of `records`, which has `len` bytes: as teak_insert_many.
///
/// Threads: any, while no other call uses the transaction. Errors: as teak_insert_many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_insert_packed(
    txn: u64,
    table: u64,
    records: *const c_void,
    len: usize,
    inserted: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let bytes: &[u8] = array(records.cast(), len)?;
            let records: Vec<_> = unpacked(bytes).collect();
            let whole: usize = records
                .iter()
                .map(|(key, value)| LENGTHS + key.len() + value.len())
                .sum();
            if whole != len {
                let text = format!("packed records end after {whole} of {len} bytes");
                return Err(Failure::invalid_argument(text));
            }
            let (txn, table) = (teak_txn { handle: txn }, teak_table { number: table });
            let done = change_table(txn, table, |table, txn| {
                Ok(match table {
                    TableHandle::Plain(table) => table.insert_many(txn, &records)?,
                    TableHandle::Multi(table) => table.insert_many(txn, &records)?,
                })
            })?;
            give(inserted, done);
            OK
        })
    }
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
