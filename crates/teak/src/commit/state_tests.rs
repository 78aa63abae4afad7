use super::*;
use crate::{TransactionId, share::StateWords};

fn record(transaction: u64, slot: u8) -> RecordRef {
    RecordRef {
        transaction: TransactionId(transaction),
        slot,
        sequence: transaction,
    }
}

/// Commit 10 is durable, in slot 0.
fn state() -> CommitState {
    CommitState::new(record(10, 0), [10, 7, 8, 9], 0)
}

fn write(state: &mut CommitState, transaction: u64) -> RecordRef {
    let written = record(transaction, state.next_slot());
    assert!(state.may_write(written));
    state.note_written(written);
    written
}

#[test]
fn records_go_to_the_oldest_slot_that_is_not_needed() {
    let mut state = state();
    let first = write(&mut state, 11);
    assert_eq!(first.slot, 1, "the oldest record");
    state.become_leader();
    let target = state.begin_flush(first);
    for transaction in 12..20 {
        let later = write(&mut state, transaction);
        assert!(
            later.slot >= 2,
            "slots of the durable and the target record"
        );
    }
    assert!(!state.may_write(record(20, 0)) && !state.may_write(record(20, 1)));
    assert!(!state.may_write(record(19, state.next_slot())), "not newer");
    assert_eq!(target.commit, first);
    state.complete_flush(true);
    state.resign_leader();
    assert_eq!((state.durable(), state.flushed()), (first, first));
    assert!(state.may_write(record(20, 0)));
}

#[test]
fn a_journal_entry_makes_durable_and_not_flushed() {
    let mut state = state();
    let (before, written) = (state.flushed(), write(&mut state, 11));
    state.become_leader();
    state.begin_flush(written);
    state.complete_flush(false);
    state.resign_leader();
    assert_eq!((state.durable(), state.flushed()), (written, before));
    state.flush_journaled();
    assert_eq!(state.flushed(), written);
}

#[test]
fn after_a_failure_only_the_target_of_a_running_flush_becomes_durable() {
    let mut state = state();
    let target = write(&mut state, 11);
    state.become_leader();
    state.begin_flush(target);
    let later = write(&mut state, 12).transaction;
    state.fail("testing", &std::io::Error::other("it failed"));
    assert!(state.outcome(target.transaction).is_none());
    assert!(state.outcome(later).is_some_and(|outcome| outcome.is_err()));
    state.complete_flush(true);
    assert!(
        state
            .outcome(target.transaction)
            .is_some_and(|outcome| outcome.is_ok())
    );
    assert!(state.outcome(later).is_some_and(|outcome| outcome.is_err()));
    assert!(state.give_up().is_empty());
    state.resign_leader();
}

#[test]
#[should_panic(expected = "one flush at a time")]
fn a_second_leader_is_a_bug() {
    let mut state = state();
    state.become_leader();
    state.become_leader();
}

#[test]
#[should_panic(expected = "a leader begins a flush")]
fn a_flush_without_a_leader_is_a_bug() {
    let mut state = state();
    let written = write(&mut state, 11);
    state.begin_flush(written);
}

/// The words of a state, each number of which may be replaced.
fn words_of(change: impl FnOnce(&mut StateWords)) -> StateWords {
    let mut state = state();
    write(&mut state, 11);
    let mut words = state.to_words();
    change(&mut words);
    words
}

#[test]
fn records_of_other_processes_are_adopted() {
    let mut state = state();
    state.adopt_words(&words_of(|_| {}));
    assert!(!state.has_failed());
    assert_eq!(state.newest(), record(11, 1));
    assert_eq!(state.durable(), record(10, 0));
    state.assert_invariants();
}

/// Positions of transaction numbers among the words.
const NEWEST: usize = 1;
const DURABLE: usize = 4;
const FLUSHED: usize = 7;
const TARGET: usize = 10;

#[test]
fn contradictory_numbers_in_shared_memory_are_an_error_and_are_not_adopted() {
    type Forgery = fn(&mut StateWords);
    let forgeries: [Forgery; 4] = [
        |words| words[NEWEST] = 9,
        |words| words[DURABLE] = 12,
        |words| words[FLUSHED] = 11,
        |words| (words[0], words[TARGET]) = (1, 9),
    ];
    for forge in forgeries {
        let mut state = state();
        state.adopt_words(&words_of(forge));
        assert!(state.has_failed());
        assert_eq!(state.newest(), record(10, 0));
        state.assert_invariants();
    }
}

#[test]
fn any_words_leave_a_state_that_can_continue() {
    for seed in 0..10_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut words: StateWords = std::array::from_fn(|_| random.u64(..));
        // Some are nearly right.
        if seed % 2 == 0 {
            words.iter_mut().for_each(|word| *word %= 14);
        }
        let mut state = state();
        state.adopt_words(&words);
        state.assert_invariants();
        let next = state.next_slot();
        assert!(state.records.may_overwrite(next));
        assert!(state.pins().count() >= 4);
    }
}
