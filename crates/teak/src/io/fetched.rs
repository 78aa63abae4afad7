//! The parts of a file that a function reads. Each part is read when it is first needed, and stays
//! in memory while the storage lives, because readers borrow it.

use super::{address_range::AddressRange, mutex::lock};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    ptr::NonNull,
    slice,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
};

/// A database file that [`Options::open_read_at`](crate::Options::open_read_at) reads: from a
/// network, an archive, or a browser.
///
/// ```
/// use std::{fs::File, io, os::unix::fs::FileExt};
///
/// /// A file that is read by calls, as on a system without mappings.
/// struct Called(File);
///
/// impl teak::ReadAt for Called {
///     fn len_bytes(&self) -> io::Result<u64> {
///         Ok(self.0.metadata()?.len())
///     }
///
///     fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
///         self.0.read_exact_at(out, offset)
///     }
/// }
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// # teak::Database::open(&path)?.close()?;
/// use teak::{Options, Transaction};
/// let database = Options::new().open_read_at(Called(File::open(&path)?))?;
/// assert!(database.begin_read()?.tables()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadAt: Send + Sync {
    /// Length of the file in bytes. It is asked once, when the database is opened.
    ///
    /// # Errors
    ///
    /// Any error. Opening the database fails with it.
    fn len_bytes(&self) -> io::Result<u64>;

    /// Fills `out` with the bytes of the file from `offset` on. They are all inside of the file,
    /// and are always the same ones.
    ///
    /// # Errors
    ///
    /// Any error. The operation that needs the bytes fails with it, and the next one that needs
    /// them reads again. The function may be called by several threads at once, and must not use
    /// the database that is read by it.
    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;
}

/// The parts of a source that were read.
pub(super) struct FetchedParts {
    source: Box<dyn ReadAt>,
    len: u64,
    parts: Mutex<PartsByOffset>,
    /// The error of the last [`Self::bytes`] of each thread, if it failed.
    failures: Mutex<HashMap<ThreadId, io::Error>>,
    failed_reads: AtomicU64,
}

/// The parts. Each stays where it is until all are dropped, and nobody writes to it.
#[derive(Default)]
struct PartsByOffset {
    /// By the offset in the source. None is inside of another one, so the last one that begins
    /// before an offset reaches furthest.
    known: BTreeMap<u64, AddressRange>,
    /// Parts inside of others that were read later. Readers may still borrow them.
    inside: Vec<AddressRange>,
}

impl FetchedParts {
    /// Nothing was read yet.
    ///
    /// # Errors
    ///
    /// The error of the source.
    pub(super) fn of(source: Box<dyn ReadAt>) -> io::Result<Self> {
        Ok(Self {
            len: source.len_bytes()?,
            source,
            parts: Mutex::default(),
            failures: Mutex::default(),
            failed_reads: AtomicU64::new(0),
        })
    }

    /// Length of the source in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether these bytes are in the source.
    pub(super) fn contains(&self, offset: u64, len: usize) -> bool {
        let end = offset.checked_add(len as u64);
        end.is_some_and(|end| end <= self.len)
    }

    /// Reads bytes, unless they were read before.
    ///
    /// # Errors
    ///
    /// - The error of the source.
    /// - `UnexpectedEof` outside of it.
    pub(super) fn fetch(&self, offset: u64, len: usize) -> io::Result<&[u8]> {
        if !self.contains(offset, len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let base = match self.base_of(offset, len, None) {
            Some(base) => base,
            None => {
                // Without the lock: other threads may need parts that were read.
                let read = AddressRange::filled(len, |out| self.source.read_exact_at(out, offset));
                let read = read.inspect_err(|_| {
                    self.failed_reads.fetch_add(1, Relaxed);
                })?;
                let base = self.base_of(offset, len, Some(read));
                base.expect("there is a part that was just read")
            }
        };
        debug_assert!(
            isize::try_from(len).is_ok(),
            "a part that memory was found for"
        );
        // SAFETY: the part has at least `len` bytes from there on, and nobody writes to them. It
        // stays where it is until `self` is dropped, which the borrow forbids.
        Ok(unsafe { slice::from_raw_parts(base.as_ptr(), len) })
    }

    /// The address of these bytes in a part. If none has them, `read` becomes one.
    fn base_of(&self, offset: u64, len: usize, read: Option<AddressRange>) -> Option<NonNull<u8>> {
        let mut parts = lock(&self.parts);
        let end = offset + len as u64;
        debug_assert!(end <= self.len, "the source has these bytes");
        if let Some((start, part)) = parts.known.range(..=offset).next_back()
            && start + part.len() >= end
        {
            // SAFETY: the address is in the part, or at its end if there are no bytes.
            return Some(unsafe { part.base().add((offset - start) as usize) });
        }
        let read = read?;
        debug_assert_eq!(
            read.len(),
            len as u64,
            "a part has the bytes that were read"
        );
        let base = read.base();
        let inside = parts.known.range(offset..);
        let inside = inside.take_while(|(start, part)| *start + part.len() <= end);
        let inside: Vec<_> = inside.map(|(start, _)| *start).collect();
        for start in inside {
            let part = parts.known.remove(&start);
            parts.inside.extend(part);
        }
        parts.known.insert(offset, read);
        Some(base)
    }

    /// Like [`Self::fetch`]; `None` after an error, which [`Self::take_failure`] returns.
    pub(super) fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        self.take_failure();
        let is_inside = self.contains(offset, len);
        let fetched = self.fetch(offset, len);
        fetched
            .map_err(|error| {
                is_inside.then(|| lock(&self.failures).insert(thread::current().id(), error))
            })
            .ok()
    }

    /// The error of this thread's last [`Self::bytes`], if it failed.
    pub(super) fn take_failure(&self) -> Option<io::Error> {
        lock(&self.failures).remove(&thread::current().id())
    }

    /// The number of reads that failed.
    pub(super) fn failed_reads(&self) -> u64 {
        self.failed_reads.load(Relaxed)
    }
}

impl fmt::Debug for FetchedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchedParts")
            .field("len_bytes", &self.len)
            .finish_non_exhaustive()
    }
}
