//! Tests of the invariants, and of numbers of processes.

use super::{
    ProcessCounts,
    invariants::{self, InvariantDepth},
    journal::{Promises, Subject},
    tables::{COMMITS, StormTables, content},
};
use teak::{Database, WriteTxn};

/// The complaint about a database after `change`, if there is one.
fn complaint(
    promises: &[(Subject, u64)],
    change: impl FnOnce(&mut WriteTxn, &StormTables) -> teak::Result<()>,
) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("storm.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let tables = StormTables::create(&mut txn).unwrap();
    tables.counter.insert(&mut txn, COMMITS, 5).unwrap();
    for (writer, commits) in [(8, 2), (9, 3)] {
        tables
            .acknowledged
            .insert(&mut txn, writer, commits)
            .unwrap();
    }
    tables.mirror.insert(&mut txn, 1, 100).unwrap();
    tables.inverse.insert(&mut txn, 100, 1).unwrap();
    tables
        .large
        .insert(&mut txn, 0, content(1, 50_000))
        .unwrap();
    change(&mut txn, &tables).unwrap();
    let mut least = Promises::default();
    for (subject, number) in promises {
        least.take(*subject, *number);
    }
    let result = invariants::check(&txn, &least, InvariantDepth::Values);
    result.err().map(|failure| failure.0)
}

#[test]
fn a_valid_snapshot_has_no_violation() {
    let promises = [
        (Subject::Counter, 5),
        (Subject::Writer(8), 2),
        (Subject::Writer(9), 1),
    ];
    assert_eq!(complaint(&promises, |_, _| Ok(())), None);
}

#[test]
fn promised_commits_must_exist() {
    for (promise, text) in [
        ((Subject::Counter, 6), "the counter is 5, but 6 was seen"),
        (
            (Subject::Writer(9), 4),
            "3 commits of writer 9 exist, but 4",
        ),
        (
            (Subject::Writer(7), 1),
            "0 commits of writer 7 exist, but 1",
        ),
    ] {
        let found = complaint(&[promise], |_, _| Ok(())).unwrap();
        assert!(found.starts_with(text), "{found}");
    }
}

#[test]
fn tables_that_differ_are_found() {
    type Change = fn(&mut WriteTxn, &StormTables) -> teak::Result<()>;
    let changes: [(Change, &str); 6] = [
        (
            |txn, tables| tables.accounts.insert(txn, 3, 999),
            "accounts",
        ),
        (
            |txn, tables| tables.counter.insert(txn, COMMITS, 7),
            "the counter is 7",
        ),
        (|txn, tables| tables.mirror.insert(txn, 2, 7), "key 2 has"),
        (
            |txn, tables| tables.inverse.insert(txn, 7, 2),
            "the inverse 2",
        ),
        (
            |txn, tables| tables.large.insert(txn, 0, b"somewhat else"),
            "large value 0",
        ),
        (
            |txn, tables| tables.bulk.insert(txn, (1, 2), b""),
            "record (1, 2)",
        ),
    ];
    for (change, text) in changes {
        let found = complaint(&[], change).unwrap();
        assert!(found.contains(text), "{found}");
    }
}

#[test]
fn a_digest_depends_on_all_contents() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("storm.teak")).unwrap();
    let empty = invariants::digest(&database.begin_read().unwrap()).unwrap();
    let mut txn = database.begin_write().unwrap();
    let tables = StormTables::create(&mut txn).unwrap();
    let before = invariants::digest(&txn).unwrap();
    assert_ne!(empty, before);
    tables.inverse.insert(&mut txn, 1, 1).unwrap();
    assert_ne!(before, invariants::digest(&txn).unwrap());
    tables.inverse.remove(&mut txn, 1).unwrap();
    assert_eq!(before, invariants::digest(&txn).unwrap());
}

#[test]
fn processes_are_a_number_or_a_range() {
    let processes = |min, max| Ok(ProcessCounts { min, max });
    assert_eq!("4".parse(), processes(4, 4));
    assert_eq!("4..8".parse(), processes(4, 8));
    for text in ["0", "8..4", "some", "4.."] {
        assert!(text.parse::<ProcessCounts>().is_err());
    }
}
