//! Tables: opening, creating and dropping them.

use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{Grows, OK, OutParameter, teak_slice, whether},
    names::TableHandle,
    options::teak_table_options,
    teak_code,
    transactions::{Transaction, change, either, read, teak_txn},
};
use teak::{Error, MultiTableDef, TableDef, TableStat, Transaction as _, WriteTxn};

/// A table: a number that is valid while its database is open. It is the same number in
/// every transaction and for every caller that opens the table. Tables are not closed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_table {
    /// Zero for none.
    pub number: u64,
}

/// Counts of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_table_stat {
    /// sizeof(teak_table_stat).
    pub size: usize,
    /// Records, or pairs if keys have several values.
    pub records: u64,
    /// Levels of pages.
    pub depth: u64,
    /// Inner pages.
    pub inner_pages: u64,
    /// Leaves.
    pub leaf_pages: u64,
    /// Pages of large values, and of the values of keys that have many.
    pub value_pages: u64,
    /// The last commit that changed the table.
    pub changed: u64,
    /// The next number of its sequence.
    pub sequence: u64,
    /// 1 if a key has several values.
    pub several_values: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_table_stat {
    const NAME: &'static str = "teak_table_stat";
}

/// Changes a table of either kind.
pub(crate) fn change_table<R>(
    txn: teak_txn,
    table: teak_table,
    work: impl FnOnce(&TableHandle, &mut WriteTxn) -> Result<R, Failure>,
) -> Result<R, Failure> {
    change(txn)?.change(|opened, txn| work(opened.table(table.number)?, txn))
}

impl Transaction {
    fn number(&self, table: TableHandle) -> Result<teak_table, Failure> {
        let number = self.opened.number_of(table)?;
        Ok(teak_table { number })
    }

    fn open(&self, name: &[u8]) -> Result<TableHandle, Failure> {
        either!(self, txn => match txn.open_table(name) {
            Ok(table) => Ok(TableHandle::Plain(table)),
            Err(Error::TableMismatch { .. }) => Ok(TableHandle::Multi(txn.open_multi_table(name)?)),
            Err(error) => Err(error.into()),
        })
    }
}

/// Opens a table, with one or with several values per key. Returns TEAK_NONE if none has that name.
///
/// Threads: any. Lives: as long as the database is open. In another transaction it means the same
/// table, whether or not the table exists there.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_COMPARISON_MISSING, TEAK_COMPARISON_MISMATCH,
/// TEAK_CORRUPTED, TEAK_SNAPSHOT_LOST, TEAK_FORKED.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// check(teak_txn_begin_read(db, &txn, &error));
/// assert(teak_table_open(txn, teak_text("no such table"), &table, &error) == TEAK_NONE);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_open(
    txn: teak_txn,
    name: teak_slice,
    table: *mut teak_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(table, "table")?;
            out.set(teak_table { number: 0 });
            let transaction = read(txn)?;
            let opened = match transaction.open(name.bytes()?) {
                Err(failure) if failure.code == teak_code::TEAK_TABLE_NOT_FOUND => {
                    return Ok(teak_code::TEAK_NONE);
                }
                opened => opened?,
            };
            out.set(transaction.number(opened)?);
            OK
        })
    }
}

/// Opens a table, or creates it if none has that name. `options` may be NULL.
///
/// Threads: any, while no other call uses the transaction. Lives: as teak_table_open.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION; TEAK_TABLE_MISMATCH if it was
/// created with other options; TEAK_KEY_TOO_LONG (of the name), TEAK_INVALID_ARGUMENT,
/// TEAK_TOO_NEW, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_create(
    txn: teak_txn,
    name: teak_slice,
    options: *const teak_table_options,
    table: *mut teak_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(table, "table")?;
            out.set(teak_table { number: 0 });
            let options = teak_table_options::read_from(options)?;
            let name = name.bytes()?;
            let mut transaction = change(txn)?;
            let created = transaction.change(|opened, txn| {
                let (options, is_multi) = options.to_engine(&opened.comparisons)?;
                Ok(match is_multi {
                    true => TableHandle::Multi(
                        MultiTableDef::from_bytes(name)
                            .options(options)
                            .create(txn)?,
                    ),
                    false => {
                        TableHandle::Plain(TableDef::from_bytes(name).options(options).create(txn)?)
                    }
                })
            })?;
            out.set(transaction.number(created)?);
            OK
        })
    }
}

/// Drops a table with all its records. Returns TEAK_NONE if none has that name.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_TRANSACTION_BROKEN,
/// TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_drop(
    txn: teak_txn,
    name: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let name = name.bytes()?;
            change(txn)?.change(|_, txn| Ok(whether(txn.drop_table(name)?)))
        })
    }
}

/// Renames a table.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: those of teak_table_drop; TEAK_TABLE_NOT_FOUND, TEAK_TABLE_EXISTS, TEAK_KEY_TOO_LONG.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_rename(
    txn: teak_txn,
    old_name: teak_slice,
    new_name: teak_slice,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (old, new) = (old_name.bytes()?, new_name.bytes()?);
            change(txn)?.change(|_, txn| {
                txn.rename_table(old, new)?;
                OK
            })
        })
    }
}

/// Removes all records of a table.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE,
/// TEAK_TABLE_NOT_FOUND, TEAK_TRANSACTION_BROKEN, TEAK_FULL, TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_clear(
    txn: teak_txn,
    table: teak_table,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            change_table(txn, table, |table, txn| {
                match table {
                    TableHandle::Plain(table) => table.clear(txn)?,
                    TableHandle::Multi(table) => table.clear(txn)?,
                }
                OK
            })
        })
    }
}

/// Draws numbers from the sequence of a table. Once the transaction is committed, `first` and the
/// `count - 1` numbers after it are never drawn again.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: those of teak_table_clear; TEAK_SEQUENCE_EXHAUSTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_draw_sequence(
    txn: teak_txn,
    table: teak_table,
    count: u64,
    first: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(first, "first")?;
            out.set(change_table(txn, table, |table, txn| {
                Ok(match table {
                    TableHandle::Plain(table) => table.draw_sequence(txn, count)?,
                    TableHandle::Multi(table) => table.draw_sequence(txn, count)?,
                })
            })?);
            OK
        })
    }
}

/// Stores counts of a table in a structure whose size is set.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_WRONG_DATABASE, TEAK_TABLE_NOT_FOUND,
/// TEAK_SNAPSHOT_LOST, TEAK_FORKED.
///
/// ```c
/// teak_txn txn;
/// teak_table table;
/// teak_table_stat stat = {.size = sizeof stat};
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("words"), NULL, &table, &error));
/// check(teak_table_get_stat(txn, table, &stat, &error));
/// assert(stat.records == 0);
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_get_stat(
    txn: teak_txn,
    table: teak_table,
    stat: *mut teak_table_stat,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let transaction = read(txn)?;
            let table = transaction.opened.table(table.number)?;
            let counted: TableStat = either!(transaction, txn => match table {
                TableHandle::Plain(table) => table.stat(txn),
                TableHandle::Multi(table) => table.stat(txn),
            })?;
            let reported = teak_table_stat {
                size: 0,
                records: counted.records,
                depth: counted.depth.into(),
                inner_pages: counted.inner_pages,
                leaf_pages: counted.leaf_pages,
                value_pages: counted.value_pages,
                changed: counted.changed.0,
                sequence: counted.sequence,
                several_values: matches!(table, TableHandle::Multi(_)).into(),
            };
            reported.write_to(stat);
            OK
        })
    }
}

/// A function that is called for each table, with its name, and 1 if a key has several values, 2 if
/// its records expire, or 0. A result other than 0 ends the walk.
pub type teak_table_function = Option<
    unsafe extern "C" fn(user: *mut std::ffi::c_void, name: teak_slice, several_values: u32) -> i32,
>;

/// Calls a function for each table, in the order of their names. Returns TEAK_NONE if the function
/// ended the walk before the last one. The function may read with the same transaction.
///
/// Threads: any. Lives: the name until the function returns.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED,
/// TEAK_SNAPSHOT_LOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_table_each(
    txn: teak_txn,
    each: teak_table_function,
    user: *mut std::ffi::c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let Some(each) = each else {
                return Err(Failure::invalid_argument("the callback is a null pointer"));
            };
            let transaction = read(txn)?;
            for table in either!(transaction, txn => txn.tables())? {
                let several = match (table.options.is_multi(), table.options.expiring) {
                    (true, _) => 1,
                    (false, true) => 2,
                    (false, false) => 0,
                };
                if each(user, teak_slice::new(&table.name), several) != 0 {
                    return Ok(teak_code::TEAK_NONE);
                }
            }
            OK
        })
    }
}
