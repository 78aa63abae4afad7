//! Files of an overlay (container images), which are copied to the upper layer when they are first
//! opened for writing.
//!
//! A descriptor that was opened for reading before then reads the copy. A mapping made from it
//! keeps showing the file of the lower layer, which no process changes. States from before the copy
//! stay readable through it, but later ones are not in it. A mapping made after the copy shows the
//! copy.

use crate::io::{locked::LockedFile, mapping::Mapping, sys::FileAt};
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Four commit records of the longest pages: each commit changes one of them.
const RECORDS_LEN: u64 = 4 << 16;

/// Whether mappings may not show the file's content because it may be copied up while it is open.
#[derive(Debug)]
pub(super) struct CopyUp {
    is_possible: AtomicBool,
}

impl CopyUp {
    pub(super) fn new(is_possible: bool) -> Self {
        Self {
            is_possible: AtomicBool::new(is_possible),
        }
    }

    /// Whether the file, which is `len` bytes long, has been copied up since `mapping` was made, as
    /// far as its commit records show. Only called before a new state is read.
    pub(super) fn is_outdated(
        &self,
        file: &LockedFile,
        mapping: &Mapping,
        len: u64,
    ) -> io::Result<bool> {
        if !self.is_possible.load(Relaxed) {
            return Ok(false);
        }
        let is_outdated = differs(file, mapping, len)?;
        if is_outdated {
            self.is_possible.store(false, Relaxed);
        }
        Ok(is_outdated)
    }
}

/// Whether the records in the file differ from those in the mapping. They may also differ while a
/// record is being written.
fn differs(file: &LockedFile, mapping: &Mapping, len: u64) -> io::Result<bool> {
    let mut mapped = vec![0; RECORDS_LEN.min(len) as usize];
    let mut read = mapped.clone();
    file.read_exact_at(&mut read, 0)?;
    Ok(mapping.copy(0, &mut mapped) && mapped != read)
}
