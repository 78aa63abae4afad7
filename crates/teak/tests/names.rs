//! Commits to a file that has lost its name, because it was removed, renamed or replaced while it
//! was open.

use crate::shared::temporary_path;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use teak::{
    Database, Durability, Error, Event, Options, Result, Sharing, Table, Transaction, TransactionId,
};

/// Takes the name from the database at `path`. Returns the present path of the file.
type Harm = fn(path: &Path) -> Option<PathBuf>;

const HARMS: [(&str, Harm); 6] = [
    ("the file is removed", |path| {
        fs::remove_file(path).unwrap();
        None
    }),
    ("the directory is removed", |path| {
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        None
    }),
    ("the file is renamed", |path| {
        let new = path.with_file_name("other.teak");
        fs::rename(path, &new).unwrap();
        Some(new)
    }),
    ("the directory is renamed", |path| {
        let old = path.parent().unwrap();
        let new = old.with_file_name("elsewhere");
        fs::rename(old, &new).unwrap();
        Some(new.join("some.teak"))
    }),
    ("another file is put in its place", |path| {
        let new = path.with_file_name("new.teak");
        fs::write(&new, b"something").unwrap();
        fs::rename(&new, path).unwrap();
        None
    }),
    ("the file is removed, and has another link", |path| {
        fs::hard_link(path, path.with_file_name("link.teak")).unwrap();
        fs::remove_file(path).unwrap();
        None
    }),
];

const DURABILITIES: [Durability; 3] = [Durability::Durable, Durability::Async, Durability::Lazy];

fn put(database: &Database, durability: Durability, number: u64) -> Result<TransactionId> {
    let mut txn = database.begin_write()?;
    txn.set_durability(durability);
    let table: Table<u64, u64> = txn.create_table("numbers")?;
    table.insert(&mut txn, number, number)?;
    txn.commit()
}

fn get(database: &Database, number: u64) -> Option<u64> {
    let txn = database.begin_read().unwrap();
    let table: Table<u64, u64> = txn.open_table("numbers").unwrap();
    table.get(&txn, number).unwrap()
}

/// A database with contents in a directory of its own.
fn made(options: &Options) -> (tempfile::TempDir, PathBuf, Database) {
    let (directory, path) = temporary_path();
    let own = directory.path().join("own");
    fs::create_dir(&own).unwrap();
    let path = own.join(path.file_name().unwrap());
    let database = options.open(&path).unwrap();
    put(&database, Durability::Durable, 1).unwrap();
    // Losses that are only visible by name are noticed after this time.
    thread::sleep(Duration::from_millis(20));
    (directory, path, database)
}

#[test]
fn a_commit_into_a_file_without_its_name_is_reported_once() {
    if !crate::can("present paths", |abilities| abilities.present_paths) {
        return;
    }
    for (label, harm) in HARMS {
        for durability in DURABILITIES {
            let reports = Arc::new(Mutex::new(Vec::new()));
            let noted = Arc::clone(&reports);
            let options = Options::new().on_event(move |event| {
                if let Event::NameLost { path, moved_to, .. } = event {
                    noted.lock().unwrap().push((path.clone(), moved_to.clone()));
                }
            });
            let (_directory, path, database) = made(&options);
            let path = fs::canonicalize(path).unwrap();
            put(&database, durability, 2).unwrap();
            assert!(reports.lock().unwrap().is_empty(), "{label}");
            thread::sleep(Duration::from_millis(20));
            let moved_to = harm(&path);
            for number in 3..6 {
                put(&database, durability, number).unwrap();
            }
            assert_eq!(get(&database, 5), Some(5));
            assert_eq!(reports.lock().unwrap()[..], [(path, moved_to)], "{label}");
        }
    }
}

#[test]
fn a_commit_into_a_file_without_its_name_can_be_refused() {
    if !crate::can("present paths", |abilities| abilities.present_paths) {
        return;
    }
    for (label, harm) in HARMS {
        for durability in DURABILITIES {
            let (_directory, path, database) = made(&Options::new().require_name(true));
            let path = fs::canonicalize(path).unwrap();
            let at = harm(&path);
            for number in 2..4 {
                match put(&database, durability, number) {
                    Err(error @ Error::NameLost { .. }) => {
                        let text = error.to_string();
                        assert!(text.contains(path.to_str().unwrap()), "{label}: {text}");
                        let now = at.as_ref().map_or("was removed", |at| at.to_str().unwrap());
                        assert!(text.contains(now), "{label}: {text}");
                    }
                    other => panic!("{label}: {other:?}"),
                }
                assert_eq!(get(&database, number), None, "{label}");
            }
            assert_eq!(get(&database, 1), Some(1), "{label}");
        }
    }
}

#[test]
fn a_file_that_gets_its_name_back_is_writable_again() {
    let (_directory, path, database) = made(&Options::new().require_name(true));
    let other = path.with_file_name("other.teak");
    fs::rename(&path, &other).unwrap();
    assert!(matches!(
        put(&database, Durability::Durable, 2),
        Err(Error::NameLost { .. })
    ));
    fs::rename(&other, &path).unwrap();
    thread::sleep(Duration::from_millis(20));
    put(&database, Durability::Durable, 3).unwrap();
    database.close().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!((get(&database, 2), get(&database, 3)), (None, Some(3)));
}

#[cfg(unix)]
#[test]
fn a_file_has_its_name_regardless_of_the_opened_path() {
    let (_directory, path, database) = made(&Options::new());
    drop(database);
    let link = path.with_file_name("link");
    std::os::unix::fs::symlink("some.teak", &link).unwrap();
    let database = Options::new().require_name(true).open(&link).unwrap();
    thread::sleep(Duration::from_millis(20));
    put(&database, Durability::Durable, 2).unwrap();
    // The link is dangling, and the file is where it was.
    fs::remove_file(&link).unwrap();
    thread::sleep(Duration::from_millis(20));
    put(&database, Durability::Durable, 3).unwrap();
}

#[test]
fn openings_of_one_database_agree_on_whether_it_needs_its_name() {
    let (_directory, path, _database) = made(&Options::new());
    let other = Options::new().require_name(true).open(&path);
    assert!(matches!(
        other,
        Err(Error::OptionsDiffer {
            option: "require_name"
        })
    ));
}

#[cfg(unix)]
#[test]
fn a_new_file_is_known_to_the_system_by_its_name() {
    for sharing in [Sharing::Processes, Sharing::Alone] {
        let (_directory, path) = temporary_path();
        let path = fs::canonicalize(path.parent().unwrap())
            .unwrap()
            .join("new.teak");
        let database = Options::new().sharing(sharing).open(&path).unwrap();
        put(&database, Durability::Durable, 1).unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let name = path.to_str().unwrap();
        assert!(maps.lines().any(|line| line.ends_with(name)), "{maps}");
        let mut entries = fs::read_dir("/proc/self/fd").unwrap();
        let is_it = |entry: io::Result<fs::DirEntry>| {
            fs::read_link(entry.unwrap().path()).is_ok_and(|target| target == path)
        };
        assert!(entries.any(is_it));
    }
}
