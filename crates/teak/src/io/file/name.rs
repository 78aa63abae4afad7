//! Whether an open database file still has its name. A file that was removed, renamed or replaced
//! accepts writes, but later opens do not find them.

use crate::io::{
    clock::uptime_ms,
    directory_of,
    locked::LockedFile,
    sys::{FileId, Links, id_of, path_of},
};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// The shortest time between two lookups of the name, unless the last link to the file is gone.
const LOOKUPS_APART_MS: u64 = 10;

/// How a file lost its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LostName {
    /// The name that it had.
    pub(crate) path: PathBuf,
    /// The present path of the file, if it was renamed.
    pub(crate) moved_to: Option<PathBuf>,
    /// Whether the file has no link left, under any name.
    pub(crate) is_gone: bool,
}

/// The name of an open file.
#[derive(Debug)]
pub(super) struct Name {
    /// Absolute and without symbolic links. `None` if there is none, or it could not be resolved:
    /// nothing is checked then.
    path: Option<PathBuf>,
    checked_ms: AtomicU64,
    is_lost: AtomicBool,
    /// Whether the file had no link when its attributes were last read.
    is_unlinked: AtomicBool,
}

impl Name {
    /// The name of a file that was opened at `path`, or will be created there.
    pub(super) fn new(path: &Path) -> Self {
        let resolved = fs::canonicalize(path).or_else(|_| {
            let parent = fs::canonicalize(directory_of(path))?;
            let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
            std::io::Result::Ok(parent.join(name))
        });
        let path = resolved.ok();
        debug_assert!(
            path.as_ref().is_none_or(|path| path.is_absolute()),
            "a name stays valid if the working directory changes"
        );
        Self {
            path,
            ..Self::none()
        }
    }

    /// The name of a file that has none.
    pub(super) fn none() -> Self {
        Self {
            path: None,
            checked_ms: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            is_unlinked: AtomicBool::new(false),
        }
    }

    /// Notes the number of links of the file.
    pub(super) fn note_links(&self, links: u32) {
        self.is_unlinked.store(links == 0, Relaxed);
    }

    /// Whether the file with this identity has lost its name.
    fn is_lost(&self, path: &Path, id: FileId) -> bool {
        let (now, was_lost) = (uptime_ms(), self.is_lost.load(Relaxed));
        let is_due = now.wrapping_sub(self.checked_ms.load(Relaxed)) >= LOOKUPS_APART_MS
            || (self.is_unlinked.load(Relaxed) && !was_lost);
        if !is_due {
            return was_lost;
        }
        let is_lost = match id_of(path, Links::Refuse) {
            Ok(named) => named != id,
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        self.checked_ms.store(now, Relaxed);
        self.is_lost.store(is_lost, Relaxed);
        is_lost
    }

    /// How the file lost its name; `None` if it still has it.
    pub(super) fn find_name(&self, file: &LockedFile) -> Option<LostName> {
        let path = self.path.as_deref()?;
        let id = file.held().id();
        if !self.is_lost(path, id) {
            return None;
        }
        let is_the_file =
            |found: &PathBuf| id_of(found, Links::Refuse).is_ok_and(|found| found == id);
        Some(LostName {
            path: path.to_path_buf(),
            moved_to: path_of(file).filter(is_the_file),
            is_gone: self.is_unlinked.load(Relaxed),
        })
    }
}
