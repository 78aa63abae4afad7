//! Identities of files.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

/// Device and inode, which identify a file independently of its name.
pub(crate) fn id_of(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
