//! Attaching to a lock file. (That other processes are detected is tested with other processes: see
//! the tests of the whole crate.)

use super::{LOCK_MAGIC, LockFile, LockMode};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::{fs, io::ErrorKind, sync::atomic::Ordering::Relaxed};

const LEN: usize = 1 << 16;

/// With a umask of 0o022, the lock file of a group-writable database was not group-writable.
#[cfg(unix)]
#[test]
fn a_lock_file_has_the_permissions_of_its_database() {
    let directory = tempfile::tempdir().unwrap();
    let (database, path) = (directory.path().join("x"), directory.path().join("x-lock"));
    let permissions = || path.metadata().unwrap().permissions().mode() & 0o777;
    let mode = LockMode::for_database(&database, 0o640);
    drop(LockFile::open(&path, mode).unwrap());
    assert_eq!(permissions() & !0o640, 0);
    fs::remove_file(&path).unwrap();
    fs::write(&database, []).unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o666)).unwrap();
    let mode = LockMode::for_database(&database, 0o640);
    drop(LockFile::open(&path, mode).unwrap());
    assert_eq!(permissions(), 0o666);
}

#[test]
fn a_process_opens_a_lock_file_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    let (one, is_alone) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    assert!(is_alone);
    let refused = LockFile::open(&path, LockMode::Masked(0o600)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
    drop(one);
    LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
}

/// The error said that the file was truncated or cannot be read, on a full disk too.
#[test]
fn a_lock_file_that_was_lost_whole_found_no_block() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    let (file, _) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    let _memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
    assert_eq!(file.why_lost(LEN).kind(), ErrorKind::StorageFull);
    // Some systems map whole pages, and make the file as long.
    let len = path.metadata().unwrap().len() as usize;
    assert_eq!(file.why_lost(len + 1).kind(), ErrorKind::UnexpectedEof);
}

/// A longer one has blocks of reader slots. Holes take no blocks.
#[cfg(unix)]
#[test]
fn a_lock_file_that_was_left_is_cleared_without_truncation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    for left in [LEN, 3 * LEN] {
        let (file, _) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
        let memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
        for index in [1, 700, LEN / 8 - 1] {
            memory.words()[index].store(u64::MAX, Relaxed);
        }
        drop((memory, file));
        let kept = fs::OpenOptions::new().write(true).open(&path).unwrap();
        kept.set_len(left as u64).unwrap();
        let id = path.metadata().unwrap().ino();
        let (file, is_alone) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
        assert!(is_alone);
        let memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
        let words = memory.words();
        assert_eq!(words[0].load(Relaxed).to_le_bytes(), LOCK_MAGIC);
        assert!(words[1..LEN / 8].iter().all(|word| word.load(Relaxed) == 0));
        let found = path.metadata().unwrap();
        assert_eq!((found.len(), found.ino()), (LEN as u64, id));
    }
}

#[test]
fn an_abandoned_lock_file_is_reinitialized() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    let mut left = [0xff; 100];
    left[..8].copy_from_slice(&LOCK_MAGIC);
    fs::write(&path, left).unwrap();
    let (file, is_alone) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    assert!(is_alone && !file.has_others().unwrap());
    let memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
    let words = memory.words();
    assert_eq!(words[0].load(Relaxed).to_le_bytes(), LOCK_MAGIC);
    assert!(words[1..LEN / 8].iter().all(|word| word.load(Relaxed) == 0));
    // Elsewhere the file becomes as long as its mapping.
    #[cfg(unix)]
    assert!(file.map(LEN + 8).is_err());
    assert_eq!(file.take_entry_index().unwrap(), Some(0));
    file.allocate(0..LEN).unwrap();
    file.remove();
    assert!(!path.exists());
}

/// A power cut may leave a file with its name and attributes but without its bytes. The database
/// could not be opened any more.
#[test]
fn a_lock_file_emptied_by_a_power_cut_is_reinitialized() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    for left in [0, 8, LEN as u64] {
        let made = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
        drop(made);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
        file.set_len(left).unwrap();
        let opened = match LockFile::open(&path, LockMode::Masked(0o600)) {
            Err(_) if !crate::io::sys::has_mark(&file) => {
                eprintln!("not run: the file system has no attributes");
                return;
            }
            opened => opened,
        };
        let memory = opened
            .unwrap()
            .0
            .recreate(LEN, LockMode::Masked(0o600))
            .unwrap();
        assert_eq!(memory.words()[0].load(Relaxed).to_le_bytes(), LOCK_MAGIC);
    }
    // Another program's empty file stays.
    let foreign = directory.path().join("y-lock");
    fs::write(&foreign, [0; 8]).unwrap();
    assert!(LockFile::open(&foreign, LockMode::Masked(0o600)).is_err());
}

#[cfg(unix)]
#[test]
fn other_file_types_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(LockFile::open(directory.path(), LockMode::Masked(0o600)).is_err());
    let (path, file) = (directory.path().join("a"), directory.path().join("b"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    let refused = LockFile::open(&path, LockMode::Masked(0o600)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    LockFile::open(&file, LockMode::Masked(0o600)).unwrap();
    // The target of a link is not truncated.
    std::os::unix::fs::symlink(&file, directory.path().join("c")).unwrap();
    assert!(LockFile::open(&directory.path().join("c"), LockMode::Masked(0o600)).is_err());
}

#[test]
fn a_process_opens_a_lock_file_once_under_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("a"), directory.path().join("b"));
    let (one, _) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    fs::hard_link(&path, &link).unwrap();
    let refused = LockFile::open(&link, LockMode::Masked(0o600)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
    drop(one);
    LockFile::open(&link, LockMode::Masked(0o600)).unwrap();
}

#[test]
fn a_lock_file_grows_and_keeps_its_contents() {
    let directory = tempfile::tempdir().unwrap();
    let (file, _) =
        LockFile::open(&directory.path().join("x-lock"), LockMode::Masked(0o600)).unwrap();
    let memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
    // The word before the end of each piece, and the one after it.
    let ends = [
        LEN,
        LEN + (1 << 20),
        LEN + (2 << 20),
        LEN + (4 << 20),
        LEN + (64 << 20) - 8,
    ];
    for end in ends {
        file.allocate(end - 8..end + 8).unwrap();
        memory.provide(end + 8).unwrap();
        for index in [end / 8 - 1, end / 8] {
            memory.word(index).store(index as u64, Relaxed);
        }
    }
    let other = file.map(LEN).unwrap();
    for end in ends {
        other.provide(end + 8).unwrap();
        for index in [end / 8 - 1, end / 8] {
            assert_eq!(other.word(index).load(Relaxed), index as u64);
        }
    }
    assert!(memory.provide(LEN + (64 << 20) + 1).is_err());
    assert!(!memory.is_lost());
    memory.lose();
    assert!(memory.is_lost() && memory.word(ends[3] / 8).load(Relaxed) == 0);
    assert_ne!(other.word(ends[3] / 8).load(Relaxed), 0);
}

/// A lock file that stays has the permissions that the database had when it was made.
#[cfg(unix)]
#[test]
fn a_lock_file_that_was_left_gets_the_present_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("x");
    fs::write(&database, b"").unwrap();
    let path = directory.path().join("x-lock");
    for bits in [0o666, 0o600] {
        fs::set_permissions(&database, fs::Permissions::from_mode(bits)).unwrap();
        let mode = LockMode::for_database(&database, 0o640);
        let (file, _) = LockFile::open(&path, mode).unwrap();
        file.recreate(LEN, mode).unwrap();
        drop(file);
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, bits);
    }
}

/// Releasing blocks waits for the file system's journal, so a file that is removed soon gets none
/// where the file system allocates them late.
#[test]
fn reserving_bytes_changes_none_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    let (file, _) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    let memory = file.recreate(LEN, LockMode::Masked(0o600)).unwrap();
    memory.words()[700].store(7, Relaxed);
    file.reserve(0..LEN / 2).unwrap();
    file.reserve(LEN - 8..LEN + 8).unwrap();
    assert_eq!(memory.words()[700].load(Relaxed), 7);
    assert!(path.metadata().unwrap().len() >= LEN as u64 + 8);
    assert!(fs::read(&path).unwrap().starts_with(&LOCK_MAGIC));
}
