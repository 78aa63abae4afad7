//! The lengths of compacted files of every shape, the lengths during compaction, and the reported
//! obstacles.

use crate::shared::{closed_len, temporary_path, truncates_mapped};
use fastrand::Rng;
use std::{collections::BTreeMap, fs, ops::ControlFlow, path::PathBuf, time::Duration};
use teak::{
    CompactObstacle, CompactOptions, CompactProgress, Database, Durability, Geometry, Options,
    Table,
    codec::Bytes,
    testing::{self, SimDisk},
};

const PAGE: u64 = 4096;
/// The temporary growth that compacting may cause, in addition to the largest value.
const BATCH: u64 = 4096 * PAGE;

type Numbers = Table<u64, Bytes>;

/// A database in which commits move nothing, and its contents.
struct Shape {
    _directory: tempfile::TempDir,
    path: PathBuf,
    database: Database,
    table: Numbers,
    records: BTreeMap<u64, Vec<u8>>,
}

impl Shape {
    fn new() -> Self {
        Self::with(Options::new().move_percent(0))
    }

    fn with(options: Options) -> Self {
        let (directory, path) = temporary_path();
        let database = options.open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table("numbers").unwrap();
        txn.commit().unwrap();
        Self {
            _directory: directory,
            path,
            database,
            table,
            records: BTreeMap::new(),
        }
    }

    /// Inserts a value of this many bytes.
    fn put(&mut self, number: u64, len: usize) {
        self.put_all([(number, len)]);
    }

    /// Inserts values in one transaction.
    fn put_all(&mut self, values: impl IntoIterator<Item = (u64, usize)>) {
        let mut txn = self.database.begin_write().unwrap();
        for (number, len) in values {
            let value = vec![number as u8; len];
            self.table.insert(&mut txn, number, &value).unwrap();
            self.records.insert(number, value);
        }
        txn.commit().unwrap();
    }

    fn remove(&mut self, numbers: impl IntoIterator<Item = u64>) {
        let mut txn = self.database.begin_write().unwrap();
        for number in numbers {
            assert!(self.table.remove(&mut txn, number).unwrap());
            self.records.remove(&number);
        }
        txn.commit().unwrap();
    }

    fn len(&self) -> u64 {
        match truncates_mapped() {
            true => fs::metadata(&self.path).unwrap().len(),
            false => self.database.stat().unwrap().file_bytes,
        }
    }

    fn compact(&self) -> CompactProgress {
        self.compact_with(&CompactOptions::new())
    }

    /// Compacts, and checks that the file is never longer than allowed.
    fn compact_with(&self, options: &CompactOptions) -> CompactProgress {
        let before = self.len();
        let largest = self.records.values().map(Vec::len).max().unwrap_or(0) as u64;
        let allowed = before + largest + BATCH;
        let mut calls = 0;
        let done = self.database.compact(options, &mut |progress| {
            calls += 1;
            assert!(progress.file_bytes <= allowed, "{progress:?} {before}");
            assert!(calls < 2000, "{progress:?}");
            ControlFlow::Continue(())
        });
        let done = done.unwrap();
        assert_eq!(done.file_bytes, self.len());
        self.check();
        done
    }

    fn check(&self) {
        let report = self
            .database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert!(report.damages.is_empty(), "{:?}", report.damages);
        let txn = self.database.begin_read().unwrap();
        assert_eq!(self.table.len(&txn).unwrap(), self.records.len() as u64);
        for (number, value) in &self.records {
            assert_eq!(self.table.get(&txn, *number).unwrap(), Some(&value[..]));
        }
    }

    /// Compacts, and checks that the file is as short as promised.
    fn assert_short(&self, name: &str) {
        let before = self.database.stat().unwrap();
        let done = self.compact();
        let after = self.database.stat().unwrap();
        println!(
            "{name}: {} pages in use, {} -> {} pages, {} moved",
            after.used_pages, before.page_count, after.page_count, done.moved_pages
        );
        assert!(
            done.is_reached && done.obstacle.is_none(),
            "{name}: {done:?} {after:?}"
        );
        let enough = after.used_pages + after.used_pages / 32 + 32;
        assert!(after.page_count <= enough, "{name}: {done:?} {after:?}");
        // Nothing is left to do, and nothing is done.
        let again = self.compact();
        assert_eq!(again.moved_pages, 0, "{name}");
        assert_eq!(
            self.database.stat().unwrap().transaction,
            after.transaction,
            "{name}"
        );
    }
}

fn pages(count: u64) -> usize {
    (count * PAGE) as usize
}

/// Nothing was moved: the free pages before the target position of the value were not consecutive.
#[test]
fn a_value_at_the_end_moves_although_free_pages_are_scattered() {
    let mut shape = Shape::new();
    shape.put_all((0..3000).map(|number| (number, 3000)));
    shape.put(10_000, pages(25));
    shape.remove((0..3000).filter(|number| number % 8 > 0 || *number > 2500));
    shape.compact_with(&CompactOptions::new().max_moved_bytes(40 << 12));
    shape.assert_short("a value of 25 pages after scattered free pages");
}

#[test]
fn a_value_moves_down_into_overlapping_pages() {
    let mut shape = Shape::new();
    shape.put_all((0..10).map(|number| (number, 100)));
    shape.put(100, pages(980));
    shape.put(101, pages(1200));
    shape.remove([100]);
    shape.assert_short("a value of 1,200 pages after 980 free ones");
}

#[test]
fn gaps_between_many_values_are_closed() {
    let mut shape = Shape::new();
    for number in 0..60 {
        shape.put(number, pages(40));
        shape.put(1000 + number, pages(100));
    }
    shape.remove(0..60);
    shape.assert_short("60 values of 100 pages after gaps of 40");
}

#[test]
fn values_of_all_lengths_with_records_between_them_become_dense() {
    for seed in 0..4 {
        let mut random = Rng::with_seed(seed);
        let mut shape = Shape::new();
        for round in 0..30_u64 {
            let len = |random: &mut Rng| match random.u32(..10) {
                0 => random.usize(1..400_000),
                1..4 => random.usize(4000..40_000),
                _ => random.usize(..300),
            };
            let numbers: Vec<_> = (0..40)
                .map(|i| (round * 40 + i, len(&mut random)))
                .collect();
            shape.put_all(numbers);
        }
        let gone = random.u64(2..6);
        shape.remove((0..1200).filter(|number| number % gone > 0));
        shape.assert_short(&format!("values of all lengths, one in {gone} is left"));
    }
}

#[test]
fn nested_trees_and_large_values_become_dense_together() {
    let mut shape = Shape::new();
    let mut txn = shape.database.begin_write().unwrap();
    let many = txn.create_multi_table::<u64, u64>("many").unwrap();
    for value in 0..30_000 {
        many.insert(&mut txn, value % 3, value).unwrap();
    }
    txn.commit().unwrap();
    shape.put_all((0..40).map(|number| (number, pages(30))));
    let mut txn = shape.database.begin_write().unwrap();
    for value in 30_000..60_000 {
        many.insert(&mut txn, value % 3, value).unwrap();
    }
    txn.commit().unwrap();
    shape.put(100, pages(300));
    let mut txn = shape.database.begin_write().unwrap();
    many.remove_key(&mut txn, 1).unwrap();
    txn.commit().unwrap();
    shape.remove((0..40).filter(|number| number % 4 > 0));
    shape.assert_short("nested trees and large values");
}

#[test]
fn the_requested_length_is_reached_by_closing_gaps() {
    let mut shape = Shape::new();
    shape.put(1, pages(700));
    shape.put(2, pages(1000));
    shape.remove([1]);
    let asked = 1200 * PAGE;
    let done = shape.compact_with(&CompactOptions::new().until_file_bytes(asked));
    assert!(done.is_reached && shape.len() <= asked, "{done:?}");
    let done = shape.compact_with(&CompactOptions::new().until_file_bytes(PAGE));
    assert!(!done.is_reached, "{done:?}");
    assert_eq!(done.obstacle, Some(CompactObstacle::Room));
    let limited = CompactOptions::new()
        .max_moved_bytes(PAGE)
        .until_file_bytes(PAGE);
    let done = shape.compact_with(&limited);
    assert!(!done.is_reached && done.obstacle.is_some(), "{done:?}");
}

#[test]
fn obstacles_are_reported() {
    for is_named in [true, false] {
        let mut shape = Shape::new();
        shape.put(1, pages(700));
        shape.put(2, pages(1000));
        shape.remove([1]);
        let reader = (!is_named).then(|| shape.database.begin_read().unwrap());
        if is_named {
            shape.database.create_snapshot("held").unwrap();
        }
        let before = shape.len();
        let done = shape.compact();
        let obstacle = match is_named {
            true => CompactObstacle::NamedSnapshots,
            false => CompactObstacle::Readers,
        };
        assert!(!done.is_reached, "{done:?}");
        assert_eq!(done.obstacle, Some(obstacle));
        assert!(shape.len() <= before, "nothing is copied without effect");
        drop(reader);
        if is_named {
            shape.database.drop_snapshot("held").unwrap();
        }
        shape.assert_short("the same without a reader");
    }
}

/// Nothing can be copied past the end.
#[test]
fn a_file_at_its_size_limit_is_unchanged() {
    let geometry = Geometry::new().upper_limit_bytes(1800 * PAGE);
    let options = Options::new().move_percent(0).geometry(geometry);
    let mut shape = Shape::with(options);
    shape.put(1, pages(700));
    shape.put(2, pages(1000));
    shape.remove([1]);
    let done = shape.compact();
    assert!(!done.is_reached, "{done:?}");
    assert_eq!(done.obstacle, Some(CompactObstacle::Room));
    shape.put(3, pages(500));
    shape.check();
}

/// It made one commit for each awaited condition, even without one.
#[test]
fn compacting_a_dense_file_makes_no_commit() {
    let mut shape = Shape::new();
    shape.put_all((0..3000).map(|number| (number, 100)));
    shape.put(5000, pages(30));
    shape.compact();
    let before = shape.database.stat().unwrap().transaction;
    let done = shape.compact();
    assert!(done.is_reached && done.moved_pages == 0, "{done:?}");
    assert_eq!(shape.database.stat().unwrap().transaction, before);
    shape.database.close().unwrap();
    let database = Database::open(&shape.path).unwrap();
    let before = database.stat().unwrap().transaction;
    let done = database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(done.is_reached && done.moved_pages == 0, "{done:?}");
    assert_eq!(database.stat().unwrap().transaction, before);
}

/// No commit was as large as the value, so that it stayed at the end forever.
#[test]
fn small_commits_move_a_value_from_the_end() {
    let mut shape = Shape::with(Options::new());
    shape.put_all((0..3000).map(|number| (number, 3000)));
    shape.put(10_000, pages(60));
    shape.remove(100..3000);
    for round in 0..3000 {
        shape.put(round % 7, 10 + (round % 2) as usize);
    }
    shape.check();
    assert!(shape.len() < 600 * PAGE, "{} pages", shape.len() / PAGE);
}

#[test]
fn closing_moves_a_value_that_is_larger_than_a_commit_of_others() {
    let mut shape = Shape::with(Options::new());
    shape.put(1, pages(5000));
    shape.put(2, pages(4500));
    shape.remove([1]);
    let Shape { path, database, .. } = shape;
    database.close().unwrap();
    let pages = closed_len(&path) / PAGE;
    assert!(pages < 4700, "{pages} pages");
}

/// If pages could be moved but the commit found no room, it was retried until all rounds were over,
/// and unmoved pages counted as progress.
#[test]
fn a_compaction_ends_after_commits_that_find_no_room() {
    // Seed 40 made 48 calls.
    for seed in 38..44 {
        let mut random = Rng::with_seed(seed);
        let pages = random.u64(30..150);
        let options = Options::new()
            .move_percent(0)
            .durability(Durability::Lazy)
            .size_limit_bytes(Some(pages * PAGE));
        let database = testing::open(&SimDisk::new(1 << 20), &options, true, [1; 16]).unwrap();
        let longest = [300, 2000, 20_000][random.usize(..3)];
        let mut changed = |removes: bool| -> teak::Result<()> {
            let mut txn = database.begin_write()?;
            let table: Numbers = txn.create_table("numbers")?;
            for _ in 0..random.u64(1..60) {
                let number = random.u64(..2000);
                if removes {
                    table.remove(&mut txn, number)?;
                } else {
                    table.insert(&mut txn, number, vec![7; random.usize(..longest)])?;
                }
            }
            txn.commit().map(drop)
        };
        for _ in 0..3 {
            while changed(false).is_ok() {}
            for removes in [true, true, false, false, false] {
                let _ = changed(removes);
            }
        }
        let mut calls = 0;
        let options = CompactOptions::new().until_file_bytes(PAGE);
        let done = database.compact(&options, &mut |_| {
            calls += 1;
            ControlFlow::Continue(())
        });
        assert!(calls < 20, "seed {seed}: {calls} calls, {done:?}");
        assert_eq!(done.unwrap().obstacle, Some(CompactObstacle::Room));
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
}

#[test]
fn a_compaction_waits_for_writers_until_its_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let txn = database.begin_write().unwrap();
    let options = CompactOptions::new().wait_for_writers(Duration::from_millis(10));
    let done = database
        .compact(&options, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(done.obstacle, Some(CompactObstacle::Writers));
    assert!(!done.is_reached);
    drop(txn);
    // The end of a transaction may be between two commits of the compaction.
    let mut other = None;
    let mut begin = |_| {
        other = Some(database.begin_write().unwrap());
        ControlFlow::Continue(())
    };
    let done = database.compact(&options, &mut begin).unwrap();
    assert!(other.is_none() || done.obstacle == Some(CompactObstacle::Writers));
}

#[test]
fn an_ended_compaction_does_not_pause() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let options = CompactOptions::new().pause(Duration::MAX);
    database
        .compact(&options, &mut |_| ControlFlow::Break(()))
        .unwrap();
}
