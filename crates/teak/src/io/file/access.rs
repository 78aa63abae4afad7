//! Parameters for opening a database file.

/// How long a file exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lifetime {
    /// Until it is deleted.
    Kept,
    /// As long as its storage, so that there is no reason to flush it.
    Ephemeral,
}

/// Whether the file must exist, may be created, or must be new; see
/// [`Options::create`](crate::Options::create).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Create {
    /// The file must exist.
    Never,
    /// A missing file is created, unless the access is for reading only.
    #[default]
    IfMissing,
    /// The file must not exist.
    New,
}

/// The default permissions of created files, before the process's umask is applied.
pub(crate) const FILE_MODE: u32 = 0o666;

/// Whether a call of [`FileStorage::open`](super::FileStorage::open) created the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Created {
    /// The file is new, empty, and has no name yet. The first successful
    /// [`flush`](crate::io::storage::Storage::flush) gives it its name.
    Yes,
    /// The file existed.
    No,
}
