//! Blocks behind the bytes of the file: allocated when it grows, so that a full disk is an error
//! of [`set_len`] and not of some later write, let alone a signal.
//!
//! [`set_len`]: crate::store::Storage::set_len

use rustix::{
    fs::{FallocateFlags, fallocate, fstatfs},
    io::{Errno, retry_on_intr},
};
use std::{fs::File, io};

/// Length of a huge page on x86-64 and on most 64-bit ARM systems.
pub(super) const HUGE_PAGE_LEN: u64 = 2 << 20;

/// What `statfs` gives for ext2, ext3 and ext4.
const EXT: u32 = 0xEF53;

/// What is known about the blocks below the end of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Blocks {
    /// The file may have holes: it may have been copied by a program that makes them.
    Unknown,
    /// Each byte has its block, and a store to it needs no other one.
    Secured,
    /// A store may need a block that there is not.
    Uncertain,
}

/// File systems that overwrite an allocated block in place, by the type that `statfs` gives. The
/// others (Btrfs, ZFS, Bcachefs, F2FS, those of the network) may need space for an overwrite too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InPlace {
    /// Ext2, ext3, ext4 and tmpfs.
    Always,
    /// XFS, except for blocks that a copy of the file shares.
    Unshared,
    No,
}

/// Makes the file `new_len` bytes long, and says whether blocks were allocated. After an error it
/// is `old_len` long as before.
pub(super) fn extend(file: &File, old_len: u64, new_len: u64) -> io::Result<bool> {
    let allocate = || fallocate(file, FallocateFlags::empty(), old_len, new_len - old_len);
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
    let zeros = vec![0; HUGE_PAGE_LEN as usize];
    let mut start = old_len.next_multiple_of(HUGE_PAGE_LEN);
    while start + HUGE_PAGE_LEN <= new_len {
        if !matches!(rustix::io::pwrite(file, &zeros, start), Ok(len) if len == zeros.len()) {
            return;
        }
        start += HUGE_PAGE_LEN;
    }
}

/// Allocates what the first `len` bytes lack.
pub(super) fn secure(file: &File, len: u64) -> io::Result<Blocks> {
    let flags = match in_place(file)? {
        InPlace::Always => FallocateFlags::empty(),
        InPlace::Unshared => FallocateFlags::UNSHARE_RANGE,
        InPlace::No => return Ok(Blocks::Uncertain),
    };
    if len == 0 {
        return Ok(Blocks::Secured);
    }
    match retry_on_intr(|| fallocate(file, flags, 0, len)) {
        Ok(()) => Ok(Blocks::Secured),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOSPC | Errno::DQUOT) => Ok(Blocks::Uncertain),
        Err(error) => Err(error.into()),
    }
}

/// Whether each write walks all blocks of the folio that it goes to: on ext2, ext3 and ext4.
pub(super) fn walks_folios(file: &File) -> bool {
    fstatfs(file).is_ok_and(|stat| stat.f_type as u32 == EXT)
}

fn in_place(file: &File) -> io::Result<InPlace> {
    const TMPFS: u32 = 0x0102_1994;
    const XFS: u32 = 0x5846_5342;
    // The type of this field differs between architectures; the numbers have 32 bits.
    Ok(match fstatfs(file)?.f_type as u32 {
        EXT | TMPFS => InPlace::Always,
        XFS => InPlace::Unshared,
        _ => InPlace::No,
    })
}
