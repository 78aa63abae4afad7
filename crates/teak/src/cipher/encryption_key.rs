//! Where the key of a database comes from.

use super::{aead::KEY_LEN, key_file};
use crate::error::Result;
use std::{error::Error as StdError, ffi::OsStr, fmt, path::Path, sync::Arc};
use zeroize::Zeroizing;

/// The key of an encrypted database: 32 bytes, a passphrase, or a function that fetches the key.
///
/// The key encrypts the random *data keys* of the database, which encrypt everything else. So it
/// can be changed without writing all pages again. Clones share one copy in memory, which is
/// overwritten when the last one is dropped.
///
/// A key of 32 random bytes is the best choice: `head -c 32 /dev/urandom > coins.key` makes one.
///
/// ```
/// use teak::EncryptionKey;
/// let key = EncryptionKey::from_bytes([7; 32]);
/// // No secret is printed.
/// assert_eq!(format!("{key:?}"), "EncryptionKey(32 bytes)");
/// ```
#[derive(Clone)]
pub struct EncryptionKey(Arc<KeySource>);

pub(super) enum KeySource {
    Bytes(Zeroizing<[u8; KEY_LEN]>),
    Passphrase(Zeroizing<Vec<u8>>),
    Callback(Box<KeyCallback>),
}

pub(super) type KeyCallback =
    dyn Fn(&KeyRequest) -> Result<[u8; 32], Box<dyn StdError + Send + Sync>> + Send + Sync;

/// The database whose key [`EncryptionKey::from_callback`] is to return.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyRequest {
    /// The id of the database: random, and the same for as long as it lives. Copies have it, too.
    pub database_id: [u8; 16],
}

impl KeyRequest {
    pub(super) fn new(database_id: [u8; 16]) -> Self {
        Self { database_id }
    }
}

impl EncryptionKey {
    /// A key of 32 bytes. They must be random, or come from a function that derives keys: they are
    /// not stretched.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self::of(KeySource::Bytes(Zeroizing::new(bytes)))
    }

    /// Reads a key from a file: 32 bytes, or 64 hexadecimal digits. A line break may follow.
    ///
    /// On Unix only the owner may have access to the file. If root owns it, its group may read it.
    ///
    /// # Errors
    ///
    /// [`Error::KeyUnavailable`](crate::Error::KeyUnavailable) if the file cannot be read, has
    /// another content, or is open to others.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        key_file::read(path.as_ref()).map(|key| Self::of(KeySource::Bytes(key)))
    }

    /// Makes a new random key, and writes it to a new file in hexadecimal digits. Returns when the
    /// file is on disk. On Unix only this user may read it. A file is never overwritten.
    ///
    /// ```
    /// # use teak::EncryptionKey;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("coins.key");
    /// EncryptionKey::create_file(&path)?;
    /// let key = EncryptionKey::from_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) or
    /// [`Error::Io`](crate::Error::Io).
    pub fn create_file(path: impl AsRef<Path>) -> Result<Self> {
        key_file::create(path.as_ref()).map(|key| Self::of(KeySource::Bytes(key)))
    }

    /// Reads a key from an environment variable: 64 hexadecimal digits.
    ///
    /// The environment of a process can be read by its user and by root, and child processes
    /// inherit it. Prefer a file.
    ///
    /// # Errors
    ///
    /// [`Error::KeyUnavailable`](crate::Error::KeyUnavailable) if the variable is not set, or has
    /// another content.
    pub fn from_env(name: impl AsRef<OsStr>) -> Result<Self> {
        key_file::read_variable(name.as_ref()).map(|key| Self::of(KeySource::Bytes(key)))
    }

    /// A passphrase of at least one byte. Argon2id makes a key of it whenever the database is
    /// opened, which takes 64 MiB of memory and about a second.
    ///
    /// Somebody with a copy of the file can try passphrases without end. Choose one that nobody
    /// guesses: six words drawn by dice, for example.
    #[must_use]
    pub fn from_passphrase(passphrase: impl Into<Vec<u8>>) -> Self {
        Self::of(KeySource::Passphrase(Zeroizing::new(passphrase.into())))
    }

    /// Reads a passphrase from a file of at most 4,096 bytes. A line break at its end does not
    /// count.
    ///
    /// On Unix only the owner may have access to the file. If root owns it, its group may read it.
    ///
    /// # Errors
    ///
    /// [`Error::KeyUnavailable`](crate::Error::KeyUnavailable) if the file cannot be read, is empty
    /// or too long, or is open to others.
    pub fn from_passphrase_file(path: impl AsRef<Path>) -> Result<Self> {
        key_file::read_passphrase(path.as_ref()).map(|text| Self::of(KeySource::Passphrase(text)))
    }

    /// A key that `callback` returns whenever a database is opened: from a key management service,
    /// or a hardware module.
    ///
    /// It is called while the database is being opened or its key changed, and must not use that
    /// database. Its error becomes [`Error::KeyUnavailable`](crate::Error::KeyUnavailable).
    #[must_use]
    pub fn from_callback<F>(callback: F) -> Self
    where
        F: Fn(&KeyRequest) -> Result<[u8; 32], Box<dyn StdError + Send + Sync>>
            + Send
            + Sync
            + 'static,
    {
        Self::of(KeySource::Callback(Box::new(callback)))
    }

    fn of(source: KeySource) -> Self {
        Self(Arc::new(source))
    }

    pub(super) fn source(&self) -> &KeySource {
        &self.0
    }
}

/// The kind of the key, without the key.
impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source() {
            KeySource::Bytes(_) => "EncryptionKey(32 bytes)",
            KeySource::Passphrase(_) => "EncryptionKey(passphrase)",
            KeySource::Callback(_) => "EncryptionKey(callback)",
        })
    }
}

#[cfg(test)]
#[path = "encryption_key_tests.rs"]
mod tests;
