use super::*;

fn latencies(microseconds: &[u64]) -> Latencies {
    let mut latencies = Latencies::new().expect("a histogram");
    for time in microseconds {
        latencies.note(Duration::from_micros(*time));
    }
    latencies
}

/// Whether a figure is correct to three digits.
fn is_close(found: u64, expected: u64) -> bool {
    found.abs_diff(expected) * 1000 <= expected
}

#[test]
fn percentiles_are_close_to_the_noted_times() {
    let times: Vec<u64> = (1..=100).collect();
    let latencies = latencies(&times);
    assert_eq!(latencies.count(), 100);
    assert!(is_close(latencies.percentile_ns(50.0), 50_000));
    assert!(is_close(latencies.percentile_ns(99.0), 99_000));
}

#[test]
fn threads_are_added() {
    let mut sum = latencies(&[1, 1, 1]);
    sum.add(&latencies(&[5])).expect("the same bounds");
    assert_eq!(sum.count(), 4);
    assert!(is_close(sum.percentile_ns(100.0), 5_000));
}

#[test]
fn times_beyond_the_bounds_count_as_the_nearest() {
    let mut latencies = latencies(&[]);
    latencies.note(Duration::ZERO);
    latencies.note(Duration::from_secs(1000));
    assert_eq!(latencies.count(), 2);
    assert_eq!(latencies.percentile_ns(1.0), LOW_NS);
    assert!(is_close(latencies.percentile_ns(100.0), HIGH_NS));
}

#[test]
fn an_operation_is_timed_and_its_result_returned() {
    let mut latencies = latencies(&[]);
    assert_eq!(latencies.time(|| 7), 7);
    assert_eq!(latencies.count(), 1);
}
