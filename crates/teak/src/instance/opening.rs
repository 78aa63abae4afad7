//! Openings: a database that is opened again in one process shares one engine, as long as any
//! opening of it exists there. An opening with options that conflict with the first one is refused.

use crate::{
    Error, Result,
    io::{Access, Create, FileId, Links, id_of, is_open_here},
};
use crate::{
    instance::{
        engine::{Engine, closed},
        policies::Settings,
    },
    maintain::compact,
    share::names::lock_path,
    sync::lock,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The databases that this process has open.
static OPEN: Mutex<Vec<OpenDatabase>> = Mutex::new(Vec::new());

/// A database that this process has or had open.
struct OpenDatabase {
    /// Path of its lock file.
    name: PathBuf,
    /// Device and inode of the file: another file may have taken the name since.
    file: Option<FileId>,
    engine: Weak<Engine>,
}

/// How long to wait for another thread that is just opening or closing the database.
const OTHER_OPENING_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long to wait for a closed database that a reader still keeps, and that cannot be opened
/// again.
const KEPT_DATABASE_WAIT_MAX: Duration = Duration::from_secs(1);

/// One opening of a database, which may have others in this process.
#[derive(Debug)]
pub(crate) struct Opening {
    engine: Arc<Engine>,
    is_read_only: bool,
    is_closed: AtomicBool,
    began: Instant,
}

impl Opening {
    /// Opens the database in a file.
    pub(crate) fn open(
        path: &Path,
        access: Access,
        create: Create,
        settings: &Settings,
    ) -> Result<Self> {
        let lock_file = settings.lock_file.as_deref();
        let name = lock_path(path, lock_file).unwrap_or_else(|_| path.to_path_buf());
        let began = Instant::now();
        loop {
            // Another thread may close it while this one tries to open it.
            let was_open_here = is_open_here(&name);
            let [mut usable, kept] = known(&name, path, access);
            kept.iter().for_each(|engine| engine.give_lock_name_up());
            let is_patient = may_wait(&kept, began);
            if let Some(engine) = usable.pop() {
                if create == Create::New {
                    return Err(Error::AlreadyExists(path.to_path_buf()));
                }
                engine.refuse_other(access, settings)?;
                if let Some(opening) = Self::of(engine, access) {
                    return Ok(opening);
                }
            }
            match Engine::open(path, access, create, settings.clone()) {
                // Another thread may be opening or closing it.
                Err(Error::InUse(_)) if is_patient && (was_open_here || is_open_here(&name)) => {
                    thread::sleep(Duration::from_millis(5));
                }
                opened => {
                    let engine = Arc::new(opened?);
                    // Commits that a process left in its log.
                    engine.merge_left()?;
                    open_databases().push(OpenDatabase {
                        name,
                        file: file_id(path),
                        engine: Arc::downgrade(&engine),
                    });
                    let opening = Self::of(Arc::clone(&engine), access);
                    engine.note_and_deliver_open();
                    return Ok(opening.expect("nobody else has it who could close it"));
                }
            }
        }
    }

    /// The only opening of a database that is not found by a path.
    ///
    /// # Errors
    ///
    /// Errors of merging the commits that a process left in its log.
    pub(crate) fn alone(engine: Engine, access: Access) -> Result<Self> {
        let engine = Arc::new(engine);
        engine.merge_left()?;
        engine.note_and_deliver_open();
        Ok(Self::of(engine, access).expect("nobody else has it who could close it"))
    }

    /// `None` if the database is being closed.
    fn of(engine: Arc<Engine>, access: Access) -> Option<Self> {
        engine.begin_opening().then(|| Self {
            engine,
            is_read_only: access == Access::ReadOnly,
            is_closed: AtomicBool::new(false),
            began: Instant::now(),
        })
    }

    /// The engine, for calls that are allowed at any time.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The engine, for reading.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidArgument`] if this opening was closed.
    /// - [`Error::Forked`] in a forked child of the process that opened it.
    #[inline]
    pub(crate) fn readable(&self) -> Result<&Arc<Engine>> {
        self.engine.refuse_forked()?;
        match self.is_closed.load(Ordering::Acquire) {
            true => Err(closed()),
            false => Ok(&self.engine),
        }
    }

    /// The engine, for writing.
    ///
    /// # Errors
    ///
    /// - [`Error::ReadOnly`] if this opening is for reading only.
    /// - [`Error::InvalidArgument`] if this opening was closed.
    /// - [`Error::Forked`] in a forked child of the process that opened it.
    pub(crate) fn writable(&self) -> Result<&Arc<Engine>> {
        match self.is_read_only {
            true => Err(Error::ReadOnly),
            false => self.readable(),
        }
    }

    /// Closes the database. If it has other openings, only makes every commit durable, unless lazy
    /// commits may be left.
    pub(crate) fn close(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // Wakes threads that wait for commits, so that they notice the close.
        self.engine.committer.published.notifier.notify();
        if !self.engine.openings.closes_with_this() {
            return match self.is_read_only {
                true => Ok(()),
                false => self.engine.sync_for_close(),
            };
        }
        compact::tidy(&self.engine, self.began.elapsed());
        if self.engine.close()? {
            return Ok(());
        }
        self.engine.openings.stay_open();
        self.is_closed.store(false, Ordering::Release);
        let text = "a write transaction has been open for 30 seconds while the database was to be closed, so it stays open: commit or drop \
                    that transaction, and close the database then";
        Err(Error::InvalidArgument(text.into()))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.engine
            .end_opening(self.is_closed.load(Ordering::Acquire));
        if self.engine.refuse_forked().is_ok() && self.engine.openings.is_unopened() {
            // A caller that wants the error closes the database. The log keeps the commits.
            let _ = self.engine.show_memtable();
            // It would keep the database open for as long as it merges.
            self.engine.merger.stop();
        }
    }
}

/// Whether an opening that began then may wait longer, for another thread that opens or closes the
/// database, or for these closed databases.
fn may_wait(kept: &[Arc<Engine>], began: Instant) -> bool {
    let is_being_closed = |engine: &Arc<Engine>| engine.openings.is_being_closed();
    if kept.is_empty() || kept.iter().any(is_being_closed) {
        return began.elapsed() < OTHER_OPENING_WAIT_MAX;
    }
    let ends = kept.iter();
    let ends = ends.filter_map(|engine| engine.openings.close_ended());
    let last_end = ends.max().unwrap_or(began);
    began.max(last_end).elapsed() < KEPT_DATABASE_WAIT_MAX
}

/// The databases of that name that this process still has: first those that can be opened again, at
/// most one, then the others.
fn known(name: &Path, path: &Path, access: Access) -> [Vec<Arc<Engine>>; 2] {
    let file = file_id(path);
    // Dropping an unusable engine may close it, so the list must not be locked then.
    let alive: Vec<_> = {
        let mut open = open_databases();
        open.retain(|known| known.engine.strong_count() > 0);
        let same = open
            .iter()
            .filter(|known| known.name == name || file.is_some() && known.file == file);
        same.filter_map(|known| {
            Some((
                known.name == name,
                known.file == file,
                known.engine.upgrade()?,
            ))
        })
        .collect()
    };
    // A directory may have several paths, through mounts or because it was renamed.
    let lock_id = file_id(name);
    let has_lock = |engine: &Engine| {
        lock_id.is_some() && engine.shared().map(|shared| shared.lock_file.id()) == lock_id
    };
    let alive = alive
        .into_iter()
        .filter(|(has_name, _, engine)| *has_name || has_lock(engine));
    let alive = alive.map(|(_, is_same, engine)| (is_same, engine));
    let (usable, kept): (Vec<_>, Vec<_>) =
        alive.partition(|(is_same, engine)| *is_same && engine.is_usable(access));
    [usable, kept].map(|found| found.into_iter().map(|(_, engine)| engine).collect())
}

/// The databases in that file that this process still has.
pub(crate) fn open_here(path: &Path) -> Vec<Arc<Engine>> {
    let file = file_id(path);
    let open = open_databases();
    let same = open
        .iter()
        .filter(|known| file.is_some() && known.file == file);
    same.filter_map(|known| known.engine.upgrade()).collect()
}

fn file_id(path: &Path) -> Option<FileId> {
    id_of(path, Links::Follow).ok()
}

fn open_databases() -> MutexGuard<'static, Vec<OpenDatabase>> {
    lock(&OPEN)
}
