//! Types that all systems have.

/// The processes that may have a lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Users {
    One,
    /// All that take it in this way.
    Many,
}

/// Tells a file from all others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum FileId {
    /// Its device and number.
    #[cfg(unix)]
    Number(u64, u64),
    /// Its full path.
    #[cfg(windows)]
    Path(std::path::PathBuf),
}
