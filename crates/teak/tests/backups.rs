//! Backups of damaged databases, and damaged, forged or invalid backups.

use crate::shared::temporary_path;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    hash::Hasher,
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};
use teak::{
    BackupProgress, CheckReport, CompactOptions, Database, Durability, Error, Geometry, Options,
    PageUse, RestoreProgress, Result, Sharing, Table, Transaction, Verification, WriteTxn,
    codec::Bytes,
};

type Numbers = Table<u64, Bytes>;
type Model = BTreeMap<u64, Vec<u8>>;

const PAGE: usize = 4096;

fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A database with some thousand records, some of them large, and a snapshot called "first".
fn create(path: &Path) -> (Database, Numbers) {
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Numbers = txn.create_table("numbers").unwrap();
    for number in 0..5000 {
        table.insert(&mut txn, number, [1; 100]).unwrap();
    }
    let large: Numbers = txn.create_table("large").unwrap();
    for number in 0..5 {
        large.insert(&mut txn, number, vec![2; 20_000]).unwrap();
    }
    txn.create_snapshot("first").unwrap();
    txn.commit().unwrap();
    (database, table)
}

/// Creates other leaves, inner pages and large values.
fn change(database: &Database) {
    let mut txn = database.begin_write().unwrap();
    let table: Numbers = txn.open_table("numbers").unwrap();
    for number in (0..5000).step_by(500) {
        table.insert(&mut txn, number, [3; 90]).unwrap();
    }
    let large: Numbers = txn.open_table("large").unwrap();
    large.insert(&mut txn, 2, vec![4; 32_000]).unwrap();
    txn.commit().unwrap();
}

fn all(table: &Numbers, txn: &impl Transaction) -> Model {
    let records = table.iter(txn).unwrap();
    let records = records.map(|record| record.map(|(key, value)| (key, value.to_vec())));
    records.collect::<Result<_>>().unwrap()
}

fn restore(full: &mut dyn Read, increments: &[&[u8]], target: &Path) -> Result<CheckReport> {
    let mut parts = increments.to_vec();
    let mut parts: Vec<_> = parts.iter_mut().map(|part| part as &mut dyn Read).collect();
    teak::restore(full, &mut parts, &[], target, &mut go_on::<RestoreProgress>)
}

fn refused(result: Result<CheckReport>, text: &str) {
    match result {
        Err(Error::InvalidArgument(why)) => assert!(why.contains(text), "{why}"),
        other => panic!("{text}: {other:?}"),
    }
}

fn names_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_pages_are_not_backed_up() {
    let (directory, path) = temporary_path();
    let (database, _) = create(&path);
    change(&database);
    database.close().unwrap();
    let database = Database::open(&path).unwrap();
    let uses = database.page_kinds().unwrap();
    database.close().unwrap();
    let mut found = BTreeMap::new();
    let mut pending = 0;
    for (page, page_use) in uses.iter().enumerate().skip(4) {
        let is_one = matches!(
            page_use,
            PageUse::Inner | PageUse::Leaf | PageUse::Value | PageUse::Pending | PageUse::SpaceMap
        );
        // Some of each.
        if !is_one || page % 3 > 0 && *page_use == PageUse::Leaf {
            continue;
        }
        let at = page * PAGE + 2000;
        flip(&path, at);
        for verification in [Verification::Off, Verification::FirstTouch] {
            let opened = Options::new().verification(verification).open(&path);
            // Part of the space map that opening reads.
            let Ok(database) = opened else { continue };
            let before = names_in(directory.path()).len();
            let target = directory.path().join("copy.teak");
            let error = match database.backup(&target, None, &mut go_on) {
                // The snapshot commit's space map is no longer used.
                Ok(_) if *page_use == PageUse::Pending => {
                    fs::remove_file(&target).unwrap();
                    continue;
                }
                backup => backup.unwrap_err(),
            };
            pending += u32::from(*page_use == PageUse::Pending);
            let Error::Corrupted {
                page: at, table, ..
            } = &error
            else {
                panic!("{page}: {error}");
            };
            if *page_use == PageUse::Leaf {
                assert_eq!(at.0 as usize, page, "{error}");
            }
            if let Some(table) = table {
                *found
                    .entry((*page_use == PageUse::Value, table.clone()))
                    .or_insert(0) += 1;
            }
            let txn = database.begin_read().unwrap();
            let error = txn
                .write_backup(&mut Vec::new(), None, &mut go_on)
                .unwrap_err();
            assert!(matches!(error, Error::Corrupted { .. }), "{page}: {error}");
            assert_eq!(names_in(directory.path()).len(), before, "{page}");
        }
        flip(&path, at);
    }
    assert!(pending > 0);
    let is_found = |is_value, table: &str| found.contains_key(&(is_value, table.to_owned()));
    assert!(
        is_found(true, "large") && is_found(false, "numbers"),
        "{found:?}"
    );
    let database = Database::open(&path).unwrap();
    let target = directory.path().join("copy.teak");
    database.backup(&target, None, &mut go_on).unwrap();
}

#[test]
fn damaged_pages_are_not_in_an_increment() {
    let (directory, path) = temporary_path();
    let (database, _) = create(&path);
    let uses_before = database.page_kinds().unwrap();
    change(&database);
    let uses = database.page_kinds().unwrap();
    database.close().unwrap();
    let mut count = 0;
    let is_young = |page: usize| {
        uses_before
            .get(page)
            .is_none_or(|before| *before == PageUse::Free)
    };
    for (page, page_use) in uses.iter().enumerate().skip(4) {
        if !is_young(page) || !matches!(page_use, PageUse::Leaf | PageUse::Value | PageUse::Inner) {
            continue;
        }
        flip(&path, page * PAGE + 2000);
        let database = Options::new()
            .verification(Verification::Off)
            .open(&path)
            .unwrap();
        let since = database.open_snapshot("first").unwrap();
        let target = directory.path().join("increment");
        let error = database
            .backup(&target, Some(&since), &mut go_on)
            .unwrap_err();
        assert!(matches!(error, Error::Corrupted { .. }), "{page}: {error}");
        assert!(!target.exists());
        drop((since, database));
        flip(&path, page * PAGE + 2000);
        count += 1;
    }
    assert!(count > 10, "{count}");
}

/// An increment from "first" on, and the copy before it.
fn full_and_increment(directory: &Path, database: &Database) -> (Vec<u8>, Vec<u8>) {
    let full = directory.join("full.teak");
    database.backup(&full, None, &mut go_on).unwrap();
    change(database);
    let mut increment = Vec::new();
    let first = database.open_snapshot("first").unwrap();
    let now = database.begin_read().unwrap();
    now.write_backup(&mut increment, Some(&first), &mut go_on)
        .unwrap();
    (fs::read(full).unwrap(), increment)
}

/// Corrects the hash of an increment.
fn hash_again(increment: &mut [u8]) {
    let (bytes, hash) = increment.split_last_chunk_mut::<8>().unwrap();
    let mut right = twox_hash::XxHash3_64::default();
    right.write(bytes);
    *hash = right.finish().to_le_bytes();
}

#[test]
fn input_that_does_not_begin_like_a_copy_is_not_read_further() {
    let (directory, path) = temporary_path();
    let (database, _) = create(&path);
    let (full, _) = full_and_increment(directory.path(), &database);
    let target = directory.path().join("restored.teak");
    for byte in [0, b'T'] {
        let restored = restore(&mut std::io::repeat(byte), &[], &target);
        assert!(
            matches!(restored, Err(Error::NotADatabase { .. })),
            "{restored:?}"
        );
    }
    let restored = restore(&mut std::io::empty(), &[], &target);
    assert!(matches!(restored, Err(Error::NotADatabase { .. })));
    // An endless run, a repeated one, and a truncated one.
    let after = "past the end";
    refused(
        restore(&mut full.chain(std::io::repeat(0)), &[], &target),
        after,
    );
    refused(restore(&mut full.chain(&full[..]), &[], &target), after);
    for len in [full.len() - 1, full.len() / 2, 4 * PAGE] {
        refused(restore(&mut &full[..len], &[], &target), "cut short");
    }
    assert!(!target.exists());
    let named = |path: &PathBuf| path.to_string_lossy().contains(".teak-backup");
    assert!(!names_in(directory.path()).iter().any(named));
    restore(&mut &full[..], &[], &target).unwrap();
}

#[test]
fn an_increment_that_contradicts_itself_is_refused() {
    const PAGE_COUNT: usize = 52;
    const RUNS: usize = PAGE_COUNT + 8;
    let (directory, path) = temporary_path();
    let (database, _) = create(&path);
    let (full, increment) = full_and_increment(directory.path(), &database);
    let target = directory.path().join("restored.teak");
    for page_count in [5, 1 << 20, (1 << 32) - 1, 1 << 32] {
        let mut forged = increment.clone();
        forged[PAGE_COUNT..RUNS].copy_from_slice(&u64::to_le_bytes(page_count));
        hash_again(&mut forged);
        refused(
            restore(&mut &full[..], &[&forged], &target),
            "contradict its head",
        );
    }
    // A run that repeats without end.
    let second = RUNS + 8 + 4 * PAGE;
    let len = u32::from_le_bytes(increment[second + 4..second + 8].try_into().unwrap()) as usize;
    let again = &increment[second..second + 8 + len * PAGE];
    let mut forged = increment[..second].to_vec();
    (0..3).for_each(|_| forged.extend(again));
    forged.extend(&increment[second..]);
    hash_again(&mut forged);
    refused(restore(&mut &full[..], &[&forged], &target), "not in order");
    let forged = [&increment[..], b"x"].concat();
    refused(
        restore(&mut &full[..], &[&forged], &target),
        "after its end",
    );
    let mut forged = increment.clone();
    forged[RUNS + 4] += 1;
    hash_again(&mut forged);
    refused(
        restore(&mut &full[..], &[&forged], &target),
        "begin with commit records",
    );
    assert!(!target.exists());
    restore(&mut &full[..], &[&increment], &target).unwrap();
}

#[cfg(unix)]
#[test]
fn a_restored_database_has_holes_where_its_copy_has() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Numbers = txn.create_table("numbers").unwrap();
    for number in 0..100 {
        table.insert(&mut txn, number, vec![7; 100_000]).unwrap();
    }
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in 0..99 {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
    let mut copy = Vec::new();
    let txn = database.begin_read().unwrap();
    txn.write_backup(&mut copy, None, &mut go_on).unwrap();
    let target = directory.path().join("restored.teak");
    restore(&mut &copy[..], &[], &target).unwrap();
    let file = target.metadata().unwrap();
    assert_eq!(file.len(), copy.len() as u64);
    // Some file systems have no holes.
    let mut sparse = tempfile::tempfile_in(directory.path()).unwrap();
    sparse.set_len(1 << 20).unwrap();
    if sparse.metadata().unwrap().blocks() == 0 && file.len() > 4 << 20 {
        assert!(file.blocks() * 512 < file.len() / 2, "{}", file.blocks());
    }
    assert_eq!(sparse.read(&mut [0; 8]).unwrap(), 8);
    assert_eq!(fs::read(&target).unwrap(), copy);
}

#[test]
fn names_dropped_during_a_backup_do_not_end_it() {
    let (directory, path) = temporary_path();
    let (database, _) = create(&path);
    for number in 0..40 {
        database.create_snapshot(format!("{number}")).unwrap();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 40.. {
                let mut txn = database.begin_write().unwrap();
                txn.set_durability(Durability::Lazy);
                txn.drop_snapshot(format!("{}", number - 40)).unwrap();
                txn.create_snapshot(format!("{number}")).unwrap();
                txn.commit().unwrap();
                if is_over.load(Relaxed) {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        let backups = || -> Result<()> {
            let first = database.open_snapshot("first")?;
            for round in 0..20 {
                let full = directory.path().join(format!("full-{round}"));
                let increment = directory.path().join(format!("increment-{round}"));
                database.backup(full, None, &mut go_on)?;
                database.backup(increment, Some(&first), &mut go_on)?;
            }
            Ok(())
        };
        let done = backups();
        is_over.store(true, Relaxed);
        done.unwrap();
    });
}

#[test]
fn a_state_with_very_many_names_is_checked_and_copied() {
    let (directory, path) = temporary_path();
    let database = Options::new().sharing(Sharing::Alone).open(&path).unwrap();
    for start in (0..66_000).step_by(3000) {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(Durability::Lazy);
        for number in start..start + 3000 {
            txn.create_snapshot(format!("{number}")).unwrap();
        }
        txn.commit().unwrap();
    }
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
    let target = directory.path().join("copy.teak");
    database.backup(&target, None, &mut go_on).unwrap();
    let copy = Database::open(&target).unwrap();
    assert_eq!(copy.snapshots().unwrap().len(), 66_000);
}

#[test]
fn an_increment_ends_when_the_older_state_is_cancelled() {
    let (_directory, path) = temporary_path();
    let (database, _) = create(&path);
    change(&database);
    let first = database.open_snapshot("first").unwrap();
    let now = database.begin_read().unwrap();
    let written = now.write_backup(&mut Vec::new(), Some(&first), &mut |_| {
        let readers = database.readers().unwrap();
        let older = readers
            .iter()
            .filter(|reader| reader.transaction == first.id());
        older.for_each(|reader| assert!(database.cancel_reader(reader).unwrap()));
        ControlFlow::Continue(())
    });
    assert!(matches!(written, Err(Error::SnapshotLost)), "{written:?}");
}

#[test]
fn a_feed_with_a_cancelled_state_does_not_move_on() {
    let (_directory, path) = temporary_path();
    let (database, _) = create(&path);
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    let seen = feed.seen().id();
    let readers = database.readers().unwrap();
    assert!(
        readers
            .iter()
            .all(|reader| database.cancel_reader(reader).unwrap())
    );
    change(&database);
    for _ in 0..2 {
        assert!(matches!(
            feed.next(Some(Duration::ZERO)),
            Err(Error::SnapshotLost)
        ));
        assert_eq!(feed.seen().id(), seen);
    }
}

/// The byte of the newest record with the stored durability.
fn durability_of(path: &Path) -> Option<u8> {
    let bytes = fs::read(path).unwrap();
    let records = bytes.chunks(PAGE).take(4);
    let records = records.filter(|record| record.starts_with(b"TeakRec"));
    let newest =
        records.max_by_key(|record| record[88..96].iter().rev().copied().collect::<Vec<_>>());
    newest.map(|record| record[42])
}

#[test]
fn a_salvaged_database_keeps_geometry_and_durability() {
    let (directory, path) = temporary_path();
    let geometry = Geometry::new()
        .lower_limit_bytes(1 << 20)
        .upper_limit_bytes(64 << 20);
    let options = Options::new().geometry(geometry);
    let database = options.durability(Durability::Lazy).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<u64, Bytes>("numbers").unwrap();
    txn.commit().unwrap();
    let expected = database.geometry().unwrap();
    database.close().unwrap();
    let saved = directory.path().join("saved.teak");
    assert!(
        teak::salvage(&path, &saved, &[], &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_complete()
    );
    let durabilities = [durability_of(&path), durability_of(&saved)];
    assert_eq!(durabilities[0], durabilities[1]);
    let saved = Database::open(&saved).unwrap();
    assert_eq!(saved.geometry().unwrap(), expected);
}

/// An increment, and the contents when it was made.
struct Increment {
    since: u64,
    until: u64,
    bytes: Vec<u8>,
    state: State,
}

/// The contents of a database.
#[derive(Clone, Default)]
struct State {
    records: Model,
    names: BTreeMap<String, Model>,
}

impl State {
    fn some_name(&self, random: &mut fastrand::Rng) -> Option<String> {
        let count = self.names.len();
        (count > 0).then(|| {
            self.names
                .keys()
                .nth(random.usize(..count))
                .unwrap()
                .clone()
        })
    }
}

fn change_at_random(
    txn: &mut WriteTxn,
    table: &Numbers,
    state: &mut State,
    random: &mut fastrand::Rng,
) {
    let start = random.u64(..1000);
    let len = [50, 300, 5000, 20_000][random.usize(..4)];
    for key in start..start + random.u64(1..60) {
        match random.u8(..3) {
            0 => {
                table.remove(txn, key).unwrap();
                state.records.remove(&key);
            }
            _ => {
                let value = vec![random.u8(..); len];
                table.insert(txn, key, &value).unwrap();
                state.records.insert(key, value);
            }
        }
    }
}

fn assert_is(path: &Path, state: &State) {
    let database = Database::open(path).unwrap();
    let txn = database.begin_read().unwrap();
    let table: Numbers = txn.open_table("numbers").unwrap();
    assert!(all(&table, &txn) == state.records);
    assert_eq!(database.snapshots().unwrap().len(), state.names.len());
    for (name, records) in &state.names {
        let txn = database.open_snapshot(name).unwrap();
        assert!(all(&table, &txn) == *records, "{name}");
    }
}

#[test]
fn chains_of_increments_agree_with_a_model() {
    for seed in 0..6 {
        eprintln!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let (directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table: Numbers = txn.create_table("numbers").unwrap();
        txn.commit().unwrap();
        let mut state = State::default();
        let mut full: Option<(u64, PathBuf, State)> = None;
        let mut increments: Vec<Increment> = Vec::new();
        for step in 0..100 {
            let mut txn = database.begin_write().unwrap();
            txn.set_durability([Durability::Lazy, Durability::Durable][random.usize(..2)]);
            match (random.u8(..16), state.some_name(&mut random)) {
                (0..=4, _) => change_at_random(&mut txn, &table, &mut state, &mut random),
                (5..=7, _) => {
                    let name = format!("name {step}");
                    change_at_random(&mut txn, &table, &mut state, &mut random);
                    txn.create_snapshot(&name).unwrap();
                    state.names.insert(name, state.records.clone());
                }
                (8, Some(name)) => {
                    txn.drop_snapshot(&name).unwrap();
                    state.names.remove(&name);
                }
                (9, Some(name)) => {
                    txn.roll_back_to_snapshot(&name).unwrap();
                    state.records = state.names[&name].clone();
                    change_at_random(&mut txn, &table, &mut state, &mut random);
                }
                (10, _) => {
                    drop(txn);
                    database
                        .compact(&CompactOptions::new(), &mut go_on)
                        .unwrap();
                    continue;
                }
                (11.., Some(name)) => {
                    drop(txn);
                    let since = database.open_snapshot(&name).unwrap();
                    if full.is_none() || random.u8(..8) == 0 {
                        let target = directory.path().join(format!("full-{step}"));
                        let done = database.backup(&target, None, &mut go_on::<BackupProgress>);
                        full = Some((done.unwrap().transaction.0, target, state.clone()));
                        increments.clear();
                        continue;
                    }
                    let now = database.begin_read().unwrap();
                    let mut bytes = Vec::new();
                    now.write_backup(&mut bytes, Some(&since), &mut go_on)
                        .unwrap();
                    increments.push(Increment {
                        since: since.id().0,
                        until: now.id().0,
                        bytes,
                        state: state.clone(),
                    });
                    continue;
                }
                _ => {}
            }
            txn.commit().unwrap();
            let now = database.begin_read().unwrap();
            assert!(all(&table, &now) == state.records);
        }
        let (mut at, full, mut expected) = full.expect("there was a copy");
        let mut chain: Vec<&[u8]> = Vec::new();
        for (index, increment) in increments.iter().enumerate() {
            // Some are left out if a later one continues from the same state.
            let is_wanted = increment.since <= at && random.u8(..4) > 0;
            if is_wanted {
                chain.push(&increment.bytes);
                at = increment.until;
                expected = increment.state.clone();
            }
            let target = directory.path().join(format!("restored-{index}"));
            restore(&mut File::open(&full).unwrap(), &chain, &target).unwrap();
            assert_is(&target, &expected);
            fs::remove_file(&target).unwrap();
        }
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
}
