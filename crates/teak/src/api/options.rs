//! Options for opening and creating databases.

mod compression;
mod encryption;
mod files;
mod salvage;

use crate::{
    Error, Geometry, Result,
    clock::Clock,
    instance::policies::{ClosePolicy, Settings},
    io::{Access, handle_faults},
    observe::{
        events::{Event, EventHook},
        slow_reader::{SlowReader, SlowReaderChoice, SlowReaderHook},
    },
    page::comparison::{COMPARISON_NAME_MAX, Comparison, Comparisons},
    read::verified_bitmap::Verification,
    record::durability::Durability,
};
use std::time::{Duration, SystemTime};

#[cfg(feature = "compression")]
pub use crate::io::Compression;
pub use crate::{
    instance::policies::Sharing,
    io::{Create, ReadAhead},
};

/// Options for opening or creating a [`Database`](crate::Database).
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// let database = teak::Options::new()
///     .page_size(8192)
///     .durability(teak::Durability::Lazy)
///     .open(&path)?;
/// assert_eq!(database.info().page_size, 8192);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    /// All but the comparisons, which are added by [`Options::settings`].
    settings: Settings,
    pub(super) create: Create,
    pub(super) is_read_only: bool,
    handles_faults: bool,
    comparisons: Vec<&'static Comparison>,
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
            settings: Settings::default(),
            create: Create::IfMissing,
            is_read_only: false,
            handles_faults: true,
            comparisons: Vec::new(),
        }
    }

    /// Sets the page size of a new database: a power of two from 4,096 to 65,536 bytes. An existing
    /// database keeps its page size. The default is 4,096, and 32,768 for a compressed database.
    pub fn page_size(mut self, bytes: usize) -> Self {
        self.settings.page_size = Some(bytes);
        self
    }

    /// Sets whether a missing database is created, and whether an existing one is opened. The
    /// default is [`Create::IfMissing`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// use teak::{Create, Options};
    /// assert!(Options::new().create(Create::Never).open(&path).is_err());
    /// # let database =
    /// Options::new().create(Create::New).open(&path)?;
    /// assert!(Options::new().create(Create::New).open(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(mut self, create: Create) -> Self {
        self.create = create;
        self
    }

    /// Sets whether the database is opened read-only: nothing is written, not even for recovery.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only = is_read_only;
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

    /// Sets the clock by which records of an [`ExpiringTable`](crate::ExpiringTable) expire, for
    /// tests and for applications that have a time of their own. The default is the clock of the
    /// system. The first opening in a process decides. If the clock is set back, transactions
    /// continue with the latest time that they have seen, until the database is closed.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("x.teak");
    /// use std::{sync::{Arc, atomic::{AtomicU64, Ordering}}, time::{Duration, SystemTime}};
    /// use teak::{ExpiryOptions, Options};
    /// let seconds = Arc::new(AtomicU64::new(0));
    /// let clock = Arc::clone(&seconds);
    /// let database = Options::new()
    ///     .clock(move || {
    ///         SystemTime::UNIX_EPOCH + Duration::from_secs(clock.load(Ordering::Relaxed))
    ///     })
    ///     .open(&path)?;
    /// let mut txn = database.begin_write()?;
    /// let options = ExpiryOptions::new().ttl(Duration::from_secs(60));
    /// let sessions = txn.create_expiring_table::<&str, u64>("sessions", &options)?;
    /// sessions.insert(&mut txn, "7f3a", 1)?;
    /// txn.commit()?;
    /// seconds.store(60, Ordering::Relaxed);
    /// assert_eq!(sessions.get(&database.begin_read()?, "7f3a")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.settings.clock = Clock::new(clock);
        self
    }

    /// Sets the durability of commits that do not choose one. It is stored in the file by this
    /// process's next commit, or at close if no other process has the database open. Later openings
    /// that set no durability use the stored one. A new database has [`Durability::Durable`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = Some(durability);
        self
    }

    /// Sets how many bytes of pages lazy commits may write before a background thread flushes them;
    /// `u64::MAX`, the value of a new database, sets no limit. Stored in the file, like
    /// [`Options::durability`].
    pub fn flush_after_bytes(mut self, bytes: u64) -> Self {
        self.settings.flush_after_bytes = Some(bytes);
        self
    }

    /// Sets the length in bytes of the journal that the file gets for small durable commits of this
    /// process, if it has none yet; 0 for none. A commit in the journal need not wait until all its
    /// pages are on disk. They are flushed when the journal is full; the commit that finds it full
    /// waits some milliseconds for that. By default a file of 32 MiB or more gets a journal of a
    /// sixty-fourth of its length, at most 4 MiB.
    pub fn journal_bytes(mut self, bytes: u64) -> Self {
        self.settings.journal_bytes = Some(bytes);
        self
    }

    /// Sets how long a lazy commit may wait before a background thread flushes it, in whole
    /// milliseconds; [`Duration::MAX`] for no limit. A new database has 5 seconds. Stored in the
    /// file, like [`Options::durability`]. For a small commit in the
    /// [memtable](Options::memtable) the time begins when it is merged: after half of this time, or
    /// a second, at most.
    pub fn flush_after(mut self, age: Duration) -> Self {
        self.settings.flush_after = Some(age);
        self
    }

    /// Sets whether closing flushes lazy commits. The default is `true`. With `false`, a database
    /// whose commits since the last flush are all lazy is closed without waiting for the disk: by
    /// [`Database::close`](crate::Database::close) and by dropping the last handle. The commits stay
    /// in the system's cache, as after a process that was killed.
    ///
    /// The next opening during this boot of the machine finds them all. If no other process has the
    /// database open then, it verifies and flushes them, and reports
    /// [`Recovery::Killed`](crate::Recovery::Killed). If the machine goes down
    /// first, the newest of them may be lost; durable commits never are. Limits such as
    /// [`Options::flush_after`] end with the process. Closing moves no pages to shorten the file
    /// then.
    ///
    /// If every commit is durable, an asynchronous commit is not, or a [`Ticket`](crate::Ticket) is
    /// waited for, the database is closed as with `true`. Afterwards, tickets of commits that were
    /// left return an error. All openings for writing in a process have the same setting.
    ///
    /// ```
    /// use teak::{Durability, Options};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("cache.teak");
    /// let options = Options::new().durability(Durability::Lazy).flush_on_close(false);
    /// let database = options.open(&path)?;
    /// let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, &str>("words")?;
    /// words.insert(&mut txn, "teak", "a tree")?;
    /// txn.commit()?;
    /// database.close()?; // does not wait for the disk
    ///
    /// let database = options.open(&path)?;
    /// let txn = database.begin_read()?;
    /// assert_eq!(words.get(&txn, "teak")?, Some("a tree"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush_on_close(mut self, is_flushed: bool) -> Self {
        self.settings.on_close = match is_flushed {
            true => ClosePolicy::Flush,
            false => ClosePolicy::LeaveLazy,
        };
        self
    }

    /// Sets whether small commits are collected in a memtable and merged into the tables together;
    /// by default they are. That makes lazy ones several times as fast. They survive the death of
    /// the process in a write-ahead log, `NAME-wal` next to the database, which exists from the
    /// first such commit until the database is closed. Durable ones, after the first 16, only wait
    /// until the log is on the disk, and threads share that. See `docs/durability.md`.
    ///
    /// Read transactions look records up in both. One that scans a table may merge them, which
    /// takes up to 100 milliseconds or so, and then that operation returns the errors of a
    /// commit: [`Error::Io`](crate::Error::Io) or [`Error::Full`](crate::Error::Full) if there is no
    /// space.
    ///
    /// Without a memtable each commit changes the tables itself, and there is no such file.
    ///
    /// ```
    /// use teak::{Durability, Options};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("cache.teak");
    /// let options = Options::new().durability(Durability::Lazy).memtable(false);
    /// let database = options.open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memtable(mut self, is_used: bool) -> Self {
        self.settings.has_memtable = is_used;
        self
    }

    /// Sets when pages are compared with their checksums; by default once per page since the
    /// database was opened.
    pub fn verification(mut self, verification: Verification) -> Self {
        self.settings.verification = verification;
        self
    }

    /// Sets the maximum length of the file in bytes. The limit is stored in the file: `None`, the
    /// default, keeps the stored limit, and a new database has none. `Some(u64::MAX)` removes it.
    pub fn size_limit_bytes(mut self, limit: Option<u64>) -> Self {
        self.settings.size_limit_bytes = limit;
        self
    }

    /// Sets the size limits of the file, and how it grows and shrinks. Stored in the file; by
    /// default the stored geometry stays in force. [`Options::size_limit_bytes`] takes precedence
    /// over its upper limit.
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.settings.geometry = Some(geometry);
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
        self.settings.write_memory_bytes = bytes;
        self
    }

    /// Sets how many pages a commit may copy from the end of the file to earlier free pages, in per
    /// cent of the pages that it writes anyway, and at least 2 to 8 pages; 0 for none. Pages are
    /// moved only while the free pages amount to a third of the used ones and have been free for a
    /// while, so that the file can be truncated. The default is 100. With 0,
    /// [`Database::close`](crate::Database::close) moves nothing either.
    pub fn move_percent(mut self, percent: u32) -> Self {
        self.settings.move_percent = percent;
        self
    }

    /// Sets the part size in pages; larger tables are released in parts of this size.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    pub fn release_at_once(mut self, pages: u64) -> Self {
        self.settings.drop_limits = crate::instance::policies::DropLimits {
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
        self.settings.slow_readers = Some(SlowReaderHook::new(ask));
        self
    }

    /// Sets whether the system reads ahead in parts of the file that are not in memory. The default
    /// is [`ReadAhead::Off`], because a single lookup needs no neighbouring data. Scans of data
    /// that is not in memory are several times as fast with it. If this process has the database
    /// open already, the setting of the first opening applies.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// let database = teak::Options::new().read_ahead(teak::ReadAhead::Auto).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_ahead(mut self, read_ahead: ReadAhead) -> Self {
        self.settings.read_ahead = read_ahead;
        self
    }

    /// Sets a callback for events: a commit, a flush, a grown file, the death of another process
    /// while it wrote. It is called by the thread that caused the event or by the flushing thread,
    /// possibly by several at once. It is never called under a lock or with the writer lock held,
    /// so it may use the database, except for
    /// [`Event::WaitsForItself`](crate::Event::WaitsForItself): the thread has a write transaction
    /// then, so the callback may not begin another one. Events caused by the callback are delivered
    /// after it returns. A panic in the callback is dropped. Without a callback no events are
    /// recorded. If this process has the database open already, only the callback of the first
    /// opening is called.
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
    pub fn on_event(mut self, hook: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.settings.events = Some(EventHook::new(hook));
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
        let page_size = self.settings.page_size();
        if !page_size.is_power_of_two() || !(4096..=65536).contains(&page_size) {
            let text = format!(
                "a page size of {page_size} is not possible; choose 4096, 8192, 16384, 32768 or 65536"
            );
            return Err(Error::InvalidArgument(text));
        }
        let compression = self.settings.codecs.compression;
        if let Some(feature) = compression.and_then(|asked| asked.missing_feature()) {
            let text = format!(
                "this program was built without {asked}; build it with the feature `{feature}` of the crate `teak`",
                asked = compression
                    .map(|asked| asked.to_string())
                    .unwrap_or_default()
            );
            return Err(Error::InvalidArgument(text));
        }
        if compression.is_some() && page_size < 8192 {
            let text = "a compressed database needs pages of at least 8192 bytes, because space is \
                        saved in blocks of 4096";
            return Err(Error::InvalidArgument(text.into()));
        }
        if self.settings.file_mode & !0o777 != 0 {
            let text = format!(
                "the mode {:#o} is invalid; only the permission bits 0o777 can be set",
                self.settings.file_mode
            );
            return Err(Error::InvalidArgument(text));
        }
        if let Some(geometry) = &self.settings.geometry {
            refuse_impossible(geometry)?;
        }
        for (index, comparison) in self.comparisons.iter().enumerate() {
            refuse_impossible_name(comparison, &self.comparisons[..index])?;
        }
        Ok(Settings {
            comparisons: Comparisons::new(&self.comparisons),
            ..self.settings.clone()
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
        "the lower size limit ({lower_limit_bytes} bytes) is greater than the upper one ({upper_limit_bytes} bytes)"
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
