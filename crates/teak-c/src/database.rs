//! Databases.

use crate::{
    encryption::cipher_number,
    error::{answer, teak_error},
    failure::Failure,
    ffi::{CallResult, Grows, OK, OutParameter, array_mut, path, teak_slice, whether},
    handles::HandleTable,
    names::OpenDatabase,
    options::{compression_numbers, teak_options},
    teak_code,
    tickets::{self, teak_ticket},
};
use std::{
    ffi::c_char,
    mem::MaybeUninit,
    sync::{Arc, Weak},
};
use teak::{Database, Deletion, Error, Options, TransactionId};

/// An open database.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_db {
    /// Zero for none.
    pub handle: u64,
}

/// The object of a database handle.
pub(crate) struct DatabaseObject {
    pub(crate) database: Database,
    pub(crate) opened: Arc<OpenDatabase>,
    /// Counts the handles of this opening, and weakly the calls that do not use their handle.
    family: Arc<()>,
}

/// The database of a call that takes long and does not use its handle meanwhile.
pub(crate) struct CallDatabase {
    pub(crate) database: Database,
    pub(crate) opened: Arc<OpenDatabase>,
    handles: Weak<()>,
}

impl CallDatabase {
    /// Whether all handles of the opening were closed since the call began.
    pub(crate) fn is_closed(&self) -> bool {
        self.handles.strong_count() == 0
    }
}

impl Drop for CallDatabase {
    fn drop(&mut self) {
        if self.is_closed() {
            // The call that closed the last handle could not, and has reported the errors of a
            // flush. This also wakes threads that wait for commits.
            let _ = self.database.clone().close();
        }
    }
}

impl DatabaseObject {
    /// Creates another handle of this opening.
    pub(crate) fn another(&self) -> Self {
        Self {
            database: self.database.clone(),
            opened: Arc::clone(&self.opened),
            family: Arc::clone(&self.family),
        }
    }

    /// The database, for a call during which the handle can be closed.
    pub(crate) fn for_call(&self) -> CallDatabase {
        CallDatabase {
            database: self.database.clone(),
            opened: Arc::clone(&self.opened),
            handles: Arc::downgrade(&self.family),
        }
    }
}

pub(crate) static DATABASES: HandleTable<DatabaseObject> = HandleTable::new(1, "database");

/// Counts of a database.
///
/// ```c
/// teak_db_stat stat = {.size = sizeof stat};
/// check(teak_db_get_stat(db, &stat, &error));
/// assert(stat.page_size == 4096);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_db_stat {
    /// sizeof(teak_db_stat).
    pub size: usize,
    /// Length of the file.
    pub file_bytes: u64,
    /// The size of a page in bytes.
    pub page_size: u64,
    /// Pages of the newest state.
    pub page_count: u64,
    /// Pages in use.
    pub used_pages: u64,
    /// Pages that are free.
    pub free_pages: u64,
    /// Pages that older states may still see.
    pub pending_pages: u64,
    /// The newest commit that readers see.
    pub transaction: u64,
    /// The newest durable commit.
    pub durable_transaction: u64,
    /// The number of tables.
    pub table_count: u64,
    /// Read transactions that are open in this process.
    pub readers: u64,
    /// The longest key in bytes.
    pub max_key_len: u64,
    /// A teak_cipher; TEAK_CIPHER_NONE if the database is not encrypted.
    pub cipher: u64,
    /// A teak_compression; TEAK_COMPRESSION_NONE if the database is not compressed.
    pub compression: u64,
    /// The level of TEAK_COMPRESSION_ZSTD; otherwise 0.
    pub compression_level: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_db_stat {
    const NAME: &'static str = "teak_db_stat";
}

fn insert(handle: DatabaseObject) -> Result<teak_db, Failure> {
    let handle = DATABASES.insert(handle)?;
    Ok(teak_db { handle })
}

/// Opens the database at a path, or creates it. `options` may be NULL. After an error `db` is an
/// invalid handle.
///
/// Threads: any. Lives: until teak_db_close. The arguments need not outlive the call, except for
/// the comparisons and functions in the options.
///
/// Errors: TEAK_FILE_NOT_FOUND, TEAK_FILE_EXISTS, TEAK_NOT_A_DATABASE, TEAK_UNKNOWN_FORMAT,
/// TEAK_IN_USE, TEAK_OPTIONS_DIFFER, TEAK_NETWORK_FILE_SYSTEM, TEAK_CORRUPTED, TEAK_IO,
/// TEAK_INVALID_ARGUMENT, TEAK_TOO_NEW, TEAK_KEY_NEEDED, TEAK_WRONG_KEY, TEAK_KEY_UNAVAILABLE,
/// TEAK_NOT_ENCRYPTED.
///
/// ```c
/// teak_db db;
/// check(teak_db_open(path, NULL, &db, &error));
/// check(teak_db_close(db, &error));
/// assert(teak_db_close(db, &error) == TEAK_INVALID_HANDLE);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_open(
    path: *const c_char,
    options: *const teak_options,
    db: *mut teak_db,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(db, "db")?;
            out.set(teak_db { handle: 0 });
            let path = self::path(path)?;
            out.set(open_with(options, |options| options.open(path))?);
            OK
        })
    }
}

/// Creates a database in memory. It ends with its last handle. `options` may be NULL.
///
/// Threads: any. Lives: until teak_db_close.
///
/// Errors: TEAK_INVALID_ARGUMENT, also for an option about a file that stays (access,
/// TEAK_CREATE_NEVER, lock_file, leave_lock_file, file_mode, require_name, journal_bytes); TEAK_IO
/// if there is no memory.
///
/// ```c
/// teak_db db;
/// check(teak_db_open_in_memory(NULL, &db, &error));
/// check(teak_db_close(db, &error));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_open_in_memory(
    options: *const teak_options,
    db: *mut teak_db,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(db, "db")?;
            out.set(teak_db { handle: 0 });
            out.set(open_with(options, Options::open_in_memory)?);
            OK
        })
    }
}

/// Opens a database whose file is in memory: a download, or a part of the program. The bytes are
/// copied, and the database is only read. `options` may be NULL.
///
/// Threads: any. Lives: until teak_db_close.
///
/// Errors: TEAK_INVALID_ARGUMENT, also for an option about a file (TEAK_CREATE_NEW, lock_file,
/// leave_lock_file, file_mode, require_name, journal_bytes), and if the newest commits are only in
/// the journal because the machine went down; TEAK_NOT_A_DATABASE, TEAK_UNKNOWN_FORMAT,
/// TEAK_CORRUPTED for other bytes.
///
/// ```c
/// teak_slice file = teak_text("hardly a database");
/// assert(teak_db_open_bytes(file, NULL, &db, &error) == TEAK_NOT_A_DATABASE);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_open_bytes(
    bytes: teak_slice,
    options: *const teak_options,
    db: *mut teak_db,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(db, "db")?;
            out.set(teak_db { handle: 0 });
            let bytes = bytes.bytes()?;
            out.set(open_with(options, |options| options.open_bytes(bytes))?);
            OK
        })
    }
}

/// # Safety
///
/// `options` is NULL or valid.
unsafe fn open_with(
    options: *const teak_options,
    open: impl FnOnce(&Options) -> teak::Result<Database>,
) -> Result<teak_db, Failure> {
    // SAFETY: the caller's promise.
    let (options, comparisons) = unsafe { teak_options::read_from(options)?.to_engine()? };
    insert(DatabaseObject {
        database: open(&options)?,
        opened: Arc::new(OpenDatabase::new(comparisons)),
        family: Arc::default(),
    })
}

/// Deletes the database at `path` with its lock file. TEAK_NONE if there is none. A symbolic link
/// is followed, and stays.
///
/// Threads: any.
///
/// Errors: TEAK_IN_USE if a process has it open; TEAK_NOT_A_DATABASE if the file is not a database,
/// and stays; TEAK_IO.
///
/// ```c
/// teak_db db;
/// check(teak_db_open(path, NULL, &db, &error));
/// assert(teak_db_delete(path, &error) == TEAK_IN_USE);
/// check(teak_db_close(db, &error));
/// check(teak_db_delete(path, &error));
/// assert(teak_db_delete(path, &error) == TEAK_NONE);
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_delete(path: *const c_char, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let is_deleted = teak::delete(self::path(path)?, Deletion::IfUnused)?;
            Ok(whether(is_deleted))
        })
    }
}

/// Writes the path of the lock file of the database at `path`, zero-terminated, to `lock_file`,
/// which has `room` bytes. Databases use this path unless lock_file of the options names another.
/// Symbolic links in `path` are followed. Neither file has to exist, but their directory does.
///
/// Threads: any.
///
/// Errors: TEAK_IO if the directory does not exist or cannot be read; TEAK_INVALID_ARGUMENT if the
/// path needs more room.
///
/// ```c
/// char lock_file[4096];
/// check(teak_lock_file_of(path, lock_file, sizeof lock_file, &error));
/// assert(strstr(lock_file, "-lock"));
/// ```
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_lock_file_of(
    path: *const c_char,
    lock_file: *mut c_char,
    room: usize,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let found = teak::lock_file_of(self::path(path)?)?;
            let found = found.as_os_str().as_encoded_bytes();
            let buffer: &mut [MaybeUninit<u8>] = array_mut(lock_file.cast(), room)?;
            let needed = found.len() + 1;
            if buffer.len() < needed {
                let text = format!("the path of the lock file needs {needed} bytes, not {room}");
                return Err(Failure::invalid_argument(text));
            }
            for (target, byte) in buffer.iter_mut().zip(found.iter().chain(&[0])) {
                target.write(*byte);
            }
            OK
        })
    }
}

/// Creates another handle of the same opening, so that threads which begin many transactions need
/// not share one. Tables, transactions and tickets are valid with all handles.
///
/// Threads: any. Lives: until teak_db_close, independently of the first handle.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_clone(
    db: teak_db,
    clone: *mut teak_db,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(clone, "clone")?;
            out.set(teak_db { handle: 0 });
            let clone = DATABASES.read(db.handle)?.another();
            out.set(insert(clone)?);
            OK
        })
    }
}

/// Closes a database. The last handle of an opening flushes all commits to the disk, and reports a
/// failure to do so. Open read transactions and tickets stay usable, but no new ones can begin.
/// Calls that wait for a writer at that time return TEAK_INVALID_HANDLE when it has ended. Those
/// calls, backups, checks and compactions keep the file open until they return.
///
/// Threads: any, while no other call uses the handle. The handle ends even if there is an error,
/// except with the first two.
///
/// Errors: TEAK_INVALID_HANDLE; TEAK_BUSY while the handle is used, or, for the last one, while a
/// write transaction is open; TEAK_IO, TEAK_POISONED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_close(db: teak_db, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let open = DATABASES.remove_if(db.handle, |open| {
                match Arc::strong_count(&open.family) == 1 && open.opened.has_writer() {
                    true => Err(Failure::busy(
                        "a write transaction of this database is open; commit it or end it first",
                    )),
                    false => Ok(()),
                }
            })?;
            let DatabaseObject {
                database, family, ..
            } = open;
            let has_calls = Arc::weak_count(&family) > 0;
            match Arc::into_inner(family) {
                None => OK,
                // A call may wait for a writer for as long as it likes. It closes the database when
                // it ends.
                Some(()) if has_calls => match database.sync() {
                    Err(Error::ReadOnly) => OK,
                    synced => {
                        synced?;
                        OK
                    }
                },
                Some(()) => {
                    database.close()?;
                    OK
                }
            }
        })
    }
}

/// Stores counts of the newest state in a structure whose size is set.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_TOO_MANY_READERS, TEAK_FORKED, TEAK_CORRUPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_get_stat(
    db: teak_db,
    stat: *mut teak_db_stat,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let open = DATABASES.read(db.handle)?;
            let counted = open.database.stat()?;
            let info = open.database.info();
            let reported = teak_db_stat {
                size: 0,
                file_bytes: counted.file_bytes,
                page_size: counted.page_size as u64,
                page_count: counted.page_count,
                used_pages: counted.used_pages,
                free_pages: counted.free_pages,
                pending_pages: counted.pending_pages,
                transaction: counted.transaction.0,
                durable_transaction: counted.durable_transaction.0,
                table_count: counted.table_count,
                readers: counted.readers as u64,
                max_key_len: info.max_key_len as u64,
                cipher: cipher_number(info.cipher),
                compression: compression_numbers(info.compression)[0],
                compression_level: compression_numbers(info.compression)[1],
            };
            reported.write_to(stat);
            OK
        })
    }
}

fn sync_of(db: teak_db, work: impl FnOnce(&Database) -> CallResult) -> CallResult {
    let open = DATABASES.read(db.handle)?;
    work(&open.database)
}

/// Waits until all commits are on the disk.
///
/// Threads: any.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_IO, TEAK_POISONED, TEAK_FORKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_sync(db: teak_db, error: *mut teak_error) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            sync_of(db, |database| {
                database.sync()?;
                OK
            })
        })
    }
}

/// Starts to flush all commits to the disk. A ticket reports when they are there.
///
/// Threads: any. Lives: the ticket until teak_ticket_end.
///
/// Errors: those of teak_db_sync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_begin_sync(
    db: teak_db,
    ticket: *mut teak_ticket,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(ticket, "ticket")?;
            out.set(teak_ticket { handle: 0 });
            sync_of(db, |database| {
                out.set(tickets::insert(database.begin_sync()?)?);
                OK
            })
        })
    }
}

/// Makes a ticket for a commit of this process, by its number.
///
/// Threads: any. Lives: the ticket until teak_ticket_end.
///
/// Errors: TEAK_INVALID_HANDLE, TEAK_BUSY, TEAK_READ_ONLY, TEAK_POISONED; TEAK_INVALID_ARGUMENT if
/// there is no such commit yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_db_ticket(
    db: teak_db,
    transaction: u64,
    ticket: *mut teak_ticket,
    error: *mut teak_error,
) -> teak_code {
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let out = OutParameter::new(ticket, "ticket")?;
            out.set(teak_ticket { handle: 0 });
            sync_of(db, |database| {
                let ticket = database.ticket(TransactionId(transaction))?;
                out.set(tickets::insert(ticket)?);
                OK
            })
        })
    }
}
