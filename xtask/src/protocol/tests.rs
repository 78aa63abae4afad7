//! Every planted error is found, and without a planted error there is no violation.

use super::{
    rules::{Planted, Rules, SearchBounds},
    search::{assert_found, search},
};
use clap::ValueEnum;

fn bounds(commits: u8, mishaps: u8, entries: u8) -> SearchBounds {
    SearchBounds {
        pages: 5,
        commits,
        mishaps,
        readers: 1,
        entries,
    }
}

/// The fewest commits, mishaps and entries with which an error is found, and the pages.
fn least(planted: Planted) -> SearchBounds {
    match planted {
        Planted::CloseNotSettled => bounds(3, 3, 0),
        Planted::TargetNotPinned
        | Planted::PublishedNotPinned
        | Planted::TargetSlotTaken
        | Planted::ErasedFirst => bounds(3, 2, 0),
        Planted::FlushedNotPinned
        | Planted::AcknowledgedCalledFlushed
        | Planted::EntryAcknowledgedEarly
        | Planted::EntryOfLastCommit
        | Planted::ClosedJournaled
        | Planted::AnyEntryCounts
        | Planted::NothingRedone => bounds(2, 1, 1),
        Planted::AcknowledgedNotPinned | Planted::ChainGoesOn | Planted::DeadRedone => {
            bounds(3, 1, 2)
        }
        Planted::AnyPagesRedone => bounds(2, 3, 2),
        Planted::RecordRedoneFirst => SearchBounds {
            pages: 6,
            ..bounds(3, 1, 1)
        },
        _ => bounds(2, 2, 0),
    }
}

#[test]
fn every_planted_error_is_found() {
    for &planted in Planted::value_variants() {
        let rules = Rules {
            planted: Some(planted),
            bounds: least(planted),
        };
        assert_found(&rules, planted);
    }
}

#[test]
fn correct_rules_have_no_violations() {
    for (entries, least_states) in [(0, 3000), (2, 10_000)] {
        let rules = Rules {
            planted: None,
            bounds: bounds(2, 2, entries),
        };
        let outcome = search(&rules);
        assert!(outcome.violation.is_none());
        let states = outcome.states;
        assert!(states > least_states, "{states} states");
        assert!(outcome.endings > 10_000, "{} endings", outcome.endings);
    }
}
