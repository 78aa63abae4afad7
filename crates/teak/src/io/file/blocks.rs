//! Blocks behind the bytes of the file: allocated when it grows, or before pages are put where it has none, so that a full
//! disk is an error of [`set_len`] or [`secure`] and not of some later write, let alone a signal.
//!
//! The system gives a page of its own blocks as one when something is stored there, in all parts that the file has of it. So what is allocated are
//! whole pages of the system's, which may be longer than those of a database, and than blocks; and what is given back are none but whole ones.
//!
//! Nothing is allocated for bytes that nobody is about to write: a file that has holes keeps them. What is known to be
//! allocated is remembered; in a file without holes that is one call to the system, though one that walks all its extents. After another
//! process has punched holes nothing is known.
//!
//! [`set_len`]: crate::io::storage::Storage::set_len
//! [`secure`]: crate::io::storage::Storage::secure

use crate::io::{
    locked::LockedFile,
    ranges::Ranges,
    system::{pages_with, pages_within, refuse_file_len},
};
use rustix::{
    fs::{FallocateFlags, SeekFrom, fallocate, fstatfs, seek},
    io::{Errno, retry_on_intr},
};
use std::{
    fs::File,
    io::{self, IoSlice},
    ops::Range,
};

/// Length of a huge page on x86-64 and on most 64-bit ARM systems.
pub(super) const HUGE_PAGE_LEN: u64 = 2 << 20;
/// Few enough to stay in the processor's cache, and many enough for a call to take a huge page of them.
static ZEROS: [u8; 32 << 10] = [0; 32 << 10];

/// What `statfs` gives for ext2, ext3 and ext4.
const EXT: u32 = 0xEF53;

/// So many ranges are remembered at most. Then it is found out anew which blocks there are.
const KNOWN_MAX: usize = 1 << 14;

/// What is known about the blocks below the end of the file.
#[derive(Debug, Default)]
pub(super) struct FileBlocks {
    /// Absent as long as nobody has asked.
    in_place: Option<OverwriteInPlace>,
    /// Each of these bytes has its block, and a store to it needs no other one.
    known: Ranges,
    /// The file system has allocated blocks. Those that cannot may not tell holes from data either.
    can_allocate: bool,
    /// The file system has said that it cannot make holes.
    cannot_punch: bool,
}

/// File systems that overwrite an allocated block in place, by the type that `statfs` gives. The
/// others (Btrfs, ZFS, Bcachefs, F2FS, those of the network) may need space for an overwrite too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OverwriteInPlace {
    /// Ext4 and tmpfs. (Ext2 and ext3 have the type of ext4, and turn out to allocate nothing but what is written to.)
    Always,
    /// XFS, except for blocks that a copy of the file shares.
    Unshared,
    No,
}

/// Makes the file `new_len` bytes long, and says whether blocks were allocated. After an error it
/// is `old_len` long as before.
pub(super) fn extend(file: &File, old_len: u64, new_len: u64) -> io::Result<bool> {
    refuse_file_len(new_len)?;
    // In the page of the system's that the file ends in there may be a hole before.
    let start = pages_with(&(old_len..old_len)).start;
    let allocate = || fallocate(file, FallocateFlags::empty(), start, new_len - start);
    match retry_on_intr(allocate) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(new_len).map(|()| false),
        Err(error) => {
            // File systems may have got halfway; what they took is of no use.
            let _ = file.set_len(old_len);
            Err(error.into())
        }
    }
}

/// Writes zeros to each whole stretch of 2 MiB that the file has grown by, with one write each.
///
/// A file system that has large folios then keeps the stretch as one huge page, and a lookup finds
/// it with one entry of the processor's address cache instead of 512; pages that are written one by
/// one later stay in it. A failure costs nothing but that.
pub(super) fn fill_huge_pages(file: &File, old_len: u64, new_len: u64) {
    let mut start = old_len.next_multiple_of(HUGE_PAGE_LEN);
    if start + HUGE_PAGE_LEN > new_len {
        // Zeros may be so many stores.
        return;
    }
    let zeros = zeros(HUGE_PAGE_LEN as usize);
    while start + HUGE_PAGE_LEN <= new_len {
        if !matches!(rustix::io::pwritev(file, &zeros, start), Ok(len) if len as u64 == HUGE_PAGE_LEN)
        {
            return;
        }
        start += HUGE_PAGE_LEN;
    }
}

/// So many zeros, to be written with one call.
pub(super) fn zeros(len: usize) -> Vec<IoSlice<'static>> {
    let mut zeros = vec![IoSlice::new(&ZEROS); len / ZEROS.len()];
    zeros.push(IoSlice::new(&ZEROS[..len % ZEROS.len()]));
    zeros
}

impl FileBlocks {
    /// Whether a store to a byte that has its block needs no other one.
    pub(super) fn stay_in_place(&mut self, file: &File) -> io::Result<bool> {
        Ok(self.in_place(file)? != OverwriteInPlace::No)
    }

    fn in_place(&mut self, file: &File) -> io::Result<OverwriteInPlace> {
        if let Some(in_place) = self.in_place {
            return Ok(in_place);
        }
        let in_place = in_place(file)?;
        self.in_place = Some(in_place);
        Ok(in_place)
    }

    /// Allocates what these bytes lack, and nothing else that others have no pages of the system's in common with. Says whether a store to them then needs no block that a full disk may
    /// not have.
    pub(super) fn secure(&mut self, file: &LockedFile, range: Range<u64>) -> io::Result<bool> {
        let range = pages_with(&range);
        let is_in_place = self
            .in_place
            .is_some_and(|known| known != OverwriteInPlace::No);
        if is_in_place && self.known.covers(&range) {
            return Ok(true);
        }
        file.held().refuse_stranger()?;
        let file: &File = file;
        let in_place = self.in_place(file)?;
        // A file that somebody has cut short is not to look whole again.
        let flags = match in_place {
            OverwriteInPlace::Always => FallocateFlags::KEEP_SIZE,
            OverwriteInPlace::Unshared => FallocateFlags::UNSHARE_RANGE | FallocateFlags::KEEP_SIZE,
            OverwriteInPlace::No => return Ok(false),
        };
        if self.known.covers(&range) {
            return Ok(true);
        }
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        if self.can_allocate && self.note_data(file, in_place, &range) {
            return Ok(true);
        }
        match retry_on_intr(|| fallocate(file, flags, range.start, range.end - range.start)) {
            Ok(()) => {
                self.can_allocate = true;
                self.known.insert(range.clone());
                self.note_data(file, in_place, &range);
                Ok(true)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.in_place = Some(OverwriteInPlace::No);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that what was written from the start of the range on has its blocks; says whether that is all of it. What is allocated and was never
    /// written counts as a hole.
    fn note_data(&mut self, file: &File, in_place: OverwriteInPlace, range: &Range<u64>) -> bool {
        if in_place == OverwriteInPlace::Always
            && let Ok(hole) = seek(file, SeekFrom::Hole(range.start))
            && hole >= range.end
        {
            self.known.insert(range.start..hole);
            return true;
        }
        false
    }

    /// The file has become longer, by blocks that are allocated or not.
    pub(super) fn note_growth(&mut self, range: Range<u64>, is_allocated: bool) {
        match is_allocated {
            true => self.known.insert(range),
            false => self.in_place = Some(OverwriteInPlace::No),
        }
    }

    /// Gives blocks back. `false` where the file system cannot do that.
    pub(super) fn punch(&mut self, file: &File, range: Range<u64>) -> io::Result<bool> {
        let range = pages_within(&range);
        if self.cannot_punch || range.is_empty() {
            return Ok(false);
        }
        self.forget(range.clone());
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match retry_on_intr(|| fallocate(file, flags, range.start, range.end - range.start)) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.cannot_punch = true;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether these bytes are known to have their blocks.
    #[cfg(test)]
    pub(super) fn knows(&self, range: &Range<u64>) -> bool {
        self.known.covers(&pages_with(range))
    }

    /// These bytes may have no blocks any more.
    pub(super) fn forget(&mut self, range: Range<u64>) {
        self.known.remove(range);
    }
}

/// The first byte from `offset` on that was written; `None` if there is none.
pub(super) fn next_data(file: &File, offset: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Ok(Some(data)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether each write walks all blocks of the folio that it goes to: on ext2, ext3 and ext4.
pub(super) fn walks_folios(file: &File) -> bool {
    fstatfs(file).is_ok_and(|stat| stat.f_type as u32 == EXT)
}

fn in_place(file: &File) -> io::Result<OverwriteInPlace> {
    const TMPFS: u32 = 0x0102_1994;
    const XFS: u32 = 0x5846_5342;
    // The type of this field differs between architectures; the numbers have 32 bits.
    Ok(match fstatfs(file)?.f_type as u32 {
        EXT | TMPFS => OverwriteInPlace::Always,
        XFS => OverwriteInPlace::Unshared,
        _ => OverwriteInPlace::No,
    })
}
