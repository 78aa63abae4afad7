//! Restricts the permissions of copies to those of their sources.

use crate::{
    Error, Result,
    io::{Access, FilePermissions, Links, open, permissions_of, set_permissions},
};
use std::{fs::Metadata, io, path::Path};

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
    let file = open(path, Access::ReadWrite, Links::Follow)?;
    let made = permissions_of(&file.metadata()?);
    let given = FilePermissions {
        owner: permissions_of(first).owner,
        ..made
    };
    set_permissions(&file, given)?;
    let made = permissions_of(&file.metadata()?);
    let group_of = |permissions: FilePermissions| permissions.owner.map(|(_, group)| group);
    let mut bits = made.bits;
    for source in sources.iter().map(permissions_of) {
        // The owner can grant itself any permission, and usually writes to the file.
        bits &= source.bits | 0o600;
        if group_of(made) != group_of(source) {
            // Members of this group are "others" to the source.
            bits &= 0o707 | (source.bits & 0o007) << 3;
        }
    }
    if bits != made.bits {
        set_permissions(&file, FilePermissions { bits, owner: None })?;
    }
    file.sync_all()
}
