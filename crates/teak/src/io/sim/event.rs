//! What is done to a simulated disk, one event after the other.

/// Something that was done to the disk. Calls that failed are not among the events, except for
/// flushes, which change something even so, and for what was written before a write failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiskEvent {
    /// Bytes were written, by a call or through a writable extent.
    Write {
        /// Where.
        offset: u64,
        /// What; never empty.
        bytes: Vec<u8>,
    },
    /// The length changed.
    SetLen {
        /// To this.
        bytes: u64,
    },
    /// The blocks behind these bytes were given back: they are zeros.
    Punch {
        /// Where.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// The cache pages with these bytes, as they are now, and the length reached the disk: what a
    /// write does behind which the system waits for the disk (`O_DSYNC`). It is the page that is
    /// written, with all that is in it.
    Synced {
        /// Where the bytes begin.
        offset: u64,
        /// How many they are.
        len: u64,
    },
    /// A flush began.
    Flush,
    /// A flush ended: all that was done before it began has reached the disk.
    FlushEnded {
        /// The index of the event with which it began.
        began: usize,
    },
    /// A flush failed: nothing of what was to reach the disk is known to be there, and it is
    /// forgotten.
    FlushFailed {
        /// The index of the event with which it began.
        began: usize,
    },
}
