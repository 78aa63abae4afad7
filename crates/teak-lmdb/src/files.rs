//! The files that a client expects to find.

use crate::{
    codes::{Code, Outcome},
    flags,
};
use std::{
    ffi::{CStr, OsStr, c_uint},
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// Where the files of an environment are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    /// That of the database.
    pub(crate) data: PathBuf,
    /// An empty file that is there because clients look for it. Without a directory the engine's lock file has that name.
    lock: Option<PathBuf>,
}

impl Files {
    /// The files of the environment at `path`.
    pub(crate) fn new(path: &CStr, environment_flags: c_uint) -> Self {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        if environment_flags & flags::NOSUBDIR != 0 {
            let data = path.to_owned();
            return Self { data, lock: None };
        }
        let is_locked = environment_flags & flags::NOLOCK == 0;
        Self {
            data: path.join("data.mdb"),
            lock: is_locked.then(|| path.join("lock.mdb")),
        }
    }

    /// Makes the lock file, unless it is there, or nothing can be written and nothing is to be.
    pub(crate) fn make_lock(&self, mode: u32, environment_flags: c_uint) -> Outcome {
        let Some(lock) = &self.lock else {
            return Ok(());
        };
        let mut options = OpenOptions::new();
        match options.append(true).create(true).mode(mode).open(lock) {
            Err(_) if environment_flags & flags::RDONLY != 0 => Ok(()),
            made => made.map(drop).map_err(of_io),
        }
    }

    /// A descriptor of the data file that the engine does not use.
    pub(crate) fn open_data(&self) -> Outcome<File> {
        File::open(&self.data).map_err(of_io)
    }

    /// Gives a data file that was made just now the mode that it was to have.
    pub(crate) fn set_mode(&self, mode: u32) -> Outcome {
        let mode = mode & 0o777 & !umask();
        fs::set_permissions(&self.data, Permissions::from_mode(mode)).map_err(of_io)
    }

    /// Whether there is a data file with something in it. One that is empty is taken away: it is a place for a new database.
    pub(crate) fn has_data(&self, environment_flags: c_uint) -> Outcome<bool> {
        match fs::metadata(&self.data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(of_io(error)),
            Ok(found) => {
                let is_read_only = environment_flags & flags::RDONLY != 0;
                let is_empty = found.is_file() && found.len() == 0 && !is_read_only;
                if is_empty {
                    fs::remove_file(&self.data).map_err(of_io)?;
                }
                Ok(!is_empty)
            }
        }
    }
}

/// The system's code of its error.
pub(crate) fn of_io(error: io::Error) -> Code {
    Code(error.raw_os_error().unwrap_or(libc::EIO))
}

/// The mask of this process, which the system tells without changing it only here.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .unwrap_or(0o022)
}
