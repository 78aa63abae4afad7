//! Loading many records in one call: sorted, in any order, or from another table.

use crate::{
    error::{answer, teak_error},
    failure::Failure,
    ffi::{Grows, OK, OutParameter, path, teak_slice, whether},
    maintenance::{ProgressObserver, teak_watch_function},
    names::TableHandle,
    pairs::multi,
    records::{plain, teak_bound},
    snapshots::no_function,
    tables::teak_table,
    teak_code,
    transactions::{change, teak_txn},
};
use std::ffi::{c_char, c_int, c_void};
use teak::{BulkOptions, BulkProgress, WriteTxn};

/// The result of a function that supplies records.
#[repr(C)]
pub enum teak_giving {
    /// Key and value are set.
    TEAK_GIVEN_RECORD = 0,
    /// There are no more records.
    TEAK_GIVEN_ALL = 1,
    /// Discard all records supplied so far.
    TEAK_GIVE_UP = 2,
}

/// A function that supplies the next record and returns a teak_giving. The slices must stay valid
/// until its next call, or until the load returns.
pub type teak_give_function = Option<
    unsafe extern "C" fn(user: *mut c_void, key: *mut teak_slice, value: *mut teak_slice) -> c_int,
>;

/// A key and a value, valid until the next ones are requested.
type CallbackRecord = (&'static [u8], &'static [u8]);

/// The records that a function supplies.
struct CallbackRecords {
    next: unsafe extern "C" fn(*mut c_void, *mut teak_slice, *mut teak_slice) -> c_int,
    user: *mut c_void,
    is_stopped: bool,
    failure: Option<Failure>,
}

impl CallbackRecords {
    /// # Safety
    ///
    /// The function matches its type while this value is used.
    unsafe fn new(next: teak_give_function, user: *mut c_void) -> Result<Self, Failure> {
        Ok(Self {
            next: next.ok_or_else(no_function)?,
            user,
            is_stopped: false,
            failure: None,
        })
    }

    fn ask(&mut self) -> Result<Option<CallbackRecord>, Failure> {
        let (mut key, mut value) = (teak_slice::NOTHING, teak_slice::NOTHING);
        // SAFETY: the promise of `new`, and both pointers lead to memory for a slice.
        match unsafe { (self.next)(self.user, &raw mut key, &raw mut value) } {
            // SAFETY: C promises that they are valid until the next call, and no load keeps a
            // record longer.
            0 => Ok(Some(unsafe { (key.bytes()?, value.bytes()?) })),
            1 => Ok(None),
            2 => {
                self.is_stopped = true;
                Ok(None)
            }
            other => Err(Failure::invalid_argument(format!(
                "there is no teak_giving {other}"
            ))),
        }
    }

    /// Whether the load was completed. The error if one must undo it.
    fn outcome(self) -> Result<bool, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(!self.is_stopped),
        }
    }
}

impl Iterator for &mut CallbackRecords {
    type Item = CallbackRecord;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_stopped || self.failure.is_some() {
            return None;
        }
        self.ask().unwrap_or_else(|failure| {
            self.failure = Some(failure);
            None
        })
    }
}

/// Loads all records or none.
fn load(
    txn: teak_txn,
    table: teak_table,
    count: &OutParameter<u64>,
    mut given: CallbackRecords,
    load: impl FnOnce(&TableHandle, &mut WriteTxn, &mut CallbackRecords) -> Result<u64, Failure>,
) -> Result<teak_code, Failure> {
    count.set(0);
    change(txn)?.change(|opened, txn| {
        let table = opened.table(table.number)?;
        let savepoint = txn.savepoint()?;
        let loaded = load(table, txn, &mut given);
        let loaded = given.outcome().and_then(|is_whole| Ok((is_whole, loaded?)));
        if !matches!(loaded, Ok((true, _))) {
            txn.rollback_to(&savepoint)?;
        }
        txn.release(savepoint)?;
        let (is_whole, loaded) = loaded?;
        if is_whole {
            count.set(loaded);
        }
        Ok(whether(is_whole))
    })
}

/// Loads records that are sorted in the order of the table (by key and then by value, if keys have
/// several values). Pages are built from the leaves up, each written once and full. A table that
/// is not empty takes only records after its last one. Stores the number of records in `count`.
/// Returns TEAK_NONE if the function stopped the load. Then, and after an error, nothing is
/// changed.
///
/// Threads: any, while no other call uses the transaction; the function must not use it either.
/// Lives: nothing is kept after the call.
///
/// Errors: TEAK_NOT_SORTED; those of teak_insert.
///
/// ```c
/// static int32_t give_number(void *user, teak_slice *key, teak_slice *value) {
///     static unsigned char bytes[2];
///     int *number = user;
///     if (*number == 1000)
///         return TEAK_GIVEN_ALL;
///     bytes[0] = (unsigned char)(*number >> 8);
///     bytes[1] = (unsigned char)*number;
///     *key = (teak_slice){bytes, 2};
///     *value = teak_text("");
///     ++*number;
///     return TEAK_GIVEN_RECORD;
/// }
///
/// teak_txn txn;
/// teak_table numbers;
/// int first = 0;
/// uint64_t count;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("numbers"), NULL, &numbers, &error));
/// check(teak_bulk_load(txn, numbers, give_number, &first, &count, &error));
/// assert(count == 1000);
/// check(teak_txn_commit(txn, NULL, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_bulk_load(
    txn: teak_txn,
    table: teak_table,
    next: teak_give_function,
    user: *mut c_void,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (count, given) = (
                OutParameter::new(count, "count")?,
                CallbackRecords::new(next, user)?,
            );
            load(txn, table, &count, given, |table, txn, given| {
                Ok(match table {
                    TableHandle::Plain(table) => table.bulk_load(txn, given)?,
                    TableHandle::Multi(table) => table.bulk_load(txn, given)?,
                })
            })
        })
    }
}

/// Options for loading records in any order. Zeros are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_bulk_options {
    /// sizeof(teak_bulk_options).
    pub size: usize,
    /// Bytes of records to sort in memory. Further records go to temporary files. 0 for 256 MiB.
    pub memory_bytes: u64,
    /// The directory for temporary files; NULL for that of the database.
    pub directory: *const c_char,
    /// Receives the number of records, or NULL: first with a total of 0 while they are read and
    /// sorted, then how many of the total are built into pages.
    pub progress: teak_watch_function,
    /// Passed to progress, or NULL.
    pub progress_user: *mut c_void,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_bulk_options {
    const NAME: &'static str = "teak_bulk_options";
}

impl teak_bulk_options {
    /// # Safety
    ///
    /// `directory` is null or a path, and the function matches its type.
    unsafe fn to_engine(self) -> Result<(BulkOptions, ProgressObserver), Failure> {
        let mut options = BulkOptions::default();
        if self.memory_bytes > 0 {
            let bytes = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
            options = options.memory_bytes(bytes);
        }
        if !self.directory.is_null() {
            // SAFETY: the caller's promise.
            options = options.directory(unsafe { path(self.directory) }?);
        }
        // SAFETY: the caller's promise.
        let watch = unsafe { ProgressObserver::new(self.progress, self.progress_user) };
        Ok((options, watch))
    }
}

/// Loads records in any order: sorts them first, in memory and in temporary files, and then builds
/// pages as teak_bulk_load does. Of several records with the same key the last one counts. If keys
/// have several values, repeated pairs are loaded once. If the table is not empty, the records
/// are inserted into it. `options` may be NULL. Returns TEAK_NONE if the function stopped the load.
/// Then, and after an error, nothing is changed.
///
/// Threads, lives: as teak_bulk_load.
///
/// Errors: TEAK_IO of the temporary files; those of teak_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_bulk_load_unsorted(
    txn: teak_txn,
    table: teak_table,
    next: teak_give_function,
    user: *mut c_void,
    options: *const teak_bulk_options,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let (count, given) = (
                OutParameter::new(count, "count")?,
                CallbackRecords::new(next, user)?,
            );
            let (options, watch) = teak_bulk_options::read_from(options)?.to_engine()?;
            let mut progress = |progress| match progress {
                BulkProgress::Sorting { records } => watch.report(records, 0),
                BulkProgress::Building { records, total } => watch.report(records, total),
                _ => {}
            };
            load(txn, table, &count, given, |table, txn, given| {
                Ok(match table {
                    TableHandle::Plain(table) => {
                        table.bulk_load_unsorted(txn, given, options, &mut progress)?
                    }
                    TableHandle::Multi(table) => {
                        table.bulk_load_unsorted(txn, given, options, &mut progress)?
                    }
                })
            })
        })
    }
}

/// Copies all records of a range of keys to another table. That table may have another order, but
/// the same number of values per key, one or several. Records there with the same keys are
/// replaced. Stores the number of copied records in `count`. After an error nothing is changed.
///
/// Threads: any, while no other call uses the transaction.
///
/// Errors: TEAK_INVALID_ARGUMENT if both are the same table, or the target cannot hold some of the
/// keys or values; TEAK_TABLE_MISMATCH if one table has several values per key and the other does
/// not; those of teak_insert.
///
/// ```c
/// teak_txn txn;
/// teak_table trees, old;
/// uint64_t count;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("trees"), NULL, &trees, &error));
/// check(teak_table_create(txn, teak_text("old trees"), NULL, &old, &error));
/// check(teak_insert(txn, trees, teak_text("ash"), teak_text("1"), &error));
/// check(teak_insert(txn, trees, teak_text("oak"), teak_text("2"), &error));
/// teak_bound all = {0}, b = {.kind = TEAK_EXCLUDED, .key = teak_text("b")};
/// check(teak_move_range(txn, trees, old, all, b, &count, &error));
/// assert(count == 1);
/// teak_slice value;
/// check(teak_get(txn, old, teak_text("ash"), &value, &error));
/// check(teak_txn_end(txn, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_copy_range(
    txn: teak_txn,
    from: teak_table,
    to: teak_table,
    low: teak_bound,
    high: teak_bound,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        between(
            txn,
            (from, to),
            (low, high),
            count,
            error,
            TransferMode::Both,
        )
    }
}

/// Moves all records of a range of keys to another table: as teak_copy_range, and removes them.
///
/// Threads, errors: as teak_copy_range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_move_range(
    txn: teak_txn,
    from: teak_table,
    to: teak_table,
    low: teak_bound,
    high: teak_bound,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        between(
            txn,
            (from, to),
            (low, high),
            count,
            error,
            TransferMode::New,
        )
    }
}

/// Whether copied records stay in their table.
#[derive(Clone, Copy)]
enum TransferMode {
    Both,
    New,
}

/// # Safety
///
/// As for [`teak_copy_range`].
unsafe fn between(
    txn: teak_txn,
    (from, to): (teak_table, teak_table),
    (low, high): (teak_bound, teak_bound),
    count: *mut u64,
    error: *mut teak_error,
    keeping: TransferMode,
) -> teak_code {
    // SAFETY: the caller's promise.
    unsafe {
        answer(error, || {
            let count = OutParameter::new(count, "count")?;
            let range = (low.to_engine()?, high.to_engine()?);
            count.set(change(txn)?.change(|opened, txn| {
                let (from, to) = (opened.table(from.number)?, opened.table(to.number)?);
                let copied = match (from, keeping) {
                    (TableHandle::Plain(from), TransferMode::Both) => {
                        from.range(range).copy_to(txn, plain(to)?)
                    }
                    (TableHandle::Plain(from), TransferMode::New) => {
                        from.range(range).move_to(txn, plain(to)?)
                    }
                    (TableHandle::Multi(from), TransferMode::Both) => {
                        from.range(range).copy_to(txn, multi(to)?)
                    }
                    (TableHandle::Multi(from), TransferMode::New) => {
                        from.range(range).move_to(txn, multi(to)?)
                    }
                };
                Ok(copied?)
            })?);
            OK
        })
    }
}
