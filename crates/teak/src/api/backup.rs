//! Backups of a database while it is in use.

use super::{
    Create, Database, Marks, Options, ReadTxn, Sharing, Transaction, codec::Raw,
    copy::out_of_order, expiring::copy_stored, permissions::restrict, sealed::Sealed,
    unfinished_file::UnfinishedFile,
};
use crate::{
    Durability, Error, Result,
    admin::{
        backup::{self, BackupProgress, BackupTarget, NewFile, Stream, WRITING_BACKUP},
        delta,
    },
    btree::TreeRoot,
    instance::policies::CodecSettings,
    io::{directory_of, flush_directory, rename_new},
    write::named::NamedReaders,
};
use std::{
    fs::{File, Metadata},
    io::{BufWriter, Write},
    ops::{ControlFlow, Deref},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

/// Progress of a dense copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DenseProgress {
    /// Records copied so far.
    pub records: u64,
    /// Bytes of the copied keys and values.
    pub bytes: u64,
}

impl ReadTxn {
    /// Writes an exact copy of this transaction's state as a database file. The file is written
    /// from its first byte to its last, so it can go to a pipe. Other transactions can read and
    /// write meanwhile; the copy holds this transaction's state and no newer one. To throttle the
    /// backup, let `progress` sleep. If `progress` breaks, the backup ends with an error.
    ///
    /// Every copied page is compared with its checksum, from the commit record on, whichever
    /// [`Verification`](super::Verification) the database was opened with. A backup of a damaged
    /// database therefore fails, and the error names the page and its table. Tables that require a
    /// newer version of Teak are copied unchanged.
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// let copy = directory.path().join("copy.teak");
    /// let mut file = std::fs::File::create(&copy)?;
    /// database.begin_read()?.write_backup(&mut file, None, &mut |_| ControlFlow::Continue(()))?;
    /// let txn = Database::open(&copy)?.begin_read()?;
    /// assert_eq!(ages.get(&txn, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// With `since`, writes an incremental backup: the pages of this transaction's state that a
    /// copy of `since`, or of a later state up to this one, does not have. `since` is usually a
    /// named snapshot that was created before the copy. [`restore()`](super::restore()) combines a
    /// copy with its increments. Only changed pages, and the inner pages and leaves above them, are
    /// read.
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::{fs::File, ops::ControlFlow};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// let full = directory.path().join("full.teak");
    /// database.create_snapshot("monday")?;
    /// database.backup(&full, None, &mut |_| ControlFlow::Continue(()))?;
    /// # let mut txn = database.begin_write()?;
    /// # ages.insert(&mut txn, "Ada", 37)?;
    /// # txn.commit()?;
    ///
    /// let monday = database.open_snapshot("monday")?;
    /// let mut delta = Vec::new();
    /// let now = database.begin_read()?;
    /// now.write_backup(&mut delta, Some(&monday), &mut |_| ControlFlow::Continue(()))?;
    ///
    /// let target = directory.path().join("restored.teak");
    /// let mut full = File::open(&full)?;
    /// teak::restore(&mut full, &mut [&mut &delta[..]], &[], &target, &mut |_| ControlFlow::Continue(()))?;
    /// let txn = Database::open(&target)?.begin_read()?;
    /// assert_eq!(ages.get(&txn, "Ada")?, Some(37));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Cancelled`] if `progress` breaks; [`Error::Corrupted`] if anything
    /// is damaged; [`Error::SnapshotLost`] if either transaction was cancelled;
    /// [`Error::TooManyReaders`] if there are more named snapshots than can be read at once. With
    /// `since`: [`Error::InvalidArgument`] if it belongs to another database or is newer;
    /// [`Error::UnknownFormat`] if a table requires a newer version of Teak.
    pub fn write_backup(
        &self,
        out: &mut dyn Write,
        since: Option<&Self>,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        let named = self.hold_named()?;
        match since {
            None => self.copy_with(&named, &mut Stream(out), progress),
            Some(since) => self.write_since(since, &named, out, progress),
        }
    }

    /// Writes the copy while the caller holds the named snapshots.
    fn copy_with(
        &self,
        named: &NamedReaders,
        out: &mut dyn BackupTarget,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        self.engine().make_durable(self.id())?;
        self.until_cancelled(progress, |progress| {
            backup::write((self.snapshot()?, named), out, progress)
        })
    }

    /// Ends work that reports progress once the transaction is cancelled.
    fn until_cancelled<T>(
        &self,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
        work: impl FnOnce(&mut dyn FnMut(BackupProgress) -> ControlFlow<()>) -> Result<T>,
    ) -> Result<T> {
        let mut asked = self.refuse_cancelled();
        let done = work(&mut |done| {
            asked = self.refuse_cancelled();
            match asked {
                Ok(()) => progress(done),
                Err(_) => ControlFlow::Break(()),
            }
        });
        // Pages copied since the last check may have been reused.
        asked.and_then(|()| self.refuse_cancelled()).and(done)
    }

    /// Writes an increment while the caller holds the named snapshots.
    fn write_since(
        &self,
        since: &Self,
        named: &NamedReaders,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        let is_same = Arc::ptr_eq(self.engine(), since.engine());
        if !is_same || since.id() > self.id() {
            let text = "an increment leads from an older state to a newer one of the same database";
            return Err(Error::InvalidArgument(text.into()));
        }
        self.engine().make_durable(self.id())?;
        since.until_cancelled(progress, |progress| {
            self.until_cancelled(progress, |progress| {
                delta::write((self.snapshot()?, named), since.snapshot()?, out, progress)
            })
        })
    }

    /// Writes a dense copy of this transaction's state, which may be that of a named snapshot. The
    /// records are rewritten to a new file in key order, as densely as possible. The file is
    /// renamed to `target` once it is complete and on disk. `progress` receives the amount copied
    /// so far; if it breaks, the copy ends with an error. Returns the totals. Sequences and marks
    /// are copied. The copy is a separate database with its own transaction ids. Its first
    /// transaction sets the marks, it has no named snapshots, and no increment can be applied to
    /// it.
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let ages = txn.create_table::<&str, u64>("ages")?;
    /// # ages.insert(&mut txn, "Ada", 36)?;
    /// # txn.commit()?;
    /// database.create_snapshot("monday")?;
    /// # let mut txn = database.begin_write()?;
    /// # ages.insert(&mut txn, "Ada", 37)?;
    /// # txn.commit()?;
    ///
    /// let copy = directory.path().join("monday.teak");
    /// let monday = database.open_snapshot("monday")?;
    /// let copied = monday.copy_dense(&copy, &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!(copied.records, 1);
    /// let txn = Database::open(&copy)?.begin_read()?;
    /// assert_eq!(ages.get(&txn, "Ada")?, Some(36));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] if `target` exists; [`Error::UnknownFormat`] if a table requires a
    /// newer version of Teak; [`Error::ComparisonMissing`]; [`Error::Cancelled`] if `progress`
    /// breaks; any error of reading the source or of writing the copy, such as
    /// [`Error::Corrupted`], [`Error::SnapshotLost`] or [`Error::Io`].
    pub fn copy_dense(
        &self,
        target: impl AsRef<Path>,
        progress: &mut dyn FnMut(DenseProgress) -> ControlFlow<()>,
    ) -> Result<DenseProgress> {
        let own = CodecSettings {
            encryption: self.engine().file.encryption(),
            ..CodecSettings::default()
        };
        let options = Options::new().with_codecs_of(own.for_copy_of(&self.snapshot()?.mapping));
        self.copy_dense_with(&options, target, progress)
    }

    /// Writes a dense copy, like [`ReadTxn::copy_dense`], that is encrypted with the key of
    /// `options`, or not encrypted if they have none, and compressed or not as they say. Of the
    /// options, only key, cipher, compression and page size matter. So a database is encrypted,
    /// decrypted, compressed or expanded, or gets another cipher, compression or page size.
    ///
    /// # Errors
    ///
    /// [`Error::KeyUnavailable`] if the key of `options` cannot be fetched;
    /// [`Error::AlreadyExists`] if `target` exists; [`Error::UnknownFormat`] if a table requires a
    /// newer version of Teak; [`Error::ComparisonMissing`]; [`Error::Cancelled`] if `progress`
    /// breaks; any error of reading the source or of writing the copy, such as
    /// [`Error::Corrupted`], [`Error::SnapshotLost`] or [`Error::Io`].
    pub fn copy_dense_with(
        &self,
        options: &Options,
        target: impl AsRef<Path>,
        progress: &mut dyn FnMut(DenseProgress) -> ControlFlow<()>,
    ) -> Result<DenseProgress> {
        let target = target.as_ref();
        let unfinished = UnfinishedFile::new(target)?;
        let copied = self.copy_dense_to(options, &unfinished.path(), progress);
        let copied = copied.map_err(|error| unfinished.renamed(error, target))?;
        let sources = self.engine().file_metadata()?;
        restrict(&unfinished.path(), &sources).map_err(|error| error.at(target))?;
        name(&unfinished.path(), target)?;
        Ok(copied)
    }

    fn copy_dense_to(
        &self,
        options: &Options,
        path: &Path,
        progress: &mut dyn FnMut(DenseProgress) -> ControlFlow<()>,
    ) -> Result<DenseProgress> {
        let copy = self.create_alike(options, path)?;
        let mut txn = copy.begin_write()?;
        txn.set_durability(Durability::Lazy);
        let mut copied = DenseProgress::default();
        for info in self.tables()? {
            if let Some(feature) = info.unknown {
                return Err(Error::unknown_format(feature).at(&self.engine().file.path));
            }
            let mut report = |key: &[u8], value: &[u8]| {
                copied.records += 1;
                copied.bytes += (key.len() + value.len()) as u64;
                match progress(copied) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(Error::cancelled(WRITING_BACKUP)),
                }
            };
            if info.options.expiring {
                copy_stored(self, &mut txn, &info, &mut report)?;
                continue;
            }
            if info.options.is_multi() {
                let table = self.open_multi_table::<Raw, Raw>(&info.name)?;
                txn.create(&info.name, info.options, info.types.names())?;
                let pairs = table.iter(self)?.map(|pair| {
                    let (key, value) = pair?;
                    report(&key, &value).map(|()| (key, value))
                });
                let loaded = table.bulk_load(&mut txn, pairs);
                loaded.map_err(|error| {
                    disorder(error, &info.name, table.root(self), table.iter(self))
                })?;
            } else {
                let table = self.open_table::<Raw, Raw>(&info.name)?;
                txn.create(&info.name, info.options, info.types.names())?;
                let records = table.iter(self)?.map(|record| {
                    let (key, value) = record?;
                    report(&key, value).map(|()| (key, value))
                });
                let loaded = table.bulk_load(&mut txn, records);
                loaded.map_err(|error| {
                    disorder(error, &info.name, table.root(self), table.iter(self))
                })?;
            }
            txn.draw_sequence(&info.name, info.stat.sequence)?;
        }
        let marks = self.marks();
        if marks != Marks::default() {
            txn.set_marks(marks.values)?;
        }
        txn.commit()?;
        copy.close()?;
        Ok(copied)
    }

    /// Creates a new database with the options of the one that is read.
    fn create_alike(&self, options: &Options, path: &Path) -> Result<Database> {
        let state = self.snapshot()?;
        let codecs = options.codecs();
        // Pages of the size of the source, unless another one suits the compression.
        let has_same = codecs.compression == state.mapping.compression();
        let page_size = has_same.then(|| self.engine().page_size());
        let (durability, limits) = state.defaults();
        Options::new()
            .create(Create::New)
            .sharing(Sharing::Alone)
            // Nothing expires while it is copied.
            .clock(|| SystemTime::UNIX_EPOCH)
            .require_name(true)
            .with_page_size(options.page_size_set().or(page_size))
            .geometry(state.geometry())
            .durability(durability)
            .flush_after_bytes(limits.bytes)
            .flush_after(limits.age)
            .with_comparisons_of(state.comparisons())
            .with_codecs_of(codecs.clone())
            .open(path)
    }

    /// Holds the states of the named snapshots that the copy contains beside the newest state.
    fn hold_named(&self) -> Result<NamedReaders> {
        self.engine().refuse_forked()?;
        let state = self.snapshot()?;
        backup::refuse_past(state)?;
        match self.engine().hold_named(state) {
            Err(Error::SnapshotNotFound(name)) => {
                let text = format!(
                    "the snapshot {name:?} was dropped since this transaction began; begin a new one"
                );
                Err(Error::InvalidArgument(text))
            }
            Err(Error::PreparedNotFound(name)) => {
                let text = format!(
                    "the prepared transaction {name:?} was decided since this transaction began; begin a new one"
                );
                Err(Error::InvalidArgument(text))
            }
            named => named,
        }
    }
}

impl Database {
    /// Writes an exact copy of the newest state to a new file, which is renamed to `target` once it
    /// is complete and on disk. The file has holes where many consecutive pages are unused. With
    /// `since`, the file is an incremental backup. See [`ReadTxn::write_backup`], and
    /// [`ReadTxn::copy_dense`] for a copy without free space.
    ///
    /// ```
    /// # use teak::Database;
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let go_on = &mut |_| ControlFlow::Continue(());
    /// database.create_snapshot("monday")?;
    /// let copy = directory.path().join("copy.teak");
    /// database.backup(&copy, None, go_on)?;
    /// assert!(Database::open(&copy)?.check(&mut |_| ControlFlow::Continue(()))?.is_clean());
    ///
    /// let since = database.open_snapshot("monday")?;
    /// let increment = directory.path().join("tuesday.increment");
    /// database.backup(&increment, Some(&since), go_on)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] if `target` exists; [`Error::Io`]; [`Error::Cancelled`] if
    /// `progress` breaks; [`Error::Corrupted`] if anything is damaged; [`Error::SnapshotLost`] if
    /// either transaction was cancelled; [`Error::TooManyReaders`] if there are more named
    /// snapshots than can be read at once. With `since`: [`Error::InvalidArgument`] if it belongs
    /// to another database or is newer; [`Error::UnknownFormat`] if a table requires a newer
    /// version of Teak.
    pub fn backup(
        &self,
        target: impl AsRef<Path>,
        since: Option<&ReadTxn>,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupProgress> {
        let sources = self.opening.readable()?.file_metadata()?;
        let made = in_new_file(target.as_ref(), &sources, |file| {
            let (state, named) = self.begin_read_all()?;
            let Some(since) = since else {
                let hole_len = backup::hole_len(state.snapshot()?.record().compression);
                let out = &mut NewFile { file, hole_len };
                return state.copy_with(&named, out, progress);
            };
            let mut buffered = BufWriter::new(file);
            let done = state.write_since(since, &named, &mut buffered, progress)?;
            buffered.flush().map_err(Error::io(WRITING_BACKUP))?;
            Ok(done)
        });
        made.map_err(|error| error.at(self.path()))
    }
}

impl Database {
    /// Begins to read the newest state and all named snapshots that it lists.
    fn begin_read_all(&self) -> Result<(ReadTxn, NamedReaders)> {
        let engine = self.opening.readable()?;
        engine.refuse_forked()?;
        let (state, named) = engine.begin_read_all()?;
        Ok((ReadTxn::new(state), named))
    }
}

/// Describes the damage of a table if the error is that one of its records is not after the one
/// before it.
#[cold]
fn disorder<V>(
    error: Error,
    table: &[u8],
    root: Result<impl Deref<Target = TreeRoot>>,
    records: Result<impl Iterator<Item = Result<(Vec<u8>, V)>>>,
) -> Error {
    let (Error::NotSorted { index }, Ok(root), Ok(records)) = (&error, root, records) else {
        return error;
    };
    let keys = records.map(|record| record.map(|(key, _)| key));
    let first = usize::try_from(*index)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    match keys.skip(first).take(2).collect::<Result<Vec<_>>>() {
        Ok(keys) => {
            let key = |index: usize| keys.get(index).map_or(&[][..], Vec::as_slice);
            out_of_order(&root, table, key(0), key(1))
        }
        Err(error) => error,
    }
}

fn in_new_file<R>(
    target: &Path,
    sources: &[Metadata],
    write: impl FnOnce(&mut File) -> Result<R>,
) -> Result<R> {
    let named = |error: Error| error.at(target);
    let unfinished = UnfinishedFile::new(target)?;
    let path = unfinished.path();
    let created = File::create_new(&path).map_err(Error::io("creating the backup"));
    let mut file = created.map_err(named)?;
    let written = write(&mut file).map_err(|error| match error {
        Error::Io {
            operation: WRITING_BACKUP,
            ..
        }
        | Error::Cancelled { .. } => named(error),
        other => other,
    })?;
    let flushed = file.sync_all().map_err(Error::io("flushing the backup"));
    flushed.map_err(named)?;
    restrict(&path, sources).map_err(named)?;
    name(&path, target)?;
    Ok(written)
}

/// Renames a complete file, which is on disk, to `target`. `target` must not exist.
pub(super) fn name(path: &Path, target: &Path) -> Result<()> {
    give_name(path, target).map_err(|error| error.at(target))
}

fn give_name(path: &Path, target: &Path) -> Result<()> {
    rename_new(path, target).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::AlreadyExists(target.to_path_buf()),
        _ => Error::io("giving the backup its name")(error),
    })?;
    flush_directory(directory_of(target)).map_err(Error::io("flushing the directory of the backup"))
}
