//! Changing the key of an encrypted database.

use super::Database;
use crate::{
    Error, Result,
    cipher::{EncryptionKey, KeyBlock},
    instance::policies::EncryptionSettings,
    io::LockFile,
    maintain::rewrite_records::{begin_rewrite, rewrite_records},
    share::lock_file_errors::lock_file_error,
    sync::lock,
};

impl Database {
    /// Changes the key of an encrypted database. Pages need not be encrypted again: they have keys
    /// of their own, which are encrypted with this one. No other process may have the database
    /// open, and those that open it meanwhile wait. It waits for other write transactions. When it
    /// returns, only `new` opens the file. Before that, also after a crash or an error, one of the
    /// keys does, and perhaps both.
    ///
    /// Make a new full copy afterwards: an increment cannot be restored onto a copy from before the
    /// change.
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
    /// - [`Error::TransactionPrepared`] while a transaction is prepared. Decide it first.
    /// - [`Error::KeyUnavailable`] if one of the keys cannot be fetched.
    /// - [`Error::ReadOnly`], and any error of a commit.
    pub fn change_encryption_key(&self, new: &EncryptionKey) -> Result<()> {
        let engine = self.opening.writable()?;
        let path = || engine.file.path.to_path_buf();
        let _only = lock(&engine.file.key_change);
        let (Some(codec), Some(settings)) = (engine.mapping().codec(), engine.file.encryption())
        else {
            return Err(Error::NotEncrypted(path()));
        };
        let database_id = engine.committer.published.newest_here().record.database_id;
        let before = codec.key_description();
        let block = KeyBlock::decode(&before);
        let block = block.map_err(|reason| Error::unknown_format(reason.to_owned()))?;
        // Sources of keys are called without the locks.
        let block = block.rewrap(&settings.key, new, database_id)?;

        let mut txn = begin_rewrite(engine)?;
        // Until it leaves the gate no process joins: one that does gets the key block from a
        // record, and writes it with its own commits.
        let shared = engine.shared().map(|shared| &shared.lock_file);
        let gate = shared.map(LockFile::pass_gate).transpose();
        let _gate = gate.map_err(lock_file_error)?;
        if let Some(lock_file) = shared
            && lock_file.has_others().map_err(lock_file_error)?
        {
            return Err(Error::InUse(path()));
        }
        codec.set_key_description(&block.encode());
        engine.file.set_encryption(EncryptionSettings {
            key: new.clone(),
            ..settings.clone()
        });
        rewrite_records(&mut txn).inspect_err(|_| {
            codec.set_key_description(&before);
            engine.file.set_encryption(settings);
        })
    }
}

#[cfg(test)]
#[path = "change_key_tests.rs"]
mod tests;
