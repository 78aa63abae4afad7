//! The file of an open database.

#[cfg(feature = "encryption")]
use crate::instance::policies::CodecSettings;
#[cfg(feature = "encryption")]
use crate::{Error, Result, cipher::KeyBlock};
use crate::{instance::policies::EncryptionSettings, io::Storage, record::Record, sync::lock};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// The file of an open database, and its path.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    pub(crate) path: Arc<Path>,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) page_size: usize,
    /// The usable bytes of a page.
    pub(crate) usable_len: usize,
    /// How it is encrypted, and copies of it that are new databases.
    encryption: Mutex<Option<EncryptionSettings>>,
    /// Held while the key is changed.
    #[cfg(feature = "encryption")]
    pub(crate) key_change: Mutex<()>,
    /// Whether the application was notified that the file has lost its name.
    has_reported_lost_name: AtomicBool,
}

impl DatabaseFile {
    pub(crate) fn new(
        path: PathBuf,
        storage: Arc<dyn Storage>,
        record: &Record,
        encryption: Option<EncryptionSettings>,
    ) -> Self {
        Self {
            path: path.into(),
            storage,
            page_size: record.page_size as usize,
            encryption: Mutex::new(encryption),
            #[cfg(feature = "encryption")]
            key_change: Mutex::default(),
            usable_len: record.usable_page_len(),
            has_reported_lost_name: AtomicBool::new(false),
        }
    }

    /// How the database is encrypted, and with which key.
    pub(crate) fn encryption(&self) -> Option<EncryptionSettings> {
        lock(&self.encryption).clone()
    }

    /// Notes another key.
    pub(crate) fn set_encryption(&self, encryption: EncryptionSettings) {
        *lock(&self.encryption) = Some(encryption);
    }

    /// Refuses a key that does not open the file.
    #[cfg(feature = "encryption")]
    pub(crate) fn refuse_other_key(
        &self,
        database_id: [u8; 16],
        asked: &CodecSettings,
    ) -> Result<()> {
        let path = || self.path.to_path_buf();
        let mapping = self
            .storage
            .mapping()
            .map_err(Error::io("mapping the file"))?;
        match (mapping.codec(), &asked.encryption) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Error::NotEncrypted(path())),
            (Some(_), None) => Err(Error::KeyNeeded(path())),
            (Some(codec), Some(asked)) => {
                let block = KeyBlock::decode(&codec.key_description());
                let block = block.map_err(|reason| Error::unknown_format(reason.to_owned()))?;
                block.open(&asked.key, database_id).map(drop)
            }
        }
    }

    /// Whether the application still has to be notified that the file has lost its name. Returns
    /// `true` once.
    pub(crate) fn is_first_loss_of_name(&self) -> bool {
        !self.has_reported_lost_name.swap(true, Ordering::Relaxed)
    }
}
