//! Requests to the system: random bytes, and the creation and the permissions of files with keys.

use crate::{
    error::{Error, Result},
    io::{create_new, directory_of, flush_directory, permissions_of, random_id, remove_file},
};
use std::{
    fs::Metadata,
    io::{ErrorKind, Write},
    path::Path,
};
use zeroize::Zeroize;

const CREATING: &str = "creating the file with the key";

/// Random bytes from the system. `N` is a multiple of 4.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    for part in bytes.chunks_mut(16) {
        let mut id = random_id().map_err(Error::io("drawing random bytes for encryption"))?;
        part.copy_from_slice(&id[..part.len()]);
        id.zeroize();
    }
    Ok(bytes)
}

/// Creates a file that only this user may use, and returns when it is on disk.
///
/// # Errors
///
/// [`Error::AlreadyExists`], and [`Error::Io`]; no file is left then.
pub(super) fn create_private_file(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = create_new(path, 0o600).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::AlreadyExists(path.to_path_buf()),
        _ => Error::io(CREATING)(error).at(path),
    })?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let written = written.and_then(|()| flush_directory(directory_of(path)));
    written.map_err(|error| {
        // The error that is reported is the first one.
        let _ = remove_file(path);
        Error::io(CREATING)(error).at(path)
    })
}

/// The permissions of a file, if they let others than its owner and the administrator use it: any
/// user, or a group. A group may read a file of root, as a file that a service gets with its
/// configuration.
pub(super) fn loose_permissions(found: &Metadata) -> Option<u32> {
    let permissions = permissions_of(found);
    // A system without Unix permissions has no owners like these.
    let (user, _) = permissions.owner?;
    let allowed = if user == 0 { 0o740 } else { 0o700 };
    // Running a file does not show its content.
    let refused = permissions.bits & !allowed & 0o066;
    (refused != 0).then_some(permissions.bits)
}
