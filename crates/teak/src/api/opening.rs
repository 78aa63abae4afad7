//! Opening a database with options.

use super::{database::Database, options::Options};
use crate::{Result, instance::opening::Opening};
use std::path::Path;

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
        Opening::open(path, self.access(), self.create, &settings)
            .map(Database::new)
            .map_err(|error| error.at(path))
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
        let engine = crate::instance::engine::Engine::open_storage(
            storage,
            path,
            is_new,
            self.is_read_only,
            settings,
            boot,
        )?;
        Ok(Database::new(Opening::alone(engine, self.access())))
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
        let engine = crate::instance::engine::Engine::open_apart(
            storage, lock_file, is_new, settings, boot,
        )?;
        Ok(Database::new(Opening::alone(
            engine,
            crate::io::Access::ReadWrite,
        )))
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
}
