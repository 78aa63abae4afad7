//! Dropped tables, which are released in parts, with limits so low that every table is large.

use fastrand::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    time::Duration,
};
use teak::{
    CompactOptions, Comparison, Database, Durability, Error, KeyOrder, MultiTable, MultiTableDef,
    Options, PageUse, PageVisit, Table, TableDef, TableOptions, Transaction, ValueSize,
    WriteOptions, WriteTxn,
    testing::{self, Call, Fault, SimDisk},
};

const BOOT: [u8; 16] = [1; 16];
const OTHER_BOOT: [u8; 16] = [2; 16];
const CAPACITY: usize = 64 << 20;
const NAMES: [&str; 3] = ["ash", "elm", "oak"];

static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));

type Records = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<Vec<u8>, Records>;

fn options() -> Options {
    Options::new()
        .write_memory_bytes(64 << 10)
        .release_at_once(6)
}

fn key(number: u32) -> Vec<u8> {
    number.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(3)
}

fn fill(txn: &mut WriteTxn, name: &str, count: u32, len: usize) -> Records {
    let table = txn.create_table::<Vec<u8>, Vec<u8>>(name).unwrap();
    let mut records = Records::new();
    for number in 0..count {
        // Sometimes a large value.
        let len = if number % 90 == 7 { len + 9000 } else { len };
        let value = vec![number as u8; len];
        table.insert(txn, key(number), &value).unwrap();
        records.insert(key(number), value);
    }
    records
}

/// A database with the rest of table `ash`, which had this many records.
fn with_dropped(options: &Options, count: u32) -> (SimDisk, Database) {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, options, true, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, "ash", count, 100);
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    txn.commit().unwrap();
    (disk, database)
}

/// All tables that a transaction sees.
fn tables(txn: &impl Transaction) -> Tables {
    let mut tables = Tables::new();
    for info in txn.tables().unwrap() {
        let table = txn.open_table::<Vec<u8>, Vec<u8>>(&info.name).unwrap();
        let records = table.iter(txn).unwrap().map(teak::Result::unwrap);
        let records: Records = records.map(|(key, value)| (key, value.to_vec())).collect();
        assert_eq!(info.stat.records, records.len() as u64);
        tables.insert(info.name, records);
    }
    tables
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{:#?}", report.damages);
}

fn has_dropped(database: &Database) -> bool {
    database.stat().unwrap().dropped_pages > 0
}

/// Commits small changes until everything is released. Returns the number of commits.
fn release_all(database: &Database) -> u32 {
    for round in 0..2000 {
        if !has_dropped(database) {
            return round;
        }
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, "small", 1, round as usize % 50);
        txn.commit().unwrap();
    }
    panic!("not everything is released");
}

fn live_leaves(database: &Database) -> BTreeSet<u32> {
    let pages = testing::live_pages(database).unwrap().into_iter();
    let leaves = pages.filter(|(_, page_use)| *page_use == PageUse::Leaf);
    leaves.map(|(number, _)| number.0).collect()
}

struct World {
    random: Rng,
    disk: SimDisk,
    database: Database,
    tables: Tables,
    snapshots: BTreeMap<String, Tables>,
}

impl World {
    fn change(&mut self, txn: &mut WriteTxn, tables: &mut Tables) {
        let name = NAMES[self.random.usize(..3)];
        match self.random.u32(..8) {
            0..3 => {
                let (count, len) = (self.random.u32(..900), self.random.usize(..150));
                let records = fill(txn, name, count, len);
                tables.entry(name.into()).or_default().extend(records);
            }
            3..5 => {
                let was_there = tables.remove(name.as_bytes()).is_some();
                assert_eq!(txn.drop_table(name).unwrap(), was_there);
            }
            5 if tables.contains_key(name.as_bytes()) => {
                let table = txn.open_table::<Vec<u8>, Vec<u8>>(name).unwrap();
                table.clear(txn).unwrap();
                tables.insert(name.into(), Records::new());
            }
            6 => {
                let savepoint = txn.savepoint().unwrap();
                for name in NAMES {
                    txn.drop_table(name).unwrap();
                }
                fill(txn, name, 30, 10);
                txn.rollback_to(&savepoint).unwrap();
                txn.release(savepoint).unwrap();
            }
            _ => {
                let other = NAMES[self.random.usize(..3)];
                let is_possible =
                    tables.contains_key(name.as_bytes()) && !tables.contains_key(other.as_bytes());
                assert_eq!(txn.rename_table(name, other).is_ok(), is_possible);
                if is_possible {
                    let records = tables.remove(name.as_bytes()).unwrap();
                    tables.insert(other.into(), records);
                }
            }
        }
    }

    fn transaction(&mut self, round: u32) {
        let mut txn = self.database.begin_write().unwrap();
        txn.set_durability([Durability::Durable, Durability::Lazy][self.random.usize(..2)]);
        let mut tables = self.tables.clone();
        let snapshot = self.random.u32(..4).to_string();
        let is_known = self.snapshots.contains_key(&snapshot);
        if is_known && self.random.u32(..4) == 0 {
            txn.roll_back_to_snapshot(&snapshot).unwrap();
            tables = self.snapshots[&snapshot].clone();
        } else if is_known && self.random.u32(..3) == 0 {
            txn.drop_snapshot(&snapshot).unwrap();
            self.snapshots.remove(&snapshot);
        }
        for _ in 0..self.random.u32(..4) {
            self.change(&mut txn, &mut tables);
        }
        let is_free = !self.snapshots.contains_key(&snapshot);
        let names_it = is_free && !is_known && self.random.u32(..3) == 0;
        if names_it {
            txn.create_snapshot(&snapshot).unwrap();
            self.snapshots.insert(snapshot, tables.clone());
        }
        assert_eq!(self::tables(&txn), tables);
        txn.commit().unwrap();
        self.tables = tables;
        assert_eq!(
            self::tables(&self.database.begin_read().unwrap()),
            self.tables,
            "round {round}"
        );
    }

    /// The state after a kill.
    fn open_copy(&self) {
        let copy = SimDisk::from_image(self.disk.process_crash(), CAPACITY);
        let other = testing::open(&copy, &options(), false, BOOT).unwrap();
        assert_eq!(tables(&other.begin_read().unwrap()), self.tables);
        assert_clean(&other);
        release_all(&other);
        assert_clean(&other);
    }
}

#[test]
fn dropped_tables_are_invisible_and_released_completely() {
    for seed in 0..4 {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut world = World {
            random: Rng::with_seed(seed),
            disk,
            database,
            tables: Tables::new(),
            snapshots: BTreeMap::new(),
        };
        for round in 0..60 {
            world.transaction(round);
            if round % 6 == 0 {
                assert_clean(&world.database);
                for (name, tables) in &world.snapshots {
                    let txn = world.database.open_snapshot(name).unwrap();
                    assert_eq!(self::tables(&txn), *tables);
                }
            }
            if round % 20 == 19 {
                world.open_copy();
            }
        }
        let mut txn = world.database.begin_write().unwrap();
        for name in world.snapshots.keys() {
            txn.drop_snapshot(name).unwrap();
        }
        for name in NAMES {
            txn.drop_table(name).unwrap();
        }
        txn.commit().unwrap();
        release_all(&world.database);
        assert_clean(&world.database);
        // The catalog, the list of snapshots, and what `release_all` wrote.
        assert!(live_leaves(&world.database).len() <= 3);
    }
}

#[test]
fn power_cuts_while_a_table_is_released_leave_a_committed_state() {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, "ash", 1200, 100);
    txn.commit().unwrap();
    let begin = disk.event_count();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    let dropped = txn.commit().unwrap();
    for round in 0..8 {
        let mut txn = database.begin_write().unwrap();
        if round % 2 == 0 {
            txn.set_durability(Durability::Lazy);
        }
        fill(&mut txn, "small", 1, round);
        txn.commit().unwrap();
    }
    assert!(has_dropped(&database));
    let mut random = Rng::with_seed(1);
    let mut released = 0;
    for event in begin..disk.event_count() {
        let mut choice = |count: usize| random.usize(..count);
        let image = disk.power_cut_at(event, &mut choice, 512);
        let copy = SimDisk::from_image(image, CAPACITY);
        let other = testing::open(&copy, &options(), false, OTHER_BOOT).unwrap();
        assert_clean(&other);
        let txn = other.begin_read().unwrap();
        let is_there = txn.open_table::<Vec<u8>, Vec<u8>>("ash").is_ok();
        assert_eq!(is_there, txn.id() < dropped);
        drop(txn);
        if !is_there && event % 5 == 0 {
            released += release_all(&other);
            assert_clean(&other);
        }
    }
    assert!(released > 10);
}

#[test]
fn a_failing_call_during_a_release_keeps_the_database_valid() {
    for call in 0.. {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, "ash", 700, 100);
        txn.commit().unwrap();
        let before = disk.calls();
        disk.fail_on(before + call, Fault::DISK_ERROR);
        let work = || -> teak::Result<()> {
            let mut txn = database.begin_write()?;
            txn.drop_table("ash")?;
            txn.commit()?;
            for round in 0..4 {
                let mut txn = database.begin_write()?;
                let table = txn.create_table::<Vec<u8>, Vec<u8>>("small")?;
                table.insert(&mut txn, b"key", [round; 20])?;
                txn.commit()?;
            }
            Ok(())
        };
        let result = work();
        expect_reported(&disk, &result);
        let is_done = result.is_ok();
        disk.heal();
        let killed = disk.kill();
        let other = testing::open(&killed, &options(), false, BOOT).unwrap();
        assert_clean(&other);
        if tables(&other.begin_read().unwrap()).contains_key(&b"ash"[..]) {
            let mut txn = other.begin_write().unwrap();
            txn.drop_table("ash").unwrap();
            txn.commit().unwrap();
        }
        release_all(&other);
        assert_clean(&other);
        if is_done && disk.calls() <= before + call {
            break;
        }
    }
}

/// A failure was reported with the true code, unless it was an attempt to grow the file.
fn expect_reported(disk: &SimDisk, result: &teak::Result<()>) {
    let mut failed = disk.failed_calls(0);
    failed.retain(|call| !matches!(call, Call::SetLen | Call::Allocate | Call::Mapping));
    match result {
        Ok(()) => assert!(failed.is_empty(), "{failed:?}"),
        Err(Error::Io { cause, .. }) => {
            assert_eq!(cause.raw_os_error(), Some(Fault::DISK_ERROR.errno));
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn failures_of_a_deferred_release_are_reported() {
    for call in 0.. {
        let (disk, database) = with_pending_release();
        let before = disk.calls();
        disk.fail_on(before + call, Fault::DISK_ERROR);
        expect_reported(&disk, &begin_and_change(&database));
        let has_failed = !disk.failed_calls(0).is_empty();
        disk.heal();
        let killed = disk.kill();
        assert_clean(&testing::open(&killed, &options(), false, BOOT).unwrap());
        if !has_failed {
            assert!(call > 3, "nothing was released");
            break;
        }
    }
}

/// A commit is not refused for work that it did not request: it succeeds, and the release waits.
#[test]
fn a_full_disk_during_a_release_is_no_error_of_the_caller() {
    let options = options().write_memory_bytes(16 << 10);
    let mut done_count = 0;
    for call in 0.. {
        let (disk, database) = with_dropped(&options, 700);
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, "elm", 80, 100);
        disk.fail_on(disk.calls() + call, Fault::DISK_FULL);
        let committed = txn.commit();
        let failed = disk.failed_calls(0);
        done_count += usize::from(committed.is_ok() && failed.contains(&Call::Write));
        if let Err(error) = &committed {
            assert!(
                matches!(error, Error::Io { cause, .. } if cause.raw_os_error() == Some(Fault::DISK_FULL.errno)),
                "{error}"
            );
        }
        disk.heal();
        let killed = disk.kill();
        let other = testing::open(&killed, &options, false, BOOT).unwrap();
        assert_clean(&other);
        let is_there = tables(&other.begin_read().unwrap()).contains_key(&b"elm"[..]);
        assert!(is_there || committed.is_err());
        if failed.is_empty() {
            break;
        }
    }
    assert!(done_count > 0);
}

/// A database in which a transaction has found no space, and a dropped table has some.
fn with_pending_release() -> (SimDisk, Database) {
    let (disk, database) = with_dropped(&options(), 700);
    let limit = database.stat().unwrap().file_bytes;
    database.close().unwrap();
    let limited = options().size_limit_bytes(Some(limit));
    let database = testing::open(&disk, &limited, false, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Vec<u8>, Vec<u8>>("large").unwrap();
    let refused = table.insert(&mut txn, b"key", vec![1; limit as usize / 2]);
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    txn.abort();
    (disk, database)
}

fn begin_and_change(database: &Database) -> teak::Result<()> {
    let mut txn = database.begin_write()?;
    txn.create_table::<Vec<u8>, Vec<u8>>("small")?;
    txn.abort();
    Ok(())
}

/// A database with the rest of table `ash`, and table `elm`.
fn half_released(directory: &std::path::Path) -> (Database, Tables) {
    let database = options().open(directory.join("some.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, "ash", 2000, 100);
    let elm = fill(&mut txn, "elm", 20, 20);
    txn.commit().unwrap();
    (database, Tables::from([(b"elm".to_vec(), elm)]))
}

#[test]
fn copies_differences_and_salvage_ignore_them() {
    let directory = tempfile::tempdir().unwrap();
    let (database, expected) = half_released(directory.path());
    let before = database.begin_read().unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    let mut full = Vec::new();
    before.write_backup(&mut full, None, &mut go_on).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    txn.commit().unwrap();
    assert!(has_dropped(&database));
    assert_eq!(database.stat().unwrap().table_count, 1);
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.tables, report.records), (1, 20));
    let after = database.begin_read().unwrap();
    assert_eq!(tables(&after), expected);
    let changed = after.changed_tables(&before).unwrap();
    assert_eq!(changed, [(b"ash".to_vec(), teak::TableChange::Dropped)]);

    let mut increment = Vec::new();
    after
        .write_backup(&mut increment, Some(&before), &mut go_on)
        .unwrap();
    let restored = directory.path().join("restored.teak");
    teak::restore(
        &mut &full[..],
        &mut [&mut &increment[..]],
        &[],
        &restored,
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap();
    let restored = options().open(&restored).unwrap();
    assert_eq!(tables(&restored.begin_read().unwrap()), expected);
    assert!(has_dropped(&restored));
    assert_clean(&restored);
    release_all(&restored);
    assert_clean(&restored);

    let dense = directory.path().join("dense.teak");
    database
        .begin_read()
        .unwrap()
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let dense = options().open(&dense).unwrap();
    assert_eq!(tables(&dense.begin_read().unwrap()), expected);
    assert!(!has_dropped(&dense));

    let damaged = directory.path().join("exact.teak");
    database
        .backup(&damaged, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let saved = directory.path().join("saved.teak");
    let report = teak::salvage(&damaged, &saved, &[], &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.tables.len(), 1);
    let saved = Database::open(&saved).unwrap();
    assert_eq!(tables(&saved.begin_read().unwrap()), expected);
}

#[test]
fn their_names_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (database, _) = half_released(directory.path());
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    let id = txn.id().0;
    let name = [&b"\0dropped"[..], &id.to_be_bytes(), &[0; 4]].concat();
    let created = txn.create_table::<Vec<u8>, Vec<u8>>(&name);
    assert!(matches!(created, Err(Error::InvalidArgument(_))));
    let renamed = txn.rename_table("elm", &name);
    assert!(matches!(renamed, Err(Error::InvalidArgument(_))));
    let opened = txn.open_table::<Vec<u8>, Vec<u8>>(&name);
    assert!(matches!(opened, Err(Error::TableNotFound(_))));
    assert!(!txn.drop_table(&name).unwrap());
    let renamed = txn.rename_table(&name, "ash");
    assert!(matches!(renamed, Err(Error::TableNotFound(_))));
    // Such names are those of tables.
    let similar_names = [&name[..19], &[&name[..], b"x"].concat()[..], b"\0dropped"];
    for name in similar_names {
        txn.create_table::<Vec<u8>, Vec<u8>>(name).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(database.begin_read().unwrap().tables().unwrap().len(), 4);
    release_all(&database);
    assert_clean(&database);
}

#[test]
fn compacting_releases_all() {
    let directory = tempfile::tempdir().unwrap();
    let (database, expected) = half_released(directory.path());
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    txn.commit().unwrap();
    let done = database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(done.file_bytes < 400 << 10, "{done:?}");
    assert!(!has_dropped(&database));
    assert_eq!(tables(&database.begin_read().unwrap()), expected);
    assert_clean(&database);
}

#[test]
fn tables_with_a_missing_comparison_are_released_too() {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options().comparison(&DOWNWARDS), true, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    let order = TableOptions::new().order(KeyOrder::Custom(&DOWNWARDS));
    for name in ["ash", "elm"] {
        TableDef::<Vec<u8>, Vec<u8>>::new(name)
            .options(order)
            .create(&mut txn)
            .unwrap();
        let table = txn.open_table::<Vec<u8>, Vec<u8>>(name).unwrap();
        for number in 0..1500 {
            table.insert(&mut txn, key(number), [7; 100]).unwrap();
        }
    }
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert!(txn.drop_table("ash").unwrap());
    txn.commit().unwrap();
    database.close().unwrap();
    let database = testing::open(&disk, &options(), false, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    assert!(txn.drop_table("elm").unwrap());
    txn.commit().unwrap();
    assert_clean(&database);
    assert!(database.begin_read().unwrap().tables().unwrap().is_empty());
    assert!(release_all(&database) > 5);
    assert_clean(&database);
    assert!(live_leaves(&database).len() <= 2);
}

#[test]
fn damaged_tables_stay_and_prevent_no_commit() {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, "ash", 1200, 100);
    txn.commit().unwrap();
    let before = live_leaves(&database);
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    txn.commit().unwrap();
    let left: Vec<_> = live_leaves(&database)
        .intersection(&before)
        .copied()
        .collect();
    assert!(left.len() > 10);
    database.close().unwrap();
    let mut image = disk.process_crash();
    for number in left {
        image[number as usize * 4096 + 2000] ^= 1;
    }
    let copy = SimDisk::from_image(image, CAPACITY);
    let database = testing::open(&copy, &options(), false, BOOT).unwrap();
    for round in 0..20 {
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, "small", 1, round);
        txn.commit().unwrap();
    }
    assert!(has_dropped(&database));
    let txn = database.begin_read().unwrap();
    assert_eq!(tables(&txn).len(), 1);
    drop(txn);
    assert!(
        !database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
}

type Many = MultiTable<Vec<u8>, Vec<u8>>;

/// A few values of many keys, and many of a few.
fn fill_many(txn: &mut WriteTxn, name: &str, options: TableOptions) -> Many {
    let table: Many = MultiTableDef::new(name)
        .options(options)
        .create(txn)
        .unwrap();
    for key in 0..24u32 {
        let count = [3, 40, 400, 12_000][key as usize % 4];
        let values: Vec<_> = (0..count).map(|value: u32| value.to_be_bytes()).collect();
        let values: Vec<_> = values.iter().map(|value| &value[..]).collect();
        table
            .insert_values(txn, key.to_be_bytes(), &values)
            .unwrap();
    }
    table
}

fn kinds() -> [TableOptions; 3] {
    [
        TableOptions::new(),
        TableOptions::new().counted(true),
        TableOptions::new().value_size(ValueSize::Bytes(4)),
    ]
}

#[test]
fn nested_trees_are_released_in_parts() {
    for (round, kind) in kinds().into_iter().enumerate() {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table = fill_many(&mut txn, "many", kind);
        txn.commit().unwrap();
        let before = live_leaves(&database).len() as u64;
        let mut txn = database.begin_write().unwrap();
        match round {
            0 => table.clear(&mut txn).unwrap(),
            _ => assert!(txn.drop_table("many").unwrap()),
        }
        assert!(txn.info().dead_pages <= 40);
        txn.commit().unwrap();
        assert_clean(&database);
        let mut left = database.stat().unwrap().dropped_pages;
        assert!(left > before / 2, "{left} of {before}");
        let mut rounds = 0;
        while left > 0 {
            let mut txn = database.begin_write().unwrap();
            fill(&mut txn, "small", 1, left as usize % 50 + rounds % 7);
            txn.commit().unwrap();
            let now = database.stat().unwrap().dropped_pages;
            assert!(now <= left && left - now <= 12, "from {left} to {now}");
            left = now;
            rounds += 1;
            assert!(rounds < 2000, "{left} pages are never released");
            if rounds % 32 == 0 {
                assert_clean(&database);
            }
        }
        assert_clean(&database);
        assert!(live_leaves(&database).len() <= 3);
    }
}

/// Compacting releases more pages at once than dropping, so a nested tree that is too large only
/// for dropping is parked by it.
#[test]
fn compacting_releases_nested_trees() {
    for kind in kinds() {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        fill_many(&mut txn, "many", kind);
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        assert!(txn.drop_table("many").unwrap());
        txn.commit().unwrap();
        assert!(has_dropped(&database));
        database
            .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert!(!has_dropped(&database));
        assert_clean(&database);
        assert!(live_leaves(&database).len() <= 3);
    }
}

/// Leaves with roots of nested trees were written early, before the savepoint, and cannot be
/// changed within it.
#[test]
fn nested_trees_are_dropped_within_a_savepoint() {
    for kind in kinds() {
        let disk = SimDisk::new(CAPACITY);
        let options = options().write_memory_bytes(8192);
        let database = testing::open(&disk, &options, true, BOOT).unwrap();
        for keeps in [false, true] {
            let mut txn = database.begin_write().unwrap();
            let table = fill_many(&mut txn, "many", kind);
            let before = table.len(&txn).unwrap();
            let savepoint = txn.savepoint().unwrap();
            table.remove_key(&mut txn, 3u32.to_be_bytes()).unwrap();
            let inner = txn.savepoint().unwrap();
            table.clear(&mut txn).unwrap();
            txn.rollback_to(&inner).unwrap();
            assert_eq!(table.len(&txn).unwrap(), before - 12_000);
            table.clear(&mut txn).unwrap();
            if !keeps {
                txn.rollback_to(&savepoint).unwrap();
                assert_eq!(table.len(&txn).unwrap(), before);
            }
            txn.commit().unwrap();
            assert_eq!(has_dropped(&database), keeps);
            assert_clean(&database);
        }
        release_all(&database);
        assert_clean(&database);
    }
}

/// In the snapshot, the values of a key are a nested tree within a leaf, and since the key was
/// removed a dropped tree.
#[test]
fn a_rollback_restores_values_that_are_being_released() {
    for kind in kinds() {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table = fill_many(&mut txn, "many", kind);
        txn.create_snapshot("before").unwrap();
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        table.remove_key(&mut txn, 3u32.to_be_bytes()).unwrap();
        txn.commit().unwrap();
        assert!(has_dropped(&database));
        let mut txn = database.begin_write().unwrap();
        txn.roll_back_to_snapshot("before").unwrap();
        txn.commit().unwrap();
        assert!(!has_dropped(&database));
        assert_clean(&database);
        let txn = database.begin_read().unwrap();
        assert_eq!(table.count(&txn, 3u32.to_be_bytes()).unwrap(), 12_000);
        drop(txn);
        database.drop_snapshot("before").unwrap();
        release_all(&database);
        assert_clean(&database);
    }
}

/// If a large table is recreated repeatedly, in one transaction or in two, the file does not keep
/// growing.
#[test]
fn a_repeatedly_recreated_table_takes_no_more_space() {
    for is_one_transaction in [true, false] {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut lens = Vec::new();
        for _ in 0..60 {
            let mut txn = database.begin_write().unwrap();
            let table: Table<Vec<u8>, Vec<u8>> = txn.create_table("ash").unwrap();
            table.clear(&mut txn).unwrap();
            if !is_one_transaction {
                txn.commit().unwrap();
                txn = database.begin_write().unwrap();
            }
            let records = (0..3000u32).map(|number| (number.to_be_bytes(), [7; 100]));
            let records: Vec<_> = records.collect();
            let records = records.iter().map(|(key, value)| (&key[..], &value[..]));
            table.bulk_load(&mut txn, records).unwrap();
            txn.commit().unwrap();
            lens.push(database.stat().unwrap().file_bytes);
        }
        assert!(lens[59] <= lens[5] * 2, "{lens:?}");
        assert_clean(&database);
    }
}

/// All values of a key are removed with it, and those of a table with the table.
#[test]
fn many_values_of_a_removed_key_are_released_later() {
    for kind in kinds() {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table = fill_many(&mut txn, "many", kind);
        assert_eq!(
            table.remove_key(&mut txn, 3u32.to_be_bytes()).unwrap(),
            12_000
        );
        let savepoint = txn.savepoint().unwrap();
        assert_eq!(
            table.remove_key(&mut txn, 7u32.to_be_bytes()).unwrap(),
            12_000
        );
        txn.rollback_to(&savepoint).unwrap();
        txn.release(savepoint).unwrap();
        assert_eq!(table.count(&txn, 7u32.to_be_bytes()).unwrap(), 12_000);
        txn.commit().unwrap();
        assert!(has_dropped(&database));
        assert_clean(&database);
        let mut txn = database.begin_write().unwrap();
        let (low, high) = (4u32.to_be_bytes(), 20u32.to_be_bytes());
        table.range(&low[..]..&high[..]).remove(&mut txn).unwrap();
        txn.commit().unwrap();
        assert_clean(&database);
        release_all(&database);
        assert_clean(&database);
        let txn = database.begin_read().unwrap();
        assert_eq!(table.count(&txn, 23u32.to_be_bytes()).unwrap(), 12_000);
    }
}

/// Removing a range with all records clears the table; one that lacks a record does not.
#[test]
fn removing_the_whole_range_is_like_clearing_the_table() {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    let ranges: [(&[u8], &[u8]); 2] = [(&[0; 12], &[255; 13]), (&[0; 12], &[250; 13])];
    for (round, (low, high)) in ranges.into_iter().enumerate() {
        let mut txn = database.begin_write().unwrap();
        let records = fill(&mut txn, "ash", 1500, 100);
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        let table: Table<Vec<u8>, Vec<u8>> = txn.open_table("ash").unwrap();
        let removed = table.range(low..high).remove(&mut txn).unwrap();
        let expected = records.range(low.to_vec()..high.to_vec()).count();
        assert_eq!(removed, expected as u64);
        assert_eq!(table.len(&txn).unwrap(), (records.len() - expected) as u64);
        txn.commit().unwrap();
        assert_eq!(has_dropped(&database), round == 0);
        assert_clean(&database);
        release_all(&database);
    }
}

/// A way of beginning a transaction.
type Begin = fn(&Database) -> teak::Result<WriteTxn>;

fn begun(database: &Database, options: WriteOptions<'_>) -> teak::Result<WriteTxn> {
    Ok(database.begin_write_with(options)?.unwrap())
}

/// A database with no room except that of dropped tables continues, for each durability and each
/// way of beginning: a transaction that finds no room leads to releases before the next one, as
/// many as it may need if that one is not urgent.
#[test]
fn a_full_database_gets_room_although_no_commit_succeeds() {
    let cases: [(Begin, u32); 3] = [
        (|database| database.begin_write(), 6),
        (
            |database| begun(database, WriteOptions::new().timeout(Duration::ZERO)),
            200,
        ),
        // A release takes a commit, but one of the engine: the state does not become stale.
        (
            |database| begun(database, WriteOptions::new().at(&database.begin_read()?)),
            200,
        ),
    ];
    for (number, (begin, attempts_max)) in cases.into_iter().enumerate() {
        let durability = [Durability::Durable, Durability::Lazy, Durability::Async][number % 3];
        let disk = SimDisk::new(CAPACITY);
        let limit = |bytes| {
            options()
                .size_limit_bytes(Some(bytes))
                .durability(durability)
        };
        let database = testing::open(&disk, &limit(900_000), true, BOOT).unwrap();
        let mut count = 1500;
        loop {
            let mut txn = database.begin_write().unwrap();
            let table: Table<Vec<u8>, Vec<u8>> = txn.create_table("ash").unwrap();
            let filled =
                (0..count).try_for_each(|number| table.insert(&mut txn, key(number), [7; 400]));
            if filled.and_then(|()| txn.commit()).is_ok() {
                break;
            }
            count -= 20;
        }
        // Clearing takes some pages, too.
        database.close().unwrap();
        let database = testing::open(&disk, &limit(1 << 20), false, BOOT).unwrap();
        let mut txn = database.begin_write().unwrap();
        txn.drop_table("ash").unwrap();
        txn.commit().unwrap();
        assert!(has_dropped(&database));
        let mut attempts = 0;
        let fill_again = |count: u32| {
            let mut txn = begin(&database)?;
            let table: Table<Vec<u8>, Vec<u8>> = txn.create_table("elm")?;
            for number in 0..count {
                table.insert(&mut txn, key(number), [8; 400])?;
            }
            txn.commit()
        };
        while let Err(error) = fill_again(count - count / 8) {
            assert!(matches!(error, Error::Full { .. }), "{error}");
            attempts += 1;
            assert!(attempts <= attempts_max, "{number}: {attempts} attempts");
        }
        assert!(attempts > 0 && database.stat().unwrap().file_bytes <= 1 << 20);
        assert_clean(&database);
    }
}

/// A release neither grows the file nor asks about readers.
#[test]
fn releasing_calls_no_callback_and_does_not_grow_the_file() {
    let disk = SimDisk::new(CAPACITY);
    let options = options().on_slow_reader(|_| panic!("the callback must not run"));
    let database = testing::open(&disk, &options, true, BOOT).unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, "ash", 3000, 100);
    fill(&mut txn, "small", 1, 3);
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let expected = tables(&reader);
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("ash").unwrap();
    txn.commit().unwrap();
    let before = database.stat().unwrap();
    assert!(release_all(&database) > 5);
    let after = database.stat().unwrap();
    assert!(after.file_bytes <= before.file_bytes + (2 << 20));
    assert_eq!(tables(&reader), expected);
    assert_clean(&database);
}

#[test]
fn compacting_releases_in_its_own_steps() {
    let (_disk, database) = with_dropped(&options(), 4000);
    let mut left = vec![database.stat().unwrap().dropped_pages];
    let limits = CompactOptions::new().max_commit_bytes(8 * 4096);
    database
        .compact(&limits, &mut |_| {
            left.push(database.stat().unwrap().dropped_pages);
            match left.len() {
                0..5 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })
        .unwrap();
    let steps = left.windows(2).map(|pair| pair[0] - pair[1]);
    assert!(
        steps.clone().all(|step| (1..=16).contains(&step)),
        "{left:?}"
    );
    assert!(has_dropped(&database), "it was ended before");
    assert_clean(&database);
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(!has_dropped(&database));
    assert_clean(&database);
}

#[test]
fn a_page_walk_shows_the_rest_of_a_dropped_table_without_a_name() {
    let (_disk, database) = with_dropped(&options(), 700);
    let reader = database.begin_read().unwrap();
    let (mut named, mut leaves) = (0, 0);
    let mut count = |page: PageVisit<'_>| {
        named += usize::from(page.table.is_some());
        leaves += usize::from(page.page_use == PageUse::Leaf);
        ControlFlow::Continue(())
    };
    reader.walk_pages(&mut count).unwrap();
    assert_eq!(named, 0);
    assert!(leaves > 1, "those of the tree, and of the catalog");
}
