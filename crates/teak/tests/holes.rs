//! Blocks of free pages inside a file: returned when there are many, allocated again before they
//! are written to.

use crate::shared::FileExt;
use std::os::unix::fs::MetadataExt;
use std::{
    fs::{self, File},
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
};
use teak::{
    CheckReport, Database, Durability, Error, Geometry, Options, Result, Sharing, Table,
    Transaction, codec::Bytes,
};

const MIB: u64 = 1 << 20;
/// Commits in which the free pages were not needed, so that they are returned.
const MANY: u64 = 250;

type Numbers = Table<u64, Bytes>;

/// Nothing is moved, so that the free pages keep their positions. Each commit writes pages of its
/// own: blocks are given back after so many written pages.
fn options() -> Options {
    Options::new().move_percent(0).memtable(false)
}

fn fill(database: &Database, numbers: std::ops::Range<u64>, mode: Durability) -> Result<Numbers> {
    let mut txn = database.begin_write()?;
    txn.set_durability(mode);
    let table: Numbers = txn.create_table("numbers")?;
    for number in numbers {
        table.insert(&mut txn, number, [number as u8; 1000])?;
    }
    txn.commit()?;
    Ok(table)
}

/// Removes most records, but not the last ones.
fn hollow_out(database: &Database, table: &Numbers, numbers: std::ops::Range<u64>) {
    let mut txn = database.begin_write().unwrap();
    table.range(numbers).remove(&mut txn).unwrap();
    txn.commit().unwrap();
}

/// Flushes sometimes, as the background thread would.
fn small_commits(database: &Database, table: &Numbers, count: u64) {
    for number in 0..count {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(Durability::Lazy);
        let value = txn.id().0.to_le_bytes();
        table.insert(&mut txn, number % 7, value).unwrap();
        txn.commit().unwrap();
        if number % 32 == 31 {
            database.sync().unwrap();
        }
    }
    database.sync().unwrap();
}

fn allocated(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn assert_clean(database: &Database) {
    let report: CheckReport = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.damages.is_empty(), "{:?}", report.damages);
}

fn assert_has(database: &Database, table: &Numbers, numbers: std::ops::Range<u64>) {
    let txn = database.begin_read().unwrap();
    for number in numbers {
        let value = table.get(&txn, number).unwrap();
        assert_eq!(value, Some(&[number as u8; 1000][..]));
    }
}

/// Whether the file system of this directory supports holes.
fn makes_holes(directory: &Path) -> bool {
    let path = directory.join("probe");
    let file = File::create(&path).unwrap();
    file.write_all_at(&[7], 4 * MIB).unwrap();
    file.sync_all().unwrap();
    file.metadata().unwrap().blocks() * 512 < MIB
}

#[test]
fn blocks_are_returned_and_allocated_again() {
    if !crate::can("holes", |abilities| abilities.holes) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("holes.teak");
    let database = options().open(&path).unwrap();
    let table = fill(&database, 0..40_000, Durability::Lazy).unwrap();
    database.sync().unwrap();
    let (whole, file_len) = (allocated(&path), len(&path));
    let reader = database.begin_read().unwrap();
    hollow_out(&database, &table, 100..39_000);
    small_commits(&database, &table, MANY);
    // The file system's own blocks for the list of extents count too, and become fewer.
    assert!(allocated(&path) + MIB > whole, "a reader sees all of it");
    assert_eq!(table.get(&reader, 20_000).unwrap(), Some(&[32; 1000][..]));
    drop(reader);
    small_commits(&database, &table, MANY);
    if makes_holes(directory.path()) {
        assert!(allocated(&path) < 12 * MIB, "{} bytes", allocated(&path));
    }
    assert!(len(&path) >= file_len);
    assert_clean(&database);
    assert_has(&database, &table, 39_000..40_000);

    for mode in [Durability::Lazy, Durability::Durable] {
        fill(&database, 100..20_000, mode).unwrap();
        assert_eq!(len(&path), file_len, "holes are filled first");
        assert_has(&database, &table, 100..20_000);
        assert_clean(&database);
        hollow_out(&database, &table, 100..39_000);
        small_commits(&database, &table, MANY);
    }
    database.close().unwrap();
    let database = options().open(&path).unwrap();
    small_commits(&database, &table, 10);
    fill(&database, 100..20_000, Durability::Lazy).unwrap();
    assert_has(&database, &table, 100..20_000);
    assert_has(&database, &table, 39_000..40_000);
    assert_clean(&database);
}

#[test]
fn alternating_loads_and_removals_retain_the_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("turns.teak");
    let database = options().open(&path).unwrap();
    let table = fill(&database, 0..20_000, Durability::Lazy).unwrap();
    database.sync().unwrap();
    let whole = allocated(&path);
    for _ in 0..20 {
        hollow_out(&database, &table, 100..19_000);
        small_commits(&database, &table, 5);
        assert!(allocated(&path) >= whole);
        fill(&database, 100..19_000, Durability::Lazy).unwrap();
    }
}

#[test]
fn nothing_is_returned_if_the_file_never_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("never.teak");
    let never = Geometry::new().shrink_threshold_bytes(u64::MAX);
    let database = options().geometry(never).open(&path).unwrap();
    let table = fill(&database, 0..20_000, Durability::Lazy).unwrap();
    database.sync().unwrap();
    let whole = allocated(&path);
    hollow_out(&database, &table, 100..19_000);
    small_commits(&database, &table, MANY);
    assert!(allocated(&path) >= whole);
}

/// A file system of 32 MiB, if the test may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=32m", "teak-test"];
        let mount = Command::new("mount")
            .args(arguments)
            .arg(directory.path())
            .output();
        mount.ok()?.status.success().then(|| Self(directory))
    }

    /// Occupies the free space. Returns the file that does.
    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("filler");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.0.path())
            .status();
    }
}

fn assert_disk_full(result: Result<Numbers>) {
    match result {
        Err(Error::Io { cause, .. }) => assert_eq!(cause.kind(), io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}

#[test]
fn holes_that_cannot_be_filled_are_an_error() {
    if !crate::can("holes", |abilities| abilities.holes) {
        return;
    }
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let path = disk.0.path().join("holes.teak");
    // There is no lock file then, which may need to grow as well.
    let options = || options().sharing(Sharing::Alone);
    let mut database = options().open(&path).unwrap();
    let table = fill(&database, 0..20_000, Durability::Lazy).unwrap();
    hollow_out(&database, &table, 100..19_000);
    small_commits(&database, &table, MANY);
    assert!(allocated(&path) < 8 * MIB, "{} bytes", allocated(&path));
    let filler = disk.fill();
    for is_reopened in [false, true] {
        if is_reopened {
            // The positions of the holes are unknown then.
            database.close().unwrap();
            database = options().open(&path).unwrap();
        }
        for mode in [Durability::Lazy, Durability::Durable] {
            assert_disk_full(fill(&database, 100..19_000, mode));
            assert_has(&database, &table, 19_000..20_000);
            // The free pages with blocks suffice for few changes.
            small_commits(&database, &table, 20);
            let last = if is_reopened { 19_200 } else { 19_100 };
            let from = last + if mode == Durability::Lazy { 0 } else { 50 };
            hollow_out(&database, &table, from..from + 50);
            fill(&database, from..from + 50, mode).unwrap();
            assert_clean(&database);
        }
    }
    fs::remove_file(filler).unwrap();
    fill(&database, 100..19_000, Durability::Lazy).unwrap();
    assert_has(&database, &table, 100..20_000);
    assert_clean(&database);
}

#[test]
fn a_backup_has_no_blocks_for_unused_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("whole.teak");
    let database = options().open(&path).unwrap();
    let table = fill(&database, 0..20_000, Durability::Lazy).unwrap();
    hollow_out(&database, &table, 100..19_000);
    small_commits(&database, &table, 3);
    let copy = directory.path().join("copy.teak");
    let done = database
        .backup(&copy, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!((done.bytes, done.total_bytes), (len(&copy), len(&copy)));
    assert!(len(&copy) > 15 * MIB);
    if makes_holes(directory.path()) {
        assert!(allocated(&copy) < 4 * MIB, "{} bytes", allocated(&copy));
    }
    let mut stream = Vec::new();
    let reader = database.begin_read().unwrap();
    reader
        .write_backup(&mut stream, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(stream, fs::read(&copy).unwrap());

    let database = options().open(&copy).unwrap();
    assert_clean(&database);
    fill(&database, 100..10_000, Durability::Lazy).unwrap();
    assert_has(&database, &table, 100..10_000);
    assert_has(&database, &table, 19_000..20_000);
}

/// A lazy commit used to allocate a whole file with holes, and so filled the disk.
#[test]
fn a_copy_with_holes_stays_one() {
    let directory = tempfile::tempdir().unwrap();
    if !makes_holes(directory.path()) {
        return;
    }
    let path = directory.path().join("whole.teak");
    let database = options().open(&path).unwrap();
    let table = fill(&database, 0..20_000, Durability::Lazy).unwrap();
    hollow_out(&database, &table, 100..19_000);
    small_commits(&database, &table, 3);
    database.close().unwrap();
    let copy = directory.path().join("copy.teak");
    let copied = Command::new("cp")
        .args(["--sparse=always"])
        .args([&path, &copy])
        .status();
    assert!(copied.unwrap().success());
    // Free pages are not zero: the holes are punched manually.
    let file = File::options().write(true).open(&copy).unwrap();
    file.set_len(len(&path) + 64 * MIB).unwrap();
    drop(file);
    let before = allocated(&copy);
    let database = options().open(&copy).unwrap();
    small_commits(&database, &table, 3);
    assert!(allocated(&copy) < before + 2 * MIB);
    assert_clean(&database);
}
