//! How processes know of each other, for all databases that a command opens.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How processes know of each other, as the command line says.
#[derive(Clone, Default, Debug)]
pub(crate) struct Locking {
    /// Where the lock file is, if not beside the database.
    pub(crate) lock_file: Option<PathBuf>,
    /// Whether the database is read without one.
    pub(crate) is_unlocked: bool,
}

static LOCKING: OnceLock<Locking> = OnceLock::new();

/// Has all databases opened in this way. It is called once, before any is.
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
