use super::*;
use crate::{arguments::CommitOrdering, engines::EngineKind, statistics::Spread};

fn figure(engine: EngineKind, outcome: HandoverOutcome) -> HandoverFigure {
    HandoverFigure {
        work: "handover",
        mode: CommitOrdering::Strict,
        engine,
        processes: 2,
        records: 100,
        outcome,
    }
}

fn rates(commits_per_second: f64) -> HandoverOutcome {
    HandoverOutcome::Rates(CommitRates {
        commits_per_second,
        spread: Spread {
            min: commits_per_second - 1.0,
            max: commits_per_second + 1.0,
        },
        repeats: 3,
        shares: vec![0.4, 0.6],
        share_min: 0.4,
        wait_max_ns: 1.5e6,
        wait_longest_ns: 2.25e6,
    })
}

fn error() -> HandoverOutcome {
    HandoverOutcome::Error {
        error: "it is in use".to_owned(),
    }
}

#[test]
fn a_line_has_rate_share_and_wait() {
    let text = table(&[figure(EngineKind::Teak, rates(1000.0))]);
    for part in ["1000 (999..1001)", "40.0 %", "1.50 (2.25)", "strict"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn failures_are_listed_below_the_table() {
    let text = table(&[figure(EngineKind::Teak, error())]);
    assert!(text.contains("failed, see below"), "{text}");
    let last = text.lines().last();
    assert_eq!(last, Some("teak, strict, processes: 2: it is in use"));
}

#[cfg(feature = "lmdb")]
#[test]
fn engines_are_compared_with_the_first_if_it_has_rates() {
    let other = || figure(EngineKind::Lmdb, rates(500.0));
    let text = table(&[figure(EngineKind::Teak, rates(1000.0)), other()]);
    assert!(text.contains("2.00 x the speed"), "{text}");
    let text = table(&[figure(EngineKind::Teak, error()), other()]);
    assert!(!text.contains("the speed"), "{text}");
}
