//! Backups, checks and compaction.

use crate::{
    database::{CallDatabase, DATABASES, teak_db},
    encryption::{for_copy, teak_encryption},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, Grows, OK, path, teak_slice},
    teak_code,
};
use std::{
    ffi::{c_char, c_int, c_void},
    ops::ControlFlow,
    ptr,
    time::Duration,
};
use teak::{CheckReport, CompactObstacle, CompactOptions, CompactProgress};

/// A function that is called from time to time during a long operation, with the work done and the
/// total. A result other than 0 ends the operation.
pub type teak_progress_function =
    Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64) -> c_int>;

/// A function that is called from time to time during a long operation that cannot be ended, with
/// the work done and the total.
pub type teak_watch_function =
    Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64)>;

/// Reports progress.
#[derive(Clone, Copy)]
pub(crate) struct ProgressObserver {
    function: teak_watch_function,
    user: *mut c_void,
}

impl ProgressObserver {
    /// # Safety
    ///
    /// The function matches its type while this value is used.
    pub(crate) unsafe fn new(function: teak_watch_function, user: *mut c_void) -> Self {
        Self { function, user }
    }

    pub(crate) fn report(self, done: u64, total: u64) {
        if let Some(function) = self.function {
            // SAFETY: the promise of `new`.
            unsafe { function(self.user, done, total) };
        }
    }
}

/// Reports progress, and notes whether the function ended the operation.
pub(crate) struct ProgressCallback {
    function: teak_progress_function,
    user: *mut c_void,
    is_stopped: bool,
}

impl ProgressCallback {
    pub(crate) fn new(function: teak_progress_function, user: *mut c_void) -> Self {
        Self {
            function,
            user,
            is_stopped: false,
        }
    }

    /// # Safety
    ///
    /// The function matches its type.
    pub(crate) unsafe fn report(&mut self, done: u64, total: u64) -> ControlFlow<()> {
        if let Some(function) = self.function {
            // SAFETY: the caller's promise.
            self.is_stopped |= unsafe { function(self.user, done, total) } != 0;
        }
        match self.is_stopped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// The result for C: done, or ended by the function.
    pub(crate) fn outcome<T>(&self, done: teak::Result<T>) -> CallResult {
        match self.is_stopped {
            true => Ok(teak_code::TEAK_NONE),
            false => {
                done?;
                OK
            }
        }
    }
}

/// The database, for a call during which the handle can be closed.
fn handle(db: teak_db) -> Result<CallDatabase, Failure> {
    Ok(DATABASES.read(db.handle)?.for_call())
}

/// Writes a copy of the newest state to a new file, which gets its name when it is complete and on
/// the disk. Others can read and write during the backup. `progress` may be NULL. Returns TEAK_NONE
/// if `progress` ended it; there is no copy then.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_FILE_EXISTS, TEAK_INVALID_ARGUMENT, TEAK_CORRUPTED,
/// TEAK_IO, TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
///
/// ```c
/// check(teak_db_backup(db, path, NULL, NULL, &error));
/// teak_db copy;
/// check(teak_db_open(path, NULL, &copy, &error));
/// check(teak_db_close(copy, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_backup(
    db: teak_db,
    path: *const c_char,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let path = self::path(path)?;
            let mut progress = ProgressCallback::new(progress, user);
            let done = handle(db)?.database.backup(path, None, &mut |done| {
                progress.report(done.bytes, done.total_bytes)
            });
            progress.outcome(done)
        })
    }
}

/// Writes a copy that is as small as possible: its pages are full, and none is free.
///
/// The copy of an encrypted database is encrypted with the same key.
///
/// Threads, errors: as teak_db_backup. `progress` receives a total of 0, because it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_backup_compact(
    db: teak_db,
    path: *const c_char,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let path = self::path(path)?;
            let mut progress = ProgressCallback::new(progress, user);
            let done = handle(db)?
                .database
                .begin_read()?
                .copy_dense(path, &mut |done| progress.report(done.records, 0));
            progress.outcome(done)
        })
    }
}

/// Writes a copy as small as that of teak_db_backup_compact. It is encrypted with this key and
/// cipher, or not encrypted if `encryption` is NULL. The default cipher is that of the database, if
/// it is encrypted.
///
/// Threads, errors: as teak_db_backup; TEAK_KEY_UNAVAILABLE.
///
/// ```c
/// unsigned char key[TEAK_KEY_LEN] = {7}; // of a real key, every byte is random
/// teak_encryption encryption = {.size = sizeof encryption, .key = {key, sizeof key}};
/// check(teak_db_backup_compact_encrypted(db, path, &encryption, NULL, NULL, &error));
/// teak_options options = {.size = sizeof options, .encryption = &encryption};
/// teak_db copy;
/// check(teak_db_open(path, &options, &copy, &error));
/// check(teak_db_close(copy, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_backup_compact_encrypted(
    db: teak_db,
    path: *const c_char,
    encryption: *const teak_encryption,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let path = self::path(path)?;
            let open = handle(db)?;
            let options = for_copy(&open.database, encryption)?;
            let mut progress = ProgressCallback::new(progress, user);
            let on_progress = &mut |done: teak::DenseProgress| progress.report(done.records, 0);
            let state = open.database.begin_read()?;
            let done = state.copy_dense_with(&options, path, on_progress);
            progress.outcome(done)
        })
    }
}

/// Moves pages from the end of the file to free pages before it, and makes the file as short as
/// possible: teak_db_compact_with without options and report.
///
/// Threads, errors: as teak_db_compact_with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_compact(
    db: teak_db,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe { teak_db_compact_with(db, ptr::null(), ptr::null_mut(), progress, user, error) }
}

/// Limits of a compaction. Zeros are the defaults: make the file as short as possible, without
/// limits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_compact_options {
    /// sizeof(teak_compact_options).
    pub size: usize,
    /// Stop when the file is no longer than this; 0 for no such length.
    pub until_file_bytes: u64,
    /// Stop when no more than this percentage of the file is free; 0 for no such limit.
    pub until_free_percent: u64,
    /// Stop after moving about this many bytes; 0 for no such limit.
    pub max_moved_bytes: u64,
    /// The bytes to move per commit, at most; 0 for 4,096 pages.
    pub max_commit_bytes: u64,
    /// Milliseconds to pause between two commits that move pages.
    pub pause_ms: u64,
    /// Stop if other writers keep one of the commits waiting for more than this many milliseconds;
    /// 0 to wait without a limit.
    pub max_wait_ms: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_compact_options {
    const NAME: &'static str = "teak_compact_options";
}

impl teak_compact_options {
    fn to_rust(self) -> Result<CompactOptions, Failure> {
        let mut options = CompactOptions::new().pause(Duration::from_millis(self.pause_ms));
        if self.max_wait_ms != 0 {
            options = options.wait_for_writers(Duration::from_millis(self.max_wait_ms));
        }
        if self.until_file_bytes != 0 {
            options = options.until_file_bytes(self.until_file_bytes);
        }
        if self.until_free_percent != 0 {
            let percent = u8::try_from(self.until_free_percent).ok();
            let percent = percent.filter(|percent| *percent <= 100).ok_or_else(|| {
                let given = self.until_free_percent;
                let text = format!("until_free_percent is {given}; choose 1 to 100, or 0 for none");
                Failure::invalid_argument(text)
            })?;
            options = options.until_free_percent(percent);
        }
        if self.max_moved_bytes != 0 {
            options = options.max_moved_bytes(self.max_moved_bytes);
        }
        if self.max_commit_bytes != 0 {
            options = options.max_commit_bytes(self.max_commit_bytes);
        }
        Ok(options)
    }
}

/// The reason why a file did not become as short as requested.
#[repr(C)]
pub enum teak_compact_obstacle {
    /// The file is as short as requested.
    TEAK_COMPACT_REACHED = 0,
    /// A limit of the options was reached, or the progress function ended it.
    TEAK_COMPACT_LIMIT = 1,
    /// Readers see pages that would have to be moved, or the free pages to move them to.
    TEAK_COMPACT_READERS = 2,
    /// Named snapshots have such pages.
    TEAK_COMPACT_NAMED_SNAPSHOTS = 3,
    /// There is no room for the remaining pages. Either more is in use than the requested length,
    /// or values must first be copied to the end of the file, and the disk is full or the size
    /// limit reached.
    TEAK_COMPACT_ROOM = 4,
    /// Other writers kept it waiting longer than its limit.
    TEAK_COMPACT_WRITERS = 5,
    /// A reason that has no number in this version of the interface.
    TEAK_COMPACT_OTHER = 6,
}

/// The result of a compaction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_compact_report {
    /// sizeof(teak_compact_report).
    pub size: usize,
    /// Pages that were moved.
    pub moved_pages: u64,
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// A teak_compact_obstacle.
    pub obstacle: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_compact_report {
    const NAME: &'static str = "teak_compact_report";
}

impl From<CompactProgress> for teak_compact_report {
    fn from(done: CompactProgress) -> Self {
        use teak_compact_obstacle as C;
        let obstacle = match done.obstacle {
            None if done.is_reached => C::TEAK_COMPACT_REACHED,
            Some(CompactObstacle::Limit) => C::TEAK_COMPACT_LIMIT,
            Some(CompactObstacle::Readers) => C::TEAK_COMPACT_READERS,
            Some(CompactObstacle::NamedSnapshots) => C::TEAK_COMPACT_NAMED_SNAPSHOTS,
            Some(CompactObstacle::Room) => C::TEAK_COMPACT_ROOM,
            Some(CompactObstacle::Writers) => C::TEAK_COMPACT_WRITERS,
            _ => C::TEAK_COMPACT_OTHER,
        };
        Self {
            size: 0,
            moved_pages: done.moved_pages,
            file_bytes: done.file_bytes,
            obstacle: obstacle as u64,
        }
    }
}

/// Moves pages from the end of the file to free pages before it, and truncates the file. `options`
/// and `report`, whose sizes are set, and `progress` may be NULL. `progress` receives the number of
/// pages moved and the length of the file. Returns TEAK_NONE if `progress` ended it.
///
/// Threads: any. It commits, and waits for other writers.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED, TEAK_FULL,
/// TEAK_CORRUPTED, TEAK_IO, TEAK_FORKED, TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW; TEAK_FILE_NOT_FOUND
/// if the file has lost its name, which was required.
///
/// ```c
/// teak_compact_options half = {.size = sizeof half, .until_free_percent = 50};
/// teak_compact_report report = {.size = sizeof report};
/// check(teak_db_compact_with(db, &half, &report, NULL, NULL, &error));
/// assert(report.obstacle == TEAK_COMPACT_REACHED && report.file_bytes > 0);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_compact_with(
    db: teak_db,
    options: *const teak_compact_options,
    report: *mut teak_compact_report,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let options = teak_compact_options::read_from(options)?.to_rust()?;
            let handle = handle(db)?;
            handle.opened.refuse_waiting_for_itself()?;
            let mut progress = ProgressCallback::new(progress, user);
            let done = handle
                .database
                .compact(&options, &mut |done| match handle.is_closed() {
                    true => ControlFlow::Break(()),
                    false => progress.report(done.moved_pages, done.file_bytes),
                });
            if let Ok(done) = done {
                teak_compact_report::from(done).write_to(report);
            }
            progress.outcome(done)
        })
    }
}

/// The findings of a check.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_check_report {
    /// sizeof(teak_check_report).
    pub size: usize,
    /// Pages of the file.
    pub pages: u64,
    /// Tables that were checked.
    pub tables: u64,
    /// Records of all tables.
    pub records: u64,
    /// The number of damages.
    pub damages: u64,
    /// Tables of a newer version, which only that version can check.
    pub unknown_tables: u64,
    /// Tables in orders whose comparisons are missing: everything but the order of their keys was
    /// checked.
    pub unordered_tables: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_check_report {
    const NAME: &'static str = "teak_check_report";
}

/// Reports the findings of a check to C.
///
/// # Safety
///
/// `report` is null or points to a structure of as many bytes as its size says.
pub(crate) unsafe fn report_check(found: &CheckReport, report: *mut teak_check_report) {
    let reported = teak_check_report {
        size: 0,
        pages: found.pages,
        tables: found.tables,
        records: found.records,
        damages: found.damages.len() as u64 + found.more_damages,
        unknown_tables: found.unknown_tables.len() as u64,
        unordered_tables: found.unordered_tables.len() as u64,
    };
    // SAFETY: the caller's promise.
    unsafe { reported.write_to(report) };
}

/// A damage that teak_db_check reports.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_damage {
    /// The page; UINT64_MAX if the damage is not in a page.
    pub page: u64,
    /// The name of the table; empty for none.
    pub table: teak_slice,
    /// A description of the damage, in UTF-8.
    pub detail: teak_slice,
}

/// A function that is called for each damage. A result other than 0 ends the calls.
pub type teak_damage_function =
    Option<unsafe extern "C" fn(user: *mut c_void, damage: *const teak_damage) -> c_int>;

/// Checks every page of the newest state. Returns TEAK_OK if there is no damage, TEAK_CORRUPTED if
/// there is, and TEAK_NONE if `progress` ended the check. `progress` receives the number of pages
/// checked, and the total. `report`, whose size is set, `each` and `progress` may be NULL.
///
/// Threads: any. Lives: the arguments of the functions until they return.
///
/// Errors: TEAK_CORRUPTED, with the first damage; TEAK_INVALID_HANDLE, TEAK_BUSY,
/// TEAK_SNAPSHOT_LOST, TEAK_TOO_MANY_READERS, TEAK_FORKED.
///
/// ```c
/// teak_check_report report = {.size = sizeof report};
/// check(teak_db_check(db, &report, NULL, NULL, NULL, NULL, &error));
/// assert(report.damages == 0 && report.pages > 0);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_check(
    db: teak_db,
    report: *mut teak_check_report,
    each: teak_damage_function,
    each_user: *mut c_void,
    progress: teak_progress_function,
    progress_user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let mut progress = ProgressCallback::new(progress, progress_user);
            let found = handle(db)?
                .database
                .check(&mut |done| progress.report(done.pages_done, done.pages_total));
            if progress.is_stopped {
                return Ok(teak_code::TEAK_NONE);
            }
            let found = found?;
            report_check(&found, report);
            for damage in &found.damages {
                let table = damage.table.as_deref();
                let reported = teak_damage {
                    page: damage.page.map_or(u64::MAX, |page| page.0.into()),
                    table: table.map_or(teak_slice::NOTHING, teak_slice::new),
                    detail: teak_slice::new(damage.detail.as_bytes()),
                };
                if each.is_some_and(|each| each(each_user, &raw const reported) != 0) {
                    break;
                }
            }
            match found.damages.first() {
                Some(damage) => Err(Failure::damaged(damage)),
                None => OK,
            }
        })
    }
}
