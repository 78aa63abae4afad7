//! Batches of records that belong to few leaves.

use crate::{
    btree::{
        TreeRoot,
        mutable_tree::Tree,
        seal,
        tests::{Fixture, bytes_root, random_value, roots},
    },
    page::{header::HEADER_LEN, key::KeyOrder},
};
use fastrand::Rng;
use std::collections::BTreeMap;

const PAGE_SIZE: usize = 4096;

fn key(order: KeyOrder, number: u64) -> Vec<u8> {
    match order {
        KeyOrder::Bytes => number.to_be_bytes().to_vec(),
        _ => number.to_le_bytes().to_vec(),
    }
}

/// A tree with few records, far apart, and one after all that are inserted.
fn sparse(root: TreeRoot) -> Fixture {
    let mut fixture = Fixture::new(PAGE_SIZE, root);
    for number in (0..200).map(|number| number << 20).chain([1 << 40]) {
        fixture.insert(&key(root.order, number), &number.to_be_bytes());
    }
    seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
    fixture.pages.commit();
    fixture
}

#[test]
fn records_of_few_leaves_are_laid_out_together() {
    for (seed, root) in (1..).zip(roots()) {
        let mut random = Rng::with_seed(seed);
        let mut fixture = sparse(root);
        for round in 0..4 {
            // At new positions, and at those of the previous round.
            let start = (random.u64(..180) << 20) * (round % 2);
            let records: Vec<_> = (0..3000)
                .map(|_| {
                    let number = start + random.u64(..4000 << (2 * round));
                    let value = match random.u64(..4) {
                        0 => random_value(&mut random),
                        _ => vec![7; 10],
                    };
                    (key(root.order, number), value)
                })
                .collect();
            let before = fixture.model.len();
            fixture.model.extend(records.iter().cloned());
            let added = fixture.tree().insert_many(&records).unwrap();
            assert_eq!(added, (fixture.model.len() - before) as u64);
            fixture.audit();
            // Once more: all records are present.
            fixture.pages.commit();
            let last: Vec<_> = records
                .iter()
                .map(|(key, _)| (key, &fixture.model[key]))
                .collect();
            let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
            let again = tree.insert_many(&last).unwrap();
            assert_eq!((again, fixture.pages.own_count()), (0, 0));
        }
    }
}

#[test]
fn records_laid_out_together_fill_their_pages() {
    let mut fixture = sparse(bytes_root());
    let leaves = fixture.root.leaf_pages as usize;
    let records: Vec<_> = (1..20_000u64)
        .map(|number| (key(KeyOrder::Bytes, number), [1; 20]))
        .collect();
    let reads = fixture.pages.reads();
    fixture.tree().insert_many(&records).unwrap();
    let reads = fixture.pages.reads() - reads;
    // Slot and header of the node, and the value: the keys are in prefix and head.
    let least = records.len() * (6 + 4 + 20) / (PAGE_SIZE - HEADER_LEN - 8);
    let most = least + least / 10 + leaves + 2;
    assert!(
        fixture.root.leaf_pages as usize <= most,
        "{:?}",
        fixture.root
    );
    assert!(
        reads < 2 * records.len() as u64,
        "one by one it would be three for each: {reads}"
    );
}

#[test]
fn puts_and_removals_of_a_merge_leave_the_expected_records() {
    for (seed, root) in (1..).zip(roots()) {
        let mut random = Rng::with_seed(seed);
        let mut fixture = sparse(root);
        for _ in 0..4 {
            let mut changes = BTreeMap::new();
            for _ in 0..500 {
                let number = (random.u64(..200) << 20) + random.u64(..3);
                let value = random.bool().then(|| random_value(&mut random));
                changes.insert(key(root.order, number), value);
            }
            let changes: Vec<_> = changes.into_iter().collect();
            for (key, value) in &changes {
                match value {
                    Some(value) => drop(fixture.model.insert(key.clone(), value.clone())),
                    None => drop(fixture.model.remove(key)),
                }
            }
            let mut hint = Vec::new();
            let mut tree = fixture.tree();
            tree.put_or_remove(&mut hint, &changes, |change| {
                let (key, value) = (&change.0, &change.1);
                (key.as_slice(), value.as_deref())
            })
            .unwrap();
            fixture.audit();
            fixture.pages.commit();
        }
    }
}
