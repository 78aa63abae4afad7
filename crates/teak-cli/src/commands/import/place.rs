//! Where the new database is until it is complete: in a directory beside its place. So what a killed import leaves is no database.

use crate::failure::Failure;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{TempDir, TempPath};

/// A directory for a database that is not complete yet. With this all of it goes.
pub(super) struct Place {
    directory: TempDir,
}

impl Place {
    /// A place beside `target`, where there must be nothing.
    pub(super) fn beside(target: &Path) -> Result<Self, Failure> {
        if target.symlink_metadata().is_ok() {
            return Err(teak::Error::AlreadyExists(target.to_path_buf()).into());
        }
        let directory = tempfile::Builder::new()
            .prefix(".teak-import-")
            .tempdir_in(parent(target))
            .map_err(Failure::file("creating a directory beside", target))?;
        Ok(Self { directory })
    }

    /// Where the database is made.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("database")
    }

    /// Gives what is complete and on the disk its name, which must still be free.
    pub(super) fn finish(&self, target: &Path) -> Result<(), Failure> {
        let naming = Failure::file("naming", target);
        let complete = match TempPath::try_from_path(self.path()) {
            Ok(complete) => complete,
            Err(error) => return Err(naming(error)),
        };
        match complete.persist_noclobber(target) {
            Ok(()) => {}
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(teak::Error::AlreadyExists(target.to_path_buf()).into());
            }
            Err(failed) => return Err(naming(failed.error)),
        }
        File::open(parent(target))
            .and_then(|directory| directory.sync_all())
            .map_err(Failure::file("flushing the directory of", target))
    }
}

fn parent(target: &Path) -> &Path {
    let parent = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}
