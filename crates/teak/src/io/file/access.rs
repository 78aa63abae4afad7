//! How a database file is to be opened.

/// What the file is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// For reading.
    ReadOnly,
    /// For reading and writing.
    ReadWrite,
}

/// Whether others may have the file open too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileSharing {
    /// Nobody else.
    Exclusive,
    /// Those who know of each other, or who only read.
    Shared,
}

/// What to do when there is no file, or when there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Create {
    /// There must be a file.
    Never,
    /// A file is created where there is none; not by who only reads.
    IfMissing,
    /// There must be no file.
    New,
}

/// The permissions of files that are created, unless others are asked for; less the mask of the process.
pub(crate) const FILE_MODE: u32 = 0o666;

/// Whether a call of [`FileStorage::open`](super::FileStorage::open) created the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Created {
    /// The file is new, empty, and has no name yet: the first [`flush`](crate::io::storage::Storage::flush) that
    /// succeeds gives it its name.
    Yes,
    /// The file was there.
    No,
}
