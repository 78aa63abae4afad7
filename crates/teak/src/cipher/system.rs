//! Requests to the system: random bytes, and the permissions of files with keys.

use crate::{
    error::{Error, Result},
    io::{permissions_of, random_id},
};
use std::fs::Metadata;
use zeroize::Zeroize;

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
