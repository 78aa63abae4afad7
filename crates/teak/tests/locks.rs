//! A process stays alive for the others whatever other code in it does: opening, copying, closing
//! and unlocking files, and forking.

use crate::{processes::Other, shared::temporary_path};
use std::{
    fs::{self, File},
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};
use teak::{
    Create, Database, Deletion, Durability, Error, Options, Table, Transaction, WriteOptions,
    codec::Str,
};

#[cfg(not(unix))]
pub(crate) fn harm(_path: &Path, _words: &[&str]) -> Option<String> {
    None
}

/// Does to this process what other people's code does; `None` for an unknown command.
#[cfg(unix)]
pub(crate) fn harm(path: &Path, words: &[&str]) -> Option<String> {
    let lock_path = path.with_file_name("some.teak-lock");
    match words {
        ["open-and-close-files"] => {
            for file in [path, &lock_path] {
                drop(File::open(file).unwrap());
                drop(File::options().read(true).write(true).open(file).unwrap());
                fs::copy(file, path.with_file_name("copy")).unwrap();
            }
        }
        // The numbers refer to other files then.
        ["close-descriptors"] => {
            let own = descriptors(path);
            assert!(own.len() >= 2, "{own:?}");
            for descriptor in own {
                // SAFETY: closes descriptors of other code, which is the purpose.
                assert_eq!(unsafe { libc::close(descriptor) }, 0);
            }
            for number in 0..8 {
                let victim = path.with_file_name(format!("victim {number}"));
                std::mem::forget(File::create(victim).unwrap());
            }
        }
        ["unlock"] => {
            for descriptor in descriptors(&lock_path) {
                // SAFETY: the structure has plain numbers, which may be zero.
                let mut all: libc::flock = unsafe { std::mem::zeroed() };
                all.l_type = libc::F_UNLCK as libc::c_short;
                // The locks belong to the descriptions, or to the process.
                for command in [libc::F_OFD_SETLK, libc::F_SETLK] {
                    // SAFETY: the structure is only read.
                    let unlocked = unsafe { libc::fcntl(descriptor, command, &raw const all) };
                    assert_eq!(unlocked, 0);
                }
            }
        }
        ["fork"] => {
            // SAFETY: the child only makes system calls.
            return Some(match unsafe { libc::fork() } {
                // SAFETY: system calls that a child of a process with threads may make; it ends
                // here.
                0 => unsafe {
                    libc::close(0);
                    libc::close(1);
                    libc::sleep(60);
                    libc::_exit(0)
                },
                child => child.to_string(),
            });
        }
        _ => return None,
    }
    Some("done".to_owned())
}

/// The descriptors of this process for files whose paths begin like this.
#[cfg(unix)]
fn descriptors(path: &Path) -> Vec<i32> {
    let named = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let target = fs::read_link(entry.path()).ok()?;
        let begins = target.to_str()?.starts_with(path.to_str()?);
        begins.then(|| entry.file_name().to_str()?.parse().ok())?
    });
    named.collect()
}

fn get(database: &Database, key: &str) -> Option<u64> {
    let txn = database.begin_read().unwrap();
    let numbers: Table<Str, u64> = txn.open_table("numbers").unwrap();
    numbers.get(&txn, key).unwrap()
}

fn put(database: &Database, key: &str, value: u64) {
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table::<Str, u64>("numbers").unwrap();
    numbers.insert(&mut txn, key, value).unwrap();
    txn.commit().unwrap();
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

/// By the rules of POSIX locks, a process that closed any descriptor of the lock file lost its
/// locks and counted as dead: there were two writers at the same time.
#[cfg(unix)]
#[test]
fn opening_and_closing_the_lock_file_keeps_the_writer_lock() {
    if !crate::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-write");
    other.ask("write a 2");
    assert_eq!(other.ask("open-and-close-files"), "done");
    assert!(
        database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_none()
    );
    assert_eq!(get(&database, "a"), Some(1));
    assert!(!other.ask("commit").starts_with("error"));
    assert_eq!(get(&database, "a"), Some(2));
    // In the other direction.
    let txn = database.begin_write().unwrap();
    harm(&path, &["open-and-close-files"]).unwrap();
    other.ask_later("put durable a 3");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(get(&database, "a"), Some(2));
    drop(txn);
    assert!(!other.answer().starts_with("error"));
    assert_clean(&database);
}

#[test]
fn opening_and_closing_the_lock_file_keeps_snapshots() {
    if !crate::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    for key in 0..300 {
        put_lazily(&database, &format!("key-{key}"), 1);
    }
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-read");
    assert_eq!(other.ask("open-and-close-files"), "done");
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(400) {
        for key in 0..300 {
            put_lazily(&database, &format!("key-{key}"), 2);
        }
    }
    assert_eq!(database.readers().unwrap().len(), 1);
    for key in 0..300 {
        assert_eq!(other.ask(&format!("read key-{key}")), "Some(1)");
    }
}

fn put_lazily(database: &Database, key: &str, value: u64) {
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let numbers = txn.create_table::<Str, u64>("numbers").unwrap();
    numbers.insert(&mut txn, key, value).unwrap();
    txn.commit().unwrap();
}

/// Like loops over all descriptors. The numbers refer to other files afterwards.
#[cfg(unix)]
#[test]
fn a_process_with_closed_descriptors_writes_to_no_other_file() {
    if !crate::can("pages that keep locks", |abilities| abilities.anchors) {
        return;
    }
    for durability in ["durable", "async", "lazy"] {
        let (_directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        put(&database, "a", 1);
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("begin-write");
        other.ask("write a 2");
        other.ask("begin-read");
        assert_eq!(other.ask("close-descriptors"), "done");
        assert!(
            database
                .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
                .unwrap()
                .is_none(),
            "it lives"
        );
        let committed = other.ask("commit");
        assert!(committed.starts_with("error"), "{committed}");
        assert!(committed.contains("closed the descriptor"), "{committed}");
        assert_eq!(other.ask("read a"), "Some(1)");
        let _ = other.ask(&format!("put {durability} a 3"));
        other.kill();
        drop(database);
        let database = Database::open(&path).unwrap();
        put(&database, "b", 7);
        assert_clean(&database);
        for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_str().unwrap().starts_with("victim") {
                assert_eq!(entry.metadata().unwrap().len(), 0, "{entry:?}");
            }
        }
    }
}

/// Only code that unlocks files it has not locked can remove these locks. The process notices the
/// loss.
#[test]
fn a_process_declared_dead_writes_no_more() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-read");
    other.ask("begin-write");
    other.ask("write a 2");
    assert_eq!(other.ask("unlock"), "done");
    put(&database, "a", 3);
    // Its reader is no longer listed after the search for dead processes.
    let began = Instant::now();
    while !database.readers().unwrap().is_empty() {
        put(&database, "b", 4);
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(50));
        let txn = database.begin_write().unwrap();
        drop((txn, database.stat().unwrap()));
        fill(&database);
    }
    for order in [
        "write a 4",
        "commit",
        "put durable a 5",
        "put lazy a 5",
        "get a",
    ] {
        let refused = other.ask(order);
        assert!(
            refused.contains("this process lost its locks"),
            "{order}: {refused}"
        );
    }
    let lost = other.ask("read a");
    assert!(lost.contains("lost its state"), "{lost}");
    assert_eq!(get(&database, "a"), Some(3));
    put(&database, "a", 6);
    assert_clean(&database);
    let _ = other.ask("close");
    put(&database, "a", 7);
    assert_eq!(database.readers().unwrap().len(), 0);
    drop(other);
    assert_clean(&database);
    database.close().unwrap();
    assert_eq!(get(&Database::open(&path).unwrap(), "a"), Some(7));
}

/// Needs space, so that dead processes are searched for.
fn fill(database: &Database) {
    let mut txn = database.begin_write().unwrap();
    let table: Table<u64, u64> = txn.create_table("filler").unwrap();
    for number in 0..20_000 {
        table.insert(&mut txn, number, number).unwrap();
    }
    txn.commit().unwrap();
}

/// A child had the files of its parent open, and kept the database locked after the parent had
/// ended.
#[cfg(unix)]
#[test]
fn a_child_that_outlives_its_parent_excludes_no_process() {
    if !crate::can("second descriptions", |abilities| abilities.reopening) {
        return;
    }
    let (_directory, path) = temporary_path();
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("put durable a 1");
    let child: i32 = other.ask("fork").parse().unwrap();
    assert!(child > 0);
    other.kill();
    let began = Instant::now();
    let opened = Database::open(&path);
    let elapsed = began.elapsed();
    // SAFETY: signals a child process of this test.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let database = opened.unwrap();
    assert!(elapsed < Duration::from_millis(900), "{elapsed:?}");
    assert_eq!(get(&database, "a"), Some(1));
    put(&database, "a", 2);
    assert_clean(&database);
    drop(database);
    assert!(!matches!(Database::open(&path), Err(Error::InUse(_))));
}

/// Opening truncated and removed any file with the name of the lock file.
#[test]
fn other_files_with_the_name_of_the_lock_file_are_unchanged() {
    let mut of_lmdb = vec![0; 8192];
    of_lmdb[..4].copy_from_slice(&0xBEEF_C0DE_u32.to_le_bytes());
    let (_other_directory, other) = temporary_path();
    Database::open(&other).unwrap().close().unwrap();
    let foreign = [
        vec![],
        b"notes".to_vec(),
        vec![0; 5000],
        of_lmdb,
        fs::read(&other).unwrap(),
    ];
    for content in foreign {
        for is_chosen in [false, true] {
            let (_directory, path) = temporary_path();
            put(&Database::open(&path).unwrap(), "a", 1);
            let lock_path = match is_chosen {
                true => path.with_file_name("chosen"),
                false => path.with_file_name("some.teak-lock"),
            };
            fs::write(&lock_path, &content).unwrap();
            let before = fs::metadata(&lock_path).unwrap().modified().unwrap();
            let new = path.with_file_name("new.teak");
            if !is_chosen {
                fs::write(path.with_file_name("new.teak-lock"), &content).unwrap();
            }
            let options = || match is_chosen {
                true => Options::new().lock_file(&lock_path),
                false => Options::new(),
            };
            let refused = |opened: teak::Result<()>| match opened {
                Err(error @ Error::NotALockFile { .. }) => {
                    assert!(error.to_string().contains("nothing was changed"), "{error}");
                }
                // A new database would have a database as its lock file.
                Err(Error::InvalidArgument(text)) => {
                    assert!(text.contains("new.teak-lock is a database"), "{text}");
                }
                other => panic!("{other:?}"),
            };
            refused(options().open(&path).map(drop));
            refused(options().read_only(true).open(&path).map(drop));
            refused(options().open(&new).map(drop));
            refused(options().create(Create::New).open(&new).map(drop));
            if !is_chosen {
                refused(teak::delete(&path, Deletion::IfUnused).map(drop));
                refused(teak::delete(&path, Deletion::Now).map(drop));
            }
            assert!(path.exists() && !new.exists());
            assert_eq!(fs::read(&lock_path).unwrap(), content);
            assert_eq!(
                fs::metadata(&lock_path).unwrap().modified().unwrap(),
                before
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn other_file_types_are_no_lock_files() {
    let (_directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    let lock_path = path.with_file_name("some.teak-lock");
    let target = path.with_file_name("target");
    let refused = |cause: &str| {
        let error = Database::open(&path).unwrap_err().to_string();
        assert!(
            error.contains(cause) && error.contains("some.teak-lock"),
            "{error}"
        );
    };
    fs::create_dir(&lock_path).unwrap();
    refused("a directory");
    fs::remove_dir(&lock_path).unwrap();
    std::os::unix::fs::symlink(&target, &lock_path).unwrap();
    refused("a symbolic link");
    fs::write(&target, b"TeakLock").unwrap();
    refused("a symbolic link");
    let chosen = Options::new().lock_file(&lock_path).open(&path).map(drop);
    assert!(
        matches!(chosen, Err(Error::NotALockFile { .. })),
        "{chosen:?}"
    );
    assert_eq!(fs::read(&target).unwrap(), b"TeakLock");
    fs::remove_file(&lock_path).unwrap();
    assert_eq!(get(&Database::open(&path).unwrap(), "a"), Some(1));
}

/// The database is checked first, so that files next to another kind of file are unchanged.
#[test]
fn files_next_to_other_files_are_unchanged() {
    let (_directory, path) = temporary_path();
    let lock_path = path.with_file_name("some.teak-lock");
    fs::write(&path, b"a letter to a friend").unwrap();
    for has_lock in [false, true] {
        if has_lock {
            fs::write(&lock_path, b"another").unwrap();
        }
        let before = fs::metadata(path.parent().unwrap())
            .unwrap()
            .modified()
            .unwrap();
        for opened in [
            Database::open(&path),
            Options::new().read_only(true).open(&path),
        ] {
            assert!(
                matches!(opened, Err(Error::NotADatabase { .. })),
                "{opened:?}"
            );
        }
        assert_eq!(lock_path.exists(), has_lock);
        let after = fs::metadata(path.parent().unwrap())
            .unwrap()
            .modified()
            .unwrap();
        assert_eq!(before, after);
    }
    assert_eq!(fs::read(&lock_path).unwrap(), b"another");
}

/// After a restart of the machine, or by another version.
#[test]
fn an_abandoned_lock_file_is_reinitialized() {
    let (_directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    let lock_path = path.with_file_name("some.teak-lock");
    for layout in [0_u64, 3, 5, 6, 7, 99] {
        let mut left = vec![0xff; 70_000];
        left[..8].copy_from_slice(b"TeakLock");
        left[8..16].copy_from_slice(&layout.to_le_bytes());
        fs::write(&lock_path, left).unwrap();
        let database = Database::open(&path).unwrap();
        put(&database, "a", layout);
        database.close().unwrap();
        assert!(!lock_path.exists());
    }
}

/// A killed process of root left a lock file that the owner of the database could not open.
#[cfg(unix)]
#[test]
fn a_lock_file_has_the_owner_of_its_database() {
    use std::os::unix::fs::{MetadataExt, chown};
    let (_directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    // Only root may change owners.
    if chown(&path, Some(4242), Some(4243)).is_err() {
        return;
    }
    let _database = Database::open(&path).unwrap();
    let lock = fs::metadata(path.with_file_name("some.teak-lock")).unwrap();
    assert_eq!((lock.uid(), lock.gid()), (4242, 4243));
}

/// A lock file made by a group member had another group, so that the owner could not open it:
/// changing the owner failed, and its group was not changed either.
#[cfg(unix)]
#[test]
fn a_lock_file_has_the_group_of_its_database() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    const OWNER: u32 = 4242;
    const GROUP: u32 = 4243;
    const OTHER: u32 = 4244;
    let (directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    if chown(&path, Some(OWNER), Some(GROUP)).is_err() {
        println!("not run: it requires root, for a file of another user");
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let opened = std::thread::spawn(move || {
        // SAFETY: the calls are given numbers, and one address of one. Made so they are about this
        // thread alone.
        unsafe {
            let groups = [GROUP];
            assert_eq!(libc::syscall(libc::SYS_setgroups, 1, groups.as_ptr()), 0);
            assert_eq!(libc::syscall(libc::SYS_setresgid, OTHER, OTHER, OTHER), 0);
            assert_eq!(libc::syscall(libc::SYS_setresuid, OTHER, OTHER, OTHER), 0);
        }
        let database = Database::open(&path).unwrap();
        let lock = fs::metadata(path.with_file_name("some.teak-lock")).unwrap();
        put(&database, "a", 2);
        (lock.uid(), lock.gid(), lock.mode() & 0o777)
    });
    assert_eq!(opened.join().unwrap(), (OTHER, GROUP, 0o660));
}

#[test]
fn a_database_may_have_the_longest_name() {
    for len in [249, 250, 251, 254, 255] {
        for letter in ["x", "\u{e4}"] {
            let (directory, _) = temporary_path();
            let name = format!("{}{}", letter.repeat((len - 1) / letter.len()), "y");
            let path = directory.path().join(
                format!("{name:y<len$}")
                    .chars()
                    .take(len)
                    .collect::<String>(),
            );
            let path = match path.file_name().unwrap().len() <= 255 {
                true => path,
                false => directory.path().join(name),
            };
            let database = Database::open(&path).unwrap();
            put(&database, "a", 1);
            database.close().unwrap();
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_renamed_directory_keeps_no_lock_file_and_is_the_same_database() {
    if !crate::can("present paths", |abilities| abilities.present_paths) {
        return;
    }
    let (directory, _) = temporary_path();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::create_dir(&one).unwrap();
    let database = Database::open(one.join("a")).unwrap();
    put(&database, "a", 1);
    fs::rename(&one, &two).unwrap();
    let began = Instant::now();
    let again = Database::open(two.join("a")).unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    put(&again, "a", 2);
    assert_eq!(get(&database, "a"), Some(2));
    drop((database, again));
    assert_eq!(fs::read_dir(&two).unwrap().count(), 1);
}
