//! Deleting a database while others have it open, in this process and in others.

use crate::{processes::Other, shared::temporary_path};
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};
use std::{
    fs::{self, Permissions},
    path::Path,
    thread,
    time::Duration,
};
use teak::{Database, Deletion, Error, Options, Sharing, delete};

const ALL: [Deletion; 3] = [Deletion::IfUnused, Deletion::WhenUnused, Deletion::Now];

fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn an_unused_database_is_deleted_with_its_lock_file() {
    for deletion in ALL {
        let (_directory, path) = temporary_path();
        assert!(!delete(&path, deletion).unwrap(), "there is none yet");
        drop(Database::open(&path).unwrap());
        // The state after a kill.
        fs::write(path.with_file_name("some.teak-lock"), b"TeakLock").unwrap();
        assert!(delete(&path, deletion).unwrap());
        assert!(names_in(&path).is_empty(), "{:?}", names_in(&path));
        assert!(!delete(&path, deletion).unwrap());
        let database = Database::open(&path).unwrap();
        assert!(database.begin_read().is_ok());
    }
}

#[test]
fn other_files_are_not_deleted() {
    let (directory, path) = temporary_path();
    for deletion in ALL {
        for bytes in [&b""[..], b"text", &[0; 100_000]] {
            fs::write(&path, bytes).unwrap();
            let refused = delete(&path, deletion);
            assert!(matches!(refused, Err(Error::NotADatabase { .. })));
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        let refused = delete(directory.path(), deletion);
        assert!(matches!(refused, Err(Error::NotADatabase { .. })));
    }
    // A database with damaged records is still a database.
    fs::remove_file(&path).unwrap();
    drop(Database::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    for page in bytes.chunks_mut(4096) {
        page[100] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    assert!(Database::open(&path).is_err());
    assert!(delete(&path, Deletion::IfUnused).unwrap());
}

#[cfg(unix)]
#[test]
fn a_link_is_followed() {
    let (_directory, path) = temporary_path();
    drop(Database::open(&path).unwrap());
    let link = path.with_file_name("link.teak");
    symlink(&path, &link).unwrap();
    assert!(delete(&link, Deletion::IfUnused).unwrap());
    assert_eq!(names_in(&path), ["link.teak"]);
    assert!(!delete(&link, Deletion::IfUnused).unwrap());
}

#[test]
fn a_database_in_use_is_not_deleted() {
    for sharing in [Sharing::Processes, Sharing::Alone] {
        let (_directory, path) = temporary_path();
        let open = || Options::new().sharing(sharing).open(&path).unwrap();
        let database = open();
        let refused = delete(&path, Deletion::IfUnused);
        assert!(matches!(refused, Err(Error::InUse(_))));
        assert_eq!(database.create_snapshot("monday").unwrap().0, 1);
        let deleted = thread::spawn({
            let path = path.clone();
            move || delete(path, Deletion::WhenUnused).unwrap()
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!deleted.is_finished() && path.exists());
        database.close().unwrap();
        assert!(deleted.join().unwrap());
        assert!(names_in(&path).is_empty());
    }
}

#[test]
fn other_processes_that_use_it_are_waited_for() {
    let (_directory, path) = temporary_path();
    drop(Database::open(&path).unwrap());
    let mut other = Other::start(&path);
    other.ask("open");
    assert!(other.ask("put durable a 1").parse::<u64>().is_ok());
    let refused = delete(&path, Deletion::IfUnused);
    assert!(matches!(refused, Err(Error::InUse(_))));
    let deleted = thread::spawn({
        let path = path.clone();
        move || delete(path, Deletion::WhenUnused).unwrap()
    });
    assert!(other.ask("put durable b 2").parse::<u64>().is_ok());
    assert_eq!(other.ask("get a"), "Some(1)");
    assert!(!deleted.is_finished());
    // A dead process does not use it.
    other.kill();
    assert!(deleted.join().unwrap());
    assert!(names_in(&path).is_empty());
}

/// Processes that have it open continue together. A database opened by that name from then on is
/// another one, and its lock file is kept when they leave.
#[test]
fn users_of_a_deleted_database_continue() {
    let (_directory, path) = temporary_path();
    let (mut first, mut second) = (Other::start(&path), Other::start(&path));
    for other in [&mut first, &mut second] {
        other.ask("open");
    }
    first.ask("put durable a 1");
    assert!(delete(&path, Deletion::Now).unwrap());
    assert!(names_in(&path).is_empty());
    second.ask("put durable b 2");
    assert_eq!(first.ask("get b"), "Some(2)");
    first.ask("put lazy a 3");
    assert_eq!(second.ask("get a"), "Some(3)");

    let database = Database::open(&path).unwrap();
    assert_eq!(database.stat().unwrap().table_count, 0);
    assert_eq!(first.ask("close"), "closed");
    assert_eq!(second.ask("close"), "closed");
    assert_eq!(names_in(&path), ["some.teak", "some.teak-lock"]);
    let mut third = Other::start(&path);
    assert_eq!(third.ask("open"), "Joined");
    third.ask("put durable a 4");
    assert_eq!(database.stat().unwrap().table_count, 1);
    assert_eq!(third.ask("close"), "closed");
    database.close().unwrap();
    assert_eq!(names_in(&path), ["some.teak"]);
}

#[test]
fn a_process_may_delete_a_database_it_uses() {
    for sharing in [Sharing::Processes, Sharing::Alone] {
        let (_directory, path) = temporary_path();
        let open = || Options::new().sharing(sharing).open(&path);
        let database = open().unwrap();
        assert!(delete(&path, Deletion::Now).unwrap());
        assert!(names_in(&path).is_empty());
        database.create_snapshot("monday").unwrap();
        assert_eq!(database.snapshots().unwrap().len(), 1);
        database.close().unwrap();
        assert!(names_in(&path).is_empty());
        assert!(open().unwrap().snapshots().unwrap().is_empty());
    }
}

/// A process that had a database open whose files had been removed could not make another one of
/// that name before it closed the first one: both were mistaken for one lock file.
#[test]
fn another_database_gets_the_name_while_the_deleted_one_is_open() {
    let (_directory, path) = temporary_path();
    let deleted = Database::open(&path).unwrap();
    deleted.create_snapshot("monday").unwrap();
    for name in names_in(&path) {
        fs::remove_file(path.with_file_name(name)).unwrap();
    }
    let database = Database::open(&path).unwrap();
    assert!(database.snapshots().unwrap().is_empty());
    assert_eq!(deleted.snapshots().unwrap().len(), 1);
    deleted.close().unwrap();
    assert_eq!(names_in(&path), ["some.teak", "some.teak-lock"]);
    database.create_snapshot("tuesday").unwrap();
    // It is identified by its file, and can be opened again.
    let again = Database::open(&path).unwrap();
    assert_eq!(again.snapshots().unwrap().len(), 1);
    drop((database, again));
    assert_eq!(names_in(&path), ["some.teak"]);
}

/// Only the file of a database was removed, and not its lock file. The process that has it open
/// gives up the name of its lock file, so that the two databases share nothing.
#[test]
fn a_lock_file_that_is_used_is_not_used_by_another_database() {
    let (_directory, path) = temporary_path();
    let removed = Database::open(&path).unwrap();
    removed.create_snapshot("monday").unwrap();
    fs::remove_file(&path).unwrap();
    let database = Database::open(&path).unwrap();
    assert!(database.snapshots().unwrap().is_empty());
    let _writing = removed.begin_write().unwrap();
    database.create_snapshot("tuesday").unwrap();
    assert_eq!(removed.snapshots().unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn files_are_created_with_the_requested_mode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let lock = directory.path().join("x.teak-lock");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let refused = Options::new().file_mode(0o4600).open(&path).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)));
    let database = Options::new().file_mode(0o600).open(&path).unwrap();
    assert_eq!((mode(&path), mode(&lock)), (0o600, 0o600));
    database.close().unwrap();
    // An existing file keeps its mode, and the lock file follows it.
    fs::set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
    let database = Options::new().file_mode(0o600).open(&path).unwrap();
    assert_eq!((mode(&path), mode(&lock)), (0o660, 0o660));
    drop(database);
}

#[test]
fn a_lock_file_may_be_elsewhere() {
    let (_directory, path) = temporary_path();
    let lock_file = path.with_file_name("lock");
    let open = || Options::new().lock_file(&lock_file).open(&path).unwrap();
    let (database, again) = (open(), open());
    assert_eq!(names_in(&path), ["lock", "some.teak"]);
    database.create_snapshot("monday").unwrap();
    assert_eq!(again.snapshots().unwrap().len(), 1);
    // A process looking for others finds none there, but the file is locked.
    assert!(matches!(Database::open(&path), Err(Error::InUse(_))));
    drop((database, again));
    assert_eq!(names_in(&path), ["some.teak"]);
    assert_eq!(Database::open(&path).unwrap().snapshots().unwrap().len(), 1);
}

/// Deleting and opening at the same time, from threads and processes: every opened database is
/// complete, and at the end no name is left.
#[test]
fn deleting_meets_opening() {
    let (_directory, path) = temporary_path();
    let mut other = Other::start(&path);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..40 {
                match delete(&path, ALL[round % 3]) {
                    Ok(_) | Err(Error::InUse(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        scope.spawn(|| {
            for round in 0..40 {
                let opened = other.ask("open");
                if opened.starts_with("error") {
                    continue;
                }
                let written = other.ask(&format!("put lazy a {round}"));
                assert!(!written.starts_with("error"), "{written}");
                assert_eq!(other.ask("get a"), format!("Some({round})"));
                assert_eq!(other.ask("close"), "closed");
            }
        });
    });
    delete(&path, Deletion::WhenUnused).unwrap();
    assert!(names_in(&path).is_empty(), "{:?}", names_in(&path));
}
