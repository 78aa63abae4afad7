//! Options for opening and creating databases.

use crate::{
    Error, Geometry, Result,
    instance::policies::{DropLimits, LostNamePolicy, Network, Settings, Sharing},
    io::{Access, Create, FILE_MODE, handle_faults},
    observe::{
        events::{Event, EventHook},
        slow_reader::{SlowReader, SlowReaderChoice, SlowReaderHook},
    },
    page::comparison::{COMPARISON_NAME_MAX, Comparison, Comparisons},
    read::verified_bitmap::Verification,
    record::durability::Durability,
};
use std::{path::PathBuf, time::Duration};

pub use crate::io::ReadAhead;

/// Options for opening or creating a [`Database`](crate::Database).
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// let database = teak::Options::new()
///     .page_size(8192)
///     .durability(teak::Durability::Lazy)
///     .open(&path)?;
/// assert_eq!(database.page_size(), 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    page_size: usize,
    pub(super) create: Create,
    pub(super) is_read_only: bool,
    durability: Option<Durability>,
    flush_after_bytes: Option<u64>,
    flush_after: Option<Duration>,
    verification: Verification,
    size_limit_bytes: Option<u64>,
    geometry: Option<Geometry>,
    write_memory_bytes: usize,
    move_percent: u32,
    journal_bytes: Option<u64>,
    drop_limits: DropLimits,
    slow_readers: Option<SlowReaderHook>,
    events: Option<EventHook>,
    sharing: Sharing,
    lock_file: Option<PathBuf>,
    file_mode: u32,
    network: Network,
    without_name: LostNamePolicy,
    handles_faults: bool,
    comparisons: Vec<&'static Comparison>,
    read_ahead: ReadAhead,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Defaults: 4 KiB pages, created if missing; durability and limits as stored in the file.
    pub fn new() -> Self {
        Self {
            page_size: 4096,
            create: Create::IfMissing,
            is_read_only: false,
            durability: None,
            flush_after_bytes: None,
            flush_after: None,
            verification: Verification::FirstTouch,
            size_limit_bytes: None,
            geometry: None,
            write_memory_bytes: 256 << 20,
            move_percent: 100,
            journal_bytes: None,
            drop_limits: DropLimits::default(),
            slow_readers: None,
            events: None,
            sharing: Sharing::Processes,
            lock_file: None,
            file_mode: FILE_MODE,
            network: Network::Refuse,
            without_name: LostNamePolicy::Commit,
            handles_faults: true,
            comparisons: Vec::new(),
            read_ahead: ReadAhead::default(),
        }
    }

    /// Sets the page size of a new database: a power of two from 4,096 to 65,536 bytes. An existing
    /// database keeps its page size.
    pub fn page_size(mut self, bytes: usize) -> Self {
        self.page_size = bytes;
        self
    }

    /// Sets whether a missing database is created. The default is `true`.
    pub fn create(mut self, is_created: bool) -> Self {
        self.create = if is_created {
            Create::IfMissing
        } else {
            Create::Never
        };
        self
    }

    /// Sets whether the database must not exist yet.
    pub fn create_new(mut self, is_new: bool) -> Self {
        self.create = if is_new {
            Create::New
        } else {
            Create::IfMissing
        };
        self
    }

    /// Sets whether the database is opened read-only: nothing is written, not even for recovery.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only = is_read_only;
        self
    }

    /// Sets whether no other process may have the database open. There is no lock file then, and
    /// other processes get [`Error::InUse`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().exclusive(true).open(&path)?;
    /// assert!(!directory.path().join("coins.teak-lock").exists());
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exclusive(mut self, is_exclusive: bool) -> Self {
        self.sharing = match is_exclusive {
            true => Sharing::Alone,
            false => Sharing::Processes,
        };
        self
    }

    /// Sets whether the database is read without a lock file, even while other processes write to
    /// it. Requires a read-only open.
    ///
    /// Without this option a database is read without a lock file only if no lock file can be
    /// created or written (a read-only medium or directory, a full disk) and no process has the
    /// database open for writing. Until it is closed, opening it for writing fails with
    /// [`Error::InUse`]. With this option it can also be read while earlier writers are active.
    /// These writers do not know of this reader, and may reuse its pages after two more commits.
    /// Each page is therefore compared with its checksum on every access. If a page was reused, the
    /// operation fails with [`Error::SnapshotLost`]: begin a new transaction. Bytes borrowed from
    /// the file may change; copy them and compare. Rust gives no guarantee for a shared slice that
    /// changes, so use this option beside writers only if a lock file is impossible. See
    /// `docs/locking.md`.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// teak::Database::open(&path)?.close()?;
    /// let database = teak::Options::new().read_only(true).no_lock_file(true).open(&path)?;
    /// assert!(!directory.path().join("coins.teak-lock").exists());
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn no_lock_file(mut self, is_unlocked: bool) -> Self {
        self.sharing = match is_unlocked {
            true => Sharing::Unlocked,
            false => Sharing::Processes,
        };
        self
    }

    /// Sets the path of the lock file; the default is the name of the database followed by `-lock`.
    /// All processes that have the database open at the same time must use the same path; others
    /// get [`Error::InUse`]. [`delete`](crate::delete) knows only the default.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let lock_file = directory.path().join("coins.lock");
    /// let database = teak::Options::new().lock_file(&lock_file).open(&path)?;
    /// assert!(lock_file.exists());
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.lock_file = Some(path.into());
        self
    }

    /// Sets the permissions of created files, as for `open`, less the process's `umask`; the
    /// default is 0o666. Existing files keep theirs, and a recreated lock file gets those of the
    /// database.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().file_mode(0o600).open(&path)?;
    /// assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_mode(mut self, mode: u32) -> Self {
        self.file_mode = mode;
        self
    }

    /// Sets whether a file on a network file system may be opened. Only processes of one machine
    /// may use it then, which Teak cannot check.
    pub fn allow_network(mut self, is_allowed: bool) -> Self {
        self.network = match is_allowed {
            true => Network::Allow,
            false => Network::Refuse,
        };
        self
    }

    /// Sets whether a commit fails with [`Error::NameLost`] if the file, or a directory above it,
    /// was removed, renamed or replaced since it was opened. By default the commit succeeds, into a
    /// file that may be gone after closing, and the first such commit emits [`Event::NameLost`].
    /// The removal of the last link to the file is noticed at once; any other change within 10
    /// milliseconds.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().require_name(true).open(&path)?;
    /// std::fs::remove_file(&path)?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<teak::codec::Str, teak::codec::Str>("names")?;
    /// assert!(matches!(txn.commit(), Err(teak::Error::NameLost { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn require_name(mut self, is_required: bool) -> Self {
        self.without_name = match is_required {
            true => LostNamePolicy::Refuse,
            false => LostNamePolicy::Commit,
        };
        self
    }

    /// Sets whether an unreadable part of the file (a bad sector, or a file truncated by another
    /// program) becomes an error of the operation that read it. The default is `true`. With `false`
    /// for all databases of a process, no handler for SIGBUS is installed, and the process dies if
    /// pages that were read before become unreadable.
    ///
    /// The handler acts only on addresses of databases. Other signals go to the previously
    /// installed handler. A handler installed later must do the same.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().handle_faults(false).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handle_faults(mut self, is_handled: bool) -> Self {
        self.handles_faults = is_handled;
        self
    }

    /// Sets the durability of commits that do not choose one. It is stored in the file by this
    /// process's next commit, or at close if no other process has the database open. Later openings
    /// that set no durability use the stored one. A new database has [`Durability::Durable`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Sets how many bytes of pages lazy commits may write before a background thread flushes them;
    /// `u64::MAX`, the value of a new database, sets no limit. Stored in the file, like
    /// [`Options::durability`].
    pub fn flush_after_bytes(mut self, bytes: u64) -> Self {
        self.flush_after_bytes = Some(bytes);
        self
    }

    /// Sets the length in bytes of the journal that the file gets for small durable commits of this
    /// process, if it has none yet; 0 for none. A commit in the journal need not wait until all its
    /// pages are on disk. They are flushed when the journal is full; the commit that finds it full
    /// waits some milliseconds for that. By default a file of 32 MiB or more gets a journal of a
    /// sixty-fourth of its length, at most 4 MiB.
    pub fn journal_bytes(mut self, bytes: u64) -> Self {
        self.journal_bytes = Some(bytes);
        self
    }

    /// Sets how long a lazy commit may wait before a background thread flushes it, in whole
    /// milliseconds; [`Duration::MAX`] for no limit. A new database has 5 seconds. Stored in the
    /// file, like [`Options::durability`].
    pub fn flush_after(mut self, age: Duration) -> Self {
        self.flush_after = Some(age);
        self
    }

    /// Sets when pages are compared with their checksums; by default once per page since the
    /// database was opened.
    pub fn verification(mut self, verification: Verification) -> Self {
        self.verification = verification;
        self
    }

    /// Sets the maximum length of the file in bytes. The limit is stored in the file: `None`, the
    /// default, keeps the stored limit, and a new database has none. `Some(u64::MAX)` removes it.
    pub fn size_limit_bytes(mut self, limit: Option<u64>) -> Self {
        self.size_limit_bytes = limit;
        self
    }

    /// Sets the size limits of the file, and how it grows and shrinks. Stored in the file; by
    /// default the stored geometry stays in force. [`Options::size_limit_bytes`] takes precedence
    /// over its upper limit.
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.geometry = Some(geometry);
        self
    }

    /// Sets how many bytes of pages a write transaction keeps in memory; the default is 256 MiB. A
    /// larger transaction writes leaves early, to their final position, where no reader sees them
    /// yet. A leaf that changes again is changed in the mapped file, if the file system allows. (On
    /// copy-on-write file systems such as btrfs it is read back and written again.) Inner pages,
    /// about one in two hundred, stay in memory; if they alone exceed the budget, a quarter as much
    /// is allowed on top. A lazy transaction builds its pages in the mapped file, where the system
    /// writes them out under memory pressure, and needs no budget for them. The savepoints of a
    /// transaction may keep as many bytes in addition, for old versions of pages.
    pub fn write_memory_bytes(mut self, bytes: usize) -> Self {
        self.write_memory_bytes = bytes;
        self
    }

    /// Sets how many pages a commit may copy from the end of the file to earlier free pages, in per
    /// cent of the pages that it writes anyway, and at least 2 to 8 pages; 0 for none. Pages are
    /// moved only while the free pages amount to a third of the used ones and have been free for a
    /// while, so that the file can be truncated. The default is 100. With 0,
    /// [`Database::close`](crate::Database::close) moves nothing either.
    pub fn move_percent(mut self, percent: u32) -> Self {
        self.move_percent = percent;
        self
    }

    /// Sets the part size in pages; larger tables are released in parts of this size.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn release_at_once(mut self, pages: u64) -> Self {
        self.drop_limits = DropLimits {
            at_once: pages,
            later_min: pages.div_ceil(2),
            later_share: 1,
            later_max: pages,
            wanted: 4,
        };
        self
    }

    /// Sets a callback that is asked before the file grows although a reader of an old state keeps
    /// enough space. It decides whether to wait for the reader, cancel it, grow the file, or give
    /// up. It runs on the writing thread, and must not begin another write transaction of the same
    /// database. Without a callback the file grows.
    ///
    /// ```
    /// use teak::{Options, SlowReaderChoice};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = Options::new()
    ///     .on_slow_reader(|slow| match slow.asked {
    ///         0..200 => SlowReaderChoice::Wait,
    ///         200..400 => SlowReaderChoice::Cancel,
    ///         _ if slow.file_bytes < 1 << 40 => SlowReaderChoice::Grow,
    ///         _ => SlowReaderChoice::GiveUp,
    ///     })
    ///     .open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_slow_reader(
        mut self,
        ask: impl Fn(&SlowReader) -> SlowReaderChoice + Send + Sync + 'static,
    ) -> Self {
        self.slow_readers = Some(SlowReaderHook::new(ask));
        self
    }

    /// Sets whether the system reads ahead in parts of the file that are not in memory. The default
    /// is [`ReadAhead::Off`], because a single lookup needs no neighbouring data. Scans of data that is not in
    /// memory are several times as fast with it. If this process has the database open already, the
    /// setting of the first opening applies.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().read_ahead(teak::ReadAhead::Auto).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_ahead(mut self, read_ahead: ReadAhead) -> Self {
        self.read_ahead = read_ahead;
        self
    }

    /// Sets a callback for events: a commit, a flush, a grown file, the death of another process
    /// while it wrote. It is called by the thread that caused the event or by the flushing thread,
    /// possibly by several at once. It is never called under a lock or with the writer lock held,
    /// so it may use the database. Events caused by the callback are delivered after it returns. A
    /// panic in the callback is dropped. Without a callback no events are recorded. If this process
    /// has the database open already, only the callback of the first opening is called.
    ///
    /// The callback must not own the database, which would never be closed then.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new()
    ///     .on_event(|event| eprintln!("coins.teak: {event}"))
    ///     .open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_event(mut self, tell: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.events = Some(EventHook::new(tell));
        self
    }

    /// Registers a comparison for tables of this database:
    /// [`KeyOrder::Custom`](crate::KeyOrder::Custom). Register all comparisons at every opening. A
    /// table whose comparison is missing is listed, checked except for its order, and can be
    /// dropped, but not opened ([`Error::ComparisonMissing`]). Other tables are not affected.
    ///
    /// Only the name of a comparison is stored in the file. When a table is first opened in a
    /// process, a few of its pages are checked. If their keys are not in the order of the
    /// comparison, opening fails with [`Error::ComparisonMismatch`]. A comparison that differs from
    /// the original one only for rare keys is not detected this way;
    /// [`Database::check`](crate::Database::check) finds keys that are out of order. A panic of a
    /// comparison propagates to the caller; a write transaction can only be rolled back then.
    ///
    /// [`Comparison`] has an example.
    pub fn comparison(mut self, comparison: &'static Comparison) -> Self {
        self.comparisons.push(comparison);
        self
    }

    /// Registers the comparisons of another database.
    pub(super) fn with_comparisons_of(mut self, comparisons: &Comparisons) -> Self {
        self.comparisons.extend(comparisons.all());
        self
    }

    /// The access mode of the database.
    pub(super) fn access(&self) -> Access {
        match self.is_read_only {
            true => Access::ReadOnly,
            false => Access::ReadWrite,
        }
    }

    /// Installs the handler for SIGBUS, unless it is disabled.
    pub(super) fn prepare_for_faults(&self) -> Result<()> {
        match self.handles_faults {
            true => handle_faults().map_err(Error::io("installing a handler for SIGBUS")),
            false => Ok(()),
        }
    }

    pub(super) fn settings(&self) -> Result<Settings> {
        if !self.page_size.is_power_of_two() || !(4096..=65536).contains(&self.page_size) {
            let text = format!(
                "a page size of {} is not possible; choose 4096, 8192, 16384, 32768 or 65536",
                self.page_size
            );
            return Err(Error::InvalidArgument(text));
        }
        if self.file_mode & !0o777 != 0 {
            let text = format!(
                "files cannot be created with the mode {:#o}; it has no other bits than those of 0o777",
                self.file_mode
            );
            return Err(Error::InvalidArgument(text));
        }
        if let Some(geometry) = &self.geometry {
            refuse_impossible(geometry)?;
        }
        for (index, comparison) in self.comparisons.iter().enumerate() {
            refuse_impossible_name(comparison, &self.comparisons[..index])?;
        }
        Ok(Settings {
            page_size: self.page_size,
            durability: self.durability,
            flush_after_bytes: self.flush_after_bytes,
            flush_after: self.flush_after,
            verification: self.verification,
            size_limit_bytes: self.size_limit_bytes,
            geometry: self.geometry,
            write_memory_bytes: self.write_memory_bytes,
            move_percent: self.move_percent,
            journal_bytes: self.journal_bytes,
            drop_limits: self.drop_limits,
            slow_readers: self.slow_readers.clone(),
            events: self.events.clone(),
            sharing: self.sharing,
            lock_file: self.lock_file.clone(),
            file_mode: self.file_mode,
            network: self.network,
            without_name: self.without_name,
            comparisons: Comparisons::new(&self.comparisons),
            read_ahead: self.read_ahead,
        })
    }
}

/// Refuses contradictory limits.
pub(super) fn refuse_impossible(geometry: &Geometry) -> Result<()> {
    if geometry.is_possible() {
        return Ok(());
    }
    let Geometry {
        lower_limit_bytes,
        upper_limit_bytes,
        ..
    } = geometry;
    Err(Error::InvalidArgument(format!(
        "a file cannot have {lower_limit_bytes} bytes at least and {upper_limit_bytes} at most; make the lower limit the lower one"
    )))
}

/// Refuses a comparison whose name cannot be stored, or is also the name of one of `others`.
fn refuse_impossible_name(comparison: &Comparison, others: &[&Comparison]) -> Result<()> {
    let name = comparison.name();
    let text = if !(1..=COMPARISON_NAME_MAX).contains(&name.len()) {
        let len = name.len();
        format!("the name of a comparison has 1 to {COMPARISON_NAME_MAX} bytes, not {len}")
    } else if others.contains(&comparison) {
        format!("two comparisons are called {name:?}; give each a name of its own")
    } else {
        return Ok(());
    };
    Err(Error::InvalidArgument(text))
}
