//! Read transactions.

use crate::{
    Error, Result, TransactionId,
    api::{ReaderInfo, lookup_hint::LookupHint, sealed::Sealed},
    btree::{PageSource, RootRef},
    instance::{
        engine::Engine,
        read_buffer::{ReadBuffer, begin_again},
    },
    read::{
        frame_eviction::Borrower,
        reader::{ParkedReader, Reader, Reset},
        snapshot::PinnedSnapshot,
    },
    types::TypeNames,
};
use std::{fmt, sync::Arc};

/// A read transaction: one committed state, for as long as this transaction or a clone of it lives.
/// It can be sent to and shared between threads, and it can outlive its
/// [`Database`](crate::Database).
///
/// ```
/// # use teak::{Database, Transaction};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let before = database.begin_read()?;
/// let mut txn = database.begin_write()?;
/// txn.create_table::<&str, &str>("words")?;
/// txn.commit()?;
/// assert!(before.open_table::<&str, &str>("words").is_err(), "it still sees the state before");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A clone reads the same state, on another thread too, and takes no additional reader slot:
///
/// ```
/// # use teak::{Database, Transaction};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let ages = txn.create_table::<&str, u64>("ages")?;
/// # ages.insert(&mut txn, "Ada", 36)?;
/// # txn.commit()?;
/// let txn = database.begin_read()?;
/// let (clone, table) = (txn.clone(), ages.clone());
/// let thread = std::thread::spawn(move || table.get(&clone, "Ada"));
/// assert_eq!(thread.join().unwrap()?, ages.get(&txn, "Ada")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ReadTxn {
    /// Holds the newest state in the trees when the transaction began.
    reader: Reader,
    /// Later commits that it sees.
    buffer: Option<Arc<ReadBuffer>>,
    pub(in crate::api) lookup_hint: LookupHint,
}

impl fmt::Debug for ReadTxn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadTxn")
            .field("id", &self.state_id())
            .finish_non_exhaustive()
    }
}

impl ReadTxn {
    #[inline]
    pub(in crate::api) fn new(reader: Reader) -> Self {
        Self::buffered((reader, None))
    }

    #[inline]
    pub(in crate::api) fn buffered((reader, buffer): (Reader, Option<Arc<ReadBuffer>>)) -> Self {
        let lookup_hint = LookupHint::default();
        Self {
            reader,
            buffer,
            lookup_hint,
        }
    }

    #[inline]
    pub(super) fn state_id(&self) -> TransactionId {
        match &self.buffer {
            Some(buffer) => buffer.transaction(),
            None => self.reader.transaction(),
        }
    }

    /// The reader, whose trees have all that the transaction sees.
    pub(super) fn trees(&self) -> Result<&Reader> {
        match &self.buffer {
            Some(buffer) => buffer.trees(&self.reader),
            None => Ok(&self.reader),
        }
    }

    /// The state that it holds. The memtable changes only records.
    pub(super) fn held(&self) -> &Reader {
        &self.reader
    }

    /// A transaction that sees only that state, unless this is one.
    pub(super) fn of_held(&self) -> Option<Self> {
        let is_buffered = self.buffer.is_some();
        is_buffered.then(|| Self::new(self.reader.clone()))
    }

    pub(in crate::api) fn snapshot(&self) -> Result<&PinnedSnapshot> {
        Ok(self.trees()?)
    }

    /// Fails if the transaction has been cancelled.
    #[inline]
    pub(in crate::api) fn refuse_cancelled(&self) -> Result<()> {
        self.reader.hold().refuse_cancelled()?;
        match &self.buffer {
            Some(buffer) => buffer.refuse_cancelled(),
            None => Ok(()),
        }
    }

    /// Returns how often a part of the file could not be read since it was mapped, because of a
    /// disk error or because another program truncated the file. Every operation that reads such a
    /// part fails. But bytes that were returned earlier may be lost later, and then read as zeros.
    /// To keep a slice for long, or to copy a large value, call this before and afterwards: if both
    /// numbers are equal, everything read in between was valid.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let blobs = txn.create_table::<&str, Bytes>("blobs")?;
    /// # blobs.insert(&mut txn, "teak", &[7; 100_000])?;
    /// # txn.commit()?;
    /// let txn = database.begin_read()?;
    /// let faults = txn.read_faults();
    /// let copy = blobs.get(&txn, "teak")?.map(<[u8]>::to_vec);
    /// assert_eq!(txn.read_faults(), faults, "what was copied is what stands in the file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_faults(&self) -> u64 {
        let buffer = self.buffer.as_ref();
        self.reader.read_faults() + buffer.map_or(0, |buffer| buffer.read_faults())
    }

    /// Moves to the newest committed state; returns whether that is another one. From then on it
    /// reads what [`Database::begin_read`](crate::Database::begin_read) would read. Clones, and
    /// objects that hold one, keep the old state. A cancelled transaction becomes usable again.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # txn.commit()?;
    /// let mut reader = database.begin_read()?;
    /// assert!(!reader.refresh()?, "there is nothing newer");
    /// let mut txn = database.begin_write()?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.commit()?;
    /// assert_eq!(ages.get(&reader, "Ada")?, None);
    /// assert!(reader.refresh()?);
    /// assert_eq!(ages.get(&reader, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::TooManyReaders`] or
    /// [`Error::Forked`]. After an error it reads the old state.
    pub fn refresh(&mut self) -> Result<bool> {
        let engine = self.reader.engine();
        engine.refuse_forked()?;
        let is_current = engine.visible() == self.state_id() && !self.reader.is_named();
        if is_current && self.refuse_cancelled().is_ok() {
            return Ok(false);
        }
        let newest = Self::buffered(engine.begin_read_buffered()?);
        let is_other = newest.state_id() != self.state_id();
        *self = newest;
        Ok(is_other)
    }

    /// Returns how many commits have become visible since this one.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let reader = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// assert_eq!(reader.lag(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lag(&self) -> u64 {
        let visible = self.reader.engine().visible();
        visible.0.saturating_sub(self.state_id().0)
    }

    /// Returns the entry of this transaction in [`Database::readers`](crate::Database::readers):
    /// its age, and the part of the file that only it keeps. Reads the free-space map;
    /// [`ReadTxn::lag`] does not.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let reader = database.begin_read()?;
    /// let info = reader.info()?;
    /// assert_eq!((info.transaction, info.lag, info.kept_pages), (reader.id(), 0, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::Forked`] or
    /// [`Error::Corrupted`].
    pub fn info(&self) -> Result<ReaderInfo> {
        let engine = self.reader.engine();
        engine.refuse_forked()?;
        let info = engine.reader_info(&self.reader)?;
        Ok(ReaderInfo {
            transaction: self.state_id(),
            lag: self.lag(),
            ..info
        })
    }
}

/// A parked read transaction: not in use for now, and a writer that needs the space may give up its
/// state.
pub struct ParkedReadTxn(ParkedReader);

impl fmt::Debug for ParkedReadTxn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParkedReadTxn")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

impl ParkedReadTxn {
    /// Continues to read the same state.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotLost`] if the state was given up, or the transaction was cancelled.
    pub fn resume(self) -> Result<ReadTxn> {
        self.0.resume().map(ReadTxn::new)
    }

    /// The id of the state.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.0.transaction()
    }
}

impl ReadTxn {
    /// Parks the transaction: until it is resumed, a writer may give up its state instead of
    /// growing the file. A reader that reads only occasionally, and can do without this particular
    /// state, does not make the file grow then.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let txn = database.begin_read()?;
    /// let parked = txn.park()?;
    /// let txn = match parked.resume() {
    ///     Err(teak::Error::SnapshotLost) => database.begin_read()?,
    ///     resumed => resumed?,
    /// };
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a clone of it exists, or an object that holds one: an owned
    /// cursor, range or value. The transaction has ended then. [`Error::SnapshotLost`] if it was
    /// cancelled.
    pub fn park(self) -> Result<ParkedReadTxn> {
        self.refuse_cancelled()?;
        let reader = match self.buffer {
            Some(buffer) => buffer.into_trees(&self.reader)?,
            None => Some(self.reader),
        };
        let parked = reader.and_then(|reader| reader.park().ok());
        parked.map(ParkedReadTxn).ok_or_else(|| {
            let text =
                "a read transaction of which there are clones cannot be parked; end them first";
            Error::InvalidArgument(text.into())
        })
    }
}

/// A read transaction that has ended and can begin again at less cost than a new one. It reads
/// nothing and holds no state. It keeps its reader slot, and the database open.
pub struct ResetReadTxn(Reset);

impl fmt::Debug for ResetReadTxn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResetReadTxn").finish_non_exhaustive()
    }
}

impl ResetReadTxn {
    /// Begins to read the newest committed state, like
    /// [`Database::begin_read`](crate::Database::begin_read).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::TooManyReaders`] or
    /// [`Error::Forked`].
    pub fn renew(self) -> Result<ReadTxn> {
        begin_again(self.0).map(ReadTxn::buffered)
    }
}

impl ReadTxn {
    /// Ends the transaction, and keeps its reader slot for the next one. This makes frequent short
    /// transactions cheaper to begin.
    ///
    /// ```
    /// # use teak::{Database, Transaction};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let reset = database.begin_read()?.reset();
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// assert!(reset.renew()?.open_table::<&str, &str>("words").is_ok(), "it reads the newest state");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reset(self) -> ResetReadTxn {
        ResetReadTxn(self.reader.reset())
    }
}

impl Sealed for ReadTxn {
    fn engine(&self) -> &Arc<Engine> {
        self.reader.engine()
    }

    #[inline(always)]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        match &self.buffer {
            Some(buffer) => {
                self.refuse_cancelled()?;
                buffer.root_of(&self.reader, handle, name)
            }
            None => self.root_in_trees(handle, name),
        }
    }

    #[inline(always)]
    fn root_in_trees(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.reader.engine().refuse_forked()?;
        self.reader.hold().refuse_cancelled()?;
        self.reader.root_of(handle, name)
    }

    fn now_ms(&self) -> Result<u64> {
        Ok(self.reader.hold().now_ms())
    }

    fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        self.reader.types_of(name)
    }

    #[inline]
    fn source(&self) -> &(impl PageSource + Sync) {
        match &self.buffer {
            Some(buffer) => buffer.known_trees(&self.reader).hold(),
            None => self.reader.hold(),
        }
    }

    fn version_of(&self, _handle: usize) -> Option<(u64, u64)> {
        None
    }

    #[inline(always)]
    fn committed(&self) -> Option<(u64, TransactionId)> {
        let engine = self.reader.engine();
        let has_trees = self.buffer.as_ref().is_none_or(|buffer| buffer.has_trees());
        let may_read =
            has_trees && engine.refuse_forked().is_ok() && self.refuse_cancelled().is_ok();
        may_read.then(|| (engine.id(), self.state_id()))
    }

    fn borrower(&self) -> Option<Borrower> {
        match &self.buffer {
            Some(buffer) => buffer.known_trees(&self.reader).hold().borrower(),
            None => self.reader.hold().borrower(),
        }
    }

    #[inline]
    fn source_of_trees(&self) -> &(impl PageSource + Sync) {
        self.reader.hold()
    }

    #[inline]
    fn is_buffered(&self) -> bool {
        self.buffer.is_some()
    }

    fn has_buffered(&self, _handle: usize) -> bool {
        let buffer = self.buffer.as_ref();
        buffer.is_some_and(|buffer| !buffer.has_trees())
    }

    #[cold]
    fn get_buffered(
        &self,
        handle: usize,
        name: &[u8],
        key: &[u8],
    ) -> Result<Option<Option<&[u8]>>> {
        self.refuse_cancelled()?;
        match &self.buffer {
            Some(buffer) => buffer.get(&self.reader, handle, name, key),
            None => Ok(None),
        }
    }
}
