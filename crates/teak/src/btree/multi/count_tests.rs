//! Counts and split points, against all pairs as a list.

use super::super::{
    cursor::PairBound,
    tests::{Fixture, KINDS, PageKind, key_of},
};
use super::{count_pairs, nth_pair, split};
use crate::btree::{estimate::estimate, multi::range_parts::as_slices};
use fastrand::Rng;
use std::{cmp::Ordering, ops::Bound};

type OwnedPair = (Vec<u8>, Vec<u8>);

/// A bound at a pair or at all pairs of its key, which need not be present.
fn bound_of<'p>(random: &mut Rng, pair: &'p OwnedPair) -> PairBound<'p> {
    let pair = (&pair.0[..], random.bool().then_some(&pair.1[..]));
    match random.u8(..5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(pair),
        _ => Bound::Excluded(pair),
    }
}

/// The position of a bound in the list of all pairs.
fn bound_index(fixture: &Fixture, all: &[OwnedPair], bound: PairBound<'_>, is_low: bool) -> usize {
    let (Bound::Included((key, value)) | Bound::Excluded((key, value))) = bound else {
        return if is_low { 0 } else { all.len() };
    };
    let is_before = |pair: &OwnedPair| {
        let by_value = || {
            value.map_or(Ordering::Equal, |value| {
                fixture.order().compare(&pair.1, value)
            })
        };
        match pair.0.as_slice().cmp(key).then_with(by_value) {
            Ordering::Less => true,
            Ordering::Equal => matches!(bound, Bound::Included(_)) != is_low,
            Ordering::Greater => false,
        }
    };
    all.partition_point(is_before)
}

fn grown(random: &mut Rng, mut fixture: Fixture, kind: PageKind) -> Fixture {
    for _ in 0..2500 {
        let key = key_of(random, 4096);
        let value = kind.value(random.u64(..500), 4096);
        match random.u8(..8) {
            0 => fixture.remove(&key, &value),
            _ => fixture.insert(&key, &value),
        }
    }
    fixture
}

#[test]
fn pairs_are_counted_between_all_bounds() {
    for kind in KINDS {
        let mut random = Rng::with_seed(5);
        let fixture = grown(&mut random, Fixture::new(4096, kind), kind);
        let (pages, root, all) = (&fixture.pages, &fixture.root, fixture.pairs());
        for _ in 0..400 {
            let some =
                |random: &mut Rng| (key_of(random, 4096), kind.value(random.u64(..500), 4096));
            let (a, b) = (some(&mut random), some(&mut random));
            let b = if random.u8(..3) == 0 {
                (a.0.clone(), b.1)
            } else {
                b
            };
            let (low, high) = (bound_of(&mut random, &a), bound_of(&mut random, &b));
            let (from, to) = (
                bound_index(&fixture, &all, low, true),
                bound_index(&fixture, &all, high, false),
            );
            let expected = to.saturating_sub(from) as u64;
            let counted = count_pairs(pages, root, low, high).unwrap();
            assert_eq!(counted, expected, "{kind:?} {low:?} {high:?}");
            let keys = |bound: PairBound<'_>| bound.map(|(key, _)| key.to_vec());
            let (low, high) = (keys(low), keys(high));
            let (low, high) = (
                low.as_ref().map(Vec::as_slice),
                high.as_ref().map(Vec::as_slice),
            );
            let of_key = |key| (key, None);
            let exactly = count_pairs(pages, root, low.map(of_key), high.map(of_key)).unwrap();
            let about = estimate(pages, root, low, high).unwrap();
            assert!(
                (about.at_least..=about.at_most).contains(&exactly),
                "{about:?} {exactly}"
            );
            assert!((about.at_least..=about.at_most).contains(&about.records));
        }
    }
}

#[test]
fn every_pair_is_found_by_its_number() {
    for kind in KINDS {
        let mut random = Rng::with_seed(6);
        let fixture = grown(&mut random, Fixture::new(4096, kind), kind);
        if !fixture.root.counted {
            continue;
        }
        let (pages, root) = (&fixture.pages, &fixture.root);
        for (number, pair) in (0..).zip(fixture.pairs()) {
            let before = Bound::Excluded((&pair.0[..], Some(&pair.1[..])));
            assert_eq!(
                count_pairs(pages, root, Bound::Unbounded, before).unwrap(),
                number
            );
            let (key, value) = pair;
            let expected = Some((key, Some(value)));
            assert_eq!(nth_pair(pages, root, number).unwrap(), expected);
        }
        assert_eq!(nth_pair(pages, root, root.records).unwrap(), None);
    }
}

#[test]
fn parts_begin_with_pairs_and_none_is_empty() {
    for kind in KINDS {
        let mut random = Rng::with_seed(7);
        let mut fixture = grown(&mut random, Fixture::new(4096, kind), kind);
        // One key has most of the pairs.
        for number in 0..3000 {
            fixture.insert(b"m", &kind.value(number, 4096));
        }
        let (pages, root, all) = (&fixture.pages, &fixture.root, fixture.pairs());
        let bound = |byte: u8| match byte % 4 {
            0 => Bound::Unbounded,
            1 => Bound::Included((vec![b'a' + byte % 9], None)),
            2 => Bound::Excluded((vec![b'a' + byte % 9], None)),
            _ => {
                let (key, value) = &all[usize::from(byte) * all.len() / 256];
                Bound::Excluded((key.clone(), Some(value.clone())))
            }
        };
        for parts in [1, 2, 7, 64, usize::MAX] {
            for _ in 0..8 {
                let (low, high) = (bound(random.u8(..)), bound(random.u8(..)));
                let (low, high) = (as_slices(&low), as_slices(&high));
                let begin = bound_index(&fixture, &all, low, true);
                let end = bound_index(&fixture, &all, high, false);
                let starts = split(pages, root, low, high, parts).unwrap();
                if begin >= end {
                    assert!(starts.is_empty());
                    continue;
                }
                let find = |(key, value): &(Vec<u8>, Option<Vec<u8>>)| {
                    let first = all.iter().position(|pair| pair.0 == *key).unwrap();
                    let Some(value) = value else { return first };
                    let is_it = |pair: &OwnedPair| (&pair.0, &pair.1) == (key, value);
                    let index = all.iter().position(is_it).unwrap();
                    assert_ne!(index, first, "a first value begins with its key");
                    index
                };
                let indexes: Vec<_> = starts.iter().map(find).collect();
                let starts = [begin].into_iter().chain(indexes.iter().copied());
                let ends = indexes.iter().copied().chain([end]);
                let lens: Vec<_> = starts.zip(ends).map(|(start, end)| end - start).collect();
                let text = format!("{kind:?} {low:?} {high:?} {lens:?}");
                assert!(!lens.contains(&0) && lens.len() <= parts, "{text}");
                let longest = *lens.iter().max().unwrap();
                let is_whole_keys = |bound| {
                    !matches!(
                        bound,
                        Bound::Included((_, Some(_))) | Bound::Excluded((_, Some(_)))
                    )
                };
                if root.counted {
                    assert_eq!(lens.len(), parts.min(end - begin), "{text}");
                    assert!(longest - lens.iter().min().unwrap() <= 1, "{text}");
                } else if parts == 7 && is_whole_keys(low) && high == Bound::Unbounded {
                    assert!(longest < (end - begin) / 3, "{text}");
                }
            }
        }
    }
}
