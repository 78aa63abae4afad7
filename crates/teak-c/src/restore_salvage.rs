//! Incremental backups, restoring, and salvaging the readable part of a damaged database.

use crate::{
    database::{DATABASES, teak_db},
    encryption::{teak_encryption, with_encryption},
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, Grows, array, path, teak_slice},
    maintenance::{ProgressCallback, report_check, teak_check_report, teak_progress_function},
    options::{comparisons, teak_comparison},
    teak_code,
    transactions::{read, teak_txn},
};
use std::{
    ffi::{c_char, c_int, c_void},
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};
use teak::{Options, SalvageProgress, SalvageReport};

/// Writes an incremental backup to a new file. It has the pages of the newest state that a copy of
/// the state read by `since`, or of a later one, lacks. Usually `since` reads a named snapshot that
/// was made before the copy. `progress` may be NULL. Returns TEAK_NONE if `progress` ended the
/// backup. teak_restore combines copy and increments.
///
/// Threads: any.
///
/// Errors: those of teak_db_backup; TEAK_WRONG_TRANSACTION, TEAK_WRONG_DATABASE.
///
/// ```c
/// teak_txn txn, monday;
/// teak_table table;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_snapshot_create(txn, teak_text("monday"), &error));
/// check(teak_txn_commit(txn, NULL, &error)); // a full backup follows, and then
///
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("of tuesday"), NULL, &table, &error));
/// check(teak_txn_commit(txn, NULL, &error));
/// check(teak_snapshot_open(db, teak_text("monday"), &monday, &error));
/// check(teak_db_backup_since(db, monday, path, NULL, NULL, &error));
/// check(teak_txn_end(monday, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_backup_since(
    db: teak_db,
    since: teak_txn,
    path: *const c_char,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let path = self::path(path)?;
            let handle = DATABASES.read(db.handle)?.for_call();
            let since = read(since)?;
            if !std::sync::Arc::ptr_eq(&handle.opened, &since.opened) {
                return Err(Failure::wrong_database("transaction"));
            }
            let mut progress = ProgressCallback::new(progress, user);
            let done = handle
                .database
                .backup(path, Some(since.reader()?), &mut |done| {
                    progress.report(done.bytes, done.total_bytes)
                });
            progress.outcome(done)
        })
    }
}

/// Creates a database from the file of a backup and the files of its incremental backups, in the
/// order in which they were made, and checks every page of it. `report`, whose size is set, and
/// `progress` may be NULL. `progress` receives the number of bytes written, and a total of 0.
/// Returns TEAK_NONE if `progress` ended it. No file remains then.
///
/// Threads: any.
///
/// Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE; TEAK_INVALID_ARGUMENT for an
/// incomplete backup, and for increments that do not follow it; TEAK_CORRUPTED, TEAK_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_restore(
    full: *const c_char,
    increments: *const *const c_char,
    increment_count: usize,
    target: *const c_char,
    report: *mut teak_check_report,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let backups = (full, array(increments, increment_count)?);
            let progress = ProgressCallback::new(progress, user);
            restore(&Options::new(), backups, path(target)?, report, progress)
        })
    }
}

/// teak_restore for backups of an encrypted database, with its key.
///
/// Threads: any.
///
/// Errors: as teak_restore; TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE, TEAK_NOT_ENCRYPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_restore_encrypted(
    full: *const c_char,
    increments: *const *const c_char,
    increment_count: usize,
    target: *const c_char,
    encryption: *const teak_encryption,
    report: *mut teak_check_report,
    progress: teak_progress_function,
    user: *mut c_void,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let backups = (full, array(increments, increment_count)?);
            let options = with_encryption(Options::new(), encryption)?;
            let progress = ProgressCallback::new(progress, user);
            restore(&options, backups, path(target)?, report, progress)
        })
    }
}

/// Restores a backup and its increments.
///
/// # Safety
///
/// The paths are null or zero-terminated, and the function for the progress matches its type.
/// `report` is null or points to as many bytes as its size says.
unsafe fn restore(
    options: &Options,
    (full, increments): (*const c_char, &[*const c_char]),
    target: &Path,
    report: *mut teak_check_report,
    mut progress: ProgressCallback,
) -> CallResult {
    // SAFETY: the caller's promise.
    let full = unsafe { path(full) }?;
    let mut files = Vec::with_capacity(increments.len());
    for increment in increments {
        // SAFETY: the caller's promise.
        files.push(open(unsafe { path(*increment) }?)?);
    }
    let mut full_file = open(full)?;
    let mut sources = Vec::new();
    for file in std::iter::once(&full_file).chain(&files) {
        let found = file.metadata();
        sources.push(found.map_err(|error| Failure::unreadable(full, &error))?);
    }
    let mut increments: Vec<&mut dyn Read> = Vec::with_capacity(files.len());
    for file in &mut files {
        increments.push(file);
    }
    // SAFETY: the caller's promise.
    let on_progress = &mut |done: teak::RestoreProgress| unsafe { progress.report(done.bytes, 0) };
    let done = options.restore(
        &mut full_file,
        &mut increments,
        &sources,
        target,
        on_progress,
    );
    if let Ok(found) = &done {
        // SAFETY: the caller's promise.
        unsafe { report_check(found, report) };
    }
    progress.outcome(done)
}

/// The file of a backup.
fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => teak::Error::NotFound(path.to_owned()).into(),
        _ => Failure::unreadable(path, &error),
    })
}

/// The parts of a damaged database that were saved, and those that were lost.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_salvage_report {
    /// sizeof(teak_salvage_report).
    pub size: usize,
    /// The commit whose state was saved.
    pub transaction: u64,
    /// 1 if nothing of that state, and no named snapshot, was lost.
    pub is_complete: u64,
    /// Tables that were found.
    pub tables: u64,
    /// Records that were saved.
    pub records: u64,
    /// Records that are known to be lost.
    pub records_lost: u64,
    /// Tables that were not saved: a newer version created them, or their comparisons are missing.
    pub unsaved_tables: u64,
    /// Named snapshots, of which none is saved.
    pub lost_snapshots: u64,
    /// Prepared transactions, of which none is saved.
    pub lost_prepared: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_salvage_report {
    const NAME: &'static str = "teak_salvage_report";
}

impl From<&SalvageReport> for teak_salvage_report {
    fn from(report: &SalvageReport) -> Self {
        let unsaved = report.unknown_tables.len() + report.unordered_tables.len();
        Self {
            size: 0,
            transaction: report.transaction.0,
            is_complete: report.is_complete().into(),
            tables: report.tables.len() as u64,
            records: report.tables.iter().map(|table| table.records).sum(),
            records_lost: report.tables.iter().map(|table| table.records_lost()).sum(),
            unsaved_tables: unsaved as u64,
            lost_snapshots: report.lost_snapshots.len() as u64,
            lost_prepared: report.lost_prepared.len() as u64,
        }
    }
}

/// A function that is called for each line of a text, in UTF-8. A result other than 0 ends the
/// calls.
pub type teak_line_function =
    Option<unsafe extern "C" fn(user: *mut c_void, line: teak_slice) -> c_int>;

/// Options for saving a damaged database. Zeros are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_salvage_options {
    /// sizeof(teak_salvage_options).
    pub size: usize,
    /// The comparisons of the database's tables, or NULL. They must stay valid like those of
    /// teak_options.
    pub comparisons: *const teak_comparison,
    /// The number of comparisons.
    pub comparison_count: usize,
    /// Receives a line of text for each thing that was saved or lost, or NULL.
    pub each: teak_line_function,
    /// Passed to each, or NULL.
    pub each_user: *mut c_void,
    /// Receives the number of pages read, and the total, or NULL.
    pub progress: teak_progress_function,
    /// Passed to progress, or NULL.
    pub progress_user: *mut c_void,
    /// The key of an encrypted database, which the new one gets, too; NULL for none.
    pub encryption: *const teak_encryption,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_salvage_options {
    const NAME: &'static str = "teak_salvage_options";
}

/// Copies all readable records of a damaged database into a new one. The damaged file is not
/// changed. It works even if the file cannot be opened as a database. `options` and `report`, whose
/// sizes are set, may be NULL. Returns TEAK_NONE if `progress` ended it.
///
/// Threads: any. After an error, or if `progress` ended it, there is no new database.
///
/// Errors: TEAK_FILE_NOT_FOUND; TEAK_FILE_EXISTS; TEAK_NOT_A_DATABASE if no commit record is
/// readable; TEAK_CORRUPTED if none leads to tables; TEAK_UNKNOWN_FORMAT, TEAK_IN_USE,
/// TEAK_INVALID_ARGUMENT, TEAK_IO; TEAK_KEY_NEEDED, TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE,
/// TEAK_NOT_ENCRYPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_salvage(
    source: *const c_char,
    target: *const c_char,
    options: *const teak_salvage_options,
    report: *mut teak_salvage_report,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || -> CallResult {
            let (source, target) = (path(source)?, path(target)?);
            let options = teak_salvage_options::read_from(options)?;
            let comparisons = comparisons(options.comparisons, options.comparison_count)?;
            let mut engines = with_encryption(Options::new(), options.encryption)?;
            for comparison in comparisons {
                engines = engines.comparison(comparison);
            }
            let mut progress = ProgressCallback::new(options.progress, options.progress_user);
            let on_progress =
                &mut |done: SalvageProgress| progress.report(done.pages_done, done.pages_total);
            let done = engines.salvage(source, target, on_progress);
            let Ok(done) = &done else {
                return progress.outcome(done);
            };
            teak_salvage_report::from(done).write_to(report);
            if let Some(each) = options.each {
                let text = done.to_string();
                let mut lines = text.lines();
                lines.all(|line| each(options.each_user, teak_slice::new(line.as_bytes())) == 0);
            }
            Ok(teak_code::TEAK_OK)
        })
    }
}
