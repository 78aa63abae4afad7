//! Opening a database with options.

use super::{database::Database, options::Options};
pub use crate::io::ReadAt;
use crate::{
    Error, Result,
    instance::{engine::Engine, opening::Opening},
    io::{Access, FileStorage, SourceStorage},
    observe::trace::TraceSpan,
};
use std::{
    env, io,
    path::{Path, PathBuf},
    sync::Arc,
};

impl Options {
    /// Opens the database in the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound) or
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) if the file is missing or exists,
    /// contrary to the options; [`Error::NotADatabase`](crate::Error::NotADatabase) or
    /// [`Error::UnknownFormat`](crate::Error::UnknownFormat) for another kind of file;
    /// [`Error::InUse`](crate::Error::InUse) while the database is open elsewhere and cannot be
    /// shared; [`Error::Corrupted`](crate::Error::Corrupted) if the newest commit is known to have
    /// been on disk and is damaged; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for
    /// an impossible page size or an impossible comparison name;
    /// [`Error::OptionsDiffer`](crate::Error::OptionsDiffer) if this process has it open with
    /// different options; [`Error::Io`](crate::Error::Io).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Database> {
        let settings = self.settings()?;
        self.prepare_for_faults()?;
        let path = path.as_ref();
        let _entered = TraceSpan::open(path).enter();
        Opening::open(path, self.access(), self.create, &settings)
            .map(Database::new)
            .map_err(|error| error.at(path))
    }

    /// Creates a database in memory; [`Database::in_memory`] describes it.
    ///
    /// ```
    /// let database = teak::Options::new().page_size(8192).open_in_memory()?;
    /// assert_eq!(database.info().page_size, 8192);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an option about a file that
    /// stays (`read_only`, `create(Never)`, `lock_file`, `remove_lock_file`, `file_mode`,
    /// `require_name`, `journal_bytes`), an impossible page size or an impossible comparison name;
    /// [`Error::Io`](crate::Error::Io) if there is no memory.
    pub fn open_in_memory(&self) -> Result<Database> {
        self.open_ephemeral("(in memory)".into(), FileStorage::in_memory)
    }

    /// Creates a database in a temporary file; [`Database::temporary`] describes it.
    ///
    /// ```
    /// let options = teak::Options::new().size_limit_bytes(Some(1 << 30));
    /// let database = options.open_temporary()?;
    /// assert!(!database.info().has_lock_file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an option about a file that
    /// stays (`read_only`, `create(Never)`, `lock_file`, `remove_lock_file`, `file_mode`,
    /// `require_name`, `journal_bytes`), an impossible page size or an impossible comparison name;
    /// [`Error::Io`](crate::Error::Io) if the directory does not exist or has no space.
    pub fn open_temporary(&self) -> Result<Database> {
        let directory = env::temp_dir();
        let path = directory.join("(temporary)");
        self.open_ephemeral(path, || FileStorage::temporary(&directory))
    }

    /// Opens a database whose file is in memory, as from a download, an archive or
    /// [`include_bytes!`]. The bytes are copied, and the database is only read. It is locked for
    /// nobody, and its [`path`](Database::path) names no file.
    ///
    /// It works on systems without files too. A file that is in use elsewhere may change while it
    /// is copied; a [`backup`](Database::backup) of it does not.
    ///
    /// ```
    /// use teak::{Database, Options, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("names.teak");
    /// let database = Database::open(&path)?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.commit()?;
    /// database.close()?;
    ///
    /// let bytes = std::fs::read(&path)?;
    /// let copy = Options::new().open_bytes(&bytes)?;
    /// let txn = copy.begin_read()?;
    /// assert_eq!(txn.open_table::<&str, u64>("ages")?.get(&txn, "Ada")?, Some(36));
    /// assert!(copy.begin_write().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotADatabase`](crate::Error::NotADatabase) or
    /// [`Error::UnknownFormat`](crate::Error::UnknownFormat) for other bytes;
    /// [`Error::Corrupted`](crate::Error::Corrupted) for damaged ones;
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an option about a file of this
    /// machine (`create(New)`, `lock_file`, `remove_lock_file`, `file_mode`, `require_name`,
    /// `journal_bytes`), or if the newest commits are only in the journal because the machine went
    /// down.
    pub fn open_bytes(&self, bytes: &[u8]) -> Result<Database> {
        self.open_source("(bytes)", || SourceStorage::of_bytes(bytes))
    }

    /// Opens a database whose file is read by a function; [`ReadAt`] has an example. It is like
    /// [`Self::open_bytes`], but parts are read when they are needed, and stay in memory until the
    /// database is closed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) with the error of the function;
    /// [`Error::NotADatabase`](crate::Error::NotADatabase),
    /// [`Error::UnknownFormat`](crate::Error::UnknownFormat),
    /// [`Error::Corrupted`](crate::Error::Corrupted) and
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) as in [`Self::open_bytes`].
    pub fn open_read_at(&self, source: impl ReadAt + 'static) -> Result<Database> {
        self.open_source("(source)", || SourceStorage::of_source(Box::new(source)))
    }

    fn open_source(
        &self,
        name: &str,
        open: impl FnOnce() -> io::Result<SourceStorage>,
    ) -> Result<Database> {
        let settings = self.source_settings()?;
        let path = PathBuf::from(name);
        let opened = open().map_err(Error::io("reading the database file"));
        let storage = Arc::new(opened.map_err(|error| error.at(&path))?);
        // Nothing is known about the machine that wrote it.
        let boot = [0; 16];
        let engine = Engine::open_storage(storage, path, false, true, settings, boot)?;
        Ok(Database::new(Opening::alone(engine, Access::ReadOnly)?))
    }

    /// Creates a database that ends with its last handle.
    fn open_ephemeral(
        &self,
        path: PathBuf,
        create: impl FnOnce() -> io::Result<FileStorage>,
    ) -> Result<Database> {
        let settings = self.ephemeral_settings()?;
        self.prepare_for_faults()?;
        let created = create().map_err(Error::io("creating the database file"));
        let storage = created.map_err(|error| error.at(&path))?;
        storage.set_read_ahead(settings.read_ahead);
        // No other boot of the machine, and no other process, finds the file.
        let boot = [0; 16];
        let storage = Arc::new(storage);
        let engine = Engine::open_storage(storage, path, true, false, settings, boot)?;
        Ok(Database::new(Opening::alone(engine, Access::ReadWrite)?))
    }

    /// Opens the database in any storage, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_storage(
        &self,
        storage: std::sync::Arc<dyn crate::io::Storage>,
        is_new: bool,
        boot: [u8; 16],
    ) -> Result<Database> {
        let (path, settings) = ("simulated".into(), self.settings()?);
        let engine =
            Engine::open_storage(storage, path, is_new, self.is_read_only, settings, boot)?;
        Ok(Database::new(Opening::alone(engine, self.access())?))
    }

    /// Opens the database in any storage as one of several processes that this process simulates.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn open_apart(
        &self,
        storage: std::sync::Arc<dyn crate::io::Storage>,
        lock_file: &Path,
        is_new: bool,
        boot: [u8; 16],
    ) -> Result<Database> {
        let settings = self.settings()?;
        let engine = Engine::open_apart(storage, lock_file, is_new, settings, boot)?;
        Ok(Database::new(Opening::alone(engine, Access::ReadWrite)?))
    }
}

impl Database {
    /// Opens the database in the file at `path`, or creates it; [`Options`] has more settings.
    ///
    /// # Errors
    ///
    /// [`Error::NotADatabase`](crate::Error::NotADatabase) or
    /// [`Error::UnknownFormat`](crate::Error::UnknownFormat) for another kind of file;
    /// [`Error::InUse`](crate::Error::InUse) while the database is open elsewhere and cannot be
    /// shared; [`Error::Corrupted`](crate::Error::Corrupted) if the newest commit is known to have
    /// been on disk and is damaged; [`Error::OptionsDiffer`](crate::Error::OptionsDiffer) if this
    /// process has it open with different options; [`Error::Io`](crate::Error::Io).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// Creates a database in memory, which ends with its last handle or transaction. Clones share
    /// it; other processes cannot, and neither can the child of a fork. There is no file in any
    /// directory, and nothing of it is left when it ends, also if the process is killed.
    ///
    /// It works like a database on disk, and nothing waits for a disk: a flush does nothing, and
    /// [`Durability::Durable`](crate::Durability) commits are the cheapest. It may be used for
    /// tests and for caches. To keep it, write a [`backup`](Database::backup).
    ///
    /// Its [`path`](Database::path) names no file. [`Options::open_in_memory`] takes options.
    ///
    /// ```
    /// use teak::Database;
    /// let database = Database::in_memory()?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.commit()?;
    ///
    /// let other = database.clone();
    /// let reader = std::thread::spawn(move || ages.get(&other.begin_read()?, "Ada"));
    /// assert_eq!(reader.join().unwrap()?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if there is no memory.
    pub fn in_memory() -> Result<Self> {
        Options::new().open_in_memory()
    }

    /// Creates a database in a temporary file, which ends with its last handle or transaction. The
    /// file is in the [directory for temporary files](std::env::temp_dir) and has no name there, so
    /// the system removes it when it is closed, also if the process is killed or the machine goes
    /// down. (A file system without unnamed files gives it a name for a moment,
    /// `.teak-new-` and a number; a process that is killed in that moment leaves an empty file.)
    ///
    /// It is like [`Database::in_memory`], but may be larger than the memory: the system writes its
    /// pages to the disk when it needs the memory. A flush does nothing. Only this process can open
    /// it.
    ///
    /// Its [`path`](Database::path) names no file. [`Options::open_temporary`] takes options.
    ///
    /// ```
    /// use teak::{Database, Transaction};
    /// let database = Database::temporary()?;
    /// assert!(database.begin_read()?.tables()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the directory does not exist or has no space.
    pub fn temporary() -> Result<Self> {
        Options::new().open_temporary()
    }
}
