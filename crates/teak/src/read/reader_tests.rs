//! Reader holds, slots and cached slots.

use crate::transaction_tests::test_kit::{fill, get_in, new_database, put, records};
use crate::{Error, record::durability::Durability};
use std::{sync::Arc, thread};

#[test]
fn a_reader_keeps_its_first_snapshot() {
    let (_disk, engine) = new_database();
    fill(&engine, records(10, b"one"));
    let reader = engine.begin_read().unwrap();
    let other = reader.clone();
    for round in 0..50 {
        let durability = [Durability::Durable, Durability::Lazy][round % 2];
        put(&engine, durability, records(10, b"two")).unwrap();
    }
    let pinned = |count| assert_eq!(engine.reader_count().unwrap(), count);
    pinned(1);
    drop(reader);
    pinned(1);
    let found = get_in(&other, engine.handle(b"a"), b"a", &[0, 0, 0, 7]);
    assert_eq!(found.as_deref(), Some(&b"one"[..]));
    drop(other);
    pinned(0);
    let newest = engine.begin_read().unwrap().transaction();
    assert_eq!(newest, engine.newest());
}

#[test]
fn a_slot_is_reused_by_its_thread() {
    let (_disk, engine) = new_database();
    let slot = |_| engine.begin_read().unwrap().hold().slot;
    let slots: Vec<_> = (0..10).map(slot).collect();
    assert!(slots.iter().all(|slot| *slot == slots[0]), "{slots:?}");
    let nested: Vec<_> = (0..3).map(|_| engine.begin_read().unwrap()).collect();
    let of_nested: Vec<_> = nested.iter().map(|reader| reader.hold().slot).collect();
    drop(nested);
    let again: Vec<_> = (0..3).map(|_| engine.begin_read().unwrap()).collect();
    assert!(
        again
            .iter()
            .all(|reader| of_nested.contains(&reader.hold().slot))
    );
}

#[test]
fn slots_of_ended_threads_hold_nothing_open() {
    let (_disk, engine) = new_database();
    let other = Arc::clone(&engine);
    let (sender, receiver) = std::sync::mpsc::channel();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        drop(other.begin_read().unwrap());
        drop(other);
        sender.send(()).unwrap();
        wait.recv().unwrap();
    });
    receiver.recv().unwrap();
    let later = engine.begin_read().unwrap();
    engine.readers.close();
    assert_eq!(Arc::strong_count(&engine), 2, "this one and the reader");
    drop(later);
    assert_eq!(Arc::strong_count(&engine), 1);
    done.send(()).unwrap();
    thread.join().unwrap();
}

#[test]
fn a_reader_may_end_on_another_thread() {
    let (_disk, engine) = new_database();
    for _ in 0..100 {
        let reader = engine.begin_read().unwrap();
        thread::spawn(move || drop(reader)).join().unwrap();
    }
    assert_eq!(engine.reader_count().unwrap(), 0);
    assert_eq!(
        engine.readers.table.slots_used(),
        64,
        "one block was enough"
    );
}

#[test]
fn too_many_readers_are_refused() {
    let (_disk, engine) = new_database();
    let mut readers = Vec::new();
    let refused = loop {
        match engine.begin_read() {
            Ok(reader) => readers.push(reader),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(refused, Error::TooManyReaders(65_536)),
        "{refused}"
    );
    assert_eq!(readers.len(), 65_536);
    // The writer inspects them only sometimes, and still knows the holders.
    fill(&engine, records(10, b"one"));
    let held = readers.swap_remove(0);
    drop(readers);
    for _ in 0..200 {
        put(&engine, Durability::Lazy, records(10, b"two")).unwrap();
    }
    assert!(held.root_of(engine.handle(b"a"), b"a").unwrap().is_none());
    engine.begin_read().unwrap();
}

#[test]
fn a_reset_reader_pins_nothing_and_reuses_its_slot() {
    let (_disk, engine) = new_database();
    let reader = engine.begin_read().unwrap();
    let (slot, before) = (reader.hold().slot, reader.transaction());
    let reset = reader.reset();
    assert_eq!(engine.reader_count().unwrap(), 0);
    let other = engine.begin_read().unwrap();
    assert_ne!(other.hold().slot, slot, "it is kept");
    fill(&engine, records(10, b"one"));
    let reader = reset.begin().unwrap();
    assert_eq!(reader.hold().slot, slot);
    assert!(reader.transaction() > before);
    assert_eq!(reader.transaction(), engine.newest());
    let clone = reader.clone();
    let reset = reader.reset();
    assert_eq!(engine.reader_count().unwrap(), 2, "the clone still reads");
    drop(clone);
    let again = reset.begin().unwrap();
    assert_eq!(engine.reader_count().unwrap(), 2);
    let reset = again.reset();
    drop(other);
    engine.close().unwrap();
    assert!(matches!(reset.begin(), Err(Error::InvalidArgument(_))));
}
