//! The lock files that this process has open: each at most once.

use super::{
    forks::ForkGeneration,
    sys::{FileId, Links, id_of},
};
use std::{
    ffi::OsStr,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

static NUMBERS: AtomicU64 = AtomicU64::new(0);
/// The lock files that this process has open. A forked child has none yet.
static OPEN: Mutex<Vec<OpenFile>> = Mutex::new(Vec::new());

#[derive(Clone, PartialEq, Eq, Debug)]
struct OpenFile {
    /// Unique among all lock files that this process opens.
    number: u64,
    process: (u32, ForkGeneration),
    path: PathBuf,
    /// Known once it is open.
    id: Option<FileId>,
}

impl OpenFile {
    /// Whether this is the file at `path`, with the identity `id`, or may become it. Once the
    /// lock file is open, another file may have taken its name.
    fn is_at(&self, path: &Path, id: Option<FileId>) -> bool {
        match self.id {
            Some(_) => self.id == id,
            None => self.path == path,
        }
    }
}

/// The name of a lock file. This process has it open once.
#[derive(Debug)]
pub(super) struct LockFileName {
    number: u64,
    pub(super) path: PathBuf,
    process: (u32, ForkGeneration),
}

fn this_process() -> (u32, ForkGeneration) {
    (process::id(), ForkGeneration::current())
}

impl LockFileName {
    /// Identifies the file by its name alone: opening and closing it would drop POSIX locks.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let process = this_process();
        let id = id_of(path, Links::Follow).ok();
        let mut open = open_files();
        if open
            .iter()
            .any(|open| open.process == process && open.is_at(path, id))
        {
            return Err(ErrorKind::ResourceBusy.into());
        }
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        debug_assert!(
            open.iter()
                .all(|open| open.process != process || open.number != number),
            "lock files of one process have different numbers"
        );
        let path = path.to_path_buf();
        open.push(OpenFile {
            number,
            process,
            path: path.clone(),
            id: None,
        });
        Ok(Self {
            number,
            path,
            process,
        })
    }

    /// Like [`Self::new`], for a simulated process.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn apart(path: &Path) -> Self {
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            path: path.to_path_buf(),
            process: this_process(),
        }
    }

    pub(super) fn note_id(&self, id: FileId) {
        let mut open = open_files();
        let own = open.iter_mut().filter(|open| self.is_of(open));
        own.for_each(|open| open.id = Some(id));
    }

    fn is_of(&self, open: &OpenFile) -> bool {
        open.process == self.process && open.number == self.number
    }

    /// Whether this is the process that opened it, and not a child of it.
    pub(super) fn is_own(&self) -> bool {
        self.process == this_process()
    }
}

impl Drop for LockFileName {
    fn drop(&mut self) {
        if !self.is_own() {
            return;
        }
        open_files().retain(|open| !self.is_of(open));
    }
}

/// A name without an ending, if it has that.
pub(crate) fn without_suffix<'n>(name: &'n OsStr, suffix: &str) -> Option<&'n OsStr> {
    assert!(!suffix.is_empty(), "an ending has characters");
    let kept = name.as_encoded_bytes().strip_suffix(suffix.as_bytes())?;
    // SAFETY: these bytes are what stands before text that is not empty, which is a place where
    // encoded bytes may be split.
    Some(unsafe { OsStr::from_encoded_bytes_unchecked(kept) })
}

fn open_files() -> MutexGuard<'static, Vec<OpenFile>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process has the lock file at `path` open.
pub(crate) fn is_open_here(path: &Path) -> bool {
    let process = this_process();
    let id = id_of(path, Links::Follow).ok();
    let mut open = { open_files() }.clone().into_iter();
    open.any(|open| open.process == process && open.is_at(path, id))
}
