//! The files that a client expects to find.

use crate::{
    codes::{CallResult, Code},
    flags, system,
};
use std::{
    ffi::{CStr, c_uint},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::PathBuf,
};

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
    pub(crate) fn new(path: &CStr, environment_flags: c_uint) -> CallResult<Self> {
        let path = system::path_of(path).ok_or(Code::INVALID_ARGUMENT)?;
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
        Ok(Self {
            data,
            lock: is_locked.then_some(lock),
        })
    }

    /// The maximum number of readers if `asked` are asked for. As in LMDB, a lock file that has
    /// room for more keeps that number. Where files have no attributes, it is `asked`.
    pub(crate) fn readers(&self, asked: c_uint) -> c_uint {
        let Some(lock) = &self.lock else {
            return asked;
        };
        let kept = system::reader_count(lock);
        if kept < asked {
            system::store_reader_count(lock, asked);
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
        system::create_like(options.write(true).create_new(true), &data);
        // The file is renamed after its first bytes are written, so that nobody finds an empty one.
        let mut unnamed = lock.as_os_str().to_owned();
        unnamed.push(format!("-new-{}", std::process::id()));
        let made = options.open(&unnamed);
        let _ = made.and_then(|mut made| {
            made.write_all(b"TeakLock")?;
            system::set_like(&made, &data)?;
            fs::hard_link(&unnamed, lock)
        });
        let _ = fs::remove_file(&unnamed);
    }

    /// Opens a descriptor of the data file that the engine does not use. Clients lock the file with
    /// it, so it is open for writing too. On Unix, programs that they start inherit it, as with
    /// LMDB.
    pub(crate) fn open_data(&self, environment_flags: c_uint) -> CallResult<File> {
        let is_writing = environment_flags & flags::RDONLY == 0;
        let mut options = OpenOptions::new();
        let opened = (options.read(true).write(is_writing).open(&self.data)).map_err(of_io)?;
        system::let_inherit(&opened).map_err(of_io)?;
        Ok(opened)
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
    Code(system::code_of(&error))
}
