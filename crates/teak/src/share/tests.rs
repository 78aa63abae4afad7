//! Publication and turns.

use super::{Published, Turnstile};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

#[test]
fn a_state_is_pinned_while_somebody_holds_it() {
    let published = Published::new(1);
    let one = published.newest();
    published.publish(Arc::new(2));
    published.publish(Arc::new(3));
    let three = published.newest();
    let pinned = || {
        let mut pinned = Vec::new();
        published.for_each_pinned(|state| pinned.push(*state));
        pinned
    };
    assert_eq!((pinned(), *three), (vec![1, 3], 3));
    assert_eq!(published.holders(), 2);
    drop(one);
    assert_eq!(pinned(), vec![3]);
}

#[test]
fn turns_do_not_overlap_and_none_is_forgotten() {
    let turnstile = Turnstile::new(0usize);
    let inside = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (turnstile, inside) = (Arc::clone(&turnstile), Arc::clone(&inside));
            thread::spawn(move || {
                for _ in 0..500 {
                    let mut turn = turnstile.take();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    *turn += 1;
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(*turnstile.take(), 4000);
}

#[test]
fn a_turn_may_end_on_another_thread() {
    let turnstile = Turnstile::new(());
    let turn = turnstile.take();
    thread::spawn(move || drop(turn)).join().unwrap();
    drop(turnstile.take());
}
