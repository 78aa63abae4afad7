//! The locking of all databases that a command opens.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The locking options of the command line.
#[derive(Clone, Default, Debug)]
pub(crate) struct Locking {
    /// The path of the lock file, if it is not next to the database.
    pub(crate) lock_file: Option<PathBuf>,
    /// Whether the database is read without a lock file.
    pub(crate) is_unlocked: bool,
}

static LOCKING: OnceLock<Locking> = OnceLock::new();

/// Sets the locking for all databases. Called once, before any is opened.
pub(crate) fn set_locking(locking: Locking) {
    let _ = LOCKING.set(locking);
}

/// The lock file of a database.
pub(crate) fn lock_file_of(path: &Path) -> Option<PathBuf> {
    let chosen = LOCKING.get().and_then(|locking| locking.lock_file.clone());
    chosen.or_else(|| teak::lock_file_of(path).ok())
}

/// The setting of the command line, or the default before that is known.
pub(crate) fn locking() -> Locking {
    LOCKING.get().cloned().unwrap_or_default()
}
