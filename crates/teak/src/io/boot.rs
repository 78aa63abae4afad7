//! Identifiers of a boot of the machine, and random ones.

use super::sys::{self, random_bytes};
use std::io;

/// The id of this boot of the machine. All zeros if the system does not report it; callers must
/// then assume that the machine may have gone down.
pub(crate) fn boot_id() -> [u8; 16] {
    sys::boot_id().unwrap_or_default()
}

/// 16 random bytes from the system.
pub(crate) fn random_id() -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    random_bytes(&mut id).map(|()| id)
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
