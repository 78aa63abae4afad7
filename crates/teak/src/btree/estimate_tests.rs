use super::{PartialEstimate, estimate};
use crate::btree::{
    count::{count, tests::loaded},
    tests::{Fixture, bytes_root},
};
use fastrand::Rng;
use std::ops::Bound;

#[test]
fn few_leaves_are_counted() {
    let (pages, root) = loaded(100_000, false);
    let mut random = Rng::with_seed(3);
    for _ in 0..500 {
        let first = random.u64(..99_000);
        let keys = [first, first + random.u64(..1000)].map(u64::to_be_bytes);
        let (low, high) = (Bound::Included(&keys[0][..]), Bound::Excluded(&keys[1][..]));
        let about = estimate(&pages, &root, low, high).unwrap();
        let expected = u64::from_be_bytes(keys[1]) - first;
        let numbers = (about.records, about.at_least, about.at_most);
        assert_eq!(numbers, (expected, expected, expected));
        assert_eq!(about.deviation, 0);
    }
}

/// Leaves after random insertions, with records of many sizes.
#[test]
fn many_leaves_are_estimated_within_a_few_deviations() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let mut random = Rng::with_seed(17);
    for _ in 0..60_000 {
        let key = random.u64(..).to_be_bytes();
        fixture.insert(&key, &vec![7; random.u64(..200) as usize]);
    }
    let (pages, root) = (&fixture.pages, &fixture.root);
    assert!(root.leaf_pages > 1500);
    let (mut within_one, mut far_off) = (0, 0);
    for _ in 0..300 {
        let mut keys = [random.u64(..), random.u64(..)];
        keys.sort_unstable();
        let keys = keys.map(u64::to_be_bytes);
        let (low, high) = (Bound::Included(&keys[0][..]), Bound::Included(&keys[1][..]));
        let expected = count(pages, root, low, high).unwrap();
        let about = estimate(pages, root, low, high).unwrap();
        assert!((about.at_least..=about.at_most).contains(&expected));
        let error = about.records.abs_diff(expected);
        within_one += u32::from(error <= about.deviation);
        far_off += u32::from(error > 4 * about.deviation + 2);
        assert!(about.deviation <= expected / 10 + 50, "{about:?}");
    }
    assert!(within_one > 180 && far_off == 0, "{within_one} {far_off}");
}

#[test]
fn bounds_of_all_but_a_few_records_are_close() {
    let (pages, root) = loaded(100_000, false);
    let key = 300_u64.to_be_bytes();
    let low = Bound::Included(&key[..]);
    let about = estimate(&pages, &root, low, Bound::Unbounded).unwrap();
    assert!(about.at_most - about.at_least < 4000, "{about:?}");
}

#[test]
fn unseen_pages_widen_the_bounds() {
    let exact = PartialEstimate::exactly(2).entries(&[5, 7], 100);
    assert_eq!((exact.at_least, exact.at_most), (12, 12));
    assert_eq!(exact.value, 12.0);
    let rough = PartialEstimate::exactly(10).entries(&[5, 7], 100).plus(1);
    assert_eq!((rough.at_least, rough.at_most), (12 + 8 + 1, 12 + 800 + 1));
    assert_eq!(rough.value, 61.0);
    assert!(rough.variance > 0.0);
}
