use super::{PARTS_MAX, cuts};
use crate::btree::{
    count::{
        count,
        tests::{loaded, split_keys},
    },
    tests::{Fixture, bytes_root, random_key, random_value, roots},
};
use fastrand::Rng;
use std::ops::Bound;

/// How many records each part has.
fn parts_of(fixture: &Fixture, low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>, n: usize) -> Vec<u64> {
    let (pages, root) = (&fixture.pages, &fixture.root);
    let slices = (
        low.as_ref().map(Vec::as_slice),
        high.as_ref().map(Vec::as_slice),
    );
    let keys = split_keys(pages, root, slices.0, slices.1, n).unwrap();
    assert!(keys.iter().all(|key| fixture.model.contains_key(key)));
    let mut starts = vec![slices.0];
    starts.extend(keys.iter().map(|key| Bound::Included(&key[..])));
    let mut ends: Vec<_> = keys.iter().map(|key| Bound::Excluded(&key[..])).collect();
    ends.push(slices.1);
    let parts = starts.into_iter().zip(ends);
    parts
        .map(|(low, high)| count(pages, root, low, high).unwrap())
        .collect()
}

#[test]
fn parts_cover_the_range_and_none_is_empty() {
    for root in roots() {
        let mut random = Rng::with_seed(11);
        let mut fixture = Fixture::new(4096, root);
        for _ in 0..4000 {
            let key = random_key(&mut random, root.order, 4096, 4000);
            fixture.insert(&key, &random_value(&mut random));
        }
        for n in [1, 2, 3, 8, 50, 1000, usize::MAX] {
            let key = random_key(&mut random, root.order, 4096, 4000);
            for (low, high) in [
                (Bound::Unbounded, Bound::Unbounded),
                (Bound::Included(key.clone()), Bound::Unbounded),
                (Bound::Unbounded, Bound::Excluded(key)),
            ] {
                let slices = (
                    low.as_ref().map(Vec::as_slice),
                    high.as_ref().map(Vec::as_slice),
                );
                let whole = count(&fixture.pages, &fixture.root, slices.0, slices.1).unwrap();
                let parts = parts_of(&fixture, &low, &high, n);
                assert_eq!(parts.iter().sum::<u64>(), whole);
                assert!(parts.len() <= n && (whole == 0 || !parts.contains(&0)));
                if root.counted || parts.len() as u64 == whole {
                    assert_eq!(parts.len() as u64, whole.min(n as u64).max(1));
                    assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1);
                }
            }
        }
    }
}

#[test]
fn parts_of_a_table_that_does_not_count_are_about_equal() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let mut random = Rng::with_seed(13);
    for _ in 0..40_000 {
        let key = random.u64(..).to_be_bytes();
        fixture.insert(&key, &vec![7; random.u64(..100) as usize]);
    }
    for n in [2, 4, 8, 30] {
        let parts = parts_of(&fixture, &Bound::Unbounded, &Bound::Unbounded, n);
        let mean = 40_000 / n as u64;
        assert_eq!(parts.len(), n);
        assert!(
            parts.iter().all(|part| part.abs_diff(mean) < mean / 5),
            "{parts:?}"
        );
    }
}

#[test]
fn small_ranges_are_split_by_records() {
    let (pages, root) = loaded(20_000, false);
    let keys = [4000_u64, 4010].map(u64::to_be_bytes);
    let (low, high) = (Bound::Excluded(&keys[0][..]), Bound::Included(&keys[1][..]));
    let cut = split_keys(&pages, &root, low, high, 5).unwrap();
    let numbers: Vec<_> = [4003_u64, 4005, 4007, 4009].map(u64::to_be_bytes).to_vec();
    assert_eq!(cut, numbers);
}

#[test]
fn the_number_of_parts_has_a_maximum() {
    let (pages, root) = loaded(70_000, true);
    let keys = split_keys(
        &pages,
        &root,
        Bound::Unbounded,
        Bound::Unbounded,
        usize::MAX,
    );
    assert_eq!(keys.unwrap().len(), PARTS_MAX - 1);
    assert_eq!(cuts(10, 0).count(), 0);
    assert_eq!(cuts(0, 3).count(), 0);
    assert!(cuts(u64::MAX, 2).eq([u64::MAX / 2]));
}
