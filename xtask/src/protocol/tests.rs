//! Every planted error is found, and without one nothing is.

use super::{
    rules::{Bounds, Planted, Rules},
    search::{Outcome, search},
};
use clap::ValueEnum;

fn outcome(planted: Option<Planted>, commits: u8, mishaps: u8) -> Outcome {
    let bounds = Bounds {
        pages: 5,
        commits,
        mishaps,
        readers: 1,
        entries: 0,
    };
    search(&Rules { planted, bounds })
}

#[test]
fn every_planted_error_is_found() {
    for &planted in Planted::value_variants() {
        let (commits, mishaps) = match planted {
            Planted::CloseNotSettled => (3, 3),
            Planted::TargetNotPinned
            | Planted::PublishedNotPinned
            | Planted::TargetSlotTaken
            | Planted::ErasedFirst => (3, 2),
            _ => (2, 2),
        };
        let found = outcome(Some(planted), commits, mishaps).violation;
        let found = found.unwrap_or_else(|| panic!("{planted:?} is not found"));
        let is_whole = found.trace.iter().all(|line| !line.contains("is lost"));
        assert!(is_whole, "{planted:?}: {:?}", found.trace);
        assert!(found.trace.len() > 2, "{planted:?}: {:?}", found.trace);
    }
}

#[test]
fn nothing_is_found_without() {
    let outcome = outcome(None, 2, 2);
    assert!(outcome.violation.is_none());
    assert!(outcome.states > 1000, "{} states", outcome.states);
    assert!(outcome.endings > 10_000, "{} endings", outcome.endings);
}
