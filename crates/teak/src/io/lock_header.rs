//! The header by which a lock file is recognised, and the creation of lock files, which have their
//! header from the start.

use super::{
    file::{Unnamed, directory_of},
    sys::{
        self, Directory, DirectoryUse, FileAt, FilePermissions, has_mark, permissions_of, set_mark,
    },
    system::refuse_file_len,
};
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::Path,
};

/// The first bytes of each lock file, in all versions.
pub(crate) const LOCK_MAGIC: [u8; 8] = *b"TeakLock";
/// The first bytes of a lock file of LMDB.
const MAGIC_OF_LMDB: [u8; 4] = 0xBEEF_C0DE_u32.to_le_bytes();
/// The first bytes of a database.
const MAGIC_OF_RECORD: &[u8] = b"TeakRec";

const _: () = assert!(
    LOCK_MAGIC[4] != MAGIC_OF_RECORD[4] && LOCK_MAGIC[0] != MAGIC_OF_LMDB[0],
    "no file that begins as a database or as a lock file of LMDB begins as a lock file"
);

/// The permissions that a lock file is created with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// Those of the existing database, and its user and group.
    OfDatabase(FilePermissions),
    /// These, before the process's umask is applied.
    Masked(u32),
}

impl LockMode {
    /// The permissions of a lock file for the database at `path`, or from `mode` if that does not
    /// exist.
    pub(crate) fn for_database(path: &Path, mode: u32) -> Self {
        let found = fs::metadata(path);
        found.map_or(Self::Masked(mode), |found| {
            Self::OfDatabase(permissions_of(&found))
        })
    }

    pub(super) fn bits(self) -> u32 {
        let (Self::OfDatabase(FilePermissions { bits, .. }) | Self::Masked(bits)) = self;
        bits
    }
}

/// Fails if a file is not a lock file of Teak.
///
/// # Errors
///
/// - `InvalidInput`, with the reason.
/// - The system's error.
pub(super) fn refuse_foreign(file: &File) -> io::Result<()> {
    let mut head = [0; LOCK_MAGIC.len()];
    let len = file.read_at(&mut head, 0)?;
    let reason = match &head[..len] {
        found if *found == LOCK_MAGIC => return Ok(()),
        // After a power cut a file may have its name and its attributes, and none of its bytes.
        found if found.iter().all(|byte| *byte == 0) && has_mark(file) => return Ok(()),
        [] => "it is empty; remove it if no other program uses it",
        found if found.starts_with(&MAGIC_OF_LMDB) => "it is a lock file of LMDB",
        found if found.starts_with(MAGIC_OF_RECORD) => "it is a Teak database",
        _ => "it does not begin as one",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, reason))
}

/// Creates a lock file that has its first bytes as soon as it has its name. `None` if there is a
/// file of that name afterwards, which the caller has to open.
pub(super) fn create(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let directory = Directory::open(directory_of(path), DirectoryUse::Names)?;
    let (file, mut unnamed) = Unnamed::make(directory, name, mode.bits())?;
    prepare(&file, mode)?;
    match unnamed.link(&file) {
        // It is opened by its name, so that the system tracks it by that name even if its directory
        // is renamed.
        Ok(()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        // If neither links nor such renames are available, the file is empty for a moment.
        Err(_) => create_plainly(path, mode),
    }
}

fn create_plainly(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    match sys::create_new(path, mode.bits() & 0o777) {
        Ok(file) => match prepare(&file, mode) {
            Ok(()) => Ok(Some(file)),
            Err(error) => {
                // An empty file would not be recognised.
                let _ = sys::remove_file(path);
                Err(error)
            }
        },
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the first bytes of a new lock file, and sets the owner and permissions of its database.
fn prepare(file: &File, mode: LockMode) -> io::Result<()> {
    refuse_file_len(LOCK_MAGIC.len() as u64)?;
    set_permissions(file, mode)?;
    // Without file attributes, a lock file that a power cut has emptied must be removed by hand.
    set_mark(file);
    file.write_all_at(&LOCK_MAGIC, 0)
}

/// Sets the owner and the permissions of the database, as far as this process may.
pub(super) fn set_permissions(file: &File, mode: LockMode) -> io::Result<()> {
    match mode {
        // The owner and the group of the database must be able to attach after a process of another
        // user was killed. Every user who may write to the database may attach, whatever the umask
        // of the first process was.
        LockMode::OfDatabase(permissions) => sys::set_permissions(file, permissions),
        LockMode::Masked(_) => Ok(()),
    }
}
