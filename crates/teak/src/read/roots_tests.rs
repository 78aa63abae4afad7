//! The cached roots of a state, and those that it shares with the previous state.

use super::*;
use crate::{
    Durability,
    transaction_tests::test_kit::{
        BOOT, assert_clean, create_table, get, get_in, insert, new_database, open,
    },
    write::transaction::WriteTransaction,
};

/// More tables than a state has entries for.
const TABLES: usize = DIRECT_COUNT + GROUP_LEN * GROUP_COUNT + 40;

fn name(number: usize) -> Vec<u8> {
    format!("table {number:04}").into_bytes()
}

/// Each new state iterated over the slots of all tables that the process had ever opened.
#[test]
fn a_commit_copies_only_the_roots_of_changed_groups() {
    let (_, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for number in 0..TABLES {
        create_table(&mut txn, &name(number));
    }
    txn.commit().unwrap();
    let before = engine.begin_read().unwrap();
    let changed = DIRECT_COUNT + 5 * GROUP_LEN + 3;
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, &name(changed), b"k", b"v").unwrap();
    txn.commit().unwrap();
    let after = engine.begin_read().unwrap();
    let group = |state: &crate::read::snapshot::Snapshot, index: usize| {
        Arc::clone(
            state.known_roots().grouped.get().unwrap()[index]
                .get()
                .unwrap(),
        )
    };
    for index in 0..GROUP_COUNT {
        let is_shared = Arc::ptr_eq(&group(&before, index), &group(&after, index));
        assert_eq!(is_shared, index != 5, "group {index}");
    }
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, &name(3), b"k", b"v").unwrap();
    txn.commit().unwrap();
    let newest = engine.begin_read().unwrap();
    let all = |state: &crate::read::snapshot::Snapshot| {
        Arc::clone(state.known_roots().grouped.get().unwrap())
    };
    assert!(Arc::ptr_eq(&all(&after), &all(&newest)));
}

/// A root that is looked up in one state is visible in others that share its group, which must have
/// an equal one.
#[test]
fn every_state_has_its_own_root_of_each_table() {
    let (disk, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for number in 0..TABLES {
        create_table(&mut txn, &name(number));
    }
    txn.commit().unwrap();
    drop(engine);
    let engine = open(&disk, false, BOOT).unwrap();
    let numbers: Vec<usize> = (0..TABLES)
        .map(|table| engine.handle(&name(table)))
        .collect();
    let mut states = vec![engine.begin_read().unwrap()];
    let (step, dropped) = (37, 740);
    for round in 0..40 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        txn.set_durability(Durability::Lazy);
        let is_there = |table: &usize| *table != dropped || round < 20;
        for table in (round % step..TABLES).step_by(step).filter(is_there) {
            insert(
                &mut txn,
                &name(table),
                b"round",
                round.to_string().as_bytes(),
            )
            .unwrap();
        }
        if round == 20 {
            assert!(txn.drop_table(numbers[dropped], &name(dropped)).unwrap());
        }
        txn.commit().unwrap();
        states.push(engine.begin_read().unwrap());
        // Some are looked up in old states, some in new ones, before others are.
        let state = &states[(round * 7) % states.len()];
        for table in (round % 5..TABLES).step_by(5) {
            state.root_of(numbers[table], &name(table)).unwrap();
        }
    }
    for (commits, state) in states.iter().enumerate() {
        for (table, number) in numbers.iter().enumerate() {
            let found = get_in(state, *number, &name(table), b"round");
            let last = (0..commits)
                .rev()
                .find(|round| round % step == table % step);
            let last = last.filter(|_| table != dropped || commits <= 20);
            let expected = last.map(|round| round.to_string().into_bytes());
            assert_eq!(found, expected, "table {table} after {commits} commits");
        }
    }
    drop(states);
    assert_clean(&engine);
    assert!(get(&engine, &name(dropped), b"round").is_none());
}
