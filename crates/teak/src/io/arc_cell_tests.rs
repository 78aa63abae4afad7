//! A taken value has one owner, and no value is lost.

use super::ArcCell;
use std::{sync::Arc, thread};

#[test]
fn a_value_is_taken_once() {
    let cell = ArcCell::default();
    assert!(cell.put(Arc::new(1)).is_none());
    assert_eq!(cell.put(Arc::new(2)).as_deref(), Some(&1));
    assert_eq!(cell.take().as_deref(), Some(&2));
    assert_eq!(cell.take(), None);
}

#[test]
fn a_slot_drops_its_value() {
    let value = Arc::new(());
    let cell = ArcCell::default();
    assert!(cell.put(Arc::clone(&value)).is_none());
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn threads_never_share_a_value() {
    let value = Arc::new(());
    let cell = ArcCell::default();
    assert!(cell.put(Arc::clone(&value)).is_none());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    let Some(taken) = cell.take() else { continue };
                    assert_eq!(Arc::strong_count(&taken), 2);
                    assert!(cell.put(taken).is_none());
                }
            });
        }
    });
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1);
}
