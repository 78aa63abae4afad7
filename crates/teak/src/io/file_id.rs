//! Identities of files.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

/// Device and inode: what a file is, whatever it is called.
pub(crate) fn id_of(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
