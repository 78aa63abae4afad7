//! Restricts the permissions of copies to those of their sources.

use crate::{Error, Result};
use std::{
    fs::{File, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::Path,
};

/// Removes from a new file every permission that one of its sources does not grant, and gives it
/// the owner of the first source, if the process may do that. No other user may be able to open the
/// file before. Without sources the permissions do not change.
pub(super) fn restrict(path: &Path, sources: &[Metadata]) -> Result<()> {
    let Some(first) = sources.first() else {
        return Ok(());
    };
    restrict_file(path, first, sources).map_err(Error::io("setting the permissions of the copy"))
}

fn restrict_file(path: &Path, first: &Metadata, sources: &[Metadata]) -> io::Result<()> {
    let file = File::open(path)?;
    if fchown(&file, Some(first.uid()), Some(first.gid())).is_err() {
        // A process that may not change the owner may still choose one of its own groups.
        let _ = fchown(&file, None, Some(first.gid()));
    }
    let made = file.metadata()?;
    let mut mode = made.mode() & 0o777;
    for source in sources {
        // The owner can grant itself any permission, and usually writes to the file.
        mode &= source.mode() | 0o600;
        if made.gid() != source.gid() {
            // Members of this group are "others" to the source.
            mode &= 0o707 | (source.mode() & 0o007) << 3;
        }
    }
    if mode != made.mode() & 0o777 {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}
