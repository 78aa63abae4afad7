//! The operations that a write-ahead log needs from its file, real or simulated.

use super::lock_header::LockMode;
use std::{fmt::Debug, io, ops::Range, path::Path, sync::Arc};

/// The unit of writes to the disk.
pub(crate) const BLOCK_LEN: usize = 512;

/// The length of a half of a log in a file in bytes. An opening reads at most two of them.
pub(crate) const HALF_LEN: usize = 16 << 20;

/// Bytes for the log from the beginning of a block on.
#[derive(Default, Debug)]
pub(crate) struct LogPart {
    pub(crate) start: usize,
    pub(crate) bytes: Vec<u8>,
}

impl LogPart {
    pub(crate) fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

/// Where the log of a database is created, and where the next process finds it.
pub(crate) trait LogLocation: Send + Sync + Debug {
    /// The path, for messages.
    fn path(&self) -> &Path;

    /// The length of each of its two halves in bytes.
    fn half_len(&self) -> usize;

    /// Creates an empty file, which gets at most two halves.
    ///
    /// # Errors
    ///
    /// - `AlreadyExists` if there is a file already.
    /// - The system's error.
    fn create(&self, mode: LockMode) -> io::Result<Arc<dyn LogStorage>>;

    /// The content of the log, at most two halves; `None` if there is no regular file.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn read(&self) -> io::Result<Option<Vec<u8>>>;

    /// Removes the file, and returns when that is on the disk.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn remove(&self) -> io::Result<()>;
}

/// The file of a log that this process writes.
pub(crate) trait LogStorage: Send + Sync + Debug {
    /// Fills a part with zeros, so that it has blocks on the disk.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error.
    fn fill(&self, part: Range<usize>) -> io::Result<()>;

    /// Writes bytes at an offset, where it was [filled](Self::fill).
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor, unless the file is
    ///   mapped.
    /// - `Other` if it is mapped and a store has failed there, this one or one before.
    /// - The system's error.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Like [`Self::write`], but also if the file is mapped and a store has failed there.
    ///
    /// # Errors
    ///
    /// As with [`Self::fill`].
    fn write_anyway(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write(bytes, offset)
    }

    /// Returns when everything that was written is on the disk. The name [has to
    /// be](Self::flush_name) there before.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error. A later success proves nothing about what was written before.
    fn flush(&self) -> io::Result<()>;

    /// Whether [`Self::write_durably`] may be possible.
    fn is_direct(&self) -> bool;

    /// Writes a part, fills its last block with zeros, and returns when it is on the disk.
    /// Everything that [`Self::write`] has written to its pages is on the disk already, and nobody
    /// calls it for them meanwhile. Returns `false` if the system does not support it: it may be
    /// written then, and is not certainly on the disk.
    ///
    /// # Errors
    ///
    /// - `NotConnected` if other code in this process has closed the descriptor.
    /// - The system's error. A later success proves nothing about what was written before.
    fn write_durably(&self, part: &LogPart) -> io::Result<bool>;

    /// Returns when the file and its name are on the disk. Does nothing after the first time.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn flush_name(&self) -> io::Result<()>;

    /// Removes the file, unless another one has its name by now.
    fn remove(&self);

    /// How often it was flushed.
    #[cfg(any(test, feature = "testing"))]
    fn flush_count(&self) -> u64;

    /// The failures that a test plans; `None` if it plans them in another way.
    #[cfg(test)]
    fn failures(&self) -> Option<&LogFailures> {
        None
    }
}

/// Failures of a log that a test plans.
#[cfg(test)]
#[derive(Default, Debug)]
pub(crate) struct LogFailures {
    /// Whether flushes fail.
    pub(crate) fails: std::sync::atomic::AtomicBool,
    /// Whether the disk has no room.
    pub(crate) has_no_room: std::sync::atomic::AtomicBool,
}
