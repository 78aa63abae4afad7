//! Tests of handles.

use super::{FIRST_LEN, GENERATION_SHIFT, HandleTable, SLOT_BITS, locate};
use crate::teak_code;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

fn code<T>(result: Result<T, crate::failure::Failure>) -> teak_code {
    result.err().expect("a refusal").code
}

#[test]
fn each_slot_has_an_array_and_an_index() {
    assert_eq!(locate(0), (0, 0));
    assert_eq!(locate(FIRST_LEN - 1), (0, FIRST_LEN - 1));
    assert_eq!(locate(FIRST_LEN), (1, 0));
    assert_eq!(locate(3 * FIRST_LEN), (2, 0));
    let last = (1 << SLOT_BITS) - 1;
    assert!(locate(last).0 < super::ARRAYS);
}

#[test]
fn a_handle_ends_with_its_object() {
    let objects = HandleTable::new(3, "word");
    let one = objects.insert("ash").unwrap();
    assert_eq!(*objects.read(one).unwrap(), "ash");
    assert_eq!(objects.remove(one).unwrap(), "ash");
    let other = objects.insert("elm").unwrap();
    assert_eq!(one & 0xfff_ffff, other & 0xfff_ffff, "the same slot");
    assert_eq!(code(objects.read(one)), teak_code::TEAK_INVALID_HANDLE);
    assert_eq!(code(objects.remove(one)), teak_code::TEAK_INVALID_HANDLE);
    assert_eq!(*objects.read(other).unwrap(), "elm");
}

#[test]
fn numbers_that_are_not_handles_are_refused() {
    let objects = HandleTable::new(3, "word");
    let one = objects.insert(0).unwrap();
    let numbers = (0..64).flat_map(|bit| [1 << bit, one ^ 1 << bit, u64::MAX >> bit]);
    for number in numbers.chain([0]).filter(|number| *number != one) {
        assert_eq!(code(objects.read(number)), teak_code::TEAK_INVALID_HANDLE);
        assert_eq!(code(objects.change(number)), teak_code::TEAK_INVALID_HANDLE);
    }
}

#[test]
fn an_object_is_read_by_many_or_changed_by_one() {
    let objects = HandleTable::new(3, "word");
    let one = objects.insert(7).unwrap();
    let (first, second) = (objects.read(one).unwrap(), objects.read(one).unwrap());
    assert_eq!(code(objects.change(one)), teak_code::TEAK_BUSY);
    assert_eq!(code(objects.remove(one)), teak_code::TEAK_BUSY);
    drop((first, second));
    let mut changed = objects.change(one).unwrap();
    *changed += 1;
    assert_eq!(code(objects.read(one)), teak_code::TEAK_BUSY);
    drop(changed);
    assert_eq!(*objects.read(one).unwrap(), 8);
    assert_eq!(
        objects
            .remove_if(one, |_| Err(crate::failure::Failure::in_use("word")))
            .err()
            .unwrap()
            .code,
        teak_code::TEAK_BUSY
    );
    assert_eq!(objects.remove(one).unwrap(), 8);
}

#[test]
fn an_exhausted_slot_is_not_reused() {
    let objects = HandleTable::new(3, "word");
    let one = objects.insert(0).unwrap();
    objects.remove(one).unwrap();
    let last = u64::from(u32::MAX) - 1;
    objects
        .slot(one)
        .unwrap()
        .0
        .state
        .store(last << GENERATION_SHIFT, Ordering::Relaxed);
    let one = objects.insert(1).unwrap();
    assert_eq!(objects.remove(one).unwrap(), 1);
    let other = objects.insert(2).unwrap();
    assert_ne!(one & 0xfff_ffff, other & 0xfff_ffff);
    assert_eq!(code(objects.read(one)), teak_code::TEAK_INVALID_HANDLE);
}

#[test]
fn concurrent_threads_only_reach_their_own_objects() {
    static OBJECTS: HandleTable<Arc<AtomicU64>> = HandleTable::new(3, "counter");
    let shared = OBJECTS.insert(Arc::default()).unwrap();
    let kept = Arc::clone(&OBJECTS.read(shared).unwrap());
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for step in 0..2000 {
                    let own = OBJECTS.insert(Arc::new(AtomicU64::new(number))).unwrap();
                    OBJECTS
                        .read(shared)
                        .unwrap()
                        .fetch_add(1, Ordering::Relaxed);
                    assert_eq!(
                        OBJECTS.read(own).unwrap().load(Ordering::Relaxed),
                        number,
                        "{step}"
                    );
                    OBJECTS.remove(own).unwrap();
                    assert!(OBJECTS.read(own).is_err());
                }
            });
        }
    });
    assert_eq!(kept.load(Ordering::Relaxed), 8000);
    OBJECTS.remove(shared).unwrap();
    assert_eq!(Arc::strong_count(&kept), 1);
}
