//! The header by which a lock file is recognised, and the creation of lock files, which have their
//! header from the start.

use super::{file::Unnamed, system::refuse_file_len};
use rustix::fs::{CWD, Mode, OFlags, XattrFlags, fgetxattr_query, fsetxattr, openat};
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::Path,
};

/// The first bytes of each lock file, in all versions.
pub(crate) const LOCK_MAGIC: [u8; 8] = *b"TeakLock";
/// The first bytes of a lock file of LMDB.
const MAGIC_OF_LMDB: [u8; 4] = 0xBEEF_C0DE_u32.to_le_bytes();
/// An attribute with the same meaning as [`LOCK_MAGIC`]. After a power cut a file may have its name
/// and its attributes, and none of its bytes.
const MARK: &str = "user.teak.lock";
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
    OfDatabase { bits: u32, owner: (u32, u32) },
    /// These, before the process's umask is applied.
    Masked(u32),
}

impl LockMode {
    /// The permissions of a lock file for the database at `path`, or from `mode` if that does not
    /// exist.
    pub(crate) fn for_database(path: &Path, mode: u32) -> Self {
        fs::metadata(path).map_or(Self::Masked(mode), |found| Self::OfDatabase {
            bits: found.mode(),
            owner: (found.uid(), found.gid()),
        })
    }

    pub(super) fn bits(self) -> u32 {
        let (Self::OfDatabase { bits, .. } | Self::Masked(bits)) = self;
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
        found if found.iter().all(|byte| *byte == 0) && is_marked(file) => return Ok(()),
        [] => "it is empty; remove it if no other program uses it",
        found if found.starts_with(&MAGIC_OF_LMDB) => "it is a lock file of LMDB",
        found if found.starts_with(MAGIC_OF_RECORD) => "it is a Teak database",
        _ => "it does not begin as one",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, reason))
}

fn is_marked(file: &File) -> bool {
    fgetxattr_query(file, MARK).is_ok()
}

/// Creates a lock file that has its first bytes as soon as it has its name. `None` if there is a
/// file of that name afterwards, which the caller has to open.
pub(super) fn create(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty())?;
    let bits = mode.bits() & 0o777;
    let (file, mut unnamed) = Unnamed::make(directory.into(), name, Mode::from_raw_mode(bits))?;
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
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create_new(true);
    match options.mode(mode.bits() & 0o777).open(path) {
        Ok(file) => match prepare(&file, mode) {
            Ok(()) => Ok(Some(file)),
            Err(error) => {
                // An empty file would not be recognised.
                let _ = fs::remove_file(path);
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
    let _ = fsetxattr(file, MARK, b"", XattrFlags::empty());
    file.write_all_at(&LOCK_MAGIC, 0)
}

/// Sets the owner and the permissions of the database, as far as this process may.
pub(super) fn set_permissions(file: &File, mode: LockMode) -> io::Result<()> {
    let LockMode::OfDatabase { bits, owner } = mode else {
        return Ok(());
    };
    // The owner and the group of the database must be able to attach after a process of another
    // user was killed. Only root can give files away, but a member of that group may set the group.
    let (user, group) = owner;
    let _ = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    // Every user who may write to the database may attach, whatever the umask of the first process
    // was.
    file.set_permissions(Permissions::from_mode(bits & 0o777))
}
