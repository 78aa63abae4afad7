//! Disk blocks of the file. They are allocated when the file grows, or before pages are put into a
//! hole, so that a full disk is an error of [`set_len`] or [`secure`] and not of a later write, or
//! a signal.
//!
//! A store into a system page makes the system allocate blocks for the whole page, up to the end of
//! the file. Allocation therefore covers whole system pages, which may be longer than database
//! pages and than blocks. Only whole system pages are released.
//!
//! Nothing is allocated for bytes that are not about to be written: a file with holes keeps them.
//! Ranges known to be allocated are remembered. In a file without holes that takes one system call,
//! although one that walks all extents. After another process has punched holes, nothing is known.
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
/// Small enough to stay in the processor's cache, and large enough for one call to fill a huge page
/// with them.
static ZEROS: [u8; 32 << 10] = [0; 32 << 10];

const _: () = assert!(
    (HUGE_PAGE_LEN as usize).is_multiple_of(ZEROS.len()),
    "a huge page is filled with whole slices of zeros"
);

/// The `statfs` type of ext2, ext3 and ext4.
const EXT: u32 = 0xEF53;

/// The most ranges to remember. Beyond that, all are forgotten and determined again.
const KNOWN_MAX: usize = 1 << 14;

/// The known facts about the blocks below the end of the file.
#[derive(Debug, Default)]
pub(super) struct FileBlocks {
    /// `None` until it is first needed.
    overwrite_mode: Option<OverwriteMode>,
    /// Bytes that have their block, so that a store to them needs no other one.
    known: Ranges,
    /// The file system has allocated blocks. File systems that cannot may not tell holes from data
    /// either.
    can_allocate: bool,
    /// The file system has reported that it cannot punch holes.
    cannot_punch: bool,
}

/// Whether a file system overwrites an allocated block in place, by its `statfs` type. Others
/// (Btrfs, ZFS, Bcachefs, F2FS, network file systems) may need space for an overwrite too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OverwriteMode {
    /// Ext4 and tmpfs. (Ext2 and ext3 have the type of ext4, and turn out to allocate only what is
    /// written to.)
    Always,
    /// XFS, except for blocks that are shared with a copy of the file.
    Unshared,
    No,
}

/// Grows the file to `new_len` bytes, and returns whether blocks were allocated. After an error the
/// file has length `old_len`.
pub(super) fn extend(file: &File, old_len: u64, new_len: u64) -> io::Result<bool> {
    assert!(old_len < new_len, "a file that is extended becomes longer");
    refuse_file_len(new_len)?;
    // The system page at the end of the file may have a hole before the end.
    let start = pages_with(&(old_len..old_len)).start;
    debug_assert!(
        start <= old_len,
        "blocks are allocated from the system page on in which the file ends"
    );
    let allocate = || fallocate(file, FallocateFlags::empty(), start, new_len - start);
    match retry_on_intr(allocate) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(new_len).map(|()| false),
        Err(error) => {
            // The file system may have allocated a part, which is of no use.
            let _ = file.set_len(old_len);
            Err(error.into())
        }
    }
}

/// Writes zeros to each whole 2 MiB range that the file has grown by, with one write each.
///
/// A file system with large folios then keeps the range as one huge page. A lookup finds it with
/// one TLB entry instead of 512, and pages that are later written one by one stay in it. A failure
/// only loses this advantage.
pub(super) fn fill_huge_pages(file: &File, old_len: u64, new_len: u64) {
    let mut start = old_len.next_multiple_of(HUGE_PAGE_LEN);
    if start + HUGE_PAGE_LEN > new_len {
        // Creating the zeros takes many stores.
        return;
    }
    let zeros = zeros(HUGE_PAGE_LEN as usize);
    while start + HUGE_PAGE_LEN <= new_len {
        debug_assert!(
            start.is_multiple_of(HUGE_PAGE_LEN),
            "one write fills one huge page, from its start"
        );
        if !matches!(rustix::io::pwritev(file, &zeros, start), Ok(len) if len as u64 == HUGE_PAGE_LEN)
        {
            return;
        }
        start += HUGE_PAGE_LEN;
    }
}

/// `len` zeros, to be written with one call.
pub(super) fn zeros(len: usize) -> Vec<IoSlice<'static>> {
    let mut zeros = vec![IoSlice::new(&ZEROS); len / ZEROS.len()];
    zeros.push(IoSlice::new(&ZEROS[..len % ZEROS.len()]));
    debug_assert_eq!(
        zeros.iter().map(|part| part.len()).sum::<usize>(),
        len,
        "the parts together are as long as requested"
    );
    zeros
}

impl FileBlocks {
    /// Whether a store to a byte that has its block needs no other block.
    pub(super) fn can_overwrite(&mut self, file: &File) -> io::Result<bool> {
        Ok(self.overwrite_mode(file)? != OverwriteMode::No)
    }

    fn overwrite_mode(&mut self, file: &File) -> io::Result<OverwriteMode> {
        if let Some(overwrite_mode) = self.overwrite_mode {
            return Ok(overwrite_mode);
        }
        let overwrite_mode = overwrite_mode(file)?;
        self.overwrite_mode = Some(overwrite_mode);
        Ok(overwrite_mode)
    }

    /// Allocates the missing blocks of these bytes, in whole system pages. Returns whether a store
    /// to the bytes then needs no block that a full disk may not have.
    pub(super) fn secure(&mut self, file: &LockedFile, range: Range<u64>) -> io::Result<bool> {
        let range = pages_with(&range);
        let is_overwritable = self
            .overwrite_mode
            .is_some_and(|known| known != OverwriteMode::No);
        if is_overwritable && self.known.covers(&range) {
            return Ok(true);
        }
        file.held().refuse_stranger()?;
        let file: &File = file;
        let overwrite_mode = self.overwrite_mode(file)?;
        // `KEEP_SIZE`: a truncated file must not look complete again.
        let flags = match overwrite_mode {
            OverwriteMode::Always => FallocateFlags::KEEP_SIZE,
            OverwriteMode::Unshared => FallocateFlags::UNSHARE_RANGE | FallocateFlags::KEEP_SIZE,
            OverwriteMode::No => return Ok(false),
        };
        if self.known.covers(&range) {
            return Ok(true);
        }
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        if self.can_allocate && self.note_data(file, overwrite_mode, &range) {
            return Ok(true);
        }
        match retry_on_intr(|| fallocate(file, flags, range.start, range.end - range.start)) {
            Ok(()) => {
                self.can_allocate = true;
                self.known.insert(range.clone());
                self.note_data(file, overwrite_mode, &range);
                Ok(true)
            }
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.overwrite_mode = Some(OverwriteMode::No);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes that the data from the start of the range on has its blocks. Returns whether that
    /// covers the range. Bytes that were allocated and never written count as a hole.
    fn note_data(
        &mut self,
        file: &File,
        overwrite_mode: OverwriteMode,
        range: &Range<u64>,
    ) -> bool {
        if overwrite_mode == OverwriteMode::Always
            && let Ok(hole) = seek(file, SeekFrom::Hole(range.start))
            && hole >= range.end
        {
            self.known.insert(range.start..hole);
            return true;
        }
        false
    }

    /// Grows a file that is removed when it is closed. If blocks were allocated before something is
    /// written to them, removing it would wait for the journal of the file system.
    pub(super) fn extend_without_blocks(
        &mut self,
        file: &File,
        range: Range<u64>,
    ) -> io::Result<()> {
        refuse_file_len(range.end)?;
        file.set_len(range.end)?;
        self.note_growth(range, false);
        Ok(())
    }

    /// Notes that the file has grown, with or without allocated blocks.
    pub(super) fn note_growth(&mut self, range: Range<u64>, is_allocated: bool) {
        match is_allocated {
            true => self.known.insert(range),
            false => self.overwrite_mode = Some(OverwriteMode::No),
        }
    }

    /// Releases blocks. `false` if the file system cannot do that.
    pub(super) fn punch(&mut self, file: &File, range: Range<u64>) -> io::Result<bool> {
        let range = pages_within(&range);
        if self.cannot_punch || range.is_empty() {
            return Ok(false);
        }
        self.forget(range.clone());
        debug_assert!(
            !self.known.covers(&range),
            "bytes are forgotten before their blocks are given back"
        );
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

    /// Notes that these bytes may no longer have blocks.
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

/// Whether each write walks all blocks of the folio that it goes to, as on ext2, ext3 and ext4.
pub(super) fn walks_folios(file: &File) -> bool {
    fstatfs(file).is_ok_and(|stat| stat.f_type as u32 == EXT)
}

fn overwrite_mode(file: &File) -> io::Result<OverwriteMode> {
    const TMPFS: u32 = 0x0102_1994;
    const XFS: u32 = 0x5846_5342;
    // The type of this field differs between architectures; the numbers have 32 bits.
    Ok(match fstatfs(file)?.f_type as u32 {
        EXT | TMPFS => OverwriteMode::Always,
        XFS => OverwriteMode::Unshared,
        _ => OverwriteMode::No,
    })
}
