//! Prepared transactions: they are durable and invisible until they are decided.

use crate::{processes::Other, shared::temporary_path};
use std::{collections::BTreeMap, ops::ControlFlow, path::Path, thread, time::Duration};
use teak::{
    CompactOptions, Create, Database, Durability, Error, Options, Result, Sharing, Table,
    Transaction, WriteOptions, WriteTxn,
    codec::{self, Bytes},
};

type Numbers = Table<u64, Bytes>;
type Model = BTreeMap<u64, Vec<u8>>;

fn options() -> Options {
    Options::new()
}

/// A database with 500 numbers.
fn open_filled(path: &Path) -> (Database, Numbers) {
    let database = options().open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table("numbers").unwrap();
    fill(&mut txn, &table, 0..500, 1);
    txn.commit().unwrap();
    (database, table)
}

fn fill(txn: &mut WriteTxn, table: &Numbers, numbers: std::ops::Range<u64>, byte: u8) {
    for number in numbers {
        table.insert(txn, number, [byte; 100]).unwrap();
    }
}

fn filled(byte: u8) -> Model {
    (0..500).map(|number| (number, vec![byte; 100])).collect()
}

/// Prepares a change of all numbers, and a new table.
fn prepare(database: &Database, table: &Numbers, name: &str, byte: u8) {
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, table, 0..500, byte);
    txn.create_table::<&str, &str>("new").unwrap();
    txn.prepare(name).unwrap();
}

fn all(txn: &impl Transaction) -> Model {
    let table: Numbers = txn.open_table("numbers").unwrap();
    let records = table.iter(txn).unwrap();
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())))
        .collect::<Result<_>>()
        .unwrap()
}

fn visible(database: &Database) -> Model {
    all(&database.begin_read().unwrap())
}

fn table_count(database: &Database) -> usize {
    database.begin_read().unwrap().tables().unwrap().len()
}

fn names(database: &Database) -> Vec<Vec<u8>> {
    let prepared = database.prepared().unwrap().into_iter();
    prepared.map(|info| info.name).collect()
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut go_on).unwrap();
    assert!(report.is_clean(), "{:?}", report.damages);
}

fn used_pages(database: &Database) -> u64 {
    let stat = database.stat().unwrap();
    stat.used_pages
}

/// Orders for another process, about prepared transactions.
pub(crate) fn order(database: Option<&Database>, words: &[&str]) -> Option<String> {
    let database = database?;
    let done = match words {
        ["prepare", name, key, value] => database.begin_write().and_then(|mut txn| {
            let numbers = txn.create_table::<codec::Str, u64>("numbers")?;
            numbers.insert(&mut txn, *key, value.parse::<u64>().unwrap())?;
            txn.prepare(name).map(|_| "prepared")
        }),
        ["commit-prepared", name] => database.commit_prepared(name).map(|_| "decided"),
        ["rollback-prepared", name] => database.rollback_prepared(name).map(|_| "decided"),
        ["try-begin"] => {
            let at_once = WriteOptions::new().timeout(Duration::ZERO);
            database.begin_write_with(at_once).map(|_| "begun")
        }
        _ => return None,
    };
    Some(match done {
        Ok(done) => done.to_owned(),
        Err(Error::TransactionPrepared { name }) => format!("prepared: {name}"),
        Err(error) => format!("error: {error}"),
    })
}

/// Refused at once, with the name.
fn assert_no_writer(database: &Database, name: &str) {
    let at_once = WriteOptions::new().timeout(Duration::ZERO);
    let refused = database.begin_write_with(at_once);
    assert!(
        matches!(&refused, Err(Error::TransactionPrepared { name: found }) if found == name),
        "{refused:?}"
    );
}

#[test]
fn a_prepared_transaction_is_invisible_until_it_is_committed() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    let before = database.begin_read().unwrap();
    prepare(&database, &table, "seven", 2);
    assert_eq!(visible(&database), filled(1));
    assert_eq!(table_count(&database), 1);
    assert_eq!(all(&database.open_prepared("seven").unwrap()), filled(2));
    assert_clean(&database);
    let [info] = &database.prepared().unwrap()[..] else {
        panic!("one transaction is prepared");
    };
    assert_eq!(info.name, b"seven");
    assert!(info.changed_pages > 10);
    assert_eq!(info.changed_bytes, info.changed_pages * 4096);
    assert_eq!(
        database.open_prepared("seven").unwrap().id(),
        info.transaction
    );
    assert!(info.time.elapsed().unwrap() < Duration::from_secs(3600));

    let committed = database.commit_prepared("seven").unwrap();
    assert!(committed > info.transaction);
    assert_eq!(visible(&database), filled(2));
    assert_eq!(table_count(&database), 2);
    assert_eq!(all(&before), filled(1));
    assert!(database.prepared().unwrap().is_empty());
    assert_clean(&database);
    drop(before);
    database.close().unwrap();
    let database = options().open(&path).unwrap();
    assert_eq!(visible(&database), filled(2));
    assert_clean(&database);
}

#[test]
fn a_rollback_frees_all_that_a_prepared_transaction_took() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    let used = used_pages(&database);
    for round in 0..20 {
        prepare(&database, &table, "seven", round);
        assert_clean(&database);
        database.rollback_prepared("seven").unwrap();
        assert_eq!(visible(&database), filled(1));
        assert_eq!(table_count(&database), 1);
        assert_clean(&database);
    }
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, [1; 100]).unwrap();
    txn.commit().unwrap();
    // The list has a note about the name that was dropped last.
    assert!(used_pages(&database) <= used + 2);
    database.close().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    assert!(len < 1 << 20, "{len} bytes");
}

#[test]
fn no_other_transaction_begins_before_the_decision() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    prepare(&database, &table, "seven", 2);
    assert_no_writer(&database, "seven");
    let soon = WriteOptions::new().timeout(Duration::from_millis(20));
    let refused = database.begin_write_with(soon);
    assert!(matches!(refused, Err(Error::TransactionPrepared { .. })));
    let lazy = WriteOptions::new()
        .timeout(Duration::ZERO)
        .durability(Durability::Lazy);
    assert!(database.begin_write_with(lazy).is_err());
    let reader = database.begin_read().unwrap();
    let at = WriteOptions::new().timeout(Duration::ZERO).at(&reader);
    assert!(matches!(
        database.begin_write_with(at),
        Err(Error::TransactionPrepared { .. })
    ));
    assert!(matches!(
        database.commit_prepared("eight"),
        Err(Error::PreparedNotFound(name)) if name == "eight"
    ));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // Waits for the decision.
            let mut txn = database.begin_write().unwrap();
            table.insert(&mut txn, 0, [3; 100]).unwrap();
            txn.commit().unwrap();
        });
        database.commit_prepared("seven").unwrap();
        writer.join().unwrap();
    });
    let mut expected = filled(2);
    expected.insert(0, vec![3; 100]);
    assert_eq!(visible(&database), expected);
    assert_clean(&database);
}

#[test]
fn no_small_commit_is_accepted_before_the_decision() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    let lazy = || WriteOptions::new().durability(Durability::Lazy);
    for round in 0..100u64 {
        let mut txn = database.begin_write_with(lazy()).unwrap().unwrap();
        table.insert(&mut txn, 1000 + round, [5; 10]).unwrap();
        txn.commit().unwrap();
    }
    // The commits in the memtable are merged first, and come before the prepared one.
    let mut txn = database.begin_write_with(lazy()).unwrap().unwrap();
    table.insert(&mut txn, 0, [2; 100]).unwrap();
    txn.prepare("seven").unwrap();
    let refused = database.begin_write_with(lazy().timeout(Duration::ZERO));
    assert!(matches!(refused, Err(Error::TransactionPrepared { .. })));
    assert_eq!(visible(&database).len(), 600);
    assert_eq!(visible(&database)[&0], [1; 100]);
    database.commit_prepared("seven").unwrap();
    assert_eq!(visible(&database)[&0], [2; 100]);
    let mut txn = database.begin_write_with(lazy()).unwrap().unwrap();
    table.insert(&mut txn, 1, [2; 100]).unwrap();
    txn.commit().unwrap();
    assert_eq!(visible(&database)[&1], [2; 100]);
    assert_clean(&database);
}

#[test]
fn a_prepared_transaction_survives_a_close() {
    for is_commit in [true, false] {
        let (_directory, path) = temporary_path();
        let (database, table) = open_filled(&path);
        prepare(&database, &table, "seven", 2);
        database.close().unwrap();
        let info = teak::inspect(&path).unwrap();
        assert!(info.has_prepared && info.was_closed);
        for _ in 0..2 {
            let database = options().open(&path).unwrap();
            assert_eq!(names(&database), [b"seven"]);
            assert_eq!(visible(&database), filled(1));
            assert_no_writer(&database, "seven");
            assert_clean(&database);
            database.close().unwrap();
        }
        let reader = options().read_only(true).open(&path).unwrap();
        assert_eq!(names(&reader), [b"seven"]);
        assert_eq!(visible(&reader), filled(1));
        assert!(matches!(
            reader.commit_prepared("seven"),
            Err(Error::ReadOnly)
        ));
        drop(reader);
        let database = options().open(&path).unwrap();
        let expected = match is_commit {
            true => database.commit_prepared("seven").map(|_| filled(2)),
            false => database.rollback_prepared("seven").map(|_| filled(1)),
        };
        assert_eq!(visible(&database), expected.unwrap());
        assert_clean(&database);
    }
}

#[test]
fn an_empty_transaction_can_be_prepared() {
    let (_directory, path) = temporary_path();
    let (database, _table) = open_filled(&path);
    database.begin_write().unwrap().prepare("nothing").unwrap();
    assert_eq!(database.prepared().unwrap()[0].changed_pages, 0);
    assert_clean(&database);
    database.commit_prepared("nothing").unwrap();
    assert!(matches!(
        database.rollback_prepared("nothing"),
        Err(Error::PreparedNotFound(_))
    ));
    assert_eq!(visible(&database), filled(1));
    assert_clean(&database);
}

#[test]
fn a_name_has_1_to_255_bytes() {
    let database = Database::in_memory().unwrap();
    for name in ["", &"x".repeat(256)] {
        let refused = database.begin_write().unwrap().prepare(name);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    let longest = "x".repeat(255);
    database.begin_write().unwrap().prepare(&longest).unwrap();
    database.commit_prepared(&longest).unwrap();
    assert_clean(&database);
}

#[test]
fn marks_and_savepoints_are_part_of_a_prepared_transaction() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    let mut txn = database.begin_write().unwrap();
    txn.set_marks([7, 8, 9]).unwrap();
    let outer = txn.savepoint().unwrap();
    fill(&mut txn, &table, 0..500, 2);
    let inner = txn.savepoint().unwrap();
    table.clear(&mut txn).unwrap();
    txn.rollback_to(&inner).unwrap();
    let _ = outer;
    let prepared = txn.prepare("seven").unwrap();
    assert_eq!(database.begin_read().unwrap().marks().values, [0; 3]);
    database.commit_prepared("seven").unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(txn.marks().values, [7, 8, 9]);
    assert_eq!(txn.marks().set_in, Some(prepared));
    assert_eq!(all(&txn), filled(2));
    assert_clean(&database);
}

#[test]
fn changes_of_snapshots_and_geometry_are_refused() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    database.create_snapshot("monday").unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.create_snapshot("tuesday").unwrap();
    assert!(matches!(
        txn.prepare("seven"),
        Err(Error::InvalidArgument(_))
    ));
    let mut txn = database.begin_write().unwrap();
    let geometry = database.geometry().unwrap().upper_limit_bytes(1 << 30);
    txn.set_geometry(geometry).unwrap();
    fill(&mut txn, &table, 0..500, 2);
    assert!(matches!(
        txn.prepare("seven"),
        Err(Error::InvalidArgument(_))
    ));
    let mut txn = database.begin_write().unwrap();
    txn.set_broken();
    assert!(matches!(
        txn.prepare("seven"),
        Err(Error::TransactionBroken)
    ));
    // Nothing of it is left.
    assert!(database.prepared().unwrap().is_empty());
    assert_eq!(visible(&database), filled(1));
    assert_clean(&database);
}

#[test]
fn a_rollback_to_a_snapshot_can_be_prepared() {
    for is_commit in [true, false] {
        let (_directory, path) = temporary_path();
        let (database, table) = open_filled(&path);
        database.create_snapshot("one").unwrap();
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, 0..500, 2);
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        txn.roll_back_to_snapshot("one").unwrap();
        table.insert(&mut txn, 0, [4; 100]).unwrap();
        txn.prepare("back").unwrap();
        assert_eq!(visible(&database), filled(2));
        assert_eq!(database.snapshots().unwrap().len(), 1);
        assert_clean(&database);
        let mut expected = filled(1);
        expected.insert(0, vec![4; 100]);
        match is_commit {
            true => drop(database.commit_prepared("back").unwrap()),
            false => {
                database.rollback_prepared("back").unwrap();
                expected = filled(2);
            }
        }
        assert_eq!(visible(&database), expected);
        assert_eq!(all(&database.open_snapshot("one").unwrap()), filled(1));
        database.drop_snapshot("one").unwrap();
        for round in 0..5 {
            let mut txn = database.begin_write().unwrap();
            fill(&mut txn, &table, 1000..1500, round);
            txn.commit().unwrap();
            assert_clean(&database);
        }
        let mut found = visible(&database);
        found.retain(|key, _| *key < 1000);
        assert_eq!(found, expected);
    }
}

#[test]
fn a_prepared_table_of_several_values_is_there_after_the_commit() {
    let (_directory, path) = temporary_path();
    let (database, _table) = open_filled(&path);
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_multi_table::<&str, u64>("words").unwrap();
    for value in 0..1000 {
        words.insert(&mut txn, "a", value).unwrap();
    }
    txn.prepare("seven").unwrap();
    database.close().unwrap();
    let database = options().open(&path).unwrap();
    assert_clean(&database);
    database.commit_prepared("seven").unwrap();
    let txn = database.begin_read().unwrap();
    let words = txn.open_multi_table::<&str, u64>("words").unwrap();
    assert_eq!(words.len(&txn).unwrap(), 1000);
    assert_clean(&database);
}

#[test]
fn copies_have_the_prepared_transaction_unless_they_are_dense() {
    let (directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    let mut full = Vec::new();
    let since = database.begin_read().unwrap();
    since.write_backup(&mut full, None, &mut go_on).unwrap();
    prepare(&database, &table, "seven", 2);
    let [copy, dense] = ["copy.teak", "dense.teak"].map(|name| directory.path().join(name));
    database.backup(&copy, None, &mut go_on).unwrap();
    let txn = database.begin_read().unwrap();
    txn.copy_dense(&dense, &mut go_on).unwrap();

    let copy = options().open(&copy).unwrap();
    assert_eq!(names(&copy), [b"seven"]);
    assert_no_writer(&copy, "seven");
    copy.commit_prepared("seven").unwrap();
    assert_eq!(visible(&copy), filled(2));
    assert_clean(&copy);
    let dense = options().open(&dense).unwrap();
    assert!(dense.prepared().unwrap().is_empty());
    assert_eq!(visible(&dense), filled(1));
    assert_clean(&dense);

    let mut increment = Vec::new();
    txn.write_backup(&mut increment, Some(&since), &mut go_on)
        .unwrap();
    let restored = directory.path().join("restored.teak");
    let (mut full, mut increment) = (&full[..], &increment[..]);
    let increments: &mut [&mut dyn std::io::Read] = &mut [&mut increment];
    let report = teak::restore(&mut full, increments, &[], &restored, &mut go_on).unwrap();
    assert!(report.is_clean());
    let restored = options().open(&restored).unwrap();
    assert_eq!(names(&restored), [b"seven"]);
    restored.rollback_prepared("seven").unwrap();
    assert_eq!(visible(&restored), filled(1));
    assert_clean(&restored);

    // The list of this transaction is outdated after the decision.
    database.rollback_prepared("seven").unwrap();
    let refused = txn.write_backup(&mut Vec::new(), None, &mut go_on);
    assert!(
        matches!(&refused, Err(Error::InvalidArgument(text)) if text.contains("was decided")),
        "{refused:?}"
    );
}

fn go_on<P>(_: P) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn salvage_says_that_a_prepared_transaction_is_lost() {
    let (directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    prepare(&database, &table, "seven", 2);
    database.close().unwrap();
    let target = directory.path().join("saved.teak");
    let report = teak::salvage(&path, &target, &[], &mut go_on).unwrap();
    assert_eq!(report.lost_prepared, [b"seven"]);
    assert!(!report.is_complete());
    assert!(
        report
            .to_string()
            .contains("prepared transaction \"seven\" is lost")
    );
    let saved = options().create(Create::Never).open(&target).unwrap();
    assert_eq!(visible(&saved), filled(1));
    assert!(saved.prepared().unwrap().is_empty());
}

#[test]
fn upkeep_waits_for_the_decision() {
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    prepare(&database, &table, "seven", 2);
    let at_once = CompactOptions::new().wait_for_writers(Duration::ZERO);
    let refused = database.compact(&at_once, &mut go_on);
    assert!(
        matches!(refused, Err(Error::TransactionPrepared { .. })),
        "{refused:?}"
    );
    database.sync().unwrap();
    database.commit_prepared("seven").unwrap();
    database
        .compact(&CompactOptions::new(), &mut go_on)
        .unwrap();
    assert_eq!(visible(&database), filled(2));
    assert_clean(&database);
}

#[test]
fn a_full_database_can_decide() {
    for is_commit in [true, false] {
        let (_directory, path) = temporary_path();
        let options = options().size_limit_bytes(Some(1 << 20));
        let database = options.open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table: Numbers = txn.create_table("numbers").unwrap();
        fill(&mut txn, &table, 0..500, 1);
        txn.commit().unwrap();
        // As much as fits.
        let mut count = 6000;
        loop {
            let mut txn = database.begin_write().unwrap();
            let filled = (500..count)
                .try_for_each(|number| table.insert(&mut txn, number, [2; 100]).map(drop));
            match filled.and_then(|()| txn.prepare("much").map(drop)) {
                Ok(()) => break,
                Err(Error::Full { .. }) => count = count * 98 / 100,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(count > 2000, "{count}");
        match is_commit {
            true => database.commit_prepared("much").unwrap(),
            false => database.rollback_prepared("much").unwrap(),
        };
        let expected = if is_commit { count } else { 500 };
        assert_eq!(visible(&database).len() as u64, expected);
        assert_clean(&database);
    }
}

#[test]
fn futures_wait_for_the_decision() {
    use std::{
        pin::pin,
        task::{Context, Poll, Waker},
    };
    let (_directory, path) = temporary_path();
    let (database, table) = open_filled(&path);
    prepare(&database, &table, "seven", 2);
    let mut begin = pin!(database.begin_write_async());
    let mut context = Context::from_waker(Waker::noop());
    assert!(begin.as_mut().poll(&mut context).is_pending());
    database.commit_prepared("seven").unwrap();
    let begun = loop {
        match begin.as_mut().poll(&mut context) {
            Poll::Ready(begun) => break begun,
            Poll::Pending => thread::yield_now(),
        }
    };
    assert_eq!(all(&begun.unwrap()), filled(2));
}

#[test]
fn each_mode_of_sharing_has_prepared_transactions() {
    let (_directory, path) = temporary_path();
    let alone = options().sharing(Sharing::Alone);
    let database = alone.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Numbers = txn.create_table("numbers").unwrap();
    fill(&mut txn, &table, 0..500, 1);
    txn.commit().unwrap();
    prepare(&database, &table, "seven", 2);
    assert_no_writer(&database, "seven");
    database.close().unwrap();
    let unlocked = options().read_only(true).sharing(Sharing::Unlocked);
    let reader = unlocked.open(&path).unwrap();
    assert_eq!(names(&reader), [b"seven"]);
    assert_eq!(visible(&reader), filled(1));
    assert_eq!(all(&reader.open_prepared("seven").unwrap()), filled(2));
    drop(reader);
    let database = alone.open(&path).unwrap();
    database.commit_prepared("seven").unwrap();
    assert_eq!(visible(&database), filled(2));
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, [1; 100]).unwrap();
    txn.commit().unwrap();
    assert_clean(&database);
}

#[test]
fn another_process_decides_after_the_first_was_killed() {
    for decision in ["commit-prepared", "rollback-prepared"] {
        let (_directory, path) = temporary_path();
        let mut other = Other::start(&path);
        other.ask("open");
        other.ask("put durable a 1");
        // This process has the database open meanwhile.
        let database = options().open(&path).unwrap();
        assert_eq!(other.ask("prepare seven a 2"), "prepared");
        assert_eq!(names(&database), [b"seven"]);
        assert_no_writer(&database, "seven");
        assert_eq!(other.ask("try-begin"), "prepared: seven");
        other.kill();
        assert_no_writer(&database, "seven");
        let mut third = Other::start(&path);
        third.ask("open");
        assert_eq!(third.ask("get a"), "Some(1)");
        assert_eq!(third.ask(&format!("{decision} seven")), "decided");
        let expected = match decision {
            "commit-prepared" => "Some(2)",
            _ => "Some(1)",
        };
        assert_eq!(third.ask("get a"), expected);
        assert!(names(&database).is_empty());
        assert!(database.commit_prepared("seven").is_err());
        let mut txn = database.begin_write().unwrap();
        txn.set_marks([1, 2, 3]).unwrap();
        txn.commit().unwrap();
        assert_clean(&database);
        assert_eq!(third.ask("close"), "closed");
    }
}

#[test]
fn a_writer_in_another_process_waits_for_the_decision() {
    let (_directory, path) = temporary_path();
    let mut other = Other::start(&path);
    other.ask("open");
    let database = options().open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.set_marks([1, 2, 3]).unwrap();
    txn.prepare("seven").unwrap();
    other.send("put durable a 1");
    database.commit_prepared("seven").unwrap();
    other.answer();
    assert_eq!(other.ask("get a"), "Some(1)");
    assert_eq!(database.begin_read().unwrap().marks().values, [1, 2, 3]);
    assert_clean(&database);
}
