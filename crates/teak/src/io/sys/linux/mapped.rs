//! Mapped files: advice, reading ahead, and faults.

use crate::io::sys::{
    types::Advice,
    unix::{Mapped, Signal, catch_signals},
};
use rustix::{
    fs::{Advice as FileAdvice, fadvise},
    io::Errno,
    mm::{self, MapFlags, ProtFlags},
};
use std::{
    fs::File,
    io,
    num::NonZeroU64,
    ops::Range,
    ptr::{self, NonNull},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Set once the system has reported that it cannot populate memory on demand (Linux before 5.14).
static CANNOT_POPULATE: AtomicBool = AtomicBool::new(false);

/// Tells the system of the coming use of pages. A hint.
pub(crate) fn advise(mapped: &Mapped, range: Range<usize>, advice: Advice) {
    let advice = match advice {
        Advice::Normal => mm::Advice::Normal,
        Advice::Random => mm::Advice::Random,
        Advice::Cold => mm::Advice::LinuxCold,
        Advice::NotNeeded => mm::Advice::LinuxDontNeed,
    };
    let address = mapped.address(&range);
    // SAFETY: inside of what is mapped. No advice used here changes the content of a file.
    let _ = unsafe { mm::madvise(address.cast(), range.len(), advice) };
}

/// Brings pages into memory without a signal if that fails. `false` if the system cannot do that,
/// or has no memory to spare just now.
///
/// # Errors
///
/// An access to the pages would raise a signal.
pub(crate) fn populate(mapped: &Mapped, range: Range<usize>) -> io::Result<bool> {
    if CANNOT_POPULATE.load(Relaxed) {
        return Ok(false);
    }
    let address = mapped.address(&range);
    loop {
        let advice = mm::Advice::LinuxPopulateRead;
        // SAFETY: inside of what is mapped, whose end is rounded up to a system page. Populating
        // changes no content.
        return match unsafe { mm::madvise(address.cast(), range.len(), advice) } {
            Ok(()) => Ok(true),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN | Errno::NOMEM) => Ok(false),
            Err(Errno::INVAL) => {
                CANNOT_POPULATE.store(true, Relaxed);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        };
    }
}

/// Keeps reserved bytes out of core dumps, and has child processes see zeros there (since Linux
/// 4.14). The addresses stay reserved in a child, so that it maps nothing else there before it
/// unmaps them. Memory comes in small pages: a huge page would take the memory of hundreds of
/// frames. Hints: errors are ignored.
pub(crate) fn hide(mapped: &Mapped, range: Range<usize>) {
    let address = mapped.address(&range);
    for advice in [
        mm::Advice::LinuxDontDump,
        mm::Advice::LinuxWipeOnFork,
        mm::Advice::LinuxNoHugepage,
    ] {
        // SAFETY: inside of what is mapped. The advice changes no content in this process, and a
        // child does not read there.
        let _ = unsafe { mm::madvise(address.cast(), range.len(), advice) };
    }
}

/// Gives the memory of reserved bytes back: they are zeros afterwards. `false` if that fails.
///
/// # Safety
///
/// Nobody accesses the bytes meanwhile. They are whole system pages.
pub(crate) unsafe fn discard(mapped: &Mapped, range: Range<usize>) -> bool {
    let address = mapped.address(&range);
    let advice = mm::Advice::LinuxDontNeed;
    // SAFETY: inside of what is mapped, and private; the caller's promise.
    unsafe { mm::madvise(address.cast(), range.len(), advice) }.is_ok()
}

/// Asks the system to begin reading bytes of a file. A hint.
pub(crate) fn read_soon(file: &File, offset: u64, len: u64) {
    if let Some(len) = NonZeroU64::new(len) {
        // `madvise` would look up the mapping first, which takes as long again.
        let _ = fadvise(file, offset, Some(len), FileAdvice::WillNeed);
    }
}

/// Advises the system that the file is not needed in memory for now.
pub(crate) fn drop_cache(file: &File) {
    let _ = fadvise(file, 0, None, FileAdvice::DontNeed);
}

/// Maps a page without access. While it is mapped the file has its locks, even if other code closes
/// the descriptor. `None` if no page can be mapped.
pub(crate) fn anchor(file: &File) -> Option<NonNull<u8>> {
    let (len, nothing) = (rustix::param::page_size(), ProtFlags::empty());
    // SAFETY: the system chooses the address, so no memory in use is replaced.
    let mapped = unsafe { mm::mmap(ptr::null_mut(), len, nothing, MapFlags::SHARED, file, 0) };
    mapped.ok().and_then(|anchor| NonNull::new(anchor.cast()))
}

/// Has `absorb` asked, once and for all, when an access to a mapped file fails. If it returns
/// `true`, the access is repeated.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    const SIGNALS: &[Signal] = &[Signal {
        number: libc::SIGBUS,
        codes: &[libc::BUS_ADRERR, libc::BUS_OBJERR, libc::BUS_MCEERR_AR],
    }];
    catch_signals(SIGNALS, absorb)
}
