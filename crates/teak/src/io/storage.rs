//! The operations that a database needs from its file, real or simulated.

use super::{
    file::LostName, log_storage::LogLocation, mapping::Mapping, writable::WritableMapping,
};
use crate::types::{PageNumber, TransactionId};
use std::{
    borrow::Cow,
    fs::Metadata,
    io::{self, IoSlice},
    sync::Arc,
};

/// The most parts of one write, which bounds its bookkeeping.
const WRITE_PARTS_MAX: usize = 512;

/// The initial content of the new part when a file grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fill {
    /// Zeros, which the system keeps as huge pages: pages are put there one by one.
    HugePages,
    /// Nothing: one call writes most of it, and that creates equally large pages in the system's
    /// cache.
    Nothing,
    /// A hole: most of it may never be written.
    Hole,
}

/// A file of pages, mapped at an address that stays valid while the mapping is held.
pub(crate) trait Storage: Send + Sync + std::fmt::Debug {
    /// Length of the file in bytes.
    fn len(&self) -> u64;

    /// Grows the file, with its blocks allocated if the file system supports that, or truncates it.
    ///
    /// # Errors
    ///
    /// - The system's error. The length is unchanged.
    /// - `ResourceBusy` if a live [`WritableExtent`](super::WritableExtent) reaches past the new
    ///   length.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Grows the file like [`Self::set_len`]. `bytes` is more than the present length.
    ///
    /// # Errors
    ///
    /// - The system's error. The length is unchanged.
    fn grow(&self, bytes: u64, _fill: Fill) -> io::Result<()> {
        self.set_len(bytes)
    }

    /// Announces that the file will soon grow to this length, which may make the growth faster. The
    /// [length](Self::len) stays the same. If `bytes` is not more than the length, waits until no
    /// such work is done any more. [`Self::set_len`] to at most the present length discards the
    /// work.
    fn grow_ahead(&self, _bytes: u64) {}

    /// Takes over a length that another process has given the file. Without `has_same_blocks` that
    /// process may also have given blocks back.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn refresh(&self, _has_same_blocks: bool) -> io::Result<()> {
        Ok(())
    }

    /// Where the write-ahead log is of a database that has no path; `None` if it has none.
    fn log_location(&self) -> Option<Arc<dyn LogLocation>> {
        None
    }

    /// Fails if another program has truncated the file.
    ///
    /// # Errors
    ///
    /// - `UnexpectedEof` if the file is shorter.
    /// - The system's error.
    fn refuse_cut(&self) -> io::Result<()> {
        Ok(())
    }

    /// How the file lost its name since it was opened; `None` if it still has it. The caller has
    /// just called [`Self::refuse_cut`].
    fn lost_name(&self) -> Option<LostName> {
        None
    }

    /// The attributes of the file; `None` if the storage is not a file.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn metadata(&self) -> io::Result<Option<Metadata>> {
        Ok(None)
    }

    /// Writes all parts, one after the other, from `offset` on.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the parts reach past [`Storage::len`]: nothing is written then. After any
    /// other error, some of the bytes may have been written.
    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()>;

    /// Writes sorted pages to their positions: one write for each run of consecutive pages, split
    /// after [`WRITE_PARTS_MAX`] pages. Pages of the file have `page_len` bytes each, and `pages`
    /// has the usable bytes of each.
    ///
    /// # Errors
    ///
    /// - `InvalidInput` if the pages reach past [`Storage::len`].
    /// - The system's error. Some of the bytes may have been written.
    fn write_pages(&self, page_len: usize, pages: &[(PageNumber, &[u8])]) -> io::Result<()> {
        let in_a_row = |a: &(PageNumber, &[u8]), b: &(PageNumber, &[u8])| a.0.0 + 1 == b.0.0;
        for extent in pages.chunk_by(in_a_row) {
            for part in extent.chunks(WRITE_PARTS_MAX) {
                let offset = u64::from(part[0].0.0) * page_len as u64;
                let slices: Vec<_> = part.iter().map(|(_, page)| IoSlice::new(page)).collect();
                self.write(offset, &slices)?;
            }
        }
        Ok(())
    }

    /// Writes a large value to its pages, which have `pages_len` bytes. `birth` is the transaction
    /// that writes it.
    ///
    /// # Errors
    ///
    /// - `InvalidInput` if the pages reach past [`Storage::len`].
    /// - The system's error. Some of the bytes may have been written.
    fn write_value(
        &self,
        offset: u64,
        value: &[u8],
        pages_len: usize,
        _birth: TransactionId,
    ) -> io::Result<()> {
        let rest = vec![0; pages_len - value.len()];
        self.write(offset, &[IoSlice::new(value), IoSlice::new(&rest)])
    }

    /// The bytes to write for an encoded commit record. They are the same without a codec.
    fn sealed_record<'r>(&self, image: &'r [u8]) -> Cow<'r, [u8]> {
        Cow::Borrowed(image)
    }

    /// Writes `bytes`, and returns when they are on the disk, independently of other writes.
    /// Returns `false` and writes nothing if that would cost as much as a flush. The bytes must be
    /// in an area that was flushed, in system pages that contain nothing else.
    ///
    /// # Errors
    ///
    /// - `InvalidInput` if the bytes reach past [`Storage::len`]: nothing is written then.
    /// - The system's error. Some of the bytes may have been written, and a later success proves
    ///   nothing about them.
    fn write_through(&self, _offset: u64, _bytes: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Asks the system to begin writing everything that was written, if it supports that. The next
    /// flush reports failures.
    fn begin_write_back(&self) {}

    /// Returns when everything that was written is on the disk, including the length.
    ///
    /// # Errors
    ///
    /// After an error the system may have forgotten which bytes are not on the disk, so a later
    /// success proves nothing about them.
    fn flush(&self) -> io::Result<()>;

    /// The mapping that covers the present file. It is the same one while its address range
    /// suffices.
    fn mapping(&self) -> io::Result<Arc<Mapping>>;

    /// Ensures that these bytes, which are in the file, have their blocks. Returns whether a write
    /// to them then needs no block that a full disk may not have. Some file systems cannot promise
    /// that.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `StorageFull` and `QuotaExceeded` if there are no blocks.
    fn secure(&self, offset: u64, len: u64) -> io::Result<bool>;

    /// Gives the blocks of these bytes back to the file system: the bytes are zeros from now on.
    /// Returns `false` and changes nothing if that is not possible. The bytes must belong to pages
    /// that no snapshot can see.
    ///
    /// # Errors
    ///
    /// The system's error. Some of the bytes may be zeros then.
    fn punch(&self, offset: u64, len: u64) -> io::Result<bool>;

    /// The first byte from `offset` on that is not known to be in a hole, or the end of the file.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn next_data(&self, offset: u64) -> io::Result<u64> {
        Ok(offset)
    }

    /// A writable mapping in which pages can be built. `None` if a store into it could raise a
    /// signal because the disk is full. Extents of it may only be used for bytes that were
    /// [secured](Self::secure).
    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>>;

    /// Notes that the caller changed these bytes through a
    /// [`WritableExtent`](super::WritableExtent).
    fn mark_written(&self, offset: u64, len: u64);
}

/// The end of `len` bytes from `offset` on.
///
/// # Errors
///
/// `InvalidInput` if that is beyond `file_len`.
pub(super) fn end_within(offset: u64, len: u64, file_len: u64) -> io::Result<u64> {
    offset.checked_add(len).filter(|end| *end <= file_len).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{len} bytes at {offset} reach past the end of the file at {file_len}; make it longer first"),
        )
    })
}
