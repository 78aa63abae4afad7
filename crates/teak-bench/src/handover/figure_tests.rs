use super::*;
use anyhow::bail;

fn share(commits: u64, wait_max_ns: u64) -> ProcessShare {
    ProcessShare {
        commits,
        seconds: 0.5,
        wait_max_ns,
    }
}

#[test]
fn rounds_come_to_rates_and_shares() {
    let mut tally = HandoverTally::default();
    tally.add(|| Ok(vec![share(30, 5), share(70, 9)]));
    tally.add(|| Ok(vec![share(80, 7), share(20, 3)]));
    let Some(HandoverOutcome::Rates(rates)) = tally.outcome() else {
        panic!("there are rounds, and none failed");
    };
    assert_eq!(rates.commits_per_second, 200.0);
    assert_eq!(rates.repeats, 2);
    assert_eq!(rates.shares.len(), 2);
    assert!((rates.share_min - 0.25).abs() < 1e-9, "{rates:?}");
    assert_eq!((rates.wait_max_ns, rates.wait_longest_ns), (8.0, 9.0));
}

#[test]
fn an_error_is_the_outcome_and_the_end() {
    let mut tally = HandoverTally::default();
    tally.add(|| Ok(vec![share(1, 1)]));
    tally.add(|| bail!("in use"));
    tally.add(|| panic!("it goes on"));
    let outcome = tally.outcome();
    assert!(matches!(outcome, Some(HandoverOutcome::Error { error }) if error == "in use"));
}

#[test]
fn no_round_has_no_outcome() {
    assert!(HandoverTally::default().outcome().is_none());
}
