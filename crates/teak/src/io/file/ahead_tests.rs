//! Files that grow ahead keep bytes that other processes have written, and the growth is invisible.

use super::{
    super::{FILE_MODE, FileStorage},
    HUGE_PAGE_LEN,
};
use crate::io::{Access, Create, FileSharing, storage::Storage};
use std::{
    fs::{self, OpenOptions},
    io::IoSlice,
};
use tempfile::TempDir;

const LEN: u64 = 5 * HUGE_PAGE_LEN;

/// `None` on a file system without growing ahead.
fn made() -> Option<(TempDir, FileStorage)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let storage = FileStorage::create(&path, |_| Ok(())).unwrap();
    storage.set_len(LEN).unwrap();
    storage.flush().unwrap();
    storage.writable().unwrap()?;
    Some((directory, storage))
}

fn system_len(directory: &TempDir) -> u64 {
    fs::metadata(directory.path().join("file")).unwrap().len()
}

#[test]
fn blocks_allocated_ahead_are_invisible_until_used() {
    let Some((directory, storage)) = made() else {
        return;
    };
    storage.grow_ahead(LEN + 2 * HUGE_PAGE_LEN);
    storage.ahead.wait_for(LEN + 2 * HUGE_PAGE_LEN);
    assert_eq!(system_len(&directory), LEN + 2 * HUGE_PAGE_LEN);
    assert_eq!(storage.len(), LEN);
    assert!(storage.write(LEN, &[IoSlice::new(&[1])]).is_err());
    storage.set_len(LEN + HUGE_PAGE_LEN).unwrap();
    assert_eq!(storage.len(), LEN + HUGE_PAGE_LEN);
    assert_eq!(system_len(&directory), LEN + 2 * HUGE_PAGE_LEN);
    assert!(storage.secure(LEN, HUGE_PAGE_LEN).unwrap());
    let mapping = storage.mapping().unwrap();
    let new = mapping.bytes_at_rest(LEN, HUGE_PAGE_LEN as usize).unwrap();
    assert!(new.iter().all(|byte| *byte == 0));
}

#[test]
fn setting_the_present_length_drops_blocks_allocated_ahead() {
    let Some((directory, storage)) = made() else {
        return;
    };
    storage.grow_ahead(LEN + 2 * HUGE_PAGE_LEN);
    storage.set_len(LEN).unwrap();
    assert_eq!(system_len(&directory), LEN);
}

#[test]
fn no_more_is_allocated_ahead_than_requested() {
    let Some((directory, storage)) = made() else {
        return;
    };
    storage.grow_ahead(LEN + 4096);
    storage.ahead.wait_for(LEN + 4096);
    assert_eq!(system_len(&directory), LEN + 4096);
}

#[test]
fn the_thread_ends_when_the_file_is_closed() {
    let Some((directory, storage)) = made() else {
        return;
    };
    storage.grow_ahead(LEN + 4 * HUGE_PAGE_LEN);
    drop(storage);
    let path = directory.path().join("file");
    let (access, create) = (Access::ReadWrite, Create::Never);
    let opened = FileStorage::open(&path, access, create, FileSharing::Exclusive, FILE_MODE);
    assert!(opened.is_ok(), "somebody keeps it locked");
}

/// Another process may have truncated it meanwhile, too.
#[test]
fn dropped_blocks_are_allocated_again() {
    let Some((directory, storage)) = made() else {
        return;
    };
    storage.grow_ahead(LEN + HUGE_PAGE_LEN);
    storage.ahead.wait_for(LEN + HUGE_PAGE_LEN);
    storage.grow_ahead(0);
    assert_eq!(system_len(&directory), LEN + HUGE_PAGE_LEN);
    storage.set_len(LEN).unwrap();
    storage.grow_ahead(LEN + HUGE_PAGE_LEN);
    storage.ahead.wait_for(LEN + HUGE_PAGE_LEN);
    assert_eq!(system_len(&directory), LEN + HUGE_PAGE_LEN);
}

/// Zeros in place of the truncated bytes hid that, and were committed.
#[test]
fn a_file_that_was_cut_short_does_not_grow_ahead() {
    let Some((directory, storage)) = made() else {
        return;
    };
    let path = directory.path().join("file");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(LEN - 4096).unwrap();
    storage.grow_ahead(LEN + HUGE_PAGE_LEN);
    storage.ahead.wait_for(LEN + HUGE_PAGE_LEN);
    assert_eq!(system_len(&directory), LEN - 4096);
    assert!(storage.refuse_cut().is_err());
    file.set_len(LEN).unwrap();
    storage.set_len(LEN).unwrap();
    storage.grow_ahead(LEN + HUGE_PAGE_LEN);
    storage.ahead.wait_for(LEN + HUGE_PAGE_LEN);
    assert_eq!(system_len(&directory), LEN + HUGE_PAGE_LEN);
}

/// Another process may grow the file at the same time, and write to it.
#[cfg(unix)] // Elsewhere nothing is appended.
#[test]
fn writes_of_other_processes_are_not_overwritten() {
    use super::append_zeros;
    use crate::io::{FileAt, locked::LockedFile};
    use std::{
        fs::File,
        io::ErrorKind,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        thread,
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = LockedFile::new(
        File::create_new(&path).unwrap(),
        Access::ReadWrite,
        FileSharing::Shared,
    );
    let file = file.unwrap();
    let appended = append_zeros(&file, 0, 4096).map_err(|error| error.kind());
    if appended == Err(ErrorKind::Unsupported) {
        // The system cannot append, and nothing grows ahead.
        return;
    }
    let other = OpenOptions::new().read(true).write(true).open(&path);
    let other = other.unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let most = 16 * HUGE_PAGE_LEN;
            while !is_over.load(Relaxed) && append_zeros(&file, 0, most).unwrap() < most {
                std::hint::spin_loop();
            }
        });
        let ones = [1; 64 << 10];
        for _ in 0..64 {
            let end = other.metadata().unwrap().len();
            other.write_all_at(&ones, end).unwrap();
            let mut found = [0; 64 << 10];
            other.read_exact_at(&mut found, end).unwrap();
            // Zeros may have got there first.
            assert!(found == ones);
            other.write_all_at(&[2; 4096], end).unwrap();
        }
        is_over.store(true, Relaxed);
    });
    let content = fs::read(&path).unwrap();
    let twos = content.iter().filter(|byte| **byte == 2).count();
    assert_eq!(twos, 64 * 4096);
}
