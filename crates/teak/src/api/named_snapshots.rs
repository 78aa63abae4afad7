//! Named snapshots: listing, creating, opening and dropping them, and rolling back to one.

use super::{Database, ReadTxn, SnapshotInfo, WriteTxn};
use crate::{Error, Result, TransactionId};

/// The longest name of a snapshot or of a prepared transaction in bytes.
const STATE_NAME_MAX: usize = 255;

/// Refuses a name of an impossible length. `owner` says what has it.
pub(super) fn refuse_name(owner: &str, name: &[u8]) -> Result<()> {
    match name.len() {
        1..=STATE_NAME_MAX => Ok(()),
        len => Err(Error::InvalidArgument(format!(
            "the name of a {owner} has 1 to {STATE_NAME_MAX} bytes, not {len}"
        ))),
    }
}

impl Database {
    /// Lists all named snapshots in the order of their names, and the space each keeps. Reads the
    /// free-space map.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let transaction = database.create_snapshot("monday")?;
    /// let snapshots = database.snapshots()?;
    /// assert_eq!((&snapshots[0].name[..], snapshots[0].transaction), (&b"monday"[..], transaction));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::Corrupted`].
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        self.opening.readable()?.snapshots()
    }

    /// Names the newest state, in a transaction of its own; see [`WriteTxn::create_snapshot`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// database.create_snapshot("monday")?;
    /// assert!(database.create_snapshot("monday").is_err(), "the name is taken");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotExists`]; [`Error::InvalidArgument`] for a name that is empty or longer
    /// than 255 bytes; [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write or flush;
    /// [`Error::Io`] if releasing dropped pages fails for another reason than lack of space;
    /// [`Error::InvalidArgument`] if the database has been closed. [`Error::Io`] or [`Error::Full`]
    /// if the commit fails; [`Error::TransactionBroken`] if an earlier error left the transaction
    /// unfinished.
    pub fn create_snapshot(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        let mut txn = self.begin_write()?;
        txn.create_snapshot(name)?;
        txn.commit()
    }

    /// Drops a named snapshot, in a transaction of its own; see [`WriteTxn::drop_snapshot`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// database.create_snapshot("monday")?;
    /// database.drop_snapshot("monday")?;
    /// assert!(database.snapshots()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; [`Error::ReadOnly`]; [`Error::Poisoned`] after a failed write
    /// or flush; [`Error::Io`] if releasing dropped pages fails for another reason than lack of
    /// space; [`Error::InvalidArgument`] if the database has been closed. [`Error::Io`] or
    /// [`Error::Full`] if the commit fails; [`Error::TransactionBroken`] if an earlier error left
    /// the transaction unfinished.
    pub fn drop_snapshot(&self, name: impl AsRef<[u8]>) -> Result<TransactionId> {
        let mut txn = self.begin_write()?;
        txn.drop_snapshot(name)?;
        txn.commit()
    }

    /// Begins to read the state of a named snapshot: the database as of that commit, with all its
    /// tables.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.create_snapshot("monday")?;
    /// txn.commit()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// ages.insert(&mut txn, "Ada", 37)?;
    /// txn.commit()?;
    /// let monday = database.open_snapshot("monday")?;
    /// assert_eq!(ages.get(&monday, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; [`Error::InvalidArgument`] if the database has been closed.
    pub fn open_snapshot(&self, name: impl AsRef<[u8]>) -> Result<ReadTxn> {
        let reader = self.opening.readable()?.begin_read_at(name.as_ref())?;
        Ok(ReadTxn::new(reader))
    }
}

impl WriteTxn {
    /// Names the state that this transaction creates. The state is kept under this name, across
    /// restarts, until the snapshot is dropped. If [`WriteTxn::roll_back_to_snapshot`] follows, the
    /// name is for the state that the transaction began with. A snapshot costs only the pages that
    /// later transactions would have reused. It contains all tables, but not the list of snapshots.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// txn.create_snapshot("monday")?;
    /// txn.commit()?;
    /// assert_eq!(ages.get(&database.open_snapshot("monday")?, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotExists`]; [`Error::InvalidArgument`] for a name that is empty or longer
    /// than 255 bytes.
    pub fn create_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        let name = name.as_ref();
        refuse_name("snapshot", name)?;
        self.whole_mut()?.create_snapshot(name)
    }

    /// Drops a named snapshot. The pages that only it kept become free when no crash can restore it
    /// and no reader uses it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # database.create_snapshot("monday")?;
    /// let mut txn = database.begin_write()?;
    /// txn.drop_snapshot("monday")?;
    /// txn.create_snapshot("tuesday")?;
    /// txn.commit()?;
    /// assert!(database.open_snapshot("monday").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`] if there is no snapshot of this name.
    pub fn drop_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.whole_mut()?.drop_snapshot(name.as_ref())
    }

    /// Makes this transaction continue from the state of a named snapshot: all tables get their
    /// contents of that state, and tables created since are gone. It is a change like any other: it
    /// is invisible until the commit, and other readers keep their states. The snapshot, those
    /// created after it, and the geometry stay. It copies nothing, and reads as many pages as have
    /// changed since. Names that this transaction has given before are for the state that it began
    /// with, so that a rollback can be undone.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// database.create_snapshot("before")?;
    /// let mut txn = database.begin_write()?;
    /// ages.clear(&mut txn)?;
    /// txn.commit()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// txn.create_snapshot("mistaken")?;
    /// txn.roll_back_to_snapshot("before")?;
    /// txn.commit()?;
    /// assert_eq!(ages.get(&database.begin_read()?, "Ada")?, Some(36));
    /// assert_eq!(ages.get(&database.open_snapshot("mistaken")?, "Ada")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotNotFound`]; [`Error::InvalidArgument`] if this transaction has changed a
    /// table already, has a savepoint, or was rolled back before; [`Error::UnknownFormat`] if a
    /// table requires a newer version of Teak; [`Error::Corrupted`].
    pub fn roll_back_to_snapshot(&mut self, name: impl AsRef<[u8]>) -> Result<()> {
        self.whole_mut()?.roll_back_to_snapshot(name.as_ref())
    }
}
