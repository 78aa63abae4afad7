//! What keeps a process alive to the others, whatever else happens in it: other code opens, copies, closes and unlocks
//! files, and forks.

use crate::{processes::Other, shared::place};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};
use teak::{
    Database, Deletion, Durability, Error, Options, Table, Transaction,
    codec::{Str, U64},
};

/// Does to this process what other people's code does; `None` for an order that it does not know.
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
        // The numbers stand for other files then.
        ["close-descriptors"] => {
            let own = descriptors(path);
            assert!(own.len() >= 2, "{own:?}");
            for descriptor in own {
                // SAFETY: closes descriptors of others, which is the point.
                assert_eq!(unsafe { libc::close(descriptor) }, 0);
            }
            for number in 0..8 {
                let victim = path.with_file_name(format!("victim {number}"));
                std::mem::forget(File::create(victim).unwrap());
            }
        }
        ["unlock"] => {
            for descriptor in descriptors(&lock_path) {
                // SAFETY: the structure is plain numbers, of which zero is one.
                let mut all: libc::flock = unsafe { std::mem::zeroed() };
                all.l_type = libc::F_UNLCK as libc::c_short;
                // SAFETY: the structure is read only.
                let unlocked =
                    unsafe { libc::fcntl(descriptor, libc::F_OFD_SETLK, &raw const all) };
                assert_eq!(unlocked, 0);
            }
        }
        ["fork"] => {
            // SAFETY: the child makes nothing but calls to the system.
            return Some(match unsafe { libc::fork() } {
                // SAFETY: calls of the system that a child of threads may make; it ends here.
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

/// The descriptors of this process that stand for files whose path begins like this.
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
    let numbers: Table<Str, U64> = txn.open_table("numbers").unwrap();
    numbers.get(&txn, key).unwrap()
}

fn put(database: &Database, key: &str, value: u64) {
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table::<Str, U64>("numbers").unwrap();
    numbers.insert(&mut txn, key, value).unwrap();
    txn.commit().unwrap();
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

/// By the rules of POSIX locks a process that closed any descriptor of the lock file was taken for dead: there were two writers at once.
#[test]
fn who_opens_and_closes_the_lock_file_keeps_the_writers_place() {
    let (_directory, path) = place();
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-write");
    other.ask("write a 2");
    assert_eq!(other.ask("open-and-close-files"), "done");
    assert!(database.try_begin_write().unwrap().is_none());
    assert_eq!(get(&database, "a"), Some(1));
    assert!(!other.ask("commit").starts_with("error"));
    assert_eq!(get(&database, "a"), Some(2));
    // The other way round.
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
fn who_opens_and_closes_the_lock_file_keeps_what_it_reads() {
    let (_directory, path) = place();
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
    let numbers = txn.create_table::<Str, U64>("numbers").unwrap();
    numbers.insert(&mut txn, key, value).unwrap();
    txn.commit().unwrap();
}

/// As loops over all descriptors do; the numbers stand for other files afterwards.
#[test]
fn a_process_whose_descriptors_were_closed_writes_to_no_other_file() {
    for durability in ["durable", "async", "lazy"] {
        let (_directory, path) = place();
        let database = Database::open(&path).unwrap();
        put(&database, "a", 1);
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("begin-write");
        other.ask("write a 2");
        other.ask("begin-read");
        assert_eq!(other.ask("close-descriptors"), "done");
        assert!(database.try_begin_write().unwrap().is_none(), "it lives");
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

/// Nothing but a call that unlocks what it has not locked takes these locks away. Who has lost them sees it.
#[test]
fn a_process_that_was_taken_for_dead_writes_no_more() {
    let (_directory, path) = place();
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("begin-read");
    other.ask("begin-write");
    other.ask("write a 2");
    assert_eq!(other.ask("unlock"), "done");
    put(&database, "a", 3);
    // Its reader is not listed any more when the dead were looked for.
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

/// Wants space, so that the dead are looked for.
fn fill(database: &Database) {
    let mut txn = database.begin_write().unwrap();
    let table: Table<U64, U64> = txn.create_table("filler").unwrap();
    for number in 0..20_000 {
        table.insert(&mut txn, number, number).unwrap();
    }
    txn.commit().unwrap();
}

/// A child had the files of its parent open, and kept the database locked when that had ended.
#[test]
fn a_child_that_outlives_its_parent_keeps_nobody_out() {
    let (_directory, path) = place();
    let mut other = Other::start(&path);
    other.ask("open");
    other.ask("put durable a 1");
    let child: i32 = other.ask("fork").parse().unwrap();
    assert!(child > 0);
    other.kill();
    let began = Instant::now();
    let opened = Database::open(&path);
    let elapsed = began.elapsed();
    // SAFETY: a child of the process that this test has started.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let database = opened.unwrap();
    assert!(elapsed < Duration::from_millis(900), "{elapsed:?}");
    assert_eq!(get(&database, "a"), Some(1));
    put(&database, "a", 2);
    assert_clean(&database);
    drop(database);
    assert!(!matches!(Database::open(&path), Err(Error::InUse(_))));
}

/// Opening emptied and removed whatever had the name of the lock file.
#[test]
fn what_is_no_lock_file_stays_as_it_is() {
    let mut of_lmdb = vec![0; 8192];
    of_lmdb[..4].copy_from_slice(&0xBEEF_C0DE_u32.to_le_bytes());
    let (_other_place, other) = place();
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
            let (_directory, path) = place();
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
                // A new database would have a database for its lock file.
                Err(Error::InvalidArgument(text)) => {
                    assert!(text.contains("new.teak-lock is a database"), "{text}");
                }
                other => panic!("{other:?}"),
            };
            refused(options().open(&path).map(drop));
            refused(options().read_only(true).open(&path).map(drop));
            refused(options().open(&new).map(drop));
            refused(options().create_new(true).open(&new).map(drop));
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

#[test]
fn what_is_no_file_is_no_lock_file() {
    let (_directory, path) = place();
    put(&Database::open(&path).unwrap(), "a", 1);
    let lock_path = path.with_file_name("some.teak-lock");
    let target = path.with_file_name("target");
    let refused = |what: &str| {
        let error = Database::open(&path).unwrap_err().to_string();
        assert!(
            error.contains(what) && error.contains("some.teak-lock"),
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

/// The database is looked at first, so that nothing is done to what lies beside another file.
#[test]
fn beside_what_is_no_database_nothing_is_touched() {
    let (_directory, path) = place();
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

/// After the machine went down, or by another version.
#[test]
fn a_lock_file_that_was_left_is_made_anew() {
    let (_directory, path) = place();
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

/// A process of root's that was killed left a lock file that the owner of the database could not open.
#[test]
fn a_lock_file_has_the_owner_of_its_database() {
    use std::os::unix::fs::{MetadataExt, chown};
    let (_directory, path) = place();
    put(&Database::open(&path).unwrap(), "a", 1);
    // Only root gives files away.
    if chown(&path, Some(4242), Some(4243)).is_err() {
        return;
    }
    let _database = Database::open(&path).unwrap();
    let lock = fs::metadata(path.with_file_name("some.teak-lock")).unwrap();
    assert_eq!((lock.uid(), lock.gid()), (4242, 4243));
}

/// A lock file that somebody of the group made was of another group, so that the owner could not open it: giving it to the owner failed, and its group
/// stayed as it was, too.
#[test]
fn a_lock_file_has_the_group_of_its_database() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    const OWNER: u32 = 4242;
    const GROUP: u32 = 4243;
    const OTHER: u32 = 4244;
    let (directory, path) = place();
    put(&Database::open(&path).unwrap(), "a", 1);
    if chown(&path, Some(OWNER), Some(GROUP)).is_err() {
        println!("not run: it takes root, to have a file of somebody else's");
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let opened = std::thread::spawn(move || {
        // SAFETY: the calls are given numbers, and one address of one. Made so they are about this thread alone.
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
            let (directory, _) = place();
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
    let (directory, _) = place();
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
