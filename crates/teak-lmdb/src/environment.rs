//! An environment: its settings, and the open database.

use crate::{
    codes::{CallResult, Code},
    files::Files,
    flags,
    handles::{Handles, OpenDatabase},
    limits::PAGE_SIZE,
    orders::OrdersInUse,
    readers::{self, ReaderSlots, TakenSlot},
    registry::{HandleKind, HasRegistry, Registry},
};
use std::{
    env,
    ffi::{CStr, CString, c_uint, c_void},
    fs::File,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};
use teak::{
    Create, Database, Durability, EncryptionKey, Error, Geometry, Options, Sharing, Transaction,
};

/// LMDB's default for the maximum number of readers.
const MAX_READERS: c_uint = 126;
/// The number of reader slots where LMDB has no table of readers: more than any program needs.
const NOLOCK_READERS: usize = 1 << 16;
/// The map size that LMDB reports if none was set.
const MAP_SIZE: u64 = 1 << 20;
/// The smallest limit of the file's length. An empty database fits, and nothing can be written to
/// it.
const LIMIT_MIN: u64 = 4 * 4096;

/// `MDB_env`: a handle of an environment, open or not.
#[derive(Debug)]
pub struct Environment {
    wanted: Mutex<RequestedSettings>,
    opened: OnceLock<Arc<OpenEnvironment>>,
    pub(crate) user_context: AtomicPtr<c_void>,
    /// The client's function for failed assertions. Nothing calls it, since a failed assertion is a
    /// panic and becomes a code.
    pub(crate) assert_function: AtomicPtr<c_void>,
}

impl HasRegistry for Environment {
    fn registry() -> &'static Registry<Self> {
        static ENVIRONMENTS: Registry<Environment> = Registry::new(HandleKind::Environment);
        &ENVIRONMENTS
    }
}

/// Settings that were requested before the environment was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedSettings {
    pub(crate) flags: c_uint,
    pub(crate) map_size: Option<u64>,
    pub(crate) max_databases: usize,
    pub(crate) max_readers: c_uint,
}

/// An environment that is open. Transactions hold it too.
#[derive(Debug)]
pub(crate) struct OpenEnvironment {
    pub(crate) database: Database,
    pub(crate) path: CString,
    /// The data file, for clients that ask for a descriptor.
    pub(crate) data: File,
    flags: AtomicU32,
    /// The limit that the client has set; 0 for none.
    map_size: AtomicU64,
    pub(crate) max_readers: c_uint,
    handles: Mutex<Handles>,
    /// Counts changes to the set of open databases that all transactions see.
    generation: AtomicU64,
    pub(crate) reader_slots: Arc<ReaderSlots>,
    /// Whether the client has closed the environment. Transactions then leave no spares.
    is_closed: AtomicBool,
    /// The last opened main database.
    main: Mutex<Option<Arc<OpenDatabase>>>,
    writers: AtomicUsize,
    _orders: OrdersInUse,
    /// Dropped after the database.
    _left: KeptLockFile,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Environment {
    pub(crate) fn new() -> Self {
        Self {
            wanted: Mutex::new(RequestedSettings {
                flags: 0,
                map_size: None,
                max_databases: 0,
                max_readers: MAX_READERS,
            }),
            opened: OnceLock::new(),
            user_context: AtomicPtr::default(),
            assert_function: AtomicPtr::default(),
        }
    }

    /// The open environment. An error before it was opened.
    pub(crate) fn opened(&self) -> CallResult<&Arc<OpenEnvironment>> {
        self.opened.get().ok_or(Code::INVALID_ARGUMENT)
    }

    pub(crate) fn wanted(&self) -> RequestedSettings {
        *lock(&self.wanted)
    }

    /// Changes the settings of an environment that is not open yet.
    pub(crate) fn want(&self, change: impl FnOnce(&mut RequestedSettings)) -> CallResult {
        match self.opened.get() {
            Some(_) => Err(Code::INVALID_ARGUMENT),
            None => {
                change(&mut lock(&self.wanted));
                Ok(())
            }
        }
    }

    pub(crate) fn flags(&self) -> c_uint {
        match self.opened.get() {
            Some(opened) => opened.flags(),
            None => self.wanted().flags,
        }
    }

    pub(crate) fn max_readers(&self) -> c_uint {
        match self.opened.get() {
            Some(opened) => opened.max_readers,
            None => self.wanted().max_readers,
        }
    }

    pub(crate) fn set_flags(&self, changed: c_uint, is_on: bool) -> CallResult {
        if changed & !flags::CHANGEABLE != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let change = |flags: c_uint| match is_on {
            true => flags | changed,
            false => flags & !changed,
        };
        match self.opened.get() {
            Some(opened) => {
                let swapped = |flags| Some(change(flags));
                let flags = &opened.flags;
                let _ = flags.fetch_update(Ordering::AcqRel, Ordering::Acquire, swapped);
            }
            None => {
                let mut wanted = lock(&self.wanted);
                wanted.flags = change(wanted.flags);
            }
        }
        Ok(())
    }

    pub(crate) fn open(&self, path: &CStr, asked: c_uint, mode: u32) -> CallResult {
        if self.opened.get().is_some() || asked & !(flags::CHANGEABLE | flags::CHANGELESS) != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let wanted = self.wanted();
        let mut flags = asked | wanted.flags;
        if flags & flags::RDONLY != 0 {
            flags &= !flags::WRITEMAP;
        }
        let opened = OpenEnvironment::open(path, flags, mode, &wanted)?;
        self.opened
            .set(Arc::new(opened))
            .map_err(|_| Code::INVALID_ARGUMENT)
    }
}

/// The environment variable with the name of a file with the key of encrypted databases.
const KEY_FILE_VARIABLE: &str = "TEAK_LMDB_KEY_FILE";

/// Adds the key that a variable names. LMDB's interface has no place for one.
fn with_key(options: Options) -> CallResult<Options> {
    match env::var_os(KEY_FILE_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Ok(options.encryption_key(EncryptionKey::from_file(path)?)),
        None => Ok(options),
    }
}

impl OpenEnvironment {
    fn open(path: &CStr, flags: c_uint, mode: u32, wanted: &RequestedSettings) -> CallResult<Self> {
        let files = Files::new(path, flags)?;
        let is_read_only = flags & flags::RDONLY != 0;
        files.make_room(flags)?;
        // Like LMDB, closing flushes nothing that a commit did not flush.
        let create = match is_read_only {
            true => Create::Never,
            false => Create::IfMissing,
        };
        let mut options = with_key(Options::new())?
            .create(create)
            .read_only(is_read_only)
            .flush_on_close(false)
            .file_mode(mode & 0o777);
        // A new file stores the limit. In an existing one it is a limit of this environment only.
        if !is_read_only && !files.data.exists() {
            options = options.size_limit_bytes(wanted.map_size.map(limit_of));
        }
        if let Some(lock) = &files.lock {
            options = options.lock_file(lock).remove_lock_file(false);
        }
        let mut opened = options.open(&files.data);
        // With these flags the client is responsible for writers of other processes.
        let may_do_without = is_read_only && flags & flags::NOLOCK != 0;
        if may_do_without && matches!(opened, Err(Error::Io { .. } | Error::InUse(_))) {
            opened = options.sharing(Sharing::Unlocked).open(&files.data);
        }
        if opened.is_err() {
            // LMDB makes the lock file before it reads the data file.
            files.leave_lock();
        }
        let database = opened?;
        let data = files.open_data(flags)?;
        // An environment without a lock file does not change it.
        let (max_readers, left_readers, reader_slots) = match flags & flags::NOLOCK {
            0 => {
                let readers = files.readers(wanted.max_readers);
                (readers, readers, readers as usize)
            }
            _ => (wanted.max_readers, files.readers(0), NOLOCK_READERS),
        };
        Ok(Self {
            data,
            _orders: OrdersInUse::new(database.path()),
            database,
            path: path.to_owned(),
            flags: flags.into(),
            map_size: wanted.map_size.unwrap_or(0).into(),
            max_readers,
            handles: Mutex::new(Handles::new(wanted.max_databases)),
            generation: AtomicU64::new(0),
            reader_slots: Arc::new(ReaderSlots::new(reader_slots)),
            is_closed: AtomicBool::new(false),
            main: Mutex::default(),
            writers: AtomicUsize::new(0),
            _left: KeptLockFile(files, left_readers),
        })
    }

    pub(crate) fn flags(&self) -> c_uint {
        self.flags.load(Ordering::Acquire)
    }

    pub(crate) fn has(&self, flag: c_uint) -> bool {
        self.flags() & flag != 0
    }

    /// The durability of commits: never less than the flags ask for.
    pub(crate) fn durability(&self) -> Durability {
        let flags = self.flags();
        let is_mapped = flags & flags::WRITEMAP != 0;
        match flags & flags::NOSYNC != 0 || is_mapped && flags & flags::MAPASYNC != 0 {
            true => Durability::Lazy,
            false => Durability::Durable,
        }
    }

    /// Takes a reader slot for this thread.
    pub(crate) fn take_reader_slot(&self) -> CallResult<TakenSlot> {
        let is_for_thread = !self.has(flags::NOTLS | flags::NOLOCK);
        self.reader_slots
            .take(readers::this_thread(), is_for_thread)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn handles(&self) -> MutexGuard<'_, Handles> {
        lock(&self.handles)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Counts a change to the set of open databases.
    pub(crate) fn count_generation(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The last opened main database. `None` if it was not yet.
    pub(crate) fn main_seen(&self) -> Option<Arc<OpenDatabase>> {
        lock(&self.main).clone()
    }

    pub(crate) fn see_main(&self, main: &Arc<OpenDatabase>) {
        let mut seen = lock(&self.main);
        if !seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, main)) {
            *seen = Some(Arc::clone(main));
            self.count_generation();
        }
    }

    /// Counts a write transaction that has begun or ended.
    pub(crate) fn count_writer(&self, is_begun: bool) {
        match is_begun {
            true => self.writers.fetch_add(1, Ordering::AcqRel),
            false => self.writers.fetch_sub(1, Ordering::AcqRel),
        };
    }

    /// The limit of write transactions, if the client has set one.
    pub(crate) fn limit(&self) -> Option<u64> {
        match self.map_size.load(Ordering::Acquire) {
            0 => None,
            size => Some(limit_of(size)),
        }
    }

    /// Sets the limit for later write transactions, or with 0 the limit in the file. The limit is
    /// at least the size in use.
    pub(crate) fn set_map_size(&self, size: u64) -> CallResult {
        if self.writers.load(Ordering::Acquire) != 0 {
            return Err(Code::INVALID_ARGUMENT);
        }
        let in_file = || Ok::<_, Code>(self.geometry()?.upper_limit_bytes);
        let size = match size {
            0 => in_file()?,
            size => size,
        };
        let used = self.database.stat()?.page_count * PAGE_SIZE as u64;
        let size = match size {
            // The file has no limit.
            u64::MAX => 0,
            size => size.max(used),
        };
        self.map_size.store(size, Ordering::Release);
        Ok(())
    }

    /// The map size as LMDB would report it.
    pub(crate) fn map_size(&self) -> CallResult<u64> {
        let set = self.map_size.load(Ordering::Acquire);
        let in_file = self.geometry()?.upper_limit_bytes;
        let used = self.database.stat()?.page_count * PAGE_SIZE as u64;
        let size = match (set, in_file) {
            (0, u64::MAX) => MAP_SIZE,
            (0, limit) => limit,
            (size, _) => size,
        };
        Ok(size.max(used))
    }

    pub(crate) fn geometry(&self) -> CallResult<Geometry> {
        Ok(self.database.geometry()?)
    }

    /// The number of the last commit.
    pub(crate) fn last_transaction(&self) -> CallResult<u64> {
        Ok(self.database.begin_read()?.id().0)
    }

    pub(crate) fn refuse_read_only(&self) -> CallResult {
        match self.has(flags::RDONLY) {
            true => Err(Code(libc::EACCES)),
            false => Ok(()),
        }
    }
}

impl Drop for Environment {
    /// Open transactions keep the database open until they end.
    fn drop(&mut self) {
        if let Some(opened) = self.opened.get() {
            opened.is_closed.store(true, Ordering::Release);
            opened.reader_slots.drop_spares();
        }
    }
}

/// Makes sure that there is a lock file after closing, for clients that expect one. The engine
/// keeps the one that it used.
#[derive(Debug)]
struct KeptLockFile(Files, c_uint);

impl Drop for KeptLockFile {
    fn drop(&mut self) {
        self.0.leave_lock();
        self.0.readers(self.1);
    }
}

/// The engine's limit for a map size: whole pages, and enough for an empty database.
fn limit_of(map_size: u64) -> u64 {
    let page = PAGE_SIZE as u64;
    (map_size / page * page).max(LIMIT_MIN)
}
