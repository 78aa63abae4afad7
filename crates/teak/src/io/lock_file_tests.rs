//! Attaching to a lock file. (That other processes are detected is tested with other processes: see
//! the tests of the whole crate.)

use super::{LOCK_MAGIC, LockFile, LockMode};
use std::{
    fs::{self, Permissions},
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    sync::atomic::Ordering::Relaxed,
};

const LEN: usize = 1 << 16;

/// With a mask of 0o022 the lock file of a database that a group may write to was one that it may not.
#[test]
fn a_lock_file_has_the_permissions_of_its_database() {
    let directory = tempfile::tempdir().unwrap();
    let (database, path) = (directory.path().join("x"), directory.path().join("x-lock"));
    let permissions = || path.metadata().unwrap().permissions().mode() & 0o777;
    let mode = LockMode::beside(&database, 0o640);
    drop(LockFile::open(&path, mode).unwrap());
    assert_eq!(permissions() & !0o640, 0);
    fs::remove_file(&path).unwrap();
    fs::write(&database, []).unwrap();
    fs::set_permissions(&database, Permissions::from_mode(0o666)).unwrap();
    let mode = LockMode::beside(&database, 0o640);
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

#[test]
fn what_was_left_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    let mut left = [0xff; 100];
    left[..8].copy_from_slice(&LOCK_MAGIC);
    fs::write(&path, left).unwrap();
    let (file, is_alone) = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
    assert!(is_alone && !file.has_others().unwrap());
    let memory = file.make_anew(LEN).unwrap();
    let words = memory.words();
    assert_eq!(words[0].load(Relaxed).to_le_bytes(), LOCK_MAGIC);
    assert!(words[1..LEN / 8].iter().all(|word| word.load(Relaxed) == 0));
    assert!(file.map(LEN + 8).is_err());
    assert_eq!(file.take_place().unwrap(), Some(0));
    file.allocate(0..LEN).unwrap();
    file.remove();
    assert!(!path.exists());
}

/// A power cut may leave a file that has its name and its attributes, and none of its bytes. The
/// database could not be opened any more.
#[test]
fn what_a_power_cut_has_emptied_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x-lock");
    for left in [0, 8, LEN as u64] {
        let made = LockFile::open(&path, LockMode::Masked(0o600)).unwrap();
        drop(made);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
        file.set_len(left).unwrap();
        let opened = match LockFile::open(&path, LockMode::Masked(0o600)) {
            Err(_) if rustix::fs::fgetxattr_query(&file, "user.teak.lock").is_err() => {
                eprintln!("not run: the file system has no attributes");
                return;
            }
            opened => opened,
        };
        let memory = opened.unwrap().0.make_anew(LEN).unwrap();
        assert_eq!(memory.words()[0].load(Relaxed).to_le_bytes(), LOCK_MAGIC);
    }
    // Another one's file without bytes stays.
    let foreign = directory.path().join("y-lock");
    fs::write(&foreign, [0; 8]).unwrap();
    assert!(LockFile::open(&foreign, LockMode::Masked(0o600)).is_err());
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(LockFile::open(directory.path(), LockMode::Masked(0o600)).is_err());
    let (path, file) = (directory.path().join("a"), directory.path().join("b"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    let refused = LockFile::open(&path, LockMode::Masked(0o600)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    LockFile::open(&file, LockMode::Masked(0o600)).unwrap();
    // The target of a link is not emptied.
    std::os::unix::fs::symlink(&file, directory.path().join("c")).unwrap();
    assert!(LockFile::open(&directory.path().join("c"), LockMode::Masked(0o600)).is_err());
}

#[test]
fn a_process_opens_a_lock_file_once_by_whatever_name() {
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
fn a_lock_file_grows_and_keeps_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let (file, _) =
        LockFile::open(&directory.path().join("x-lock"), LockMode::Masked(0o600)).unwrap();
    let memory = file.make_anew(LEN).unwrap();
    // The word before the end of each piece, and the one behind it.
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
