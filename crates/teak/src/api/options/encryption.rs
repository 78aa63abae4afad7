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
        let encryption = &mut self.settings.codecs.encryption;
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
        if let Some(encryption) = &mut self.settings.codecs.encryption {
            encryption.cipher = cipher;
        }
        self
    }

    /// The key and the cipher.
    pub(crate) fn encryption(&self) -> Option<&EncryptionSettings> {
        self.settings.codecs.encryption.as_ref()
    }
}
