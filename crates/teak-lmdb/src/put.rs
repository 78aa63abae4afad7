//! Putting and deleting records.

use crate::{
    border::Value,
    codes::{self, Code, Outcome},
    environment::{MAX_KEY, MAX_VALUE},
    flags,
    handles::{MAIN, Open, Tables},
    reserved::Reserved,
    transaction::Transaction,
};
use std::{cmp::Ordering, ffi::c_uint, sync::Arc};

const KEY_EXISTS: Code = Code(codes::KEYEXIST);
const BAD_SIZE: Code = Code(codes::BAD_VALSIZE);

/// Refuses keys that LMDB does not take.
pub(crate) fn check_len(len: usize) -> Outcome {
    match (1..=MAX_KEY).contains(&len) {
        true => Ok(()),
        false => Err(BAD_SIZE),
    }
}

/// Refuses values of a key that has several that LMDB does not take.
pub(crate) fn check_len_of_several(len: usize) -> Outcome {
    match len <= MAX_KEY {
        true => Ok(()),
        false => Err(BAD_SIZE),
    }
}

/// What the engine calls an impossible argument is a key or a value of a size that others do not have.
pub(crate) fn of_size(code: Code) -> Code {
    match code {
        Code::INVALID_ARGUMENT => BAD_SIZE,
        other => other,
    }
}

/// Puts a record. `data` is told the value that is there already, or where a reserved one is to be written.
pub(crate) fn put(
    txn: &mut Transaction,
    handle: c_uint,
    key: &[u8],
    data: &mut Value,
    asked: c_uint,
) -> Outcome {
    let open = txn.open(handle)?;
    txn.refuse_reader()?;
    check_len(key.len())?;
    // What they point to may be a page that changes.
    let key = key.to_vec();
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
    // Of a record that is to be the last one LMDB looks only whether it is.
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
        Tables::Plain(_) => put_plain(txn, &open, &key, data, asked),
        Tables::Multi(_) => {
            // SAFETY: the client gives a value that is there while the function runs.
            let value = unsafe { data.bytes() }?.to_vec();
            put_multi(txn, &open, &key, &value, asked)
        }
    }
}

fn put_plain(
    txn: &mut Transaction,
    open: &Arc<Open>,
    key: &[u8],
    data: &mut Value,
    asked: c_uint,
) -> Outcome {
    let Tables::Plain(table) = &open.tables else {
        return Err(Code(codes::INCOMPATIBLE));
    };
    let is_reserved = asked & flags::RESERVE != 0;
    let value = match is_reserved {
        true => kept_or_zeros(txn.view()?.get(&open.tables, key)?, data.len)?,
        // SAFETY: the client gives a value that is there while the function runs.
        false => unsafe { data.bytes() }?.to_vec(),
    };
    let changed = match asked & flags::APPEND {
        0 => txn.change(|txn| table.insert(txn, key, &value)),
        _ => txn.change(|txn| table.append(txn, key, &value)),
    };
    changed.map_err(of_size)?;
    if is_reserved {
        let mut reserved = Reserved::new(open, key, value);
        *data = Value::new(reserved.value());
        txn.writer()?.reserved = Some(reserved);
    }
    Ok(())
}

/// What a reserved value is before the client has written to it: as it was, if it keeps its length, since clients change a part of it.
fn kept_or_zeros(old: Option<&[u8]>, len: usize) -> Outcome<Vec<u8>> {
    let mut value = Vec::new();
    (value.try_reserve_exact(len)).map_err(|_| Code(libc::ENOMEM))?;
    match old {
        Some(old) if old.len() == len => value.extend_from_slice(old),
        _ => value.resize(len, 0),
    }
    Ok(value)
}

fn put_multi(
    txn: &mut Transaction,
    open: &Open,
    key: &[u8],
    value: &[u8],
    asked: c_uint,
) -> Outcome {
    let Tables::Multi(table) = &open.tables else {
        return Err(Code(codes::INCOMPATIBLE));
    };
    if asked & flags::RESERVE != 0 {
        return Err(Code::INVALID_ARGUMENT);
    }
    if asked & flags::APPEND != 0
        && let Some(last) = txn.view()?.last_key(&open.tables)?
        && open.compare_keys(key, &last) != Ordering::Greater
    {
        return Err(KEY_EXISTS);
    }
    if asked & flags::APPENDDUP != 0
        && let Some(last) = txn.view()?.last_value(&open.tables, key).map_err(of_size)?
        && open.compare_values(value, &last) != Ordering::Greater
    {
        return Err(KEY_EXISTS);
    }
    let is_new = txn
        .change(|txn| table.insert(txn, key, value))
        .map_err(of_size)?;
    match is_new || asked & flags::NODUPDATA == 0 {
        true => Ok(()),
        false => Err(KEY_EXISTS),
    }
}

/// Deletes a key, or one of its values.
pub(crate) fn delete(
    txn: &mut Transaction,
    handle: c_uint,
    key: &[u8],
    value: Option<&[u8]>,
) -> Outcome {
    let open = txn.open(handle)?;
    txn.refuse_reader()?;
    if key.is_empty() {
        return Err(BAD_SIZE);
    }
    let open = open.ok_or(Code::NOT_FOUND)?;
    let (key, value) = (key.to_vec(), value.map(<[u8]>::to_vec));
    if handle == MAIN && txn.is_database(&key)? {
        txn.set_broken();
        return Err(Code(codes::INCOMPATIBLE));
    }
    let is_deleted = txn.change(|txn| match (&open.tables, &value) {
        (Tables::Plain(table), _) => table.remove(txn, &key),
        (Tables::Multi(table), Some(value)) => table.remove(txn, &key, value),
        (Tables::Multi(table), None) => Ok(table.remove_key(txn, &key)? != 0),
    });
    if !is_deleted.map_err(of_size)? {
        return Err(Code::NOT_FOUND);
    }
    forget_places(txn, handle, &open)
}

/// Where nothing is left, cursors are nowhere.
pub(crate) fn forget_places(txn: &mut Transaction, handle: c_uint, open: &Open) -> Outcome {
    if txn.view()?.stat(&open.tables)?.records == 0 {
        txn.reset_cursors(handle);
    }
    Ok(())
}
