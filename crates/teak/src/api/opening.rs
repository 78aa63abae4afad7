//! Opening a database with options.

use super::{database::Database, options::Options};
use crate::{Result, instance::opening::Opening};
use std::path::Path;

impl Options {
    /// Opens the database in the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound) or [`Error::AlreadyExists`](crate::Error::AlreadyExists) if it is not to be created, or is to be;
    /// [`Error::NotADatabase`](crate::Error::NotADatabase) and [`Error::UnknownFormat`](crate::Error::UnknownFormat) for another file; [`Error::InUse`](crate::Error::InUse)
    /// while somebody has it open who cannot share it; [`Error::Corrupted`](crate::Error::Corrupted) if the newest commit is
    /// known to have been on disk and is not whole; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a page size
    /// that is not possible, and for comparisons whose names are; [`Error::OptionsDiffer`](crate::Error::OptionsDiffer) if this process has it open with others; [`Error::Io`](crate::Error::Io).
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

    /// Opens the database in any storage as one of several processes, all of which this one plays.
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
    /// Opens the database in the file at `path`, or creates it; [`Options`] has more choices.
    ///
    /// # Errors
    ///
    /// Those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }
}
