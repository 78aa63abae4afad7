//! Events on a simulated disk.

/// An operation on the disk. Failed calls are not recorded, except for flushes, which have an
/// effect even if they fail, and for bytes written before a write failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskEvent {
    /// Bytes were written, by a call or through a writable extent.
    Write {
        /// Offset in bytes.
        offset: u64,
        /// The bytes; never empty.
        bytes: Vec<u8>,
    },
    /// The length changed.
    SetLen {
        /// The new length in bytes.
        bytes: u64,
    },
    /// The blocks of these bytes were given back: the bytes are zeros.
    Punch {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
    /// The cache pages with these bytes, in their present state, and the length reached the disk.
    /// This is the effect of a write after which the system waits for the disk (`O_DSYNC`): it
    /// writes the whole page.
    Synced {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
    /// A write past the cache ended: the blocks of 512 bytes with these bytes, and the length,
    /// reached the disk.
    DirectWriteEnded {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
    /// A flush began.
    Flush,
    /// A flush ended: everything done before it began has reached the disk.
    FlushEnded {
        /// Index of the event with which it began.
        began: usize,
    },
    /// A flush failed: none of its data is known to be on the disk, and the data is forgotten.
    FlushFailed {
        /// Index of the event with which it began.
        began: usize,
    },
    /// An operation on the write-ahead log instead of the file.
    Log(Box<DiskEvent>),
}

impl DiskEvent {
    pub(super) fn of_log(self) -> Self {
        Self::Log(Box::new(self))
    }
}
