//! Tests of the output of the program, and of the resulting states.

use super::{CommitHistory, CommitScript, CrashScope, ExpectedCommits, VictimAccount};

#[test]
fn the_newest_of_each_kind_counts() {
    let said = "opening 0\nfound 3\nbegin 4\ndurable 4\nbegin 5\nseen 5\nclosing 5\nbegin 6";
    let account = VictimAccount::read(said).unwrap();
    let expected = VictimAccount {
        found: Some(3),
        begun: 5,
        seen: 5,
        durable: 4,
        closes: vec![5],
    };
    assert_eq!(account, expected);
}

#[test]
fn an_unexplained_loss_of_a_commit_is_an_error() {
    assert!(VictimAccount::read("found 0\nbegin 1\nseen 1\nclosing 1\nfound 0\n").is_err());
    assert!(VictimAccount::read("found 0\nhello\n").is_err());
}

#[test]
fn a_power_cut_may_take_commits_that_were_not_durable() {
    let said = "found 0\nbegin 1\ndurable 1\nbegin 2\nseen 2\nbegin 3\n";
    let account = VictimAccount::read(said).unwrap();
    for (crash, oldest) in [(CrashScope::Process, 2), (CrashScope::Machine, 1)] {
        let mut history = CommitHistory::new(7, CommitScript::Plain);
        let mut expected = ExpectedCommits::nothing(crash);
        let incarnation = history.next_incarnation();
        expected.live(&account, &mut history, incarnation).unwrap();
        assert_eq!((expected.oldest, expected.newest), (oldest, 3));
        assert!(expected.check(oldest - 1).is_err());
        assert!(expected.check(4).is_err());
    }
}

#[test]
fn a_lost_commit_is_repeated_with_other_content() {
    let mut history = CommitHistory::new(7, CommitScript::Flusher);
    history.continue_from(0, 1);
    let (first, before) = (history.state(1), history.state(20));
    history.continue_from(10, 2);
    assert_eq!(history.state(1), first);
    assert_ne!(history.state(20), before);
    assert_eq!(history.origin(10).incarnation, 1);
    assert_eq!(history.origin(11).incarnation, 2);
    let settled = history.state(15);
    history.settle(12);
    assert_eq!(history.state(15), settled);
}
