//! Tests of the output of programs, and of the resulting states.

use super::{CommitMark, CommitOrder, CommitScript, CrashScope, MemberAccount, SharedPlan};
use crate::Result;

const COMMON: SharedPlan = SharedPlan {
    seed: 7,
    page_size: 4096,
    journal_bytes: 0,
    script: CommitScript::Plain,
    has_habits: true,
};

fn mark(member: u32, count: u64) -> CommitMark {
    CommitMark { member, count }
}

fn order(crash: CrashScope) -> CommitOrder {
    CommitOrder::nothing(COMMON, crash)
}

/// The order after a boot in which the programs printed these lines. All of them are promises.
fn after(crash: CrashScope, said: &[(u32, &str)]) -> Result<CommitOrder> {
    let accounts = said
        .iter()
        .map(|(member, said)| MemberAccount::read(*member, said));
    let accounts = accounts.collect::<Result<Vec<_>>>()?;
    let mut order = order(crash);
    order.live(&accounts).map(|()| order)
}

fn after_power_cut(said: &[(u32, &str)]) -> Result<CommitOrder> {
    after(CrashScope::Machine, said)
}

#[test]
fn the_newest_of_each_kind_counts() {
    let said =
        "opening 0\nfound 3\nbegin 4\nseen 4\ndurable 4\nbegin 5\nseen 5\nclosing 5\nbegin 6";
    let expected = MemberAccount {
        member: 2,
        found: vec![3],
        begun: vec![(4, mark(2, 1)), (5, mark(2, 2))],
        seen: vec![4, 5],
        durable: 4,
        closes: vec![5],
    };
    assert_eq!(MemberAccount::read(2, said).unwrap(), expected);
}

#[test]
fn an_unexplained_loss_of_a_commit_is_an_error() {
    let said = "found 0\nbegin 1\nseen 1\nclosing 1\nfound 0\n";
    assert!(MemberAccount::read(1, said).is_err());
    assert!(MemberAccount::read(1, "found 0\nhello\n").is_err());
}

#[test]
fn a_power_cut_may_take_commits_that_were_not_durable() {
    let said = "found 0\nbegin 1\nseen 1\ndurable 1\nbegin 2\nseen 2\nbegin 3\n";
    for (crash, oldest) in [(CrashScope::Process, 2), (CrashScope::Machine, 1)] {
        let order = after(crash, &[(1, said)]).unwrap();
        for number in oldest..=3 {
            order.expect_possible(number).unwrap();
        }
        assert!(order.expect_possible(oldest - 1).is_err());
        assert!(order.expect_possible(4).is_err());
    }
}

#[test]
fn a_lost_commit_is_repeated_with_other_content() {
    let order = order(CrashScope::Machine);
    let state = |mark| order.state_with(Default::default(), mark);
    assert_eq!(state(mark(1, 2)), state(mark(1, 2)));
    assert_ne!(state(mark(1, 2)), state(mark(2, 2)));
    assert_ne!(state(mark(1, 2)), state(mark(1, 3)));
}

#[test]
fn a_program_on_its_own_may_be_closed_only_where_it_closed() {
    let said = "found 0\nbegin 1\nseen 1\nclosing 1\nfound 1\nbegin 2\nseen 2\n";
    let order = after_power_cut(&[(1, said)]).unwrap();
    assert!(order.may_be_closed(0) && order.may_be_closed(1) && !order.may_be_closed(2));
}

#[test]
fn a_promise_to_one_program_holds_for_all_commits() {
    let said = [
        (1, "found 0\nbegin 1\nseen 1\nbegin 3\nseen 3\nbegin 5\n"),
        (
            2,
            "found 1\nbegin 2\nseen 2\nbegin 4\nseen 4\ndurable 3\nclosing 4\nbeg",
        ),
    ];
    let order = after_power_cut(&said).unwrap();
    assert!(order.expect_possible(2).is_err());
    for number in 3..=5 {
        order.expect_possible(number).unwrap();
    }
    assert!(order.expect_possible(6).is_err());
    let marks = [mark(1, 1), mark(2, 1), mark(1, 2), mark(2, 2)];
    order.state_after(&marks).unwrap();
    let swapped = [mark(1, 1), mark(2, 1), mark(2, 2)];
    assert!(order.state_after(&swapped).is_err());
    assert!(!order.may_be_closed(3) && order.may_be_closed(4) && order.may_be_closed(5));
}

#[test]
fn the_last_commit_of_a_killed_program_may_exist_or_be_replaced() {
    let order = after_power_cut(&[(1, "found 0\nbegin 1\n"), (2, "found 0\nbegin 1\n")]).unwrap();
    order.state_after(&[mark(1, 1)]).unwrap();
    order.state_after(&[mark(2, 1)]).unwrap();
    assert!(order.state_after(&[mark(3, 1)]).is_err());
}

#[test]
fn a_number_belongs_to_one_returned_commit() {
    let twice = [
        (1, "found 0\nbegin 1\nseen 1\n"),
        (2, "found 0\nbegin 1\nseen 1\n"),
    ];
    assert!(after_power_cut(&twice).is_err());
    let gap = [(1, "found 0\nbegin 1\nseen 1\n"), (2, "found 2\nbegin 3\n")];
    assert!(after_power_cut(&gap).is_err());
}

#[test]
fn marks_are_parsed_from_their_text() {
    let written = mark(12, 345);
    assert_eq!(CommitMark::parse(&written.text()), Some(written));
    assert_eq!(CommitMark::parse("12 of life 3"), None);
}
