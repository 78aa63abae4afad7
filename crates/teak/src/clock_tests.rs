use super::{Clock, ExpiryClock, TransactionTime, later_ms, ms_of, time_of, whole_ms};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[test]
fn times_before_1970_are_its_beginning_and_the_latest_is_never_reached() {
    assert_eq!(ms_of(UNIX_EPOCH - Duration::from_secs(1)), 0);
    assert_eq!(
        time_of(ms_of(UNIX_EPOCH + Duration::from_millis(5))),
        UNIX_EPOCH + Duration::from_millis(5)
    );
    assert!(time_of(u64::MAX) > SystemTime::now());
    assert_eq!(whole_ms(Duration::MAX), u64::MAX - 1);
    assert_eq!(later_ms(5, u64::MAX), u64::MAX - 1);
}

#[test]
fn durations_are_rounded_up() {
    assert_eq!(whole_ms(Duration::ZERO), 0);
    assert_eq!(whole_ms(Duration::from_nanos(1)), 1);
    assert_eq!(whole_ms(Duration::from_millis(7)), 7);
}

#[test]
fn a_clock_counts_whole_milliseconds_that_have_passed() {
    let at = |micros| move || UNIX_EPOCH + Duration::from_micros(micros);
    for (micros, ms) in [(0, 0), (999, 0), (1_000, 1), (7_999, 7)] {
        assert_eq!(Clock::new(at(micros)).now_ms(), ms);
    }
    assert_eq!(
        Clock::new(|| UNIX_EPOCH - Duration::from_secs(1)).now_ms(),
        0
    );
    assert_eq!(ms_of(UNIX_EPOCH + Duration::from_micros(7_001)), 8);
}

#[test]
fn a_transaction_keeps_its_time_and_the_next_one_takes_another() {
    let time = TransactionTime::default();
    assert_eq!(time.of(1, || 10), 10);
    assert_eq!(time.of(1, || 20), 10);
    assert_eq!(time.of(2, || 20), 20);
}

#[test]
fn a_clock_that_is_set_back_stands_still() {
    let time = Arc::new(AtomicU64::new(100));
    let clock = ExpiryClock::new(Clock::new({
        let time = Arc::clone(&time);
        move || UNIX_EPOCH + Duration::from_millis(time.load(Relaxed))
    }));
    assert_eq!(clock.take(), 100);
    time.store(40, Relaxed);
    assert_eq!(clock.take(), 100);
    time.store(101, Relaxed);
    assert_eq!(clock.take(), 101);
}
