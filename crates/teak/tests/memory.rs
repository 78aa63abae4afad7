//! Memory advice to the system: locking, releasing, reading ahead.

use crate::shared::temporary_path;
use std::{env, fs, ops::ControlFlow, path::Path, process::Command, time::Duration};
use teak::{Database, Durability, Options, ReadAhead, Table, WarmUp, codec::Bytes};

#[cfg(unix)]
const LONG: Duration = Duration::from_secs(3600);
/// The path of the database of a process that may lock almost nothing.
#[cfg(unix)]
const LIMITED: &str = "TEAK_TEST_LIMITED";

fn fill(database: &Database) -> Table<u64, Bytes> {
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    for number in 0..4000 {
        numbers
            .insert(&mut txn, number, [number as u8; 1000])
            .unwrap();
    }
    txn.commit().unwrap();
    numbers
}

/// The system's figures for this process, in KiB.
#[cfg(unix)]
fn locked_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmLck:"));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

/// In a separate process, because the figures are those of the whole process.
#[cfg(unix)]
#[test]
fn locked_pages_stay_until_they_are_unlocked() {
    if let Some(path) = env::var_os(LIMITED) {
        return lock_with_a_limit(Path::new(&path));
    }
    let (_directory, path) = temporary_path();
    fill(&Database::open(&path).unwrap());
    for limit in ["unlimited", "1000"] {
        let ended = Command::new(env::current_exe().unwrap())
            .args([
                "memory::locked_pages_stay_until_they_are_unlocked",
                "--exact",
            ])
            .env(LIMITED, &path)
            .env("TEAK_TEST_LIMIT_KIB", limit)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{limit}: {said}");
    }
}

#[cfg(unix)]
fn lock_with_a_limit(path: &Path) {
    let limit = env::var("TEAK_TEST_LIMIT_KIB").unwrap();
    let database = Database::open(path).unwrap();
    let is_allowed = match limit.parse::<u64>() {
        Ok(kib) => {
            without_privileges(kib * 1024);
            false
        }
        Err(_) => may_lock(16 << 20),
    };
    let locked = database.warm_up(WarmUp::Lock, LONG);
    if !is_allowed {
        let refused = locked.unwrap_err().to_string();
        assert!(refused.contains("RLIMIT_MEMLOCK"), "{refused}");
        assert_eq!(locked_kib(), 0);
        // Reading is not limited.
        assert!(database.warm_up(WarmUp::Read, LONG).unwrap().is_whole);
        return;
    }
    let locked = locked.unwrap();
    assert!(locked.is_whole && locked.bytes > 4_000_000);
    assert!(locked_kib() >= locked.bytes / 1024);
    // Locking again locks no more.
    database.warm_up(WarmUp::Lock, LONG).unwrap();
    assert!(locked_kib() < locked.bytes / 1024 + 1024);
    database.release_memory().unwrap();
    assert_eq!(locked_kib(), 0);
    let none = database.warm_up(WarmUp::Lock, Duration::ZERO).unwrap();
    assert!(!none.is_whole && locked_kib() == 0);
}

/// Whether this process may lock this much.
#[cfg(unix)]
fn may_lock(bytes: u64) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is writable; the other call has no requirements.
    unsafe {
        libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) == 0 && limit.rlim_cur >= bytes
            || libc::geteuid() == 0
    }
}

/// From now on this process may lock this many bytes, even as root.
#[cfg(unix)]
fn without_privileges(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: the structure is readable; changing the user has no requirements.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit), 0);
        if libc::geteuid() == 0 {
            assert_eq!(libc::setresuid(65534, 65534, 65534), 0);
        }
    }
}

#[test]
fn released_pages_are_read_again() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = fill(&database);
    let txn = database.begin_read().unwrap();
    let held = numbers.get(&txn, 7).unwrap().unwrap();
    for _ in 0..3 {
        database.release_memory().unwrap();
        assert_eq!(held, &[7; 1000]);
        for number in 0..4000 {
            assert_eq!(
                numbers.get(&txn, number).unwrap().unwrap(),
                &[number as u8; 1000]
            );
        }
    }
}

#[test]
fn read_ahead_modes_return_equal_records() {
    for read_ahead in [ReadAhead::Auto, ReadAhead::On, ReadAhead::Off] {
        let (_directory, path) = temporary_path();
        let options = Options::new().read_ahead(read_ahead);
        let database = options.open(&path).unwrap();
        let numbers = fill(&database);
        database.release_memory().unwrap();
        let txn = database.begin_read().unwrap();
        let read = numbers.iter(&txn).unwrap().map(|record| record.unwrap().0);
        assert!(read.eq(0..4000), "{read_ahead:?}");
    }
}

/// Each leaf was read back and written again for every record or two inserted into it.
#[test]
fn a_leaf_that_was_written_early_is_not_written_again_for_each_change() {
    if !crate::can("files mapped for writing", |abilities| {
        abilities.mapped_writes
    }) {
        return;
    }
    let (_directory, path) = temporary_path();
    let options = Options::new().write_memory_bytes(1 << 20);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Durable);
    let table: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for number in 0..60_000 {
        table.insert(&mut txn, key(number), [7; 100]).unwrap();
        assert!(
            txn.info().dirty_bytes < 2 << 20,
            "{} bytes",
            txn.info().dirty_bytes
        );
    }
    txn.commit().unwrap();
    let (written, used) = (
        database.metrics().early_pages,
        database.stat().unwrap().used_pages,
    );
    assert!(used > 1500 && written < 2 * used, "{written} of {used}");
    let txn = database.begin_read().unwrap();
    for number in 0..60_000 {
        assert_eq!(table.get(&txn, key(number)).unwrap(), Some(&[7; 100][..]));
    }
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .damages
            .is_empty()
    );
}
