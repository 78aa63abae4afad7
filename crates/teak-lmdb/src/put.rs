//! Putting and deleting records.

use crate::{
    border::Value,
    codes::{self, CallResult, Code},
    compare::ComparisonScope,
    flags,
    handles::{MAIN, OpenDatabase, TableHandle},
    limits::{MAX_KEY, MAX_VALUE},
    orders::SoughtValue,
    reserved_value::ReservedValue,
    transaction::Transaction,
};
use std::{cmp::Ordering, ffi::c_uint, sync::Arc};

const KEY_EXISTS: Code = Code(codes::KEYEXIST);
const BAD_SIZE: Code = Code(codes::BAD_VALSIZE);

/// Refuses keys of a length that LMDB does not allow.
pub(crate) fn check_len(len: usize) -> CallResult {
    match (1..=MAX_KEY).contains(&len) {
        true => Ok(()),
        false => Err(BAD_SIZE),
    }
}

/// Refuses values of a length that LMDB does not allow where a key has several.
pub(crate) fn check_len_of_several(len: usize) -> CallResult {
    match len <= MAX_KEY {
        true => Ok(()),
        false => Err(BAD_SIZE),
    }
}

/// The code for an argument that the engine refuses: here it is a key or value whose size differs
/// from the others.
pub(crate) fn of_size(code: Code) -> Code {
    match code {
        Code::INVALID_ARGUMENT => BAD_SIZE,
        other => other,
    }
}

/// Puts a record. Stores in `data` the value that exists already, or the memory for a reserved one.
pub(crate) fn put(
    txn: &mut Transaction,
    handle: c_uint,
    passed_key: &Value,
    data: &mut Value,
    asked: c_uint,
) -> CallResult {
    let open = txn.open(handle)?;
    txn.refuse_reader()?;
    check_len(passed_key.len)?;
    // The pointers may lead into a page that changes. SAFETY: the client's key is valid while the
    // function runs.
    let key = unsafe { passed_key.bytes() }?.to_vec();
    let has_several = match &open {
        Some(open) => open.is_multi(),
        None => txn.main_flags()? & flags::DUPSORT != 0,
    };
    if has_several {
        check_len_of_several(data.len)?;
    }
    if data.len > MAX_VALUE {
        return Err(BAD_SIZE);
    }
    let open = match open {
        Some(open) => open,
        None => txn.make_main()?,
    };
    txn.store_reserved()?;
    let _sought = SoughtValue::new(&open, ComparisonScope::Keys, passed_key, &key);
    // With APPEND, LMDB only checks that the record is the last one.
    if asked & flags::NOOVERWRITE != 0
        && asked & flags::APPEND == 0
        && let Some(there) = txn.view()?.get(&open.tables, &key)?
    {
        *data = Value::new(there);
        return Err(KEY_EXISTS);
    }
    if handle == MAIN && txn.is_database(&key)? {
        return Err(Code(codes::INCOMPATIBLE));
    }
    match &open.tables {
        TableHandle::Plain(_) => put_plain(txn, &open, &key, data, asked),
        TableHandle::Multi(_) => {
            if asked & flags::RESERVE != 0 {
                return reserve_first(txn, &open, &key, data, asked);
            }
            // SAFETY: the client's value is valid while the function runs.
            let value = unsafe { data.bytes() }?.to_vec();
            let _sought = SoughtValue::new(&open, ComparisonScope::Values, data, &value);
            put_multi(txn, &open, &key, &value, asked)
        }
    }
}

/// Replaces the value of a stored key, without a search for a value of the client's.
pub(crate) fn put_stored(
    txn: &mut Transaction,
    handle: c_uint,
    open: &Arc<OpenDatabase>,
    key: &[u8],
    data: &mut Value,
    asked: c_uint,
) -> CallResult {
    if data.len > MAX_VALUE {
        return Err(BAD_SIZE);
    }
    txn.store_reserved()?;
    if handle == MAIN && txn.is_database(key)? {
        return Err(Code(codes::INCOMPATIBLE));
    }
    put_plain(txn, open, key, data, asked)
}

fn put_plain(
    txn: &mut Transaction,
    open: &Arc<OpenDatabase>,
    key: &[u8],
    data: &mut Value,
    asked: c_uint,
) -> CallResult {
    let TableHandle::Plain(table) = &open.tables else {
        return Err(Code(codes::INCOMPATIBLE));
    };
    let is_reserved = asked & flags::RESERVE != 0;
    let value = match is_reserved {
        true => kept_or_zeros(txn.view()?.get(&open.tables, key)?, data.len)?,
        // SAFETY: the client's value is valid while the function runs.
        false => unsafe { data.bytes() }?.to_vec(),
    };
    let changed = match asked & flags::APPEND {
        0 => txn.change(|txn| table.insert(txn, key, &value)),
        _ => txn.change(|txn| table.append(txn, key, &value)),
    };
    changed.map_err(of_size)?;
    match is_reserved {
        true => note_reserved(txn, open, key, value, data),
        false => Ok(()),
    }
}

/// The initial bytes of a reserved value: the old ones if the length stays, since clients change
/// only a part.
fn kept_or_zeros(old: Option<&[u8]>, len: usize) -> CallResult<Vec<u8>> {
    let mut value = Vec::new();
    (value.try_reserve_exact(len)).map_err(|_| Code(libc::ENOMEM))?;
    match old {
        Some(old) if old.len() == len => value.extend_from_slice(old),
        _ => value.resize(len, 0),
    }
    Ok(value)
}

/// Reserves the first value of a key that can have several. LMDB's manual forbids that, but LMDB
/// does it.
fn reserve_first(
    txn: &mut Transaction,
    open: &Arc<OpenDatabase>,
    key: &[u8],
    data: &mut Value,
    asked: c_uint,
) -> CallResult {
    if txn.view()?.get(&open.tables, key)?.is_some() {
        return Err(Code::INVALID_ARGUMENT);
    }
    refuse_unsorted(txn, open, key, asked)?;
    let zeros = vec![0; data.len];
    if let TableHandle::Multi(table) = &open.tables {
        let put = txn.change(|txn| table.insert(txn, key, &zeros));
        put.map_err(of_size)?;
    }
    note_reserved(txn, open, key, zeros, data)
}

/// Gives the client the memory of a reserved value, which is stored before anything else happens.
fn note_reserved(
    txn: &mut Transaction,
    open: &Arc<OpenDatabase>,
    key: &[u8],
    value: Vec<u8>,
    data: &mut Value,
) -> CallResult {
    let mut reserved = ReservedValue::new(open, key, value);
    *data = Value::new(reserved.value());
    txn.writer()?.reserved = Some(reserved);
    Ok(())
}

/// Refuses to append a key that does not come last, in a table of several values.
fn refuse_unsorted(
    txn: &mut Transaction,
    open: &OpenDatabase,
    key: &[u8],
    asked: c_uint,
) -> CallResult {
    if asked & flags::APPEND != 0
        && let Some(last) = txn.view()?.last_key(&open.tables)?
        && open.compare_keys(key, &last) != Ordering::Greater
    {
        return Err(KEY_EXISTS);
    }
    Ok(())
}

fn put_multi(
    txn: &mut Transaction,
    open: &OpenDatabase,
    key: &[u8],
    value: &[u8],
    asked: c_uint,
) -> CallResult {
    let TableHandle::Multi(table) = &open.tables else {
        return Err(Code(codes::INCOMPATIBLE));
    };
    refuse_unsorted(txn, open, key, asked)?;
    if asked & flags::APPENDDUP != 0
        && let Some(last) = txn.view()?.last_value(&open.tables, key).map_err(of_size)?
        && open.compare_values(value, &last) != Ordering::Greater
    {
        return Err(KEY_EXISTS);
    }
    let has_sizes = txn.view()?.has_sizes(open)?;
    if has_sizes {
        refuse_other_size(txn, open, key, value)?;
    }
    let insert = |txn: &mut Transaction| {
        let inserted = txn.change(|txn| table.insert(txn, key, value));
        inserted.map_err(of_size)
    };
    let is_new = match insert(txn) {
        Err(BAD_SIZE) if is_first_of_its_size(txn, open, key, value)? => {
            txn.free_sizes(open)?;
            insert(txn)?
        }
        inserted => inserted?,
    };
    if is_new {
        return Ok(());
    }
    if asked & flags::NODUPDATA != 0 {
        return Err(KEY_EXISTS);
    }
    // The comparison may call different bytes equal.
    if has_sizes || open.order(ComparisonScope::Values).is_some() {
        txn.change(|txn| table.replace(txn, key, value, value))?;
    }
    Ok(())
}

/// Refuses a value of another size than others of its key.
fn refuse_other_size(
    txn: &Transaction,
    open: &OpenDatabase,
    key: &[u8],
    value: &[u8],
) -> CallResult {
    match txn.view()?.get(&open.tables, key)? {
        Some(first) if first.len() != value.len() => Err(BAD_SIZE),
        _ => Ok(()),
    }
}

/// Whether the engine refuses a value only for its size, in a table whose values have one, while
/// its key has none yet. LMDB compares sizes only within a key.
fn is_first_of_its_size(
    txn: &Transaction,
    open: &OpenDatabase,
    key: &[u8],
    value: &[u8],
) -> CallResult<bool> {
    let view = txn.view()?;
    if !open.has(flags::DUPFIXED | flags::INTEGERDUP) || view.has_sizes(open)? {
        return Ok(false);
    }
    let is_key_wrong = open.has(flags::INTEGERKEY)
        && match view.last_key(&open.tables)? {
            Some(last) => last.len() != key.len(),
            None => !matches!(key.len(), 4 | 8),
        };
    Ok(!is_key_wrong && refuse_other_size(txn, open, key, value).is_ok())
}

/// Deletes a key, or one of its values.
pub(crate) fn delete(
    txn: &mut Transaction,
    handle: c_uint,
    passed_key: &Value,
    passed_value: Option<&Value>,
) -> CallResult {
    let open = txn.open(handle)?;
    txn.refuse_reader()?;
    if passed_key.len == 0 {
        return Err(BAD_SIZE);
    }
    let open = open.ok_or(Code::NOT_FOUND)?;
    // SAFETY: the client's key is valid while the function runs.
    let key = unsafe { passed_key.bytes() }?.to_vec();
    let _sought = SoughtValue::new(&open, ComparisonScope::Keys, passed_key, &key);
    let value = match passed_value.filter(|_| open.is_multi()) {
        // SAFETY: the client's value is valid while the function runs.
        Some(passed) => Some((passed, unsafe { passed.bytes() }?.to_vec())),
        None => None,
    };
    let _sought_value = (value.as_ref()).and_then(|(passed, value)| {
        SoughtValue::new(&open, ComparisonScope::Values, passed, value)
    });
    if handle == MAIN && txn.is_database(&key)? {
        txn.set_broken();
        return Err(Code(codes::INCOMPATIBLE));
    }
    let is_deleted = txn.change(|txn| match (&open.tables, &value) {
        (TableHandle::Plain(table), _) => table.remove(txn, &key),
        (TableHandle::Multi(table), Some((_, value))) => table.remove(txn, &key, value),
        (TableHandle::Multi(table), None) => Ok(table.remove_key(txn, &key)? != 0),
    });
    if !is_deleted.map_err(of_size)? {
        return Err(Code::NOT_FOUND);
    }
    reset_cursor_positions(txn, handle, &open)
}

/// Clears the positions of cursors on an emptied database.
pub(crate) fn reset_cursor_positions(
    txn: &mut Transaction,
    handle: c_uint,
    open: &OpenDatabase,
) -> CallResult {
    if txn.view()?.stat(&open.tables)?.records == 0 {
        txn.reset_cursors(handle);
    }
    Ok(())
}
