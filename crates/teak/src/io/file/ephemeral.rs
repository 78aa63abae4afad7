//! Files that end with their storage: no other process finds them, and nothing is left of them,
//! also after a crash. A flush of such a file does nothing.

use super::{access::Lifetime, creation::temporary_file, file_storage::FileStorage, name::Name};
use crate::io::{
    locked::LockedFile,
    storage::Storage,
    sys::{Access, FileSharing, memory_file},
};
use std::{
    env,
    fs::{File, TryLockError},
    io,
    path::Path,
};

impl FileStorage {
    /// An empty file in memory, or a temporary one if the system has none in memory.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn in_memory() -> io::Result<Self> {
        match memory_file()? {
            Some(file) => Self::ephemeral(file),
            None => Self::temporary(&env::temp_dir()),
        }
    }

    /// An empty file without a name in `directory`. It has a name for a moment where the file
    /// system supports only files with names.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn temporary(directory: &Path) -> io::Result<Self> {
        Self::ephemeral(temporary_file(directory)?)
    }

    fn ephemeral(file: File) -> io::Result<Self> {
        let access = Access::ReadWrite;
        let locked = LockedFile::new(file, access, FileSharing::Exclusive);
        let file = locked.map_err(|error| match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        })?;
        let storage = Self::new(file, Name::none(), access, None, Lifetime::Ephemeral)?;
        assert!(
            storage.len() == 0 && storage.lost_name().is_none(),
            "a file that nobody else finds is new, and has no name to lose"
        );
        Ok(storage)
    }
}
