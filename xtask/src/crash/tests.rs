//! Tests that the campaign has a wide coverage, and that it finds violations.

use super::{
    episode::{self, CrashPlan},
    history::{CrashHistory, CrashKind, HistoryTables},
    tally::{CrashTally, SeenImages},
    workload::{Workload, sequence_count},
};
use crate::campaign::{Encoding, EncodingArguments};
use clap::ValueEnum;
use teak::TransactionId;

#[test]
fn a_crash_keeps_acknowledged_commits_and_invents_none() {
    let mut history = CrashHistory::new(TransactionId(0), HistoryTables::new(), 5);
    let first = history.begin(TransactionId(1), HistoryTables::new(), 10);
    history.states[first].returned = 12;
    let second = history.begin(TransactionId(2), HistoryTables::new(), 14);
    history.note_durable(second, 18);
    let possible = |time, cut| history.possible(time, cut).collect::<Vec<_>>();
    assert_eq!(possible(9, CrashKind::Power), [0]);
    assert_eq!(possible(11, CrashKind::Power), [1, 0]);
    assert_eq!(possible(12, CrashKind::Kill), [1]);
    assert_eq!(possible(14, CrashKind::Power), [2, 1, 0]);
    assert_eq!(possible(14, CrashKind::Kill), [2, 1]);
    assert_eq!(possible(18, CrashKind::Power), [2]);
}

#[test]
fn a_failed_commit_is_possible_until_it_is_known_to_be_undone() {
    let mut history = CrashHistory::new(TransactionId(0), HistoryTables::new(), 0);
    let failed = history.begin(TransactionId(1), HistoryTables::new(), 10);
    history.note_opened(0, 20);
    let other = history.begin(TransactionId(1), HistoryTables::new(), 21);
    assert_eq!(
        history.possible(19, CrashKind::Power).collect::<Vec<_>>(),
        [failed, 0]
    );
    assert_eq!(
        history.possible(22, CrashKind::Power).collect::<Vec<_>>(),
        [other, 0]
    );
    assert_eq!(history.newest(), 0);
}

#[test]
fn all_short_sequences_are_counted() {
    assert_eq!(sequence_count(), 18 + 324 + 5832);
}

#[test]
fn each_kind_of_workload_passes() {
    play_each_kind(|_| Encoding::Off);
}

#[test]
fn each_kind_of_workload_passes_with_encryption() {
    let encoding = EncodingArguments {
        encrypted: true,
        compressed: false,
    };
    play_each_kind(|episode| encoding.of_episode(episode));
}

fn play_each_kind(encoding: impl Fn(u64) -> Encoding) {
    let seen = SeenImages::new();
    for &workload in Workload::value_variants() {
        let mut tally = CrashTally::default();
        for episode in 0..2 {
            let plan = CrashPlan {
                seed: 1,
                episode,
                workload: Some(workload),
                image: None,
                encoding: encoding(episode),
            };
            if let Err(violation) = episode::run_episode(&plan, &seen, &mut tally) {
                panic!("{violation:?}");
            }
        }
        assert!(tally.distinct > 0, "{workload:?} has no images");
    }
}
