//! The tree against a `BTreeMap`, on pages in memory.

mod fixed;

use super::{
    PageSink, TreeRoot,
    bulk::{RecordLoader, TreeAppender, TreeBuilder},
    cursor::{TreeCursor, record_at},
    insert::{Existing, Inserted},
    lookup,
    memory::MemoryPages,
    mutable_tree::Tree,
    position::{Position, descend::child_from_hint},
    seal,
    sort::Sorter,
    walk::{self, Finding, PageRole, Visitor},
};
use crate::{
    Extent, PageNumber,
    page::{header::Header, key::KeyOrder, max_key_len, value::StoredValue},
};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

pub(super) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub(super) struct Fixture {
    pub(super) pages: MemoryPages,
    pub(super) root: TreeRoot,
    pub(super) model: Model,
}

/// Counts the findings of a walk, and checks that no page is visited twice.
#[derive(Default)]
struct Audit {
    seen: BTreeSet<PageNumber>,
    findings: Vec<Finding>,
    pages: usize,
    values: usize,
}

impl Visitor for Audit {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        if role == PageRole::Value {
            self.values += 1;
        } else {
            self.pages += 1;
        }
        extent.pages().all(|page| self.seen.insert(page))
    }

    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

impl Fixture {
    pub(super) fn new(page_size: usize, root: TreeRoot) -> Self {
        Self {
            pages: MemoryPages::new(page_size),
            root,
            model: Model::new(),
        }
    }

    pub(super) fn tree(&mut self) -> Tree<'_, MemoryPages> {
        Tree::new(&mut self.pages, &mut self.root)
    }

    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) {
        let inserted = self
            .tree()
            .insert(key, StoredValue::inline(value), Existing::Replace)
            .unwrap();
        let expected = match self.model.insert(key.to_vec(), value.to_vec()) {
            None => Inserted::New,
            Some(old) if old == value => Inserted::Unchanged,
            Some(_) => Inserted::Replaced,
        };
        assert_eq!(inserted, expected);
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        let removed = self.tree().remove(key).unwrap();
        assert_eq!(removed, self.model.remove(key).is_some());
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = lookup::get(&self.pages, &self.root, key).unwrap()?;
        Some(
            lookup::load(&self.pages, PageNumber(0), value)
                .unwrap()
                .to_vec(),
        )
    }

    /// Checks all invariants of a tree, and its contents against the model.
    pub(super) fn audit(&mut self) {
        seal::seal(&mut self.pages, &mut self.root).unwrap();
        let mut audit = Audit::default();
        let totals = walk::walk(
            &self.pages,
            &self.root,
            crate::TransactionId(u64::MAX),
            &mut audit,
        );
        assert!(audit.findings.is_empty(), "{:?}", audit.findings);
        assert_eq!(totals.records, self.model.len() as u64);
        assert_eq!(self.root.records, totals.records);
        assert_eq!(u64::from(self.root.inner_pages), totals.inner_pages);
        assert_eq!(u64::from(self.root.leaf_pages), totals.leaf_pages);
        assert_eq!(self.root.value_pages, totals.value_pages);
        assert_eq!(
            self.pages.live(),
            (audit.pages, audit.values),
            "nothing leaks"
        );
        let mut cursor = TreeCursor::new(&self.pages, self.root);
        let mut forward = Vec::new();
        while cursor.next().unwrap() {
            forward.push((cursor.key().to_vec(), cursor.value().unwrap().to_vec()));
        }
        let mut expected: Vec<_> = self.model.clone().into_iter().collect();
        expected.sort_by(|a, b| self.root.order.compare(&a.0, &b.0));
        assert_eq!(forward, expected);
        let mut cursor = TreeCursor::new(&self.pages, self.root);
        for (key, _) in expected.iter().rev() {
            assert!(cursor.prev().unwrap());
            assert_eq!(cursor.key(), key);
        }
        assert!(!cursor.prev().unwrap());
    }
}

pub(super) fn bytes_root() -> TreeRoot {
    TreeRoot::new(KeyOrder::Bytes, true, false, 0)
}

pub(super) fn roots() -> Vec<TreeRoot> {
    vec![
        bytes_root(),
        TreeRoot::new(KeyOrder::Bytes, false, true, 3),
        TreeRoot::new(KeyOrder::ReverseBytes, true, true, 0),
        TreeRoot::new(KeyOrder::Integer, true, false, 4),
        TreeRoot::new(KeyOrder::Bytes, true, true, 2),
    ]
}

pub(super) fn random_key(
    random: &mut Rng,
    order: KeyOrder,
    page_size: usize,
    spread: u64,
) -> Vec<u8> {
    let number = random.u64(..spread);
    match order {
        KeyOrder::Integer => (number << random.u64(..40)).to_le_bytes().to_vec(),
        _ => match random.u64(..40) {
            0 => vec![number as u8; max_key_len(page_size) - random.u64(..3) as usize],
            1 => vec![],
            2..6 => vec![0; random.u64(..9) as usize],
            6..12 => [&[b'p'; 30][..], &number.to_be_bytes()[4..]].concat(),
            12..16 => number.to_be_bytes()[6..].to_vec(),
            16..20 => {
                let mut key = vec![number as u8; random.u64(..900) as usize];
                key.extend(random.u64(..).to_be_bytes());
                key
            }
            _ => number
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_be_bytes()
                .repeat(2),
        },
    }
}

pub(super) fn random_value(random: &mut Rng) -> Vec<u8> {
    let len = match random.u64(..30) {
        0 => 0,
        1 => random.u64(..20_000),
        2 => 2000 + random.u64(..100),
        3..6 => random.u64(..1500),
        _ => random.u64(..120),
    };
    vec![random.u64(..) as u8; len as usize]
}

fn random_range(random: &mut Rng, keys: &[Vec<u8>]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let mut bound = || {
        let key = keys[random.u64(..keys.len() as u64) as usize].clone();
        match random.u64(..8) {
            0 => Bound::Unbounded,
            1..4 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    };
    (bound(), bound())
}

pub(super) fn as_slices(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| key.as_slice())
}

fn remove_random_range(fixture: &mut Fixture, random: &mut Rng) {
    let keys: Vec<_> = fixture.model.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let (low, high) = random_range(random, &keys);
    let order = fixture.root.order;
    let removed_slots: Vec<_> = keys
        .into_iter()
        .filter(|key| match &low {
            Bound::Unbounded => true,
            Bound::Included(l) => order.compare(l, key).is_le(),
            Bound::Excluded(l) => order.compare(l, key).is_lt(),
        })
        .filter(|key| match &high {
            Bound::Unbounded => true,
            Bound::Included(h) => order.compare(key, h).is_le(),
            Bound::Excluded(h) => order.compare(key, h).is_lt(),
        })
        .collect();
    let removed = fixture
        .tree()
        .remove_range(as_slices(&low), as_slices(&high))
        .unwrap();
    assert_eq!(removed, removed_slots.len() as u64);
    for key in removed_slots {
        fixture.model.remove(&key);
    }
}

#[test]
fn random_operations_match_a_map() {
    for (seed, root) in roots().into_iter().enumerate() {
        for page_size in [4096, 16384] {
            let mut random = Rng::with_seed(seed as u64 * 7 + page_size as u64);
            let mut fixture = Fixture::new(page_size, root);
            for step in 0..6000u32 {
                let key = random_key(&mut random, root.order, page_size, 3000);
                match random.u64(..1000) {
                    0..600 => {
                        let value = random_value(&mut random);
                        fixture.insert(&key, &value);
                    }
                    600..900 => fixture.remove(&key),
                    900..902 => remove_random_range(&mut fixture, &mut random),
                    902..910 => {
                        seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
                        fixture.pages.commit();
                    }
                    _ => assert_eq!(fixture.get(&key), fixture.model.get(&key).cloned()),
                }
                if step % 500 == 0 {
                    fixture.audit();
                }
            }
            fixture.audit();
            let keys: Vec<_> = fixture.model.keys().cloned().collect();
            for key in keys {
                fixture.remove(&key);
            }
            fixture.audit();
            assert_eq!(fixture.pages.live(), (0, 0));
        }
    }
}

/// Ascending or descending keys, occasional others, and removals, after which the hint is invalid;
/// pages are committed in between.
#[test]
fn records_close_to_the_last_one_are_inserted_correctly() {
    for (seed, root) in roots().into_iter().enumerate() {
        let mut random = Rng::with_seed(seed as u64);
        let mut fixture = Fixture::new(4096, root);
        let (mut hint, mut number) = (Vec::new(), 1_u64 << 20);
        for step in 0..8000u32 {
            match random.u64(..100) {
                0..60 => number += 1 + random.u64(..2),
                60..90 => number -= 1,
                90..93 => number = random.u64(1 << 16..1 << 21),
                93..95 => {
                    fixture.remove(&key_of(number, root.order));
                    hint.clear();
                }
                95..98 => {
                    for number in number..number + random.u64(1..60) {
                        let key = key_of(number, root.order);
                        let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
                        let removed = tree.remove_with_hint(&mut hint, &key).unwrap();
                        assert_eq!(removed, fixture.model.remove(&key).is_some());
                    }
                }
                _ => {
                    seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
                    fixture.pages.commit();
                }
            }
            let key = key_of(number, root.order);
            let value = random_value(&mut random);
            let existing = match random.bool() {
                true => Existing::Replace,
                false => Existing::Keep,
            };
            let stored = StoredValue::inline(&value);
            let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
            let inserted = tree.insert_with_hint(&mut hint, &key, stored, existing);
            let was_there = fixture.model.contains_key(&key);
            assert_eq!(inserted.unwrap() == Inserted::New, !was_there);
            if !was_there || existing == Existing::Replace {
                fixture.model.insert(key, value);
            }
            if step % 1000 == 0 {
                fixture.audit();
            }
        }
        fixture.audit();
    }
}

/// The page above a leaf decides that a key is below it only where that is certain: at the ends of
/// the page the key may belong to a neighbour.
#[test]
fn a_hint_of_the_parent_matches_the_descent() {
    for root in roots() {
        let mut fixture = Fixture::new(4096, root);
        let mut builder = Tree::new(&mut fixture.pages, &mut fixture.root);
        let mut builder = TreeBuilder::new(&mut builder);
        let key = |number: u64| key_of(2 * number, root.order);
        let mut keys: Vec<_> = (0..20_000).map(key).collect();
        keys.sort_by(|a, b| root.order.compare(a, b));
        keys.iter()
            .for_each(|key| builder.push(key, &[7; 100]).unwrap());
        builder.finish().unwrap();
        assert_eq!(fixture.root.depth, 3, "pages above leaves have neighbours");
        let mut random = Rng::with_seed(9);
        let (mut hinted, mut count) = (0, 0);
        for key_index in (0..keys.len()).step_by(37) {
            let (mut from, mut to) = (Position::default(), Position::default());
            let (pages, root) = (&fixture.pages, &fixture.root);
            assert!(from.descend(pages, root, &keys[key_index]).unwrap());
            let other = (key_index + random.usize(..3000)).saturating_sub(1500);
            let key = key_of(random.u64(..2) + 2 * other as u64, root.order);
            to.descend(pages, root, &key).unwrap();
            if let Some((step, leaf)) = child_from_hint(pages, root, from.path(), &key).unwrap() {
                let [.., above, end] = to.path() else {
                    panic!("there are three levels")
                };
                assert_eq!((step, leaf), (*above, end.page));
                hinted += 1;
            }
            count += 1;
        }
        assert!(hinted > count / 2 && hinted < count, "{hinted} of {count}");
    }
}

/// Numbers in the order of a table, with a prefix that many share.
fn key_of(number: u64, order: KeyOrder) -> Vec<u8> {
    match order {
        KeyOrder::Integer => number.to_le_bytes().to_vec(),
        KeyOrder::ReverseBytes => [&number.to_le_bytes()[..], b"end"].concat(),
        _ => [&b"begin"[..], &number.to_be_bytes()].concat(),
    }
}

#[test]
fn get_many_agrees_with_get() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let mut random = Rng::with_seed(3);
    for _ in 0..5000 {
        let key = random_key(&mut random, KeyOrder::Bytes, 4096, 4000);
        let value = random_value(&mut random);
        fixture.insert(&key, &value);
    }
    let keys: Vec<_> = (0..777)
        .map(|_| random_key(&mut random, KeyOrder::Bytes, 4096, 4000))
        .collect();
    let mut found = Vec::new();
    lookup::get_many(
        &fixture.pages,
        &fixture.root,
        keys.iter().map(Ok),
        |value| {
            let value = value.map(|v| {
                lookup::load(&fixture.pages, PageNumber(0), v)
                    .unwrap()
                    .to_vec()
            });
            found.push(value);
            Ok(())
        },
    )
    .unwrap();
    let expected: Vec<_> = keys
        .iter()
        .map(|key| fixture.model.get(key).cloned())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn seeks_find_the_lower_bound() {
    let mut fixture = Fixture::new(4096, bytes_root());
    for i in 0..2000u32 {
        fixture.insert(&(i * 2).to_be_bytes(), b"value");
    }
    for probe in 0..4001u32 {
        let mut position = Position::default();
        let found = position
            .seek(&fixture.pages, &fixture.root, &probe.to_be_bytes())
            .unwrap();
        let mut key = Vec::new();
        let record = record_at(&fixture.pages, &position, &mut key).unwrap();
        if probe > 3998 {
            assert!(found.is_none() && record.is_none());
        } else {
            assert_eq!(found, Some(probe % 2 == 0));
            assert_eq!(key, probe.next_multiple_of(2).to_be_bytes());
        }
    }
}

#[test]
fn a_random_load_leaves_dense_pages() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let mut random = Rng::with_seed(11);
    for _ in 0..60_000 {
        let key = [random.u64(..).to_be_bytes(), random.u64(..).to_be_bytes()].concat();
        let mut tree = fixture.tree();
        tree.insert(&key, StoredValue::inline(&[7; 100]), Existing::Replace)
            .unwrap();
    }
    let pages = fixture.root.page_count() * 4096;
    let data = fixture.root.records * 116;
    let ratio = pages as f64 / data as f64;
    println!(
        "{} inner {} leaves, {ratio}",
        fixture.root.inner_pages, fixture.root.leaf_pages
    );
    assert!(ratio < 1.25, "{ratio}");
}

#[test]
fn ascending_keys_fill_their_pages() {
    let mut fixture = Fixture::new(4096, bytes_root());
    for i in 0..50_000u64 {
        fixture.insert(&i.to_be_bytes(), &[7; 20]);
    }
    fixture.audit();
    let ratio = fixture.root.page_count() as f64 * 4096.0 / (50_000.0 * 28.0);
    assert!(ratio < 1.1, "{ratio}");
}

#[test]
fn writing_equal_values_copies_nothing() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let large = vec![3; 10_000];
    for i in 0..1000u32 {
        fixture.insert(
            &i.to_be_bytes(),
            if i % 100 == 0 { &large } else { b"small" },
        );
    }
    fixture.audit();
    fixture.pages.commit();
    for i in 0..1000u32 {
        fixture.insert(
            &i.to_be_bytes(),
            if i % 100 == 0 { &large } else { b"small" },
        );
    }
    fixture.remove(b"not there");
    let mut tree = fixture.tree();
    assert_eq!(
        tree.remove_range(Bound::Excluded(b"x"), Bound::Unbounded)
            .unwrap(),
        0
    );
    assert_eq!(fixture.pages.own_count(), 0);
}

#[test]
fn a_built_tree_is_valid_and_full() {
    for root in roots() {
        let mut fixture = Fixture::new(4096, root);
        let mut random = Rng::with_seed(5);
        while fixture.model.len() < 8000 {
            let key = random_key(&mut random, root.order, 4096, 1 << 30);
            let value = random_value(&mut random);
            fixture.model.insert(key, value);
        }
        let mut sorted: Vec<_> = fixture.model.clone().into_iter().collect();
        sorted.sort_by(|a, b| root.order.compare(&a.0, &b.0));
        let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
        let mut builder = TreeBuilder::new(&mut tree);
        for (key, value) in &sorted {
            builder.push(key, value).unwrap();
        }
        assert_eq!(builder.finish().unwrap(), sorted.len() as u64);
        fixture.audit();
    }
}

#[test]
fn appending_agrees_with_a_model() {
    for (page_size, root) in [
        (4096, bytes_root()),
        (
            8192,
            TreeRoot {
                counted: true,
                ..bytes_root()
            },
        ),
    ] {
        let mut fixture = Fixture::new(page_size, root);
        let mut random = Rng::with_seed(21);
        let long = [7; 3000];
        for round in 0..20u32 {
            fixture.pages.commit();
            let mut appended = Vec::new();
            for i in 0..100 + round * 10 {
                let mut key = (round * 1000 + i).to_be_bytes().to_vec();
                key.resize(4 + random.u64(..40) as usize, b'k');
                let len = if i % 31 == 0 {
                    3000
                } else {
                    random.u64(..90) as usize
                };
                appended.push((key, long[..len].to_vec()));
            }
            let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
            let mut appender = TreeAppender::new(&mut tree).unwrap();
            for (key, value) in &appended {
                appender.push(key, value).unwrap();
            }
            let last = &appended[appended.len() - 1].0;
            let error = appender.push(last, b"").unwrap_err();
            assert!(matches!(error, crate::Error::NotSorted { .. }), "{error}");
            assert_eq!(appender.finish().unwrap(), appended.len() as u64);
            fixture.model.extend(appended);
            fixture.audit();
        }
    }
}

/// In an empty tree, among existing records, and after them; keys occur twice, and the last one
/// counts.
#[test]
fn batches_agree_with_single_inserts() {
    for (seed, root) in (1..).zip(roots()) {
        let order = root.order;
        let mut fixture = Fixture::new(4096, root);
        let mut random = Rng::with_seed(seed);
        for round in 0..12u64 {
            let spread = 300 << round;
            let records: Vec<_> = (0..500)
                .map(|_| {
                    let key = random_key(&mut random, order, 4096, spread);
                    (key, random_value(&mut random))
                })
                .collect();
            let before = fixture.model.len();
            fixture.model.extend(records.iter().cloned());
            let added = fixture.tree().insert_many(&records).unwrap();
            assert_eq!(added, (fixture.model.len() - before) as u64);
            fixture.audit();
            let keys: Vec<_> = records.into_iter().step_by(3).map(|(key, _)| key).collect();
            let there = keys
                .iter()
                .filter(|key| fixture.model.remove(*key).is_some());
            let there = there.count() as u64;
            assert_eq!(fixture.tree().remove_many(&keys).unwrap(), there);
            fixture.audit();
        }
    }
}

#[test]
fn building_refuses_unsorted_input() {
    let mut fixture = Fixture::new(4096, bytes_root());
    let mut tree = fixture.tree();
    let mut builder = TreeBuilder::new(&mut tree);
    builder.push(b"b", b"").unwrap();
    let error = builder.push(b"b", b"").unwrap_err();
    assert!(
        matches!(error, crate::Error::NotSorted { index: 1 }),
        "{error}"
    );
}

#[test]
fn sorting_beyond_memory_keeps_the_last_of_equal_keys() {
    let directory = std::env::temp_dir();
    let mut sorter = Sorter::new(&bytes_root(), 1 << 16, &directory, None);
    let mut model = Model::new();
    let mut random = Rng::with_seed(8);
    for i in 0..40_000u32 {
        let key = random.u64(..9000).to_be_bytes()[5..].to_vec();
        let value = i.to_le_bytes().to_vec();
        sorter.push(&key, &value).unwrap();
        model.insert(key, value);
    }
    assert_eq!(sorter.records(), 40_000);
    let mut merged = Vec::new();
    let merge = sorter.finish().unwrap();
    merge
        .for_each(|key, value| {
            merged.push((key.to_vec(), value.to_vec()));
            Ok(())
        })
        .unwrap();
    assert!(merged.into_iter().eq(model));
}

/// Records without bytes begin at the offset of the next one.
#[test]
fn the_last_of_many_empty_records_counts_too() {
    let mut sorter = Sorter::new(&bytes_root(), 1 << 20, &std::env::temp_dir(), None);
    for i in 0..2000u32 {
        sorter.push(b"", b"").unwrap();
        sorter.push(b"", &i.to_le_bytes()).unwrap();
    }
    let mut merged = Vec::new();
    let merge = sorter.finish().unwrap();
    let collected = merge.for_each(|_, value| {
        merged.push(value.to_vec());
        Ok(())
    });
    collected.unwrap();
    assert_eq!(merged, [1999u32.to_le_bytes()]);
}

#[test]
fn removing_a_range_visits_only_the_edges() {
    let mut fixture = Fixture::new(4096, bytes_root());
    for i in 0..30_000u32 {
        fixture.insert(&i.to_be_bytes(), &[1; 60]);
    }
    seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
    fixture.pages.commit();
    let (low, high) = (1000u32.to_be_bytes(), 29_000u32.to_be_bytes());
    let removed = fixture
        .tree()
        .remove_range(Bound::Included(&low), Bound::Excluded(&high))
        .unwrap();
    assert_eq!(removed, 28_000);
    fixture
        .model
        .retain(|key, _| key.as_slice() < &low[..] || key.as_slice() >= &high[..]);
    assert!(
        fixture.pages.own_count() < 10,
        "{} pages copied",
        fixture.pages.own_count()
    );
    assert_eq!(fixture.pages.transaction(), crate::TransactionId(2));
    fixture.audit();
}

/// A damaged leaf without records: a search for its last record went below the first.
#[test]
fn a_search_that_ends_in_an_empty_leaf_is_damage() {
    let mut fixture = Fixture::new(4096, bytes_root());
    fixture.insert(b"key", b"value");
    let page = fixture.root.page;
    let bytes = fixture.pages.page_mut(page).unwrap();
    let header = Header {
        count: 0,
        ..Header::read(bytes)
    };
    header.write(bytes);
    let mut position = Position::default();
    for key in [&b""[..], b"key", b"z"] {
        let found = position.seek(&fixture.pages, &fixture.root, key);
        assert!(matches!(found, Err(crate::Error::Corrupted { .. })));
    }
    assert!(position.first(&fixture.pages, &fixture.root).is_err());
    assert!(position.last(&fixture.pages, &fixture.root).is_err());
}

/// Ascending keys before a greater one, with lengths that allow at most two children in a page.
/// Inner pages with a single child remained, and the tree grew too deep to be reopened.
#[test]
fn long_separators_do_not_make_the_tree_deep() {
    let mut fixture = Fixture::new(4096, bytes_root());
    fixture.insert(&[0xff; 10], b"last");
    for i in 0..600u32 {
        // Neighbours differ only at their end, and every third from its neighbours at the start.
        let mut key = vec![(i / 3) as u8; 3000];
        key[0] = (i / 600) as u8;
        key.extend(i.to_be_bytes());
        fixture.insert(&key, b"");
    }
    fixture.audit();
    assert!(fixture.root.depth <= 20, "{} levels", fixture.root.depth);
}

/// Keys of which two fit into an inner page, inserted and removed in any order, commit by commit.
#[test]
fn trees_of_long_keys_stay_shallow_under_changes() {
    for order in [KeyOrder::Bytes, KeyOrder::ReverseBytes] {
        let mut fixture = Fixture::new(4096, TreeRoot::new(order, false, false, 0));
        let mut random = Rng::with_seed(9);
        let mut depth_max = 0;
        for round in 0..4000 {
            let mut key = vec![b'k'; 3000];
            let number = (random.u64(..500) as u16).to_be_bytes();
            let at = [2998, 0][usize::from(order == KeyOrder::ReverseBytes)];
            key[at..at + 2].copy_from_slice(&number);
            if random.u64(..3) == 0 {
                fixture.remove(&key);
            } else {
                fixture.insert(&key, b"value");
            }
            if round % 100 == 0 {
                seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
                fixture.pages.commit();
            }
            depth_max = depth_max.max(fixture.root.depth);
        }
        fixture.audit();
        assert!(depth_max <= 20, "{depth_max} levels");
    }
}

/// The key and value of the previous record were still visible.
#[test]
fn an_unreadable_record_is_invisible() {
    let mut fixture = Fixture::new(4096, bytes_root());
    for key in [&[1u8, 0, 0, 0], &[5, 0, 0, 0], &[9, 0, 0, 0]] {
        fixture.insert(key, b"value");
    }
    let page = fixture.pages.page_mut(fixture.root.page).unwrap();
    let offset = crate::page::header::HEADER_LEN + 4 * 3 + 2;
    page[offset..offset + 2].fill(0xff);
    let mut cursor = TreeCursor::new(&fixture.pages, fixture.root);
    assert!(cursor.next().unwrap());
    assert!(cursor.next().is_err());
    assert_eq!((cursor.key(), cursor.value().unwrap()), (&[][..], &[][..]));
    assert!(cursor.next().unwrap());
    assert_eq!(cursor.key(), [9, 0, 0, 0]);
}
