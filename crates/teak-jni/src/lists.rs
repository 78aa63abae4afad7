//! Functions of the C interface that call a function for each of many things: here they write
//! lists. `used` receives the bytes of the whole list. If that is more than `room`, the list is
//! incomplete: the caller calls again with more room.

use crate::list::List;
use std::ffi::{c_char, c_int, c_void};
use teak_c::*;

/// Runs a walk that adds to a list, and stores the length of the list.
///
/// # Safety
///
/// `buffer` has `room` bytes, and `used` is NULL or points to memory for a number.
unsafe fn listed(
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    walk: impl FnOnce(*mut c_void) -> teak_code,
) -> teak_code {
    // SAFETY: the caller's promise.
    let mut list = unsafe { List::new(buffer, room) };
    let code = walk((&raw mut list).cast());
    if !used.is_null() {
        // SAFETY: the caller's promise.
        unsafe { used.write(list.len()) };
    }
    code
}

/// The list that a callback adds to.
///
/// # Safety
///
/// `user` is what [`listed`] passed to its walk, and nothing else uses the list.
unsafe fn list_of<'l>(user: *mut c_void) -> &'l mut List {
    // SAFETY: the caller's promise.
    unsafe { &mut *user.cast() }
}

/// Lists the tables: 1 for several values per key or 0, and the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_tables(
    txn: u64,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, name: teak_slice, several_values: u32) -> i32 {
        // SAFETY: the walk passes its list, and a valid name.
        unsafe {
            let list = list_of(user);
            list.add_number(several_values.into());
            list.add_slice(name);
        }
        0
    }
    // SAFETY: Java's promise.
    unsafe {
        listed(buffer, room, used, |list| {
            teak_table_each(teak_txn { handle: txn }, Some(each), list, error)
        })
    }
}

/// Lists the named snapshots: commit, time in microseconds, kept pages, and the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_snapshots(
    db: u64,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, snapshot: *const teak_snapshot) -> c_int {
        // SAFETY: the walk passes its list, and a valid snapshot.
        unsafe {
            let (list, snapshot) = (list_of(user), &*snapshot);
            list.add_number(snapshot.transaction);
            list.add_number(snapshot.time_us);
            list.add_number(snapshot.kept_pages);
            list.add_slice(snapshot.name);
        }
        0
    }
    // SAFETY: Java's promise.
    unsafe {
        listed(buffer, room, used, |list| {
            teak_snapshot_each(teak_db { handle: db }, Some(each), list, error)
        })
    }
}

/// Lists the tables that differ between two states: a teak_change, and the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_changed_tables(
    older: u64,
    newer: u64,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, name: teak_slice, change: u32) -> c_int {
        // SAFETY: the walk passes its list, and a valid name.
        unsafe {
            let list = list_of(user);
            list.add_number(change.into());
            list.add_slice(name);
        }
        0
    }
    let (older, newer) = (teak_txn { handle: older }, teak_txn { handle: newer });
    // SAFETY: Java's promise.
    unsafe {
        listed(buffer, room, used, |list| {
            teak_changed_tables(older, newer, Some(each), list, error)
        })
    }
}

/// A part of the differences between two states.
struct Differences {
    list: List,
    count: u64,
    whole_bytes: usize,
}

/// Lists differences of a table between two states: a teak_change, key, old value and new value.
/// Begins after the record of `key` and `value`, or with the first difference if `key` is NULL, and
/// leaves out those that do not fit. Stores their number in `count`, and their bytes in `used`; if
/// `count` is 0, the first needs that many. Returns TEAK_NONE if there are more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_differences(
    older: u64,
    newer: u64,
    table: u64,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
    buffer: *mut c_void,
    room: usize,
    count: *mut u64,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, difference: *const teak_difference) -> c_int {
        // SAFETY: the walk passes its part, and a valid difference.
        unsafe {
            let (part, difference) = (&mut *user.cast::<Differences>(), &*difference);
            part.list.add_number(difference.change.into());
            part.list.add_slice(difference.key);
            part.list.add_slice(difference.old_value);
            part.list.add_slice(difference.new_value);
            if part.list.fits() {
                part.count += 1;
                part.whole_bytes = part.list.len();
                return 0;
            }
            if part.count == 0 {
                part.whole_bytes = part.list.len();
            }
        }
        1
    }
    let slice = |data, len| teak_slice { data, len };
    let last = teak_record {
        key: slice(key, key_len),
        value: slice(value, value_len),
    };
    let after = match key.is_null() {
        true => std::ptr::null(),
        false => &raw const last,
    };
    // SAFETY: Java's promise.
    unsafe {
        let mut part = Differences {
            list: List::new(buffer, room),
            count: 0,
            whole_bytes: 0,
        };
        let user = (&raw mut part).cast();
        let walked = std::ptr::null_mut();
        let code =
            teak_flat_differences(older, newer, table, after, Some(each), user, walked, error);
        if !count.is_null() && !used.is_null() {
            count.write(part.count);
            used.write(part.whole_bytes);
        }
        code
    }
}

/// Lists the keys at which the parts of a range begin, except for the first part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_split_range(
    txn: u64,
    table: u64,
    low_kind: u32,
    low: *const c_void,
    low_len: usize,
    high_kind: u32,
    high: *const c_void,
    high_len: usize,
    parts: usize,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, key: teak_slice, _value: teak_slice) -> c_int {
        // SAFETY: the walk passes its list, and a valid key.
        unsafe { list_of(user).add_slice(key) };
        0
    }
    let bound = |kind, data, len| teak_bound {
        kind,
        reserved: 0,
        key: teak_slice { data, len },
    };
    let (txn, table) = (teak_txn { handle: txn }, teak_table { number: table });
    let (low, high) = (
        bound(low_kind, low, low_len),
        bound(high_kind, high, high_len),
    );
    // SAFETY: Java's promise.
    unsafe {
        listed(buffer, room, used, |list| {
            teak_split_range(txn, table, low, high, parts, Some(each), list, error)
        })
    }
}

/// Checks a database, and lists the damages: page, table and description.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_check(
    db: u64,
    report: *mut teak_check_report,
    buffer: *mut c_void,
    room: usize,
    used: *mut usize,
    error: *mut teak_error,
) -> teak_code {
    unsafe extern "C" fn each(user: *mut c_void, damage: *const teak_damage) -> c_int {
        // SAFETY: the walk passes its list, and a valid damage.
        unsafe {
            let (list, damage) = (list_of(user), &*damage);
            list.add_number(damage.page);
            list.add_slice(damage.table);
            list.add_slice(damage.detail);
        }
        0
    }
    let none = std::ptr::null_mut();
    // SAFETY: Java's promise.
    unsafe {
        listed(buffer, room, used, |list| {
            teak_db_check(
                teak_db { handle: db },
                report,
                Some(each),
                list,
                None,
                none,
                error,
            )
        })
    }
}

/// Copies a database to a new file: page by page, or as a compact one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_backup(
    db: u64,
    path: *const c_char,
    compact: u32,
    error: *mut teak_error,
) -> teak_code {
    let (db, none) = (teak_db { handle: db }, std::ptr::null_mut());
    // SAFETY: Java's promise.
    unsafe {
        match compact {
            0 => teak_db_backup(db, path, None, none, error),
            _ => teak_db_backup_compact(db, path, None, none, error),
        }
    }
}

/// Makes the file as short as possible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_java_compact(
    db: u64,
    report: *mut teak_compact_report,
    error: *mut teak_error,
) -> teak_code {
    let (db, none) = (teak_db { handle: db }, std::ptr::null_mut());
    // SAFETY: Java's promise.
    unsafe { teak_db_compact_with(db, std::ptr::null(), report, None, none, error) }
}
