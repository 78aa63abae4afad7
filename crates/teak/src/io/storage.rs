//! What a database needs of its file, real or simulated.

use super::{file::LostName, mapping::Mapping, writable::WritableMapping};
use std::{
    fs::Metadata,
    io::{self, IoSlice},
    sync::Arc,
};

/// What a file that becomes longer has to begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// Zeros, which the system keeps as huge pages: pages are put there one by one.
    HugePages,
    /// Nothing: one call writes most of it, and pages of the system's cache that are as large come with that.
    Nothing,
}

/// A file of pages, mapped at an address that stays while anybody holds the mapping.
pub(crate) trait Storage: Send + Sync + std::fmt::Debug {
    /// Length of the file in bytes.
    fn len(&self) -> u64;

    /// Makes the file longer, its blocks allocated where the file system can do that, or shorter.
    ///
    /// # Errors
    /// What the system answers; the length is then what it was. `ResourceBusy` when a live
    /// [`WritableExtent`](writable::WritableRun) reaches past the new length.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes the file longer, as [`Self::set_len`] does: `bytes` is more than it has.
    ///
    /// # Errors
    /// As for [`Self::set_len`].
    fn grow(&self, bytes: u64, _fill: Fill) -> io::Result<()> {
        self.set_len(bytes)
    }

    /// Says that the file will soon be made so long, which may then be quicker. Its [length](Self::len) stays. As long as it is, or shorter: that nothing is
    /// to be done any more, which is waited for. [`Self::set_len`] to what is no longer gives up what was done.
    fn grow_ahead(&self, _bytes: u64) {}

    /// Takes over a length that another process has given the file. Without `has_same_blocks` it may also have given blocks
    /// back.
    ///
    /// # Errors
    /// What the system answers.
    fn refresh(&self, _has_same_blocks: bool) -> io::Result<()> {
        Ok(())
    }

    /// Fails if somebody has made the file shorter who does not know what it is.
    ///
    /// # Errors
    /// `UnexpectedEof`, and what the system answers.
    fn refuse_cut(&self) -> io::Result<()> {
        Ok(())
    }

    /// How the file lost its name since it was opened, if it has. The caller has just called [`Self::refuse_cut`].
    fn lost_name(&self) -> Option<LostName> {
        None
    }

    /// The attributes of the file; `None` where there is none behind this.
    ///
    /// # Errors
    /// What the system answers.
    fn metadata(&self) -> io::Result<Option<Metadata>> {
        Ok(None)
    }

    /// Writes all parts, one behind the other, from `offset` on.
    ///
    /// # Errors
    /// `InvalidInput` when the parts reach past [`Storage::len`]: nothing is written then. After
    /// any other error some of the bytes may have been written.
    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()>;

    /// Writes `bytes`, and returns when they are on the disk, whatever else was written. Says `false`, and has written nothing, where that takes
    /// no less than a flush. The bytes are to be inside of what was flushed, in pages of the system's cache that have nothing else in them.
    ///
    /// # Errors
    /// As for [`Storage::write`] and [`Storage::flush`].
    fn write_through(&self, _offset: u64, _bytes: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Has the system begin with writing all that was written, where it can be told to. What fails then is for the next flush to say.
    fn begin_write_back(&self) {}

    /// Returns when all that was written is on the disk, sizes included.
    ///
    /// # Errors
    /// After an error the system may have forgotten which bytes are not on the disk, so a later
    /// success says nothing about them.
    fn flush(&self) -> io::Result<()>;

    /// The mapping that covers the file as it is now: the same one as long as its stretch of
    /// addresses suffices.
    fn mapping(&self) -> io::Result<Arc<Mapping>>;

    /// Sees to it that these bytes, which are in the file, have their blocks. Says whether a write to them then needs no block that
    /// a full disk may not have: there are file systems that cannot promise that.
    ///
    /// # Errors
    /// What the system answers; `StorageFull` and `QuotaExceeded` when there are no blocks.
    fn secure(&self, offset: u64, len: u64) -> io::Result<bool>;

    /// Gives the blocks behind these bytes back to the file system: they are zeros from now on. Says `false`, and has changed nothing,
    /// where that cannot be done. They are to belong to pages that no snapshot can see.
    ///
    /// # Errors
    /// What the system answers; some of the bytes may be zeros then.
    fn punch(&self, offset: u64, len: u64) -> io::Result<bool>;

    /// The first byte from `offset` on that is not known to be in a hole: that is the end of the file if there is none.
    ///
    /// # Errors
    /// What the system answers.
    fn next_data(&self, offset: u64) -> io::Result<u64> {
        Ok(offset)
    }

    /// Memory of the file in which pages can be built, or `None` where a full disk could turn a
    /// store into it into a signal. Runs of it are for bytes that were [secured](Self::secure).
    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>>;

    /// Says that the caller changed these bytes through a [`WritableExtent`](writable::WritableRun).
    fn mark_written(&self, offset: u64, len: u64);
}

/// The end of `len` bytes from `offset` on.
///
/// # Errors
/// `InvalidInput` when that is beyond `file_len`.
pub(super) fn end_within(offset: u64, len: u64, file_len: u64) -> io::Result<u64> {
    offset.checked_add(len).filter(|end| *end <= file_len).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{len} bytes at {offset} reach past the end of the file at {file_len}; make it longer first"),
        )
    })
}
