use super::{count, ends, nth, rank};
use crate::{
    PageNumber, Result,
    btree::{
        PageSink, PageSource, TreeRoot,
        bulk::{RecordLoader, TreeBuilder},
        cursor::record_at,
        estimate::estimate,
        memory::MemoryPages,
        multi::count::split,
        mutable_tree::Tree,
        position::Position,
        tests::{Fixture, random_key, random_value, roots},
    },
    page::{
        header::Header,
        inner::{self, Inner},
        key::KeyOrder,
        value::ValueExtent,
    },
};
use fastrand::Rng;
use std::{
    cell::Cell,
    ops::{Bound, Range},
};

/// A tree of every kind, made by random changes, and its sorted keys.
fn grown() -> impl Iterator<Item = (Fixture, Vec<Vec<u8>>)> {
    roots().into_iter().enumerate().map(|(seed, root)| {
        let mut random = Rng::with_seed(seed as u64 + 1);
        let mut fixture = Fixture::new(4096, root);
        for step in 0..5000 {
            let key = random_key(&mut random, root.order, 4096, 4000);
            match step % 3 {
                2 => fixture.remove(&key),
                _ => fixture.insert(&key, &random_value(&mut random)),
            }
        }
        let keys = sorted(&fixture);
        assert!(fixture.root.depth > 2 || root.order == KeyOrder::Integer);
        (fixture, keys)
    })
}

fn sorted(fixture: &Fixture) -> Vec<Vec<u8>> {
    let mut keys: Vec<_> = fixture.model.keys().cloned().collect();
    keys.sort_by(|a, b| fixture.root.order.compare(a, b));
    keys
}

/// The first key of each part of a range except the first part.
pub(in crate::btree) fn split_keys<S: PageSource>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    parts: usize,
) -> Result<Vec<Vec<u8>>> {
    let of_key = |key| (key, None);
    let starts = split(source, root, low.map(of_key), high.map(of_key), parts)?;
    Ok(starts.into_iter().map(|(key, _)| key).collect())
}

/// A tree of `records` records in full pages.
pub(in crate::btree) fn loaded(records: u64, is_counted: bool) -> (MemoryPages, TreeRoot) {
    let mut pages = MemoryPages::new(4096);
    let mut root = TreeRoot::new(KeyOrder::Bytes, true, is_counted, 0);
    let mut tree = Tree::new(&mut pages, &mut root);
    let mut builder = TreeBuilder::new(&mut tree);
    for number in 0..records {
        let value = vec![b'v'; 20 + (number % 11) as usize];
        builder.push(&number.to_be_bytes(), &value).unwrap();
    }
    builder.finish().unwrap();
    (pages, root)
}

/// Bounds at, and between, the keys of a tree.
fn random_bounds(random: &mut Rng, order: KeyOrder) -> [Bound<Vec<u8>>; 2] {
    let mut bound = || {
        let key = random_key(random, order, 4096, 4000);
        match random.u64(..6) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    };
    [bound(), bound()]
}

/// The indices of the keys in a range.
fn indices(keys: &[Vec<u8>], order: KeyOrder, [low, high]: &[Bound<Vec<u8>>; 2]) -> Range<usize> {
    let smaller = |key: &Vec<u8>| keys.partition_point(|k| order.compare(k, key).is_lt());
    let up_to = |key: &Vec<u8>| keys.partition_point(|k| order.compare(k, key).is_le());
    let start = match low {
        Bound::Unbounded => 0,
        Bound::Included(key) => smaller(key),
        Bound::Excluded(key) => up_to(key),
    };
    let end = match high {
        Bound::Unbounded => keys.len(),
        Bound::Included(key) => up_to(key),
        Bound::Excluded(key) => smaller(key),
    };
    start..end.max(start)
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn key_at(pages: &MemoryPages, position: &Position) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    record_at(pages, position, &mut key).unwrap().map(|_| key)
}

#[test]
fn ranks_and_numbers_are_those_of_a_sorted_list() {
    for (fixture, keys) in grown().filter(|(fixture, _)| fixture.root.counted) {
        let (pages, root) = (&fixture.pages, &fixture.root);
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(rank(pages, root, key).unwrap(), index as u64);
            let (position, _) = nth(pages, root, index as u64).unwrap().unwrap();
            assert_eq!(key_at(pages, &position).as_ref(), Some(key));
        }
        for number in [keys.len() as u64, u64::MAX] {
            assert!(nth(pages, root, number).unwrap().is_none());
        }
        let mut random = Rng::with_seed(5);
        for _ in 0..500 {
            let key = random_key(&mut random, root.order, 4096, 8000);
            let smaller = keys.partition_point(|k| root.order.compare(k, &key).is_lt());
            assert_eq!(rank(pages, root, &key).unwrap(), smaller as u64);
        }
    }
}

#[test]
fn ranges_are_counted_and_estimates_are_within_their_bounds() {
    for (fixture, keys) in grown() {
        let (pages, root) = (&fixture.pages, &fixture.root);
        let mut random = Rng::with_seed(7);
        for _ in 0..1000 {
            let bounds = random_bounds(&mut random, root.order);
            let expected = indices(&keys, root.order, &bounds).len() as u64;
            let [low, high] = bounds.each_ref().map(as_slice);
            assert_eq!(count(pages, root, low, high).unwrap(), expected);
            let about = estimate(pages, root, low, high).unwrap();
            assert!(about.at_least <= expected && expected <= about.at_most);
            assert!(about.at_least <= about.records && about.records <= about.at_most);
            if root.counted {
                assert_eq!((about.at_least, about.at_most), (expected, expected));
            }
        }
    }
}

#[test]
fn a_tree_without_records_has_none_anywhere() {
    let pages = MemoryPages::new(4096);
    for root in roots() {
        let (low, high) = (Bound::Included(&b"abcd"[..]), Bound::Unbounded);
        assert_eq!(rank(&pages, &root, b"abcd").unwrap(), 0);
        assert!(nth(&pages, &root, 0).unwrap().is_none());
        assert_eq!(count(&pages, &root, low, high).unwrap(), 0);
        assert_eq!(estimate(&pages, &root, low, high).unwrap().at_most, 0);
        assert!(split_keys(&pages, &root, low, high, 9).unwrap().is_empty());
        let mut position = Position::default();
        assert!(!position.skip(&pages, &root, 1).unwrap());
        assert!(!position.skip(&pages, &root, -1).unwrap());
        let nowhere = Position::default();
        assert_eq!(position.distance(&nowhere, &pages, &root).unwrap(), 0);
    }
}

/// The position of a cursor: -1 before all keys, their number after all keys.
#[test]
fn skips_agree_with_steps_and_distances() {
    for (fixture, keys) in grown() {
        let (pages, root, len) = (&fixture.pages, &fixture.root, keys.len() as i64);
        let mut random = Rng::with_seed(9);
        let (mut position, mut key_index, mut is_set) = (Position::default(), -1, false);
        let (mut last, mut last_index) = (position.clone(), key_index);
        for _ in 0..1500 {
            if random.u64(..9) == 0 {
                (position, key_index, is_set) = (Position::default(), -1, false);
            }
            let reach = [3, 40, 2 * len as u64][random.u64(..3) as usize];
            let steps = random.u64(..2 * reach) as i64 - reach as i64;
            let from = if is_set || steps >= 0 { key_index } else { len };
            key_index = (from + steps).clamp(-1, len);
            is_set |= steps != 0;
            let is_found = position.skip(pages, root, steps).unwrap();
            let key = usize::try_from(key_index)
                .ok()
                .and_then(|key_index| keys.get(key_index));
            assert_eq!(key_at(pages, &position).as_ref(), key);
            assert_eq!(is_found, key.is_some());
            assert_eq!(
                last.distance(&position, pages, root).unwrap(),
                key_index - last_index
            );
            if random.u64(..3) == 0 {
                (last, last_index) = (position.clone(), key_index);
            }
        }
        assert!(!position.skip(pages, root, i64::MAX).unwrap());
        assert!(!position.skip(pages, root, i64::MIN).unwrap());
        assert!(position.next(pages, root).unwrap());
        assert_eq!(key_at(pages, &position).as_ref(), keys.first());
    }
}

/// Counts page reads.
struct Watched<'p> {
    pages: &'p MemoryPages,
    reads: Cell<usize>,
}

impl PageSource for Watched<'_> {
    fn page_size(&self) -> usize {
        self.pages.page_size()
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.reads.set(self.reads.get() + 1);
        self.pages.page(number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.pages.value(extent)
    }
}

/// How many pages `read` reads.
fn reads(pages: &MemoryPages, read: impl FnOnce(&Watched<'_>)) -> usize {
    let reads = Cell::new(0);
    let watched = Watched { pages, reads };
    read(&watched);
    watched.reads.get()
}

#[test]
fn counts_read_at_most_two_paths_of_counting_trees() {
    let (pages, root) = loaded(50_000, true);
    let keys = [7_u64, 40_000].map(u64::to_be_bytes);
    let (low, high) = (Bound::Included(&keys[0][..]), Bound::Excluded(&keys[1][..]));
    let depth = usize::from(root.depth);
    assert_eq!(depth, 3);
    let of_rank = reads(&pages, |source| {
        assert_eq!(rank(source, &root, &keys[1]).unwrap(), 40_000);
    });
    let of_nth = reads(&pages, |source| {
        assert!(nth(source, &root, 40_000).unwrap().is_some());
    });
    let of_count = reads(&pages, |source| {
        assert_eq!(count(source, &root, low, high).unwrap(), 39_993);
    });
    assert!(of_rank < 2 * depth && of_nth == depth && of_count < 4 * depth);
    let of_split = reads(&pages, |source| {
        assert_eq!(split_keys(source, &root, low, high, 10).unwrap().len(), 9);
    });
    assert!(of_split <= 4 * depth + 9 * (depth + 1), "{of_split}");
}

#[test]
fn estimates_read_few_pages() {
    let (pages, root) = loaded(200_000, false);
    let key = 1_u64.to_be_bytes();
    let read = reads(&pages, |source| {
        let low = Bound::Included(&key[..]);
        estimate(source, &root, low, Bound::Unbounded).unwrap();
    });
    assert!(root.leaf_pages > 1500 && read < 64 * 3, "{read}");
}

fn set_records(page: &mut [u8], index: usize, mut records: u64) {
    inner::add_records(page, index, i64::MIN);
    while records > 0 {
        let part = records.min(i64::MAX as u64);
        inner::add_records(page, index, part as i64);
        records -= part;
    }
}

/// The stored number of records below the first child of the root is wrong.
#[test]
fn wrong_counts_are_damage() {
    for records in [0, 3, 1 << 47, u64::MAX] {
        let (mut pages, root) = loaded(20_000, true);
        set_records(pages.page_mut(root.page).unwrap(), 0, records);
        let last = 19_999_u64.to_be_bytes();
        let low = Bound::Included(&last[..]);
        let counted = count(&pages, &root, low, Bound::Unbounded);
        match records {
            u64::MAX => assert!(counted.is_err() && rank(&pages, &root, &last).is_err()),
            _ => assert_eq!(counted.unwrap(), 1),
        }
        let found = nth(&pages, &root, 19_999);
        assert!(found.is_err(), "{found:?}");
    }
}

#[test]
fn a_tree_that_falsely_claims_counts_is_damaged() {
    let (pages, root) = loaded(20_000, false);
    let root = TreeRoot {
        counted: true,
        ..root
    };
    assert!(rank(&pages, &root, &[9; 8]).is_err());
    assert!(nth(&pages, &root, 5).is_err());
    let mut position = Position::default();
    assert!(position.skip(&pages, &root, 5000).is_err());
    assert!(position.skip(&pages, &root, 1).is_err(), "it is lost");
    assert!(position.distance(&position, &pages, &root).is_err());
}

/// Random changes to the bytes of all pages: every result is a number or an error.
#[test]
fn hostile_bytes_cause_no_panic() {
    let mut random = Rng::with_seed(21);
    let samples = [loaded(20_000, true), loaded(40_000, false)];
    for round in 0..300 {
        let (mut pages, root) = samples[round % 2].clone();
        for number in 4..4 + root.leaf_pages + root.inner_pages {
            let number = PageNumber(number);
            let is_inner = Header::read(pages.page(number).unwrap()).level > 0;
            let chance = if is_inner { 2 } else { 12 };
            if random.u64(..chance) > 0 {
                continue;
            }
            let page = pages.page_mut(number).unwrap();
            for _ in 0..1 + random.u64(..4) {
                let end = [24, 600, 4096][random.u64(..3) as usize];
                page[random.u64(..end) as usize] = random.u64(..) as u8;
            }
            if let (true, Ok(inner)) = (is_inner, Inner::parse(page)) {
                let (index, count) = (random.u64(..inner.count() as u64), random.u64(..));
                set_records(page, index as usize, count >> random.u64(..64));
            }
        }
        let root = TreeRoot {
            records: root.records << random.u64(..30),
            leaf_pages: root.leaf_pages >> random.u64(..9),
            ..root
        };
        let mut position = Position::default();
        for _ in 0..20 {
            let keys = [random.u64(..20_000), random.u64(..20_000)].map(u64::to_be_bytes);
            let (low, high) = (Bound::Included(&keys[0][..]), Bound::Excluded(&keys[1][..]));
            let _ = rank(&pages, &root, &keys[0]);
            let _ = nth(&pages, &root, random.u64(..20_000));
            let _ = ends(&pages, &root, low, high);
            let _ = count(&pages, &root, low, high);
            let _ = split_keys(&pages, &root, low, high, 7);
            if let Ok(about) = estimate(&pages, &root, low, high) {
                assert!(about.at_least <= about.records && about.records <= about.at_most);
            }
            if position
                .skip(&pages, &root, random.u64(..20_000) as i64 - 10_000)
                .is_err()
            {
                position = Position::default();
            }
            let _ = position.distance(&Position::default(), &pages, &root);
        }
    }
}
