use super::*;
use crate::{engines::EngineKind, statistics::Spread};

fn figure(mode: Durability, threads: usize, commits_per_second: f64) -> CommitsFigure {
    CommitsFigure {
        work: "commits",
        engine: EngineKind::Teak,
        mode,
        threads,
        records: 100,
        operations: 10,
        commits_per_second,
        spread: Spread {
            min: commits_per_second - 1.0,
            max: commits_per_second + 1.0,
        },
        repeats: 3,
        p50_ns: 1500,
        p99_ns: 20_000,
    }
}

#[test]
fn a_line_has_rate_and_latencies() {
    let text = table(&[figure(Durability::Durable, 4, 1000.0)]).to_string();
    assert!(text.contains("1000 (999..1001)"), "{text}");
    assert!(text.contains(" 1.5 ") && text.contains(" 20.0 "), "{text}");
}

#[cfg(feature = "lmdb")]
#[test]
fn engines_are_compared_with_the_first_of_the_same_number_of_threads() {
    let other = |threads, rate| CommitsFigure {
        engine: EngineKind::Lmdb,
        ..figure(Durability::Durable, threads, rate)
    };
    let figures = [
        figure(Durability::Durable, 1, 1000.0),
        other(1, 500.0),
        figure(Durability::Durable, 2, 900.0),
        other(2, 300.0),
    ];
    let text = table(&figures).to_string();
    assert!(text.contains("2.00 x the speed"), "{text}");
    assert!(text.contains("3.00 x the speed"), "{text}");
}

#[test]
fn modes_that_promise_less_are_not_compared() {
    let figures = [
        figure(Durability::Durable, 1, 10.0),
        figure(Durability::Lazy, 1, 20.0),
    ];
    assert!(!table(&figures).to_string().contains("the speed"));
}

#[test]
fn a_line_reports_the_rates() {
    let figures = [
        figure(Durability::Durable, 2, 10.0),
        figure(Durability::Lazy, 2, 20.0),
    ];
    let text = line(2, &figures);
    assert_eq!(text, "threads: 2; commits/s: teak 10, teak lazy 20");
}
