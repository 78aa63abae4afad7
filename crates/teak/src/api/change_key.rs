//! Changing the key of an encrypted database.

use super::Database;
use crate::{
    Error, Result,
    cipher::{EncryptionKey, KeyBlock},
    maintain::rewrite_records::rewrite_records,
};

impl Database {
    /// Changes the key of an encrypted database. Pages need not be encrypted again: they have keys
    /// of their own, which are encrypted with this one. No other process may have the database
    /// open. When this returns, only `new` opens the file. Before that, also after a crash, either
    /// key does.
    ///
    /// Somebody who has the old key and an old copy of the file can read that copy, and the pages
    /// of the new file.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// use teak::{EncryptionKey, Error, Options};
    /// let (old, new) = (EncryptionKey::from_bytes([1; 32]), EncryptionKey::from_bytes([2; 32]));
    /// let database = Options::new().encryption_key(old.clone()).open(&path)?;
    /// database.change_encryption_key(&new)?;
    /// database.close()?;
    /// let opened = Options::new().encryption_key(old).open(&path);
    /// assert!(matches!(opened, Err(Error::WrongKey { .. })));
    /// Options::new().encryption_key(new).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotEncrypted`].
    /// - [`Error::InUse`] if another process has the database open.
    /// - [`Error::KeyUnavailable`] if one of the keys cannot be fetched.
    /// - [`Error::ReadOnly`], and any error of a commit.
    pub fn change_encryption_key(&self, new: &EncryptionKey) -> Result<()> {
        let engine = self.opening.writable()?;
        let path = || engine.file.path.to_path_buf();
        let (Some(codec), Some(mut settings)) = (engine.codec(), engine.file.encryption()) else {
            return Err(Error::NotEncrypted(path()));
        };
        let shared = engine.committer.shared.as_ref();
        if shared.is_some_and(|shared| !shared.is_alone()) {
            return Err(Error::InUse(path()));
        }
        let database_id = engine.committer.published.newest_here().record.database_id;
        let block = KeyBlock::decode(&codec.key_description());
        let block = block.map_err(|reason| Error::unknown_format(reason.to_owned()))?;
        let block = block.rewrap(&settings.key, new, database_id)?;
        codec.set_key_description(&block.encode());
        settings.key = new.clone();
        engine.file.set_encryption(settings);
        rewrite_records(engine)
    }
}
