//! States become visible while other threads wait for them: no thread keeps sleeping when its
//! condition is true.

use crate::{
    notifier::CommitNotifier,
    readers::ReaderTable,
    words::{Memory, without_fences},
};
use loom::{model::Builder, thread};
use std::{sync::Arc, time::Duration};

/// `waiting` threads wait for `states` states, one after the other.
fn explore(waiting: usize, states: u64, preemptions: Option<usize>) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let memory = Arc::new(Memory::new(ReaderTable::len_bytes(1)));
        let table = ReaderTable::new(Arc::clone(&memory), 0, 1);
        let notifier = CommitNotifier::new(memory, 2);
        let threads: Vec<_> = (0..waiting)
            .map(|_| {
                let (table, notifier) = (table.clone(), notifier.clone());
                thread::spawn(move || {
                    while table.visible() < states {
                        let seen = table.visible();
                        let is_over = || table.visible() > seen || seen == states;
                        notifier.wait(Duration::ZERO, is_over);
                    }
                })
            })
            .collect();
        for state in 1..=states {
            table.publish(state);
            notifier.notify();
        }
        for thread in threads {
            thread.join().expect("a waiting thread does not panic");
        }
    });
}

#[test]
fn a_waiting_thread_is_woken() {
    explore(1, 1, None);
}

#[test]
fn a_waiting_thread_is_woken_for_each_state() {
    explore(1, 2, Some(3));
}

#[test]
fn all_waiting_threads_are_woken() {
    explore(2, 1, Some(3));
}

#[test]
#[should_panic]
fn the_fences_of_a_notification_are_needed() {
    without_fences(|| explore(1, 1, None));
}
