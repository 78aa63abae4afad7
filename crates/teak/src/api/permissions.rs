//! Copies have no more permissions than what they are copies of.

use crate::{Error, Result};
use std::{
    fs::{File, Metadata, Permissions},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, fchown},
    path::Path,
};

/// Takes from a new file the permissions that one of its sources does not give, and gives it the owner of the first of them, where the
/// process may do that. Nobody else may reach the file before. Without sources it keeps what it has.
pub(super) fn restrict(path: &Path, sources: &[Metadata]) -> Result<()> {
    let Some(first) = sources.first() else {
        return Ok(());
    };
    restrict_file(path, first, sources).map_err(Error::io("setting the permissions of the copy"))
}

fn restrict_file(path: &Path, first: &Metadata, sources: &[Metadata]) -> io::Result<()> {
    let file = File::open(path)?;
    if fchown(&file, Some(first.uid()), Some(first.gid())).is_err() {
        // A process that may not give files away may give them to one of its groups.
        let _ = fchown(&file, None, Some(first.gid()));
    }
    let made = file.metadata()?;
    let mut mode = made.mode() & 0o777;
    for source in sources {
        // Its owner may give himself what he likes, and writes to it as a rule.
        mode &= source.mode() | 0o600;
        if made.gid() != source.gid() {
            // Members of this group are others to the source.
            mode &= 0o707 | (source.mode() & 0o007) << 3;
        }
    }
    if mode != made.mode() & 0o777 {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}
