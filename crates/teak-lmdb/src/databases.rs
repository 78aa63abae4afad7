//! `mdb_dbi_*`, `mdb_stat`, `mdb_drop`, comparing.

use crate::{
    border::{Stat, Value, answer, caught, live, live_mut, own, shared, unanswered},
    codes::{self, CallResult, Code},
    compare::{self, ComparisonScope},
    description,
    environment::Environment,
    flags, free_pages,
    handles::{FIRST_NAMED, FREE, MAIN, OpenDatabase, TableHandle, check_flags},
    limits::{MAX_KEY, PAGE_SIZE},
    orders,
    transaction::Transaction,
};
use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::{Arc, atomic},
};

pub use crate::orders::CompareFunction;

/// A client's function that relocates a value.
pub type RelocateFunction = unsafe extern "C" fn(*mut Value, *mut c_void, *mut c_void, *mut c_void);

/// Opens a database: the main one if `name` is null.
///
/// # Safety
///
/// `transaction` is a handle, `name` is null or a string, and `handle` points to memory for a
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dbi_open(
    transaction: *mut Transaction,
    name: *const c_char,
    asked: c_uint,
    handle: *mut c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (txn, out) = unsafe { (live_mut(transaction)?, own(handle)?) };
        check_flags(asked)?;
        txn.refuse_blocked()?;
        if name.is_null() {
            txn.add_main_flags(asked & flags::PERSISTENT)?;
            *out = MAIN;
            return Ok(());
        }
        // SAFETY: the caller's promise.
        *out = open_named(txn, unsafe { CStr::from_ptr(name) }.to_bytes(), asked)?;
        Ok(())
    })
}

fn open_named(txn: &mut Transaction, name: &[u8], asked: c_uint) -> CallResult<c_uint> {
    if let Some(handle) = txn.handle_of(name) {
        return Ok(handle);
    }
    let handle = txn.opened.handles().reserve()?;
    match open_or_create(txn, name, asked) {
        Ok(open) => {
            txn.own(handle, open);
            Ok(handle)
        }
        Err(code) => {
            txn.opened.handles().give_back(handle);
            Err(code)
        }
    }
}

fn open_or_create(
    txn: &mut Transaction,
    name: &[u8],
    asked: c_uint,
) -> CallResult<Arc<OpenDatabase>> {
    let is_created = asked & flags::CREATE != 0;
    if txn.main_flags()? & (flags::DUPSORT | flags::INTEGERKEY) != 0 {
        return Err(match is_created {
            true => Code(codes::INCOMPATIBLE),
            false => Code::NOT_FOUND,
        });
    }
    if !(1..=MAX_KEY).contains(&name.len()) {
        return Err(Code(codes::BAD_VALSIZE));
    }
    txn.store_reserved()?;
    let main = txn.open(MAIN)?;
    let view = txn.view()?;
    let record = match &main {
        Some(main) => view.get(&main.tables, name)?,
        None => None,
    };
    if let Some(open) = view.open(
        &txn.opened.database,
        name,
        record.and_then(description::flags_in),
    )? {
        return Ok(open);
    }
    if record.is_some() {
        return Err(Code(codes::INCOMPATIBLE));
    }
    if !is_created {
        return Err(Code::NOT_FOUND);
    }
    txn.refuse_reader()?;
    let database_flags = asked & flags::PERSISTENT;
    let main = txn.make_main()?;
    let TableHandle::Plain(main) = &main.tables else {
        return Err(Code(codes::INCOMPATIBLE));
    };
    let tables = txn.create(name, database_flags)?;
    orders::know_order_of_sizes(&txn.opened.database, name, database_flags)?;
    let record = description::of_flags(database_flags);
    txn.change(|txn| main.insert(txn, name, record))?;
    txn.writer()?.forget_names();
    Ok(OpenDatabase::new(database_flags, tables))
}

/// Closes a handle.
///
/// # Safety
///
/// `environment` is null or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dbi_close(environment: *mut Environment, handle: c_uint) {
    unanswered(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { live(environment) }?.opened()?;
        opened.handles().close(handle);
        opened.count_generation();
        Ok(())
    });
}

/// Returns the flags of a database.
///
/// # Safety
///
/// `transaction` is a handle, and `flags` points to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dbi_flags(
    transaction: *mut Transaction,
    handle: c_uint,
    flags: *mut c_uint,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (txn, out) = unsafe { (live_mut(transaction)?, own(flags)?) };
        *out = flags_of(txn, handle)?;
        Ok(())
    })
}

fn flags_of(txn: &mut Transaction, handle: c_uint) -> CallResult<c_uint> {
    match txn.open(handle)? {
        Some(open) => Ok(open.flags),
        None => txn.main_flags(),
    }
}

/// Returns counts of a database.
///
/// # Safety
///
/// `transaction` is a handle, and `stat` points to memory for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_stat(
    transaction: *mut Transaction,
    handle: c_uint,
    stat: *mut Stat,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let (txn, out) = unsafe { (live_mut(transaction)?, own(stat)?) };
        if handle == FREE && !txn.is_reset() {
            *out = stat_of_free(txn)?;
            return Ok(());
        }
        txn.open(handle)?;
        txn.refuse_blocked()?;
        txn.store_reserved()?;
        *out = txn.stat(handle)?;
        Ok(())
    })
}

/// One record of the numbers of free pages, in pages that would hold it.
fn stat_of_free(txn: &Transaction) -> CallResult<Stat> {
    let bytes = free_pages::numbers(&txn.opened.database)?.len() * size_of::<u64>();
    let is_large = bytes > PAGE_SIZE / 2;
    Ok(Stat {
        page_size: PAGE_SIZE as c_uint,
        depth: 1,
        branch_pages: 0,
        leaf_pages: 1,
        overflow_pages: if is_large {
            bytes.div_ceil(PAGE_SIZE)
        } else {
            0
        },
        entries: 1,
    })
}

/// Empties a database. With `is_deleted`, deletes it.
///
/// # Safety
///
/// `transaction` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_drop(
    transaction: *mut Transaction,
    handle: c_uint,
    is_deleted: c_int,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let txn = unsafe { live_mut(transaction) }?;
        if !(0..=1).contains(&is_deleted) {
            return Err(Code::INVALID_ARGUMENT);
        }
        let open = txn.open(handle)?;
        txn.refuse_reader()?;
        let Some(open) = open else {
            return Ok(());
        };
        match is_deleted != 0 && handle >= FIRST_NAMED {
            true => delete(txn, handle, &open),
            false => clear(txn, handle, &open),
        }
    })
}

/// Deletes a database. The handle ends now, for all transactions, whatever the outcome of this one.
fn delete(txn: &mut Transaction, handle: c_uint, open: &OpenDatabase) -> CallResult {
    let name = open.name().to_vec();
    let main = txn.make_main()?;
    txn.change(|txn| {
        txn.drop_table(&name)?;
        match &main.tables {
            TableHandle::Plain(main) => main.remove(txn, &name).map(drop),
            TableHandle::Multi(_) => Ok(()),
        }
    })?;
    txn.writer()?.forget_names();
    txn.close_dropped(handle, open);
    Ok(())
}

/// Empties a database; with the main one go all that have a record there.
fn clear(txn: &mut Transaction, handle: c_uint, open: &OpenDatabase) -> CallResult {
    let mut named = Vec::new();
    if handle == MAIN {
        named = txn.view()?.names()?;
        named.retain(|name| !name.is_empty());
    }
    txn.change(|txn| {
        for name in &named {
            txn.drop_table(name)?;
        }
        match &open.tables {
            TableHandle::Plain(table) => table.clear(txn),
            TableHandle::Multi(table) => table.clear(txn),
        }
    })?;
    txn.writer()?.forget_names();
    txn.reset_cursors(handle);
    Ok(())
}

/// Orders the keys of a database by a function. Has to be called each time after the database was
/// opened, before it is used. The first time the database must be empty.
///
/// # Safety
///
/// `transaction` is a handle; the function can be called with two values as long as the environment
/// is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_compare(
    transaction: *mut Transaction,
    handle: c_uint,
    compare: Option<CompareFunction>,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { live_mut(transaction) }?.set_order(handle, ComparisonScope::Keys, compare))
}

/// Orders the values of each key by a function, like [`mdb_set_compare`].
///
/// # Safety
///
/// As for [`mdb_set_compare`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_dupsort(
    transaction: *mut Transaction,
    handle: c_uint,
    compare: Option<CompareFunction>,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { live_mut(transaction) }?.set_order(handle, ComparisonScope::Values, compare))
}

/// Keeps nothing: values have no addresses that could change.
///
/// # Safety
///
/// `transaction` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_relfunc(
    transaction: *mut Transaction,
    handle: c_uint,
    _relocate: Option<RelocateFunction>,
) -> c_int {
    // SAFETY: the caller's promise.
    answer(|| unsafe { live_mut(transaction) }?.open(handle).map(drop))
}

/// Keeps a pointer for that function.
///
/// # Safety
///
/// `transaction` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_set_relctx(
    transaction: *mut Transaction,
    handle: c_uint,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        // SAFETY: the caller's promise.
        let open = unsafe { live_mut(transaction) }?.open(handle)?;
        if let Some(open) = open {
            open.relocation.store(context, atomic::Ordering::Release);
        }
        Ok(())
    })
}

/// Compares two keys: the result is negative, 0 or positive.
///
/// # Safety
///
/// `transaction` is a handle, and `a` and `b` point to values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_cmp(
    transaction: *mut Transaction,
    handle: c_uint,
    a: *const Value,
    b: *const Value,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compared(transaction, handle, (a, b), ComparisonScope::Keys) }
}

/// Compares two values of a key: the result is negative, 0 or positive.
///
/// # Safety
///
/// As for [`mdb_cmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_dcmp(
    transaction: *mut Transaction,
    handle: c_uint,
    a: *const Value,
    b: *const Value,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compared(transaction, handle, (a, b), ComparisonScope::Values) }
}

/// # Safety
///
/// As for [`mdb_cmp`].
unsafe fn compared(
    transaction: *mut Transaction,
    handle: c_uint,
    (a, b): (*const Value, *const Value),
    of: ComparisonScope,
) -> c_int {
    let ordering = caught(|| {
        // SAFETY: the caller's promise.
        let (txn, a, b) = unsafe { (live_mut(transaction)?, shared(a)?, shared(b)?) };
        let open = txn.open(handle)?;
        if let Some(given) = open.as_ref().and_then(|open| open.order(of)) {
            return given.compare_passed(a, b);
        }
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (a.bytes()?, b.bytes()?) };
        let flags = match open {
            Some(open) => open.flags,
            None => txn.main_flags()?,
        };
        Ok(match of {
            ComparisonScope::Keys => compare::keys(flags, a, b),
            ComparisonScope::Values => compare::values(flags, a, b),
        } as c_int)
    });
    ordering.unwrap_or(0)
}
