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
    sys::{self, Allocate, Overwrite, allocate, file_system, next_hole},
    system::{pages_with, pages_within, refuse_file_len},
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

/// The most ranges to remember. Beyond that, all are forgotten and determined again.
const KNOWN_MAX: usize = 1 << 14;

/// The known facts about the blocks below the end of the file.
#[derive(Debug, Default)]
pub(super) struct FileBlocks {
    /// `None` until it is first needed.
    overwrite: Option<Overwrite>,
    /// Bytes that have their block, so that a store to them needs no other one.
    known: Ranges,
    /// The file system has allocated blocks. File systems that cannot may not tell holes from data
    /// either.
    can_allocate: bool,
    /// The file system has reported that it cannot punch holes.
    cannot_punch: bool,
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
    let allocated = allocate(file, start..new_len, Allocate::Grow);
    let extended = allocated.and_then(|is_allocated| match is_allocated {
        true => Ok(true),
        false => file.set_len(new_len).map(|()| false),
    });
    extended.inspect_err(|_| {
        // The file system may have allocated a part, which is of no use.
        let _ = sys::truncate(file, old_len);
    })
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
        if !matches!(sys::write_at(file, &zeros, start), Ok(len) if len as u64 == HUGE_PAGE_LEN) {
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
        Ok(self.overwrite(file)? != Overwrite::Never)
    }

    fn overwrite(&mut self, file: &File) -> io::Result<Overwrite> {
        if let Some(overwrite) = self.overwrite {
            return Ok(overwrite);
        }
        let overwrite = file_system(file)?.overwrite;
        self.overwrite = Some(overwrite);
        Ok(overwrite)
    }

    /// Allocates the missing blocks of these bytes, in whole system pages. Returns whether a store
    /// to the bytes then needs no block that a full disk may not have.
    pub(super) fn secure(&mut self, file: &LockedFile, range: Range<u64>) -> io::Result<bool> {
        let range = pages_with(&range);
        let is_overwritable = self
            .overwrite
            .is_some_and(|known| known != Overwrite::Never);
        if is_overwritable && self.known.covers(&range) {
            return Ok(true);
        }
        file.held().refuse_stranger()?;
        let file: &File = file;
        let overwrite = self.overwrite(file)?;
        // The length stays: a truncated file must not look complete again.
        let allocation = match overwrite {
            Overwrite::Always => Allocate::Keep,
            Overwrite::Unshared => Allocate::Unshare,
            Overwrite::Never => return Ok(false),
        };
        if self.known.covers(&range) {
            return Ok(true);
        }
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        if self.can_allocate && self.note_data(file, overwrite, &range) {
            return Ok(true);
        }
        if !allocate(file, range.clone(), allocation)? {
            self.overwrite = Some(Overwrite::Never);
            return Ok(false);
        }
        self.can_allocate = true;
        self.known.insert(range.clone());
        self.note_data(file, overwrite, &range);
        Ok(true)
    }

    /// Notes that the data from the start of the range on has its blocks. Returns whether that
    /// covers the range. Bytes that were allocated and never written count as a hole.
    fn note_data(&mut self, file: &File, overwrite: Overwrite, range: &Range<u64>) -> bool {
        if overwrite == Overwrite::Always
            && let Ok(Some(hole)) = next_hole(file, range.start)
            && hole >= range.end
        {
            self.known.insert(range.start..hole);
            return true;
        }
        false
    }

    /// Grows a file without allocating blocks. (If they were allocated before something is written
    /// to them, removing a temporary file would wait for the journal of the file system.)
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
            false => self.overwrite = Some(Overwrite::Never),
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
        let is_punched = sys::punch(file, range)?;
        self.cannot_punch = !is_punched;
        Ok(is_punched)
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
