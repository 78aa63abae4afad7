//! The files that a client expects to find.

use crate::{
    codes::{CallResult, Code},
    flags,
};
use std::{
    ffi::{CStr, OsStr, c_uint},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::fd::AsRawFd,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
};

/// The extended attribute of a lock file with the largest number of readers that an environment was
/// opened with.
#[cfg(not(target_os = "freebsd"))]
const READERS: &str = "user.teak.lmdb-readers";

/// The paths of the files of an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    /// The path of the database.
    pub(crate) data: PathBuf,
    /// The engine's lock file, which has the name of LMDB's. `None` to use no such file but the
    /// engine's default name.
    pub(crate) lock: Option<PathBuf>,
}

impl Files {
    /// The files of the environment at `path`.
    pub(crate) fn new(path: &CStr, environment_flags: c_uint) -> Self {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let (data, lock) = match environment_flags & flags::NOSUBDIR {
            0 => (path.join("data.mdb"), path.join("lock.mdb")),
            _ => {
                let mut lock = path.as_os_str().to_owned();
                lock.push("-lock");
                (path.to_owned(), lock.into())
            }
        };
        // An environment without a lock file shares it with others if it exists.
        let is_locked = environment_flags & flags::NOLOCK == 0 || lock.exists();
        Self {
            data,
            lock: is_locked.then_some(lock),
        }
    }

    /// The maximum number of readers if `asked` are asked for. As in LMDB, a lock file that has
    /// room for more keeps that number. Where the file system has no attributes, it is `asked`.
    pub(crate) fn readers(&self, asked: c_uint) -> c_uint {
        let Some(lock) = &self.lock else {
            return asked;
        };
        let kept = reader_count(lock);
        if kept < asked {
            store_reader_count(lock, asked);
        }
        kept.max(asked)
    }

    /// Tries to make a lock file next to the data file that the engine recognises, unless there is
    /// one. Everyone who may write to the database may use it, independently of this process's mask
    /// and user.
    pub(crate) fn leave_lock(&self) {
        let missing = self.lock.as_ref().filter(|lock| !lock.exists());
        let (Some(lock), Ok(data)) = (missing, fs::metadata(&self.data)) else {
            return;
        };
        let mut options = OpenOptions::new();
        let mode = data.permissions().mode() & 0o777;
        // The file is renamed after its first bytes are written, so that nobody finds an empty one.
        let mut unnamed = lock.as_os_str().to_owned();
        unnamed.push(format!("-new-{}", std::process::id()));
        let made = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&unnamed);
        let _ = made.and_then(|mut made| {
            made.write_all(b"TeakLock")?;
            let _ = fchown(&made, Some(data.uid()), Some(data.gid()));
            made.set_permissions(data.permissions())?;
            fs::hard_link(&unnamed, lock)
        });
        let _ = fs::remove_file(&unnamed);
    }

    /// Opens a descriptor of the data file that the engine does not use. Clients lock the file with
    /// it, so it is open for writing too. Programs that they start inherit it, as with LMDB.
    pub(crate) fn open_data(&self, environment_flags: c_uint) -> CallResult<File> {
        let is_writing = environment_flags & flags::RDONLY == 0;
        let mut options = OpenOptions::new();
        let opened = (options.read(true).write(is_writing).open(&self.data)).map_err(of_io)?;
        // SAFETY: the descriptor is open, and no memory is involved.
        match unsafe { libc::fcntl(opened.as_raw_fd(), libc::F_SETFD, 0) } {
            -1 => Err(of_io(io::Error::last_os_error())),
            _ => Ok(opened),
        }
    }

    /// Removes an empty data file, to make way for a new database.
    pub(crate) fn make_room(&self, environment_flags: c_uint) -> CallResult {
        match fs::metadata(&self.data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(of_io(error)),
            Ok(found) => {
                let is_read_only = environment_flags & flags::RDONLY != 0;
                match found.is_file() && found.len() == 0 && !is_read_only {
                    true => fs::remove_file(&self.data).map_err(of_io),
                    false => Ok(()),
                }
            }
        }
    }
}

/// The system's code of its error.
pub(crate) fn of_io(error: io::Error) -> Code {
    Code(error.raw_os_error().unwrap_or(libc::EIO))
}

/// The largest number of readers that was asked for; 0 if it is not known.
#[cfg(not(target_os = "freebsd"))]
fn reader_count(lock: &Path) -> c_uint {
    let mut kept = [0; size_of::<c_uint>()];
    match rustix::fs::getxattr(lock, READERS, &mut kept[..]) {
        Ok(len) if len == kept.len() => c_uint::from_le_bytes(kept),
        _ => 0,
    }
}

/// Stores the number. If the process cannot write to the file, it stays unchanged.
#[cfg(not(target_os = "freebsd"))]
fn store_reader_count(lock: &Path, count: c_uint) {
    let none = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(lock, READERS, &count.to_le_bytes(), none);
}

/// Attributes have another form there, and the number is not kept.
#[cfg(target_os = "freebsd")]
fn reader_count(_lock: &Path) -> c_uint {
    0
}

#[cfg(target_os = "freebsd")]
fn store_reader_count(_lock: &Path, _count: c_uint) {}
