//! Changes that depend on the stored value, against a `BTreeMap`, and how many pages they read.

use super::FoundKey;
use crate::{
    btree::{
        insert::Existing,
        memory::MemoryPages,
        mutable_tree::Tree,
        seal,
        tests::{Fixture, bytes_root, random_key, random_value, roots},
    },
    page::{key::KeyOrder, value::StoredValue},
};
use fastrand::Rng;

const PAGE_SIZE: usize = 4096;

/// A change of a record.
#[derive(Clone, Copy)]
enum Change<'v> {
    Nothing,
    Put(&'v [u8]),
    Remove,
}

/// Reads a record, and changes it.
fn change_found(
    tree: &mut Tree<'_, MemoryPages>,
    key: &[u8],
    change: Change<'_>,
) -> Option<Vec<u8>> {
    let mut found = FoundKey::search(&*tree.sink, tree.root, key).unwrap();
    let old = found.value(&*tree.sink).unwrap().map(<[u8]>::to_vec);
    match change {
        Change::Nothing => {}
        Change::Put(value) => {
            tree.put_found(&mut found, key, value).unwrap();
            assert_eq!(found.value(&*tree.sink).unwrap(), Some(value));
        }
        Change::Remove => tree.remove_found(found).unwrap(),
    }
    old
}

/// Executes a change on a record of the tree and of the model.
fn modify(fixture: &mut Fixture, key: &[u8], change: Change<'_>) {
    let seen = change_found(&mut fixture.tree(), key, change);
    assert_eq!(seen.as_ref(), fixture.model.get(key));
    match change {
        Change::Nothing => {}
        Change::Put(value) => drop(fixture.model.insert(key.to_vec(), value.to_vec())),
        Change::Remove => drop(fixture.model.remove(key)),
    }
}

fn commit(fixture: &mut Fixture) {
    seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
    fixture.pages.commit();
}

fn append(fixture: &mut Fixture, key: &[u8], value: &[u8]) {
    let order = fixture.root.order;
    let last = fixture.model.keys().max_by(|a, b| order.compare(a, b));
    let is_after = last.is_none_or(|last| order.compare(last, key).is_lt());
    let stored = StoredValue::inline(value);
    let appended = (fixture.tree()).append_with_hint(&mut Vec::new(), key, stored);
    assert_eq!(appended.unwrap(), is_after);
    if is_after {
        fixture.model.insert(key.to_vec(), value.to_vec());
    }
}

fn insert_with(fixture: &mut Fixture, key: &[u8], value: &[u8]) {
    let format = fixture.root.leaf_format();
    let len = match format.stays_inline(PAGE_SIZE, key.len(), value.len()) {
        true => value.len(),
        false => 8,
    };
    let fill = |room: &mut [u8]| {
        assert!(room.iter().all(|&byte| byte == 0), "old bytes show");
        room.copy_from_slice(&value[..len]);
    };
    fixture.tree().insert_with(key, len, fill).unwrap();
    fixture.model.insert(key.to_vec(), value[..len].to_vec());
}

#[test]
fn conditional_changes_match_a_map() {
    for (seed, root) in (1..).zip(roots()) {
        let order = root.order;
        let mut fixture = Fixture::new(PAGE_SIZE, root);
        let mut random = Rng::with_seed(seed);
        for round in 0..6000u64 {
            // Few keys at first, many later, few again.
            let spread = if round / 2000 == 1 { 1500 } else { 40 };
            let key = random_key(&mut random, order, PAGE_SIZE, spread);
            let value = random_value(&mut random);
            match random.u64(..12) {
                0..5 => modify(&mut fixture, &key, Change::Put(&value)),
                5..8 => modify(&mut fixture, &key, Change::Remove),
                8 => modify(&mut fixture, &key, Change::Nothing),
                9 => append(&mut fixture, &key, &value),
                _ => insert_with(&mut fixture, &key, &value),
            }
            if random.u64(..60) == 0 {
                commit(&mut fixture);
            }
            if round % 500 == 499 {
                fixture.audit();
            }
        }
        for key in fixture.model.clone().keys() {
            modify(&mut fixture, key, Change::Remove);
        }
        fixture.audit();
        assert_eq!(fixture.pages.live(), (0, 0));
    }
}

/// Three levels, all pages old.
fn tall() -> Fixture {
    let mut fixture = Fixture::new(PAGE_SIZE, bytes_root());
    for number in 0..40_000u32 {
        fixture.insert(&(2 * number).to_be_bytes(), &[1; 20]);
    }
    assert_eq!(fixture.root.depth, 3);
    commit(&mut fixture);
    fixture
}

#[test]
fn a_change_that_changes_nothing_copies_nothing() {
    let mut fixture = tall();
    let root = fixture.root;
    let (there, not_there) = (8_000u32.to_be_bytes(), 8_001u32.to_be_bytes());
    modify(&mut fixture, &there, Change::Nothing);
    modify(&mut fixture, &there, Change::Put(&[1; 20]));
    modify(&mut fixture, &not_there, Change::Nothing);
    modify(&mut fixture, &not_there, Change::Remove);
    append(&mut fixture, &not_there, b"");
    append(&mut fixture, &79_998u32.to_be_bytes(), b"");
    assert_eq!(fixture.pages.own_count(), 0);
    assert_eq!(fixture.root, root);
}

/// How many pages a change of a tall tree reads.
fn reads(change: impl FnOnce(&mut Fixture)) -> u64 {
    let mut fixture = tall();
    // The paths are copied first, so that there is room.
    for number in [8_002u32, 8_004, 8_006, 8_008, 79_994, 79_996] {
        fixture.remove(&number.to_be_bytes());
    }
    let before = fixture.pages.reads();
    change(&mut fixture);
    fixture.pages.reads() - before
}

#[test]
fn a_change_takes_one_descent() {
    let (there, not_there) = (8_000u32.to_be_bytes(), 8_001u32.to_be_bytes());
    let value = StoredValue::inline(&[2; 20]);
    let insert = |key: [u8; 4]| {
        reads(|fixture| {
            fixture
                .tree()
                .insert(&key, value, Existing::Replace)
                .unwrap();
        })
    };
    let modify = |key: [u8; 4], change: Change<'_>| {
        reads(|fixture| {
            let mut tree = fixture.tree();
            let mut found = FoundKey::search(&*tree.sink, tree.root, &key).unwrap();
            found.value(&*tree.sink).unwrap();
            match change {
                Change::Nothing => {}
                Change::Put(value) => tree.put_found(&mut found, &key, value).unwrap(),
                Change::Remove => tree.remove_found(found).unwrap(),
            }
        })
    };
    let put = || Change::Put(&[2; 20]);
    assert_eq!(insert(not_there), 3, "three levels are three pages");
    assert_eq!(modify(not_there, put()), insert(not_there));
    assert_eq!(modify(not_there, Change::Remove), 3);
    assert_eq!(modify(there, put()), insert(there) + 1, "the old value");
    let remove = reads(|fixture| assert!(fixture.tree().remove(&there).unwrap()));
    assert_eq!(modify(there, Change::Remove), remove + 1);
    let filled =
        |key: [u8; 4]| reads(|fixture| fixture.tree().insert_with(&key, 20, |_| {}).unwrap());
    assert_eq!(filled(not_there), insert(not_there));
    assert_eq!(filled(there), insert(there));
    let after = 80_000u32.to_be_bytes();
    let append = |fixture: &mut Fixture, hint: &mut Vec<_>, key: [u8; 4]| {
        assert!(fixture.tree().append_with_hint(hint, &key, value).unwrap());
    };
    let first = reads(|fixture| append(fixture, &mut Vec::new(), after));
    assert_eq!(first, insert(after));
    let second = reads(|fixture| {
        let mut hint = Vec::new();
        append(fixture, &mut hint, after);
        append(fixture, &mut hint, 80_001u32.to_be_bytes());
    });
    assert_eq!(second, first + 1, "the last leaf");
}

/// Appending fills pages like bulk loading.
#[test]
fn appended_pages_are_full() {
    let mut fixture = Fixture::new(PAGE_SIZE, bytes_root());
    let value = StoredValue::inline(&[1; 20]);
    let mut hint = Vec::new();
    for number in 0..20_000u32 {
        let key = number.to_be_bytes();
        let appended = fixture.tree().append_with_hint(&mut hint, &key, value);
        assert!(appended.unwrap());
    }
    let records_of_a_page = (PAGE_SIZE - 24) / 34;
    let most = 20_000 / records_of_a_page + 20_000 / records_of_a_page / 20;
    assert!(
        fixture.root.leaf_pages as usize <= most,
        "{:?}",
        fixture.root
    );
}

/// The first key of a table of integers fixes their length, however it is inserted.
#[test]
fn the_first_integer_decides_the_length() {
    let integers = crate::btree::TreeRoot::new(KeyOrder::Integer, true, false, 0);
    let key = 7u32.to_le_bytes();
    let first: [fn(&mut Fixture, &[u8]); 3] = [
        |fixture, key| modify(fixture, key, Change::Put(b"v")),
        |fixture, key| append(fixture, key, b"v"),
        |fixture, key| insert_with(fixture, key, b"v"),
    ];
    for change in first {
        let mut fixture = Fixture::new(PAGE_SIZE, integers);
        change(&mut fixture, &key);
        assert_eq!(fixture.root.key_len, 4);
        fixture.audit();
    }
}
