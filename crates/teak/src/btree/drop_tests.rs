//! Trees of every kind that are released in parts.

use crate::{
    btree::{
        TreeRoot,
        tests::{Fixture, random_key, random_value, roots},
    },
    page::{comparison::Comparison, key::KeyOrder},
};
use fastrand::Rng;

static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));

#[test]
fn the_rest_is_the_end_of_the_tree_until_nothing_is_left() {
    for (seed, root) in roots().into_iter().enumerate() {
        let budget = [1, 7, 40, 1000][seed % 4];
        let mut random = Rng::with_seed(seed as u64);
        let mut fixture = Fixture::new(4096, root);
        for _ in 0..4000 {
            let key = random_key(&mut random, root.order, 4096, 4000);
            fixture.insert(&key, &random_value(&mut random));
        }
        if random.bool() {
            fixture.audit();
            fixture.pages.commit();
        }
        assert!(fixture.root.depth > 2 || root.order == KeyOrder::Integer);
        let mut rounds = 0;
        while !fixture.root.is_empty() {
            let before = fixture.root;
            fixture.tree().drop_front(budget).unwrap();
            assert!(fixture.root.records < before.records);
            // Not much more than requested.
            let pages = u64::from(before.leaf_pages - fixture.root.leaf_pages);
            assert!(pages <= budget.max(1));
            let order = fixture.root.order;
            let mut keys: Vec<_> = fixture.model.keys().cloned().collect();
            keys.sort_by(|a, b| order.compare(a, b));
            for key in &keys[..(before.records - fixture.root.records) as usize] {
                fixture.model.remove(key);
            }
            if rounds % 16 == 0 || fixture.root.is_empty() {
                fixture.audit();
                fixture.pages.commit();
            }
            rounds += 1;
        }
        assert_eq!(fixture.pages.live(), (0, 0));
        assert_eq!(fixture.root.value_pages, 0);
        assert!(budget > 40 || rounds > 5);
    }
}

/// No keys are compared, so a tree with an unknown comparison is released as well.
#[test]
fn no_key_is_compared() {
    let root = TreeRoot::new(KeyOrder::Custom(&DOWNWARDS), false, true, 0);
    let mut fixture = Fixture::new(4096, root);
    for number in 0..8000u32 {
        let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(5);
        fixture.insert(&key, &[7; 60]);
    }
    fixture.root.order = KeyOrder::from_code(3).unwrap();
    assert!(!fixture.root.order.is_resolved());
    while !fixture.root.is_empty() {
        fixture.tree().drop_front(9).unwrap();
    }
    assert_eq!(fixture.pages.live(), (0, 0));
}
