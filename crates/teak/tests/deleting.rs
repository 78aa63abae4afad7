//! Deleting a database, beside others who have it open, in this process and in others.

use crate::{processes::Other, shared::place};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    thread,
    time::Duration,
};
use teak::{Database, Deletion, Error, Options, delete};

const ALL: [Deletion; 3] = [Deletion::IfUnused, Deletion::WhenUnused, Deletion::Now];

fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn a_database_that_nobody_uses_goes_with_its_lock_file() {
    for deletion in ALL {
        let (_directory, path) = place();
        assert!(!delete(&path, deletion).unwrap(), "there is none yet");
        drop(Database::open(&path).unwrap());
        // As a process leaves it that was killed.
        fs::write(path.with_file_name("some.teak-lock"), b"TeakLock").unwrap();
        assert!(delete(&path, deletion).unwrap());
        assert!(names_in(&path).is_empty(), "{:?}", names_in(&path));
        assert!(!delete(&path, deletion).unwrap());
        let database = Database::open(&path).unwrap();
        assert!(database.begin_read().is_ok());
    }
}

#[test]
fn what_is_no_database_stays() {
    let (directory, path) = place();
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
    // One whose records are damaged is one.
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

#[test]
fn a_link_is_followed() {
    let (_directory, path) = place();
    drop(Database::open(&path).unwrap());
    let link = path.with_file_name("link.teak");
    symlink(&path, &link).unwrap();
    assert!(delete(&link, Deletion::IfUnused).unwrap());
    assert_eq!(names_in(&path), ["link.teak"]);
    assert!(!delete(&link, Deletion::IfUnused).unwrap());
}

#[test]
fn a_database_in_use_stays_until_nobody_uses_it() {
    for is_exclusive in [false, true] {
        let (_directory, path) = place();
        let open = || Options::new().exclusive(is_exclusive).open(&path).unwrap();
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
    let (_directory, path) = place();
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
    // One that dies does not use it.
    other.kill();
    assert!(deleted.join().unwrap());
    assert!(names_in(&path).is_empty());
}

/// Those who have it open go on together, and what is opened by that name from then on is another database, whose lock file stays when
/// they go.
#[test]
fn who_uses_a_deleted_database_goes_on() {
    let (_directory, path) = place();
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
fn a_process_may_delete_what_it_uses() {
    for is_exclusive in [false, true] {
        let (_directory, path) = place();
        let open = || Options::new().exclusive(is_exclusive).open(&path);
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

/// A process that had a database open, whose files somebody had removed, could not make another one of that name before it had closed the first:
/// it was taken for the same lock file.
#[test]
fn another_database_gets_the_name_while_the_deleted_one_is_open() {
    let (_directory, path) = place();
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
    // It is known by its file still, and opened again.
    let again = Database::open(&path).unwrap();
    assert_eq!(again.snapshots().unwrap().len(), 1);
    drop((database, again));
    assert_eq!(names_in(&path), ["some.teak"]);
}

/// Only the file of a database was removed, and not its lock file. The process that has it open gives the name of its lock file up,
/// so that the two databases have nothing in common.
#[test]
fn a_lock_file_that_is_used_is_not_used_by_another_database() {
    let (_directory, path) = place();
    let removed = Database::open(&path).unwrap();
    removed.create_snapshot("monday").unwrap();
    fs::remove_file(&path).unwrap();
    let database = Database::open(&path).unwrap();
    assert!(database.snapshots().unwrap().is_empty());
    let _writing = removed.begin_write().unwrap();
    database.create_snapshot("tuesday").unwrap();
    assert_eq!(removed.snapshots().unwrap().len(), 1);
}

#[test]
fn files_are_created_with_the_mode_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let lock = directory.path().join("x.teak-lock");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let refused = Options::new().file_mode(0o4600).open(&path).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)));
    let database = Options::new().file_mode(0o600).open(&path).unwrap();
    assert_eq!((mode(&path), mode(&lock)), (0o600, 0o600));
    database.close().unwrap();
    // A file that is there keeps its own, and the lock file follows it.
    fs::set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
    let database = Options::new().file_mode(0o600).open(&path).unwrap();
    assert_eq!((mode(&path), mode(&lock)), (0o660, 0o660));
    drop(database);
}

#[test]
fn a_lock_file_may_be_elsewhere() {
    let (_directory, path) = place();
    let lock_file = path.with_file_name("lock");
    let open = || Options::new().lock_file(&lock_file).open(&path).unwrap();
    let (database, again) = (open(), open());
    assert_eq!(names_in(&path), ["lock", "some.teak"]);
    database.create_snapshot("monday").unwrap();
    assert_eq!(again.snapshots().unwrap().len(), 1);
    // Who looks for another one finds nobody there, and the file locked.
    assert!(matches!(Database::open(&path), Err(Error::InUse(_))));
    drop((database, again));
    assert_eq!(names_in(&path), ["some.teak"]);
    assert_eq!(Database::open(&path).unwrap().snapshots().unwrap().len(), 1);
}

/// Deleting and opening at the same time, from threads and processes: whoever has it open has a whole database, and at the end no name is left.
#[test]
fn deleting_meets_opening() {
    let (_directory, path) = place();
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
