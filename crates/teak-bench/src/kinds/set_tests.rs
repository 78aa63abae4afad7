use super::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn no_two_pairs_are_alike() {
    for values in [ValueKind::Fixed, ValueKind::Variable] {
        for (shape, keys, per_key) in [
            (PairShape::Many(3000), 1, 3000),
            (PairShape::Ten(300), 300, 10),
            (PairShape::One(3000), 3000, 1),
        ] {
            let set = PairSet { shape, values };
            let mut pairs: BTreeMap<_, BTreeSet<Vec<u8>>> = BTreeMap::new();
            for pair in set.all() {
                let is_new = pairs
                    .entry(pair.key)
                    .or_default()
                    .insert(pair.value().to_vec());
                assert!(is_new);
            }
            assert_eq!(pairs.len(), keys);
            assert!(pairs.values().all(|values| values.len() == per_key));
            let values = pairs.values().flatten();
            let bytes: usize = values.map(Vec::len).sum();
            assert_eq!(set.data_bytes(), (bytes + keys * KEY_LEN) as u64);
        }
    }
}

#[test]
fn batches_are_all_pairs() {
    let set = PairSet {
        shape: PairShape::Ten(7),
        values: ValueKind::Fixed,
    };
    let batches = [set.batch(0, 50), set.batch(50, 50)];
    let pairs: Vec<MultiPair> = batches
        .iter()
        .flat_map(|batch| batch.pairs.clone())
        .collect();
    assert_eq!(pairs, set.all().collect::<Vec<_>>());
    assert_eq!(batches[1].packed.len(), 20 * FIXED_LEN);
    let keys: Vec<usize> = batches.iter().map(|batch| batch.groups().count()).collect();
    assert_eq!(keys, [5, 2]);
}

#[test]
fn a_random_order_has_all_numbers() {
    let set = PairSet {
        shape: PairShape::One(100),
        values: ValueKind::Variable,
    };
    let mut order = set.random_order();
    assert!(!order.is_sorted());
    order.sort_unstable();
    assert_eq!(order, (0..100).collect::<Vec<u32>>());
}
