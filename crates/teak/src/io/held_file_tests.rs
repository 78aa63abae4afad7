use super::{HeldFile, reopen};
use crate::io::sys::Access;
use std::{fs::OpenOptions, os::fd::AsRawFd};
use tempfile::NamedTempFile;

/// A mapping made after the descriptor had been closed was of another file, which may have received
/// its number.
#[test]
fn a_strangers_file_is_not_mapped() {
    if !crate::io::can("second descriptions", |abilities| abilities.reopening) {
        return;
    }
    let (own, stranger) = (NamedTempFile::new().unwrap(), NamedTempFile::new().unwrap());
    let held = HeldFile::new(own.reopen().unwrap(), Access::ReadWrite).unwrap();
    assert!(held.for_mapping(Access::ReadWrite).unwrap().is_some());
    // SAFETY: both descriptors are open.
    let number = unsafe { libc::dup2(stranger.as_file().as_raw_fd(), held.as_raw_fd()) };
    assert_eq!(number, held.as_raw_fd());
    assert!(held.for_mapping(Access::ReadWrite).is_err());
}

/// The child has the descriptor then, and does not know that it must release it.
#[test]
fn a_child_forked_while_a_descriptor_is_opened_keeps_no_lock() {
    if !crate::io::can("second descriptions", |abilities| abilities.reopening) {
        return;
    }
    let named = NamedTempFile::new().unwrap();
    let file = OpenOptions::new().read(true).open(named.path()).unwrap();
    let mut children = Vec::new();
    let held = HeldFile::with(file, |file, id| {
        let reopened = reopen(file, id, Access::ReadOnly);
        if children.is_empty() {
            // SAFETY: the child makes nothing but calls to the system that a child of threads may
            // make.
            children.push(match unsafe { libc::fork() } {
                // SAFETY: the child only makes system calls, and ends.
                0 => unsafe {
                    libc::sleep(60);
                    libc::_exit(0)
                },
                child => child,
            });
        }
        reopened
    })
    .unwrap();
    held.try_lock().unwrap();
    let other = named.reopen().unwrap();
    assert!(other.try_lock().is_err());
    drop(held);
    let is_free = other.try_lock().is_ok();
    for child in children {
        // SAFETY: the child is this process's, and nobody has waited for it.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
    assert!(is_free, "the child has the lock");
}
