//! Entries of the table of processes, and their loss.

use super::{ProcessTable, TABLE_WORDS, entry_index_of};
use crate::io::{Memory, PROCESSES_MAX};
use std::sync::Arc;

fn table() -> ProcessTable {
    ProcessTable::new(Arc::new(Memory::private(TABLE_WORDS * 8).unwrap()), 0)
}

#[test]
fn a_process_declared_dead_sees_that() {
    let table = table();
    let one = table.enter(7, 100, 1);
    assert!(table.is_current(one) && entry_index_of(one.token()) == Some(7));
    let suspect = table.suspect(one.token()).unwrap();
    assert!(table.declare_dead(suspect) && !table.declare_dead(suspect));
    assert!(!table.is_current(one) && table.suspect(one.token()).is_none());
}

#[test]
fn a_successor_at_an_entry_is_not_mistaken_for_its_predecessor() {
    let table = table();
    let one = table.enter(0, 100, 1);
    let suspect = table.suspect(one.token()).unwrap();
    let next = table.enter(0, 200, 1);
    assert_ne!(one.token(), next.token());
    assert!(!table.declare_dead(suspect) && table.is_current(next));
    assert!(table.suspect(one.token()).is_none());
    table.leave(one);
    assert!(table.is_current(next));
    table.leave(next);
    assert!(table.suspect(next.token()).is_none());
}

#[test]
fn a_process_is_known_in_its_namespace() {
    let table = table();
    let one = table.enter(PROCESSES_MAX - 1, 100, 1);
    assert_eq!(table.process(one.token(), 1), Some(100));
    assert_eq!(table.process(one.token(), 2), None);
    table.leave(one);
    assert_eq!(table.process(one.token(), 1), None);
}

#[test]
fn invalid_tokens_are_no_process() {
    let table = table();
    for token in [0, 1, 8191, 4097, u32::MAX >> 1] {
        assert!(table.suspect(token).is_none());
    }
}
