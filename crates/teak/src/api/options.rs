//! What databases are opened and created with.

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
    /// Pages of 4 KiB, created if missing; durability and limits as the file has them.
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

    /// The size of pages of a database that is created: a power of two from 4,096 to 65,536. A
    /// database that exists keeps its own.
    pub fn page_size(mut self, bytes: usize) -> Self {
        self.page_size = bytes;
        self
    }

    /// Whether the database is created if there is none. It is, by default.
    pub fn create(mut self, is_created: bool) -> Self {
        self.create = if is_created {
            Create::IfMissing
        } else {
            Create::Never
        };
        self
    }

    /// Whether the database must not exist yet.
    pub fn create_new(mut self, is_new: bool) -> Self {
        self.create = if is_new {
            Create::New
        } else {
            Create::IfMissing
        };
        self
    }

    /// Whether the database is opened for reading only: nothing is written, not even to recover.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only = is_read_only;
        self
    }

    /// Whether nobody else may have the database open: there is no lock file then, and other processes get
    /// [`Error::InUse`].
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

    /// Whether the database is read without a lock file, also beside processes that write to it. It has to be opened for reading only.
    ///
    /// Without this a database is read without a lock file only where none can be made or written to (a medium or directory that may not be
    /// written to, a full disk), and nobody has the database open for writing. Nobody can open it for writing then until it
    /// is closed: that is [`Error::InUse`]. With this it is read beside writers that were there before, too. These do not know what is read
    /// here, and may use its pages again after two more commits. Each page is therefore compared with its checksum each time. If it was used
    /// again, the operation is [`Error::SnapshotLost`]: begin a new transaction. Bytes that are borrowed from the file may change; copy them and
    /// compare. That is outside of what Rust promises for a shared slice, so use this beside writers only where a lock file cannot be had.
    /// `docs/locking.md` says more.
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

    /// Where the lock file is; by default it has the name of the database with `-lock` behind it. All who have the database open at the same
    /// time must say the same: who says something else gets [`Error::InUse`]. [`delete`](crate::delete) knows only of
    /// the default.
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

    /// The permissions of files that are created, as `open` has them, less the mask of the process (`umask`): 0o666 by default. Files
    /// that are there keep theirs, and a lock file that is made anew gets those of the database.
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

    /// Whether a file on a network file system is opened. Only processes of one machine may use it then, which
    /// nobody can check.
    pub fn allow_network(mut self, is_allowed: bool) -> Self {
        self.network = match is_allowed {
            true => Network::Allow,
            false => Network::Refuse,
        };
        self
    }

    /// Whether a commit fails with [`Error::NameLost`] when the file, or a directory above it, was removed, renamed or replaced since it was
    /// opened. By default the commit is made all the same, into a file that may be gone when it is closed, and the first such commit is
    /// [`Event::NameLost`]. That the last link to the file is gone is noticed at once; anything else within 10 milliseconds.
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

    /// Whether a part of the file that cannot be read (a bad sector, or the file was cut short by somebody) is an
    /// error of the operation that wanted it. It is by default. With `false` for all databases of a process, no
    /// handler for the signal SIGBUS is installed, and where pages cannot be read that were read before, the
    /// process ends.
    ///
    /// The handler concerns addresses of databases alone. Other signals go to the handler that was installed before. One that is
    /// installed later has to do the same.
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

    /// The durability of commits that do not ask for another. It is kept in the file by this process's next
    /// commit, or by closing if nobody else has the database open: who opens it afterwards without asking for one gets
    /// that. A new database has [`Durability::Durable`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// How many bytes of pages lazy commits may have written since the last flush before they are
    /// flushed, by a thread of the database's own; `u64::MAX` for any number, which is what a new
    /// database has. Kept in the file, as [`Options::durability`] is.
    pub fn flush_after_bytes(mut self, bytes: u64) -> Self {
        self.flush_after_bytes = Some(bytes);
        self
    }

    /// How long the journal is that the file gets for small durable commits of this process, if it has none yet; 0 for commits that do without.
    /// A commit that stands there need not wait until all its pages are on the disk: they are flushed when the journal is full, for which the
    /// commit that finds it so waits some milliseconds. If this is not called, a file of 32 MiB or more gets one, a sixty-fourth of it long and
    /// 4 MiB at most.
    pub fn journal_bytes(mut self, bytes: u64) -> Self {
        self.journal_bytes = Some(bytes);
        self
    }

    /// How long a lazy commit may wait before it is flushed, by a thread of the database's own, in
    /// whole milliseconds; [`Duration::MAX`] for ever. A new database has 5 seconds. Kept in the
    /// file, as [`Options::durability`] is.
    pub fn flush_after(mut self, age: Duration) -> Self {
        self.flush_after = Some(age);
        self
    }

    /// When pages are compared with their checksums: once for each page since it was opened, by default.
    pub fn verification(mut self, verification: Verification) -> Self {
        self.verification = verification;
        self
    }

    /// The longest that the file may become, in bytes. The limit is kept in the file: with `None`,
    /// the default, the one found there stays in force, and a new database has none. `Some(u64::MAX)`
    /// lifts it.
    pub fn size_limit_bytes(mut self, limit: Option<u64>) -> Self {
        self.size_limit_bytes = limit;
        self
    }

    /// How long the file may be, and how it grows and shrinks. It is kept in the file: without this, the one found there
    /// stays in force. [`Options::size_limit_bytes`] goes before its upper limit.
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.geometry = Some(geometry);
        self
    }

    /// How many bytes of pages a write transaction keeps in memory. A larger one writes leaves
    /// early, to where they belong and where nobody sees them yet. 256 MiB by default. A leaf that changes after that is changed in the mapped
    /// file, where the file system lets (not where it copies on write, as btrfs does: there it is read back and written again). Inner pages,
    /// about one in two hundred, stay in memory, and where that is more already, a quarter as much besides. A lazy transaction builds its pages in the mapped
    /// file, where the system writes them out when it wants memory, and needs no budget for them.
    /// Savepoints keep as many bytes besides, of any transaction: pages as they were.
    pub fn write_memory_bytes(mut self, bytes: usize) -> Self {
        self.write_memory_bytes = bytes;
        self
    }

    /// How many pages a commit may copy from the end of the file to free places before it, in per cent of the pages that it
    /// writes anyway, and 2 to 8 pages at least; 0 for none. That is done only while a third as much is free as is in use, and was
    /// free for a while, so that the file can be made shorter. 100 by default. With 0 [`Database::close`](crate::Database::close) moves
    /// nothing, either.
    pub fn move_percent(mut self, percent: u32) -> Self {
        self.move_percent = percent;
        self
    }

    /// Has tables that are larger than so many pages released in parts of such a size.
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

    /// What to ask before the file becomes longer while a reader of an old state keeps space that would do: wait for it, cancel
    /// it, let the file grow, or give up. It is called by the thread that writes, and must not begin another write transaction of the
    /// same database. Without this the file grows.
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

    /// Whether the system reads ahead of what is asked for, where the file is not in memory. It does not, by default: around a single
    /// record nothing else is wanted. Scans of what is not in memory are several times as fast with it. Where this process has the database open already, what that
    /// opening was given holds.
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

    /// What to call when something happens: a commit, a flush, the file becomes longer, another process died while it wrote. It is called
    /// by whatever thread made it happen, or by the one that flushes, some at a time maybe, and always without locks and without the
    /// writer's turn: it may use the database. What happens by that is told when it returns. A panic of it is dropped. Without this nothing is
    /// noted. Where this process has the database open already, what that opening was given goes on to be called, and nothing else.
    ///
    /// It must not own the database, which would never be closed then.
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

    /// A comparison that tables of this database may be ordered by: [`KeyOrder::Custom`](crate::KeyOrder::Custom). Each is to be given whenever the
    /// database is opened. A table whose comparison is missing is listed, checked but for its order, and can be dropped; it
    /// cannot be opened ([`Error::ComparisonMissing`]), and others are none the worse for it.
    ///
    /// Only the name of a comparison is in the file. When a table is first opened in a process, a few of its pages are looked
    /// at: if their keys are not in the order that the comparison says, that is [`Error::ComparisonMismatch`]. A comparison that
    /// differs from the one of old for rare keys alone is not noticed so: [`Database::check`](crate::Database::check) finds what is in
    /// disorder. A panic of a comparison goes to the caller; a write transaction can only be rolled back then.
    ///
    /// [`Comparison`] has an example.
    pub fn comparison(mut self, comparison: &'static Comparison) -> Self {
        self.comparisons.push(comparison);
        self
    }

    /// Has those of another database.
    pub(super) fn with_comparisons_of(mut self, comparisons: &Comparisons) -> Self {
        self.comparisons.extend(comparisons.all());
        self
    }

    /// What the database is opened for.
    pub(super) fn access(&self) -> Access {
        match self.is_read_only {
            true => Access::ReadOnly,
            false => Access::ReadWrite,
        }
    }

    /// Installs the handler for SIGBUS, unless the program does without.
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

/// Refuses limits that cross.
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

/// Refuses a comparison whose name cannot be kept, or is one of `others`.
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
