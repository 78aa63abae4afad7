//! Tests of the output of programs, and of the resulting states.

use super::{
    super::CommitScript, BootAccounts, CommitMark, CommitOrder, MemberAccount, SharedPlan,
};

const COMMON: SharedPlan = SharedPlan {
    seed: 7,
    page_size: 4096,
    journal_bytes: 0,
    script: CommitScript::Plain,
};

fn mark(member: u32, count: u64) -> CommitMark {
    CommitMark { member, count }
}

/// The order after a boot in which the programs printed these lines. All of them are promises.
fn after(said: &[(u32, &str)]) -> Result<CommitOrder, crate::Failure> {
    let (mut order, mut boot) = (CommitOrder::nothing(COMMON), BootAccounts::default());
    for (member, said) in said {
        let account = MemberAccount::read(*member, said)?;
        let durable = account.durable;
        boot.add(*member, account, durable);
    }
    order.live(&boot).map(|()| order)
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
    let order = after(&said).unwrap();
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
    let order = after(&[(1, "found 0\nbegin 1\n"), (2, "found 0\nbegin 1\n")]).unwrap();
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
    assert!(after(&twice).is_err());
    assert!(after(&[(1, "found 0\nbegin 1\nseen 1\n"), (2, "found 2\nbegin 3\n")]).is_err());
}

#[test]
fn marks_are_parsed_from_their_text() {
    let written = mark(12, 345);
    assert_eq!(CommitMark::parse(&written.text()), Some(written));
    assert_eq!(CommitMark::parse("12 of life 3"), None);
}
