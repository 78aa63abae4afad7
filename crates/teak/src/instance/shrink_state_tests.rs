//! Rounds and pauses of emptying the tail, and when the file may be truncated.

use super::*;

fn at(transaction: u64) -> TransactionId {
    TransactionId(transaction)
}

fn point() -> TruncationPoint {
    TruncationPoint {
        since: at(10),
        page_count: 100,
        seen: None,
    }
}

#[test]
fn the_file_is_truncated_when_two_durable_records_do_not_use_its_end() {
    let mut point = point();
    assert!(!point.is_due(at(9)));
    assert!(!point.is_due(at(10)), "one record says so");
    assert!(!point.is_due(at(10)));
    assert!(point.is_due(at(11)));
}

#[test]
fn a_successful_round_is_followed_by_another_one() {
    let mut tail = Tail::default();
    tail.empty_from(500, true);
    assert_eq!(tail.boundary(), Some(500));
    tail.note_moved(1000, 6400);
    assert!(tail.is_emptying());
    assert!(tail.note_commit(0, 6400));
    tail.note_moved(100, 6400);
    assert!(!tail.is_emptying(), "a hundredth part is little");
    assert_eq!(tail.boundary(), None);
}

#[test]
fn a_pause_ends_after_written_pages_and_is_longer_after_poor_rounds() {
    let pause = |tail: &mut Tail| {
        tail.empty_from(500, true);
        tail.note_moved(0, 6400);
        (1..)
            .find(|_| tail.note_commit(100, 6400))
            .expect("a pause ends")
    };
    let mut tail = Tail::default();
    let first = pause(&mut tail);
    assert!(pause(&mut tail) > first);
}

#[test]
fn a_pause_ends_when_a_quarter_of_the_pages_become_free() {
    let mut tail = Tail::default();
    tail.empty_from(500, true);
    tail.note_moved(0, 6400);
    assert!(!tail.note_commit(1, 6400));
    assert!(tail.note_commit(1, 4000));
}

#[test]
fn after_a_failure_nothing_moves_for_some_commits() {
    let mut tail = Tail::default();
    tail.empty_from(500, true);
    tail.rest_until(at(20));
    assert!(!tail.is_at_work(at(19)));
    assert!(tail.is_at_work(at(20)));
}

#[test]
fn samples_are_taken_when_many_pages_were_written() {
    let mut tail = Tail::default();
    tail.note_commit(500, 160);
    assert!(!tail.is_sample_due(160));
    tail.note_commit(50, 160);
    assert!(tail.is_sample_due(160));
    assert!(!tail.is_sample_due(160), "the count begins again");
}

#[test]
fn a_file_that_does_not_become_shorter_is_not_expected_to_for_ever() {
    let mut state = ShrinkState::default();
    let mut note = |is_probable, page_count| {
        state.note_probable(is_probable, page_count);
        state.is_shrinking
    };
    assert!(!note(false, 1000));
    assert!((0..IN_VAIN_MAX).all(|_| note(true, 1000)));
    assert!(!note(true, 1000) && !note(true, 1001));
    assert!(note(true, 500));
    assert!(!note(false, 500) && note(true, 500));
    state.tail.begin(1);
    (0..2 * IN_VAIN_MAX).for_each(|_| state.note_probable(true, 500));
    assert!(state.is_shrinking, "pages are being moved");
}
