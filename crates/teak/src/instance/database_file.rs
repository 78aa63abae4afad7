//! The file of an open database.

#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use crate::{io::Storage, record::Record};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
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
    /// Whether the application was notified that the file has lost its name.
    has_reported_lost_name: AtomicBool,
}

impl DatabaseFile {
    pub(crate) fn new(path: PathBuf, storage: Arc<dyn Storage>, record: &Record) -> Self {
        Self {
            path: path.into(),
            storage,
            page_size: record.page_size as usize,
            usable_len: record.usable_page_len(),
            has_reported_lost_name: AtomicBool::new(false),
        }
    }

    /// The cipher of the file, if it is encrypted.
    #[cfg(feature = "encryption")]
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        self.storage.mapping().ok()?.cipher()
    }

    /// Whether the application still has to be notified that the file has lost its name. Returns
    /// `true` once.
    pub(crate) fn is_first_loss_of_name(&self) -> bool {
        !self.has_reported_lost_name.swap(true, Ordering::Relaxed)
    }
}
