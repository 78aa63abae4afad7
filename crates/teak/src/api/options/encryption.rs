//! The options of encrypted databases.

use super::Options;
#[cfg(feature = "encryption")]
use crate::cipher::{Cipher, EncryptionKey};
use crate::instance::policies::EncryptionSettings;

impl Options {
    /// Sets the key of an encrypted database. A new database is encrypted with it. See
    /// `docs/encryption.md` for what that protects from.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.teak");
    /// use teak::{EncryptionKey, Error, Options};
    /// let key = EncryptionKey::from_bytes([7; 32]);
    /// Options::new().encryption_key(key).open(&path)?.close()?;
    /// assert!(matches!(Options::new().open(&path), Err(Error::KeyNeeded(_))));
    /// let wrong = EncryptionKey::from_bytes([8; 32]);
    /// let opened = Options::new().encryption_key(wrong).open(&path);
    /// assert!(matches!(opened, Err(Error::WrongKey { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "encryption")]
    pub fn encryption_key(mut self, key: EncryptionKey) -> Self {
        let encryption = &mut self.settings.encryption;
        match encryption {
            Some(encryption) => encryption.key = key,
            None => *encryption = Some(EncryptionSettings::new(key)),
        }
        self
    }

    /// Sets the cipher of a new database, if there is an
    /// [`encryption_key`](Options::encryption_key), which has to be given before. An existing
    /// database keeps its cipher. The default is [`Cipher::Aes256Gcm`].
    #[cfg(feature = "encryption")]
    pub fn cipher(mut self, cipher: Cipher) -> Self {
        if let Some(encryption) = &mut self.settings.encryption {
            encryption.cipher = cipher;
        }
        self
    }

    /// Sets how much memory the decrypted pages of an encrypted database take in this process; 256
    /// MiB by default. The [`encryption_key`](Options::encryption_key) has to be given before.
    ///
    /// The limit is not strict. Pages that a transaction has read stay in memory until it ends,
    /// because its slices are borrowed from there.
    #[cfg(feature = "encryption")]
    pub fn decrypted_cache_bytes(mut self, bytes: u64) -> Self {
        if let Some(encryption) = &mut self.settings.encryption {
            encryption.cache_bytes = bytes;
        }
        self
    }

    /// Uses the key and the cipher of another database.
    pub(in crate::api) fn with_encryption_of(
        mut self,
        encryption: Option<EncryptionSettings>,
    ) -> Self {
        self.settings.encryption = encryption;
        self
    }

    /// The key and the cipher.
    pub(crate) fn encryption(&self) -> Option<&EncryptionSettings> {
        self.settings.encryption.as_ref()
    }
}
