//! What keeps a process alive to the others, whatever else happens in it: other code opens, copies, closes and unlocks
//! files, and forks.

use crate::{processes::Other, shared::place};
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};
use teak::{
    Database, Durability, Error, Table, Transaction,
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
            refused.contains("the locks that this process had"),
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
