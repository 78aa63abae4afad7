//! Waiting for a commit notification, and notifying.

use super::CommitNotifier;
use crate::io::Memory;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

const LONG: Duration = Duration::from_secs(60);

fn notifier() -> CommitNotifier {
    CommitNotifier::new(Arc::new(Memory::private(4096).unwrap()), 2)
}

#[test]
fn no_thread_sleeps_for_a_condition_that_holds_already() {
    let began = Instant::now();
    notifier().wait(LONG, || true);
    assert!(began.elapsed() < LONG / 2);
}

#[test]
fn waiting_ends_at_its_limit() {
    notifier().wait(Duration::from_millis(5), || false);
}

#[test]
fn notifying_without_waiters_changes_nothing() {
    let memory = Arc::new(Memory::private(4096).unwrap());
    CommitNotifier::new(Arc::clone(&memory), 2).notify();
    assert_eq!(memory.half_words()[2].load(SeqCst), 0);
}

#[test]
fn a_waiter_that_died_is_notified_once() {
    let memory = Arc::new(Memory::private(4096).unwrap());
    let notifier = CommitNotifier::new(Arc::clone(&memory), 2);
    let word = || memory.half_words()[2].load(SeqCst);
    notifier.wait(Duration::from_millis(1), || false);
    assert_eq!(word(), 1 << 31);
    assert!(notifier.is_awaited());
    notifier.notify();
    assert_eq!(word(), 1);
    assert!(!notifier.is_awaited());
    notifier.notify();
    assert_eq!(word(), 1);
}

#[test]
fn every_state_is_notified() {
    let (notifier, state) = (notifier(), Arc::new(AtomicU64::new(0)));
    let heard = Arc::new(AtomicU64::new(0));
    let waiting = {
        let (notifier, state, heard) = (notifier.clone(), Arc::clone(&state), Arc::clone(&heard));
        thread::spawn(move || {
            for seen in 0..2000 {
                while state.load(SeqCst) <= seen {
                    notifier.wait(LONG, || state.load(SeqCst) > seen);
                }
                heard.store(seen + 1, SeqCst);
            }
        })
    };
    let began = Instant::now();
    for next in 1..=2000 {
        state.store(next, SeqCst);
        notifier.notify();
        while heard.load(SeqCst) < next && next % 3 == 0 {
            thread::yield_now();
            assert!(began.elapsed() < LONG / 2, "{next} was not notified");
        }
    }
    waiting.join().unwrap();
}
