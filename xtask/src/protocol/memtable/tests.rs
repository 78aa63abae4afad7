//! Every planted error is found, and without a planted error there is no violation.

use super::rules::{LogBounds, LogRules, LogWriting, PlantedInLog};
use crate::protocol::search::{assert_found, search};
use clap::ValueEnum;

fn bounds(commits: u8, mishaps: u8, events: u8) -> LogBounds {
    LogBounds {
        commits,
        mishaps,
        events,
        readers: 1,
        room: 2,
        writing: LogWriting::Cached,
    }
}

/// The fewest commits, mishaps and events with which an error is found.
fn least(planted: PlantedInLog) -> LogBounds {
    let least = match planted {
        PlantedInLog::DurableMergeLazy | PlantedInLog::AttachedUnmerged => bounds(2, 1, 1),
        PlantedInLog::FailedLogFlushTrusted
        | PlantedInLog::LeftRemovedEarly
        | PlantedInLog::RemovalUnflushed => bounds(2, 2, 0),
        _ => bounds(3, 1, 0),
    };
    LogBounds {
        writing: planted.writing(),
        ..least
    }
}

#[test]
fn every_planted_error_of_the_log_is_found() {
    for &planted in PlantedInLog::value_variants() {
        let rules = LogRules {
            planted: Some(planted),
            bounds: least(planted),
        };
        assert_found(&rules, planted);
    }
}

#[test]
fn the_rules_of_the_log_have_no_violations() {
    for writing in [LogWriting::Cached, LogWriting::Direct] {
        let rules = LogRules {
            planted: None,
            bounds: LogBounds {
                writing,
                ..bounds(3, 1, 1)
            },
        };
        let outcome = search(&rules);
        let violation = outcome
            .violation
            .map(|found| (found.violation, found.trace));
        assert!(violation.is_none(), "{violation:?}");
        assert!(outcome.states > 50_000, "{} states", outcome.states);
        assert!(outcome.endings > 500_000, "{} endings", outcome.endings);
    }
}
