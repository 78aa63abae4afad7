//! What a lock file begins with, by which it is recognised, and how one is created so that there is never one
//! without it.

use super::{file::Unnamed, system::refuse_file_len};
use rustix::fs::{CWD, Mode, OFlags, XattrFlags, fgetxattr_query, fsetxattr, openat};
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::Path,
};

/// The first bytes of each lock file, of all versions.
pub(crate) const LOCK_MAGIC: [u8; 8] = *b"TeakLock";
/// The first bytes of a lock file of LMDB's.
const MAGIC_OF_LMDB: [u8; 4] = 0xBEEF_C0DE_u32.to_le_bytes();
/// The attribute that says the same as [`LOCK_MAGIC`]. After a power cut a file may have its name and its attributes, and none of its bytes.
const MARK: &str = "user.teak.lock";
/// What a database begins with.
const MAGIC_OF_RECORD: &[u8] = b"TeakRec";

/// The permissions that a lock file is created with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// Those of a database that is there, whose user and group it gets.
    OfDatabase { bits: u32, owner: (u32, u32) },
    /// Those that one is to have, less the mask of the process.
    Masked(u32),
}

impl LockMode {
    /// Those of a lock file for the database at `path`, which is to have `mode` if it is not there.
    pub(crate) fn beside(path: &Path, mode: u32) -> Self {
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

/// Fails if a file is none of ours.
///
/// # Errors
/// `InvalidInput`, with the reason; what the system answers.
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

/// Creates a lock file that has its first bytes as soon as it has its name; `None` if there is a file of that name by then, to be opened.
pub(super) fn create(path: &Path, mode: LockMode) -> io::Result<Option<File>> {
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty())?;
    let bits = mode.bits() & 0o777;
    let (file, mut unnamed) = Unnamed::make(directory.into(), name, Mode::from_raw_mode(bits))?;
    prepare(&file, mode)?;
    match unnamed.link(&file) {
        // It is opened by its name, by which the system then knows it, also when its directory gets another one.
        Ok(()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        // Where neither links nor such renames are to be had there is a moment in which it is empty.
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
                // An empty one would be nobody's.
                let _ = fs::remove_file(path);
                Err(error)
            }
        },
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a new lock file its first bytes, and the owner and permissions of its database.
fn prepare(file: &File, mode: LockMode) -> io::Result<()> {
    refuse_file_len(LOCK_MAGIC.len() as u64)?;
    if let LockMode::OfDatabase { bits, owner } = mode {
        // The owner of the database may come after a process of another user was killed, and so may its group. Only root gives files away,
        // but whoever is in that group may give it that.
        let (user, group) = owner;
        let _ = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
        // Whoever may write to the database may come, whatever the mask of the first one.
        file.set_permissions(Permissions::from_mode(bits & 0o777))?;
    }
    // Where the file system has no attributes a lock file that a power cut has emptied must be removed by hand.
    let _ = fsetxattr(file, MARK, b"", XattrFlags::empty());
    file.write_all_at(&LOCK_MAGIC, 0)
}
