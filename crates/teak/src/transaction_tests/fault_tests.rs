//! Every call to the disk fails once, or from then on, with several errors.
//!
//! For each call: the transaction that meets the error reports it unchanged, nothing panics, and
//! committed data stays readable. After reopening, the database has no damage and is in the last
//! acknowledged state, or in the one whose record or flush failed. Commits acknowledged after
//! reopening survive a power cut, although a flush failed before.

use crate::{
    Database, Durability, Error, Options, ReadTxn, Result, Transaction, WriteTxn,
    testing::{self, Fault, SimDisk},
    transaction_tests::test_kit::{TestCodec, codecs, coded, is_coded},
};
use std::{collections::BTreeMap, ops::ControlFlow};

const BOOT: [u8; 16] = [1; 16];
const OTHER_BOOT: [u8; 16] = [2; 16];
const CAPACITY: usize = 8 << 20;
const COMMITS: u32 = 30;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<&'static str, Records>;

const TABLES: [&str; 3] = ["coins", "blocks", "undo"];

fn options() -> Options {
    // So little memory that leaves are written early.
    Options::new()
        .write_memory_bytes(64 << 10)
        .with_codecs_of(codecs())
}

fn key(i: u32) -> Vec<u8> {
    i.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(3)
}

fn value(round: u32, len: u32) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + round) as u8).collect()
}

fn put(
    txn: &mut WriteTxn,
    tables: &mut Tables,
    name: &'static str,
    i: u32,
    v: Vec<u8>,
) -> Result<()> {
    let table = txn.create_table::<Vec<u8>, Vec<u8>>(name)?;
    table.insert(txn, key(i), &v)?;
    tables.entry(name).or_default().insert(key(i), v);
    Ok(())
}

/// The changes of one transaction, made in `txn` and in `tables`.
fn change(txn: &mut WriteTxn, tables: &mut Tables, round: u32) -> Result<()> {
    for i in 0..(round % 5) * 20 + 3 {
        put(txn, tables, "coins", i * 13 + round, value(round, 100))?;
    }
    match round % 6 {
        1 => put(txn, tables, "blocks", round, value(round, 20_000))?,
        2 => remove_some(txn, tables, round)?,
        3 => roll_back_some(txn, tables, round)?,
        4 => put(txn, tables, "undo", round, value(round, 9_000))?,
        5 => {
            txn.drop_table("undo")?;
            tables.remove("undo");
        }
        _ => {}
    }
    Ok(())
}

fn remove_some(txn: &mut WriteTxn, tables: &mut Tables, round: u32) -> Result<()> {
    let table = txn.create_table::<Vec<u8>, Vec<u8>>("coins")?;
    let low = [(round * 11) as u8];
    let high = [(round * 11) as u8 | 0x3f];
    table.range(&low[..]..&high[..]).remove(txn)?;
    let coins = tables.entry("coins").or_default();
    coins.retain(|key, _| key[..] < low[..] || key[..] >= high[..]);
    Ok(())
}

/// Nested savepoints; the outer one stays, the inner one is rolled back.
fn roll_back_some(txn: &mut WriteTxn, tables: &mut Tables, round: u32) -> Result<()> {
    let outer = txn.savepoint()?;
    put(txn, tables, "blocks", round, value(round, 5_000))?;
    let inner = txn.savepoint()?;
    let before = tables.clone();
    for i in 0..60 {
        put(txn, tables, "coins", i * 17, value(round, 60))?;
    }
    put(txn, tables, "undo", 1, value(round, 30_000))?;
    txn.rollback_to(&inner)?;
    *tables = before;
    put(txn, tables, "coins", round, value(round, 7))?;
    txn.release(outer)
}

fn read(txn: &impl Transaction) -> Result<Tables> {
    let mut tables = Tables::new();
    for info in txn.tables()? {
        let name = TABLES.into_iter().find(|name| name.as_bytes() == info.name);
        let table = txn.open_table::<Vec<u8>, Vec<u8>>(&info.name)?;
        let records: Result<Records> = table
            .iter(txn)?
            .map(|record| record.map(|(key, value)| (key, value.to_vec())))
            .collect();
        tables.insert(name.expect("a table of this test"), records?);
    }
    Ok(tables)
}

fn assert_sound(database: &Database, context: &str) -> Tables {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{context}: {:#?}", report.damages);
    read(&database.begin_read().unwrap()).unwrap()
}

/// The course of the workload.
#[derive(Default)]
struct Course {
    /// The last acknowledged state.
    acknowledged: Tables,
    /// The last state that was acknowledged as durable.
    durable: Tables,
    /// All states since then, oldest first, including those that were in progress when they failed.
    since: Vec<Tables>,
    is_poisoned: bool,
    has_failed: bool,
}

impl Course {
    /// A commit was acknowledged.
    fn note(&mut self, tables: Tables, is_durable: bool) {
        self.acknowledged = tables.clone();
        self.since.push(tables.clone());
        if is_durable {
            self.durable = tables;
            self.since.clear();
        }
    }
}

/// Fails unless the error is the disk's error, or follows from it.
fn expect_error(course: &mut Course, error: &Error, fault: Fault, context: &str) {
    match error {
        Error::Io { cause, path, .. } => {
            assert!(path.is_some(), "{context}: {error:?}");
            assert_eq!(cause.raw_os_error(), Some(fault.errno), "{context}");
            assert!(
                !course.has_failed || fault.sticky,
                "{context}: a second error"
            );
        }
        Error::Poisoned { .. } => {
            assert!(course.has_failed, "{context}");
            course.is_poisoned = true;
        }
        other => panic!("{context}: {other:?}"),
    }
    course.has_failed = true;
}

fn play(database: &Database, course: &mut Course, fault: Fault, context: &str) {
    let mut reader: Option<(ReadTxn, Tables)> = None;
    for round in 0..COMMITS {
        if round % 8 == 3 {
            let txn = database.begin_read().unwrap();
            reader = Some((txn, course.acknowledged.clone()));
        }
        let had_failed = course.has_failed;
        let mut next = course.acknowledged.clone();
        match play_round(database, &mut next, round) {
            Ok(is_durable) => {
                assert!(!course.is_poisoned, "{context}: a commit after poisoning");
                course.note(next, is_durable);
            }
            Err(error) => {
                expect_error(course, &error, fault, context);
                course.since.push(next);
            }
        }
        if had_failed != course.has_failed {
            let found = assert_sound(database, context);
            assert!(found == course.acknowledged, "{context}: what is read");
        }
        if let Some((txn, expected)) = &reader {
            assert!(read(txn).unwrap() == *expected, "{context}: an old reader");
        }
    }
}

/// One transaction; says whether it was durable.
fn play_round(database: &Database, next: &mut Tables, round: u32) -> Result<bool> {
    let mut txn = database.begin_write()?;
    let is_durable = round.is_multiple_of(3);
    if !is_durable {
        txn.set_durability(Durability::Lazy);
    }
    change(&mut txn, next, round)?;
    txn.commit()?;
    Ok(is_durable)
}

/// Plays in one transaction: a checkpoint after each round, and failures are rolled back. At the
/// end it continues as a reader.
fn play_checkpoints(database: &Database, course: &mut Course, fault: Fault, context: &str) {
    let mut txn = match database.begin_write() {
        Ok(txn) => txn,
        Err(error) => return expect_error(course, &error, fault, context),
    };
    for round in 0..COMMITS {
        let is_durable = round.is_multiple_of(3);
        txn.set_durability(match is_durable {
            true => Durability::Durable,
            false => Durability::Lazy,
        });
        let mut next = course.acknowledged.clone();
        let made = change(&mut txn, &mut next, round).and_then(|()| txn.checkpoint());
        match made {
            Ok(_) => {
                course.note(next, is_durable);
                continue;
            }
            // The previous checkpoint was made, and the transaction could not continue from it.
            Err(Error::TransactionBroken) => {}
            Err(error) => {
                expect_error(course, &error, fault, context);
                course.since.push(next);
            }
        }
        let found = assert_sound(database, context);
        assert!(found == course.acknowledged, "{context}: what is read");
        match txn.roll_back() {
            Ok(()) => assert!(read(&txn).unwrap() == course.acknowledged, "{context}"),
            Err(error) => {
                assert!(matches!(txn.tables(), Err(Error::TransactionBroken)));
                assert!(matches!(txn.checkpoint(), Err(Error::TransactionBroken)));
                return expect_error(course, &error, fault, context);
            }
        }
    }
    let mut next = course.acknowledged.clone();
    txn.set_durability(Durability::Durable);
    let changed = change(&mut txn, &mut next, COMMITS);
    match changed.and_then(|()| txn.commit_and_read()) {
        Ok(reader) => {
            assert!(read(&reader).unwrap() == next, "{context}: a reader");
            course.note(next, true);
        }
        Err(Error::TransactionBroken) => {}
        Err(error) => {
            expect_error(course, &error, fault, context);
            course.since.push(next);
        }
    }
}

/// A database whose disk fails.
type Play = fn(&Database, &mut Course, Fault, &str);

/// Plays the workload with a failing call, and checks all possible remains.
fn play_with_fault(play: Play, call: u64, fault: Fault) {
    let context = format!("call {call} fails with {fault:?}");
    let disk = SimDisk::new(CAPACITY);
    disk.fail_on(call, fault);
    let mut course = Course::default();
    let database = match testing::open(&disk, &options(), true, BOOT) {
        Ok(database) => database,
        Err(error) => return expect_error(&mut course, &error, fault, &context),
    };
    play(&database, &mut course, fault, &context);
    if let Err(error) = database.close() {
        expect_error(&mut course, &error, fault, &context);
        course.since.push(course.acknowledged.clone());
        course.is_poisoned = true;
    } else if !course.has_failed {
        course.durable = course.acknowledged.clone();
        course.since.clear();
    }
    check_after_power_cut(&disk, &course, &context);
    check_after_kill(&disk, &course, &context);
    if !fault.sticky {
        go_on(&disk, &course, &context);
    }
}

fn expect_possible(found: &Tables, course: &Course, context: &str) {
    let is_possible = *found == course.durable || course.since.contains(found);
    assert!(is_possible, "{context}: a state that was never committed");
}

fn check_after_kill(disk: &SimDisk, course: &Course, context: &str) {
    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let database = testing::open(&killed, &options(), false, BOOT).unwrap();
    let found = assert_sound(&database, context);
    expect_possible(&found, course, context);
    if !course.is_poisoned {
        let last = course.since.last().unwrap_or(&course.durable);
        assert!(
            found == course.acknowledged || found == *last,
            "{context}: an acknowledged commit is lost"
        );
    }
}

fn check_after_power_cut(disk: &SimDisk, course: &Course, context: &str) {
    let database = open_after_power_cut(disk, context);
    let found = assert_sound(&database, context);
    expect_possible(&found, course, context);
}

/// Opens a possible state after a power cut, one of many images.
fn open_after_power_cut(disk: &SimDisk, context: &str) -> Database {
    let calls = disk.calls();
    let mut rng = Rng(calls);
    let granularity = if calls.is_multiple_of(2) { 4096 } else { 512 };
    let image = disk.power_cut(&mut |count| rng.below(count), granularity);
    let cut = SimDisk::from_image(image, CAPACITY);
    match testing::open(&cut, &options(), false, OTHER_BOOT) {
        Ok(database) => database,
        Err(error) => panic!("{context}, and power is cut: {error}"),
    }
}

/// Opens the database on the same disk, which works again, and commits. Then the power fails.
fn go_on(disk: &SimDisk, course: &Course, context: &str) {
    let database = testing::open(disk, &options(), false, BOOT).unwrap();
    let mut tables = assert_sound(&database, context);
    expect_possible(&tables, course, context);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &mut tables, "coins", 77, value(1, 50)).unwrap();
    txn.commit().unwrap();
    let database = open_after_power_cut(disk, context);
    let found = assert_sound(&database, context);
    assert!(found == tables, "{context}: a durable commit is lost");
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        (self.0 >> 33) as usize % count
    }
}

/// The number of calls of the workload without a failure.
fn call_count(play: Play) -> u64 {
    let disk = SimDisk::new(CAPACITY);
    let mut course = Course::default();
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    play(&database, &mut course, Fault::DISK_FULL, "no fault");
    assert!(!course.has_failed);
    database.close().unwrap();
    disk.calls()
}

fn fail_everywhere(play: Play, fault: Fault) {
    let count = call_count(play);
    assert!(count > 100, "{count} calls");
    // Encoding takes time.
    let step = if is_coded() { 5 } else { 1 };
    for call in (0..count).step_by(step) {
        play_with_fault(play, call, fault);
    }
}

#[test]
fn the_disk_is_full_once() {
    fail_everywhere(play, Fault::DISK_FULL);
}

#[test]
fn the_disk_stays_full() {
    fail_everywhere(play, Fault::DISK_FULL.for_ever());
}

#[test]
fn the_disk_fails_once() {
    fail_everywhere(play, Fault::DISK_ERROR);
}

#[test]
fn the_disk_keeps_failing() {
    fail_everywhere(play, Fault::DISK_ERROR.for_ever());
}

#[test]
fn the_disk_of_an_encrypted_database_fails_once() {
    coded(TestCodec::Encrypted, the_disk_fails_once);
}

#[test]
fn the_disk_of_a_compressed_database_fails_once() {
    coded(TestCodec::Compressed, the_disk_fails_once);
}

#[test]
fn the_disk_of_an_encrypted_database_stays_full() {
    coded(TestCodec::Encrypted, the_disk_stays_full);
}

#[test]
fn the_disk_of_a_compressed_database_stays_full() {
    coded(TestCodec::Compressed, the_disk_stays_full);
}

#[test]
fn the_disk_fails_once_under_checkpoints() {
    fail_everywhere(play_checkpoints, Fault::DISK_ERROR);
}

#[test]
fn the_disk_stays_full_under_checkpoints() {
    fail_everywhere(play_checkpoints, Fault::DISK_FULL.for_ever());
}

#[test]
fn the_disk_is_full_once_under_checkpoints() {
    fail_everywhere(play_checkpoints, Fault::DISK_FULL);
}

/// A table of `count` records, all of them with the value `value`.
fn fill(database: &Database, durability: Durability, count: u32, value: &[u8]) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.set_durability(durability);
    let table = txn.create_table::<Vec<u8>, Vec<u8>>("coins")?;
    for i in 0..count {
        table.insert(&mut txn, key(i), value)?;
    }
    txn.commit().map(drop)
}

/// After a failed write, the space map was reloaded as if only the newest state were in use: the
/// next commits overwrote pages of an older reader and of the last durable commit.
#[test]
fn a_failed_write_frees_no_visible_pages() {
    let failed = (1..10)
        .filter(|call| fails_and_frees_nothing(*call))
        .count();
    assert!(failed > 1, "{failed} calls failed a commit");
}

/// Lets a call of a commit fail. Returns whether the commit failed with it.
fn fails_and_frees_nothing(call: u64) -> bool {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    fill(&database, Durability::Durable, 500, b"durable").unwrap();
    let reader = database.begin_read().unwrap();
    let expected = read(&reader).unwrap();
    fill(&database, Durability::Lazy, 500, b"lazy").unwrap();
    disk.fail_on(disk.calls() + call, Fault::DISK_FULL);
    let failed = fill(&database, Durability::Lazy, 500, b"failed").is_err();
    for round in 0..5 {
        let result = fill(&database, Durability::Lazy, 500, &[round; 20]);
        let is_expected = matches!(result, Ok(()) | Err(Error::Poisoned { .. }));
        assert!(!failed || is_expected, "call {call}: {result:?}");
    }
    assert!(read(&reader).unwrap() == expected, "call {call}");
    let image = disk.power_cut(&mut |count| count - 1, 4096);
    let cut = SimDisk::from_image(image, CAPACITY);
    let database = testing::open(&cut, &options(), false, OTHER_BOOT).unwrap();
    assert_sound(&database, "after a power cut");
    failed
}

/// The mapping was requested after the record had been written. The error said that nothing was
/// committed, but the space map said that it was, and the next commit had the same number.
#[test]
fn a_commit_without_a_mapping_does_not_happen() {
    let calls_of_a_commit = |failing: Option<u64>| {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &options(), true, BOOT).unwrap();
        fill(&database, Durability::Durable, 100, b"first").unwrap();
        let before = disk.calls();
        if let Some(call) = failing {
            disk.fail_on(before + call, Fault::DISK_ERROR);
        }
        let result = fill(&database, Durability::Lazy, 100, b"second");
        let calls = disk.calls() - before;
        let expected = if result.is_ok() {
            b"second" as &[u8]
        } else {
            b"first"
        };
        let found = assert_sound(&database, "after the commit");
        assert!(found["coins"].values().all(|value| value == expected));
        if fill(&database, Durability::Lazy, 100, b"third").is_ok() {
            let found = assert_sound(&database, "one commit later");
            assert!(found["coins"].values().all(|value| value == b"third"));
        }
        calls
    };
    for call in 0..calls_of_a_commit(None) {
        calls_of_a_commit(Some(call));
    }
}

/// A failed flush leaves the pages of earlier lazy commits only in memory, marked as if they were
/// on the disk. Reopening accepted those commits, and later ones, acknowledged as durable, were
/// based on pages that a power cut then lost.
#[test]
fn commits_after_a_failed_flush_are_not_based_on_lost_ones() {
    let disk = SimDisk::new(CAPACITY);
    let database = testing::open(&disk, &options(), true, BOOT).unwrap();
    fill(&database, Durability::Durable, 500, b"durable").unwrap();
    fill(&database, Durability::Lazy, 300, b"lazy").unwrap();
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(matches!(database.sync(), Err(Error::Io { .. })));
    drop(database);
    let database = testing::open(&disk, &options(), false, BOOT).unwrap();
    fill(&database, Durability::Durable, 1, b"later").unwrap();
    let image = disk.power_cut(&mut |_| 0, 4096);
    let cut = SimDisk::from_image(image, CAPACITY);
    let database = testing::open(&cut, &options(), false, OTHER_BOOT).unwrap();
    let found = assert_sound(&database, "after a power cut");
    assert_eq!(found["coins"][&key(0)], b"later");
    assert_eq!(
        found["coins"][&key(1)],
        b"lazy",
        "intact pages are rewritten"
    );
}
