//! Trees of pairs against a map of sets, on pages in memory.

use super::{
    KeyValues, batch::PairAppender, bulk::PairBuilder, cursor::PairCursor, lookup,
    replace::PairReplaced,
};
use crate::{
    Extent, PageNumber,
    btree::{
        PageSink, TableClass, TreeKind, TreeRoot,
        bulk::RecordLoader,
        memory::MemoryPages,
        mutable_tree::Tree,
        pages::{Forest, unshared},
        relocate::Relocation,
        seal,
        seek_target::{SeekOp, SeekTarget},
        walk::{self, Finding, PageRole, Visitor},
    },
    page::{comparison::Comparison, key::KeyOrder, max_key_len, value::StoredValue},
};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

static BY_LENGTH: Comparison = Comparison::new("length, then bytes", &|a, b| {
    a.len().cmp(&b.len()).then(a.cmp(b))
});
static CASELESS: Comparison = Comparison::new("caseless", &|a, b| {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
});

/// Values in order; of equal ones, the first one.
type Set = Vec<Vec<u8>>;

pub(super) struct Fixture {
    pub(super) pages: MemoryPages,
    pub(super) root: TreeRoot,
    /// Keys as bytes: the key orders in these tests do not treat different bytes as equal.
    model: BTreeMap<Vec<u8>, Set>,
}

/// The findings of a walk, and all pairs that it reports.
#[derive(Default)]
struct Audit {
    seen: BTreeSet<PageNumber>,
    findings: Vec<Finding>,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Visitor for Audit {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        assert_ne!(role, PageRole::Value);
        extent.pages().all(|page| self.seen.insert(page))
    }

    fn finding(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    fn record(&mut self, _leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        self.pairs.push((key.to_vec(), value.bytes.to_vec()));
    }
}

/// Value order, value size, whether the first value fixes the size, whether inner pages are
/// counted, whether prefixes are shared.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageKind(KeyOrder, u16, bool, bool, bool);

pub(super) const KINDS: [PageKind; 9] = [
    PageKind(KeyOrder::Bytes, 0, false, true, true),
    PageKind(KeyOrder::Bytes, 0, false, false, false),
    PageKind(KeyOrder::ReverseBytes, 0, false, true, true),
    PageKind(KeyOrder::Custom(&BY_LENGTH), 0, false, false, true),
    PageKind(KeyOrder::Custom(&CASELESS), 0, false, true, true),
    PageKind(KeyOrder::Integer, 8, false, true, true),
    PageKind(KeyOrder::Integer, 4, true, false, true),
    PageKind(KeyOrder::Bytes, 8, false, true, false),
    PageKind(KeyOrder::Bytes, 900, true, true, true),
];

impl PageKind {
    fn root(self) -> TreeRoot {
        let Self(order, size, first_decides, counted, share_prefixes) = self;
        let kind = TreeKind {
            class: TableClass::Multi,
            values: Some(order),
            value_size: if first_decides { 0 } else { size },
            first_decides,
            ..TreeKind::default()
        };
        TreeRoot {
            kind,
            ..TreeRoot::new(KeyOrder::Bytes, share_prefixes, counted, 0)
        }
    }

    pub(super) fn value(self, number: u64, page_size: usize) -> Vec<u8> {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.1 > 0 {
            let bytes = mixed.to_be_bytes();
            return bytes.iter().copied().cycle().take(self.1.into()).collect();
        }
        let len = match mixed >> 8 & 63 {
            0 => max_key_len(page_size) - (mixed >> 20 & 1) as usize,
            1 => (mixed >> 20) as usize % 1500,
            2 => 0,
            _ => (mixed >> 20) as usize % 40,
        };
        let letter = if mixed >> 40 & 1 == 0 { b'a' } else { b'A' };
        let mut value = vec![letter; len];
        let digits = number.to_string();
        for (to, from) in value.iter_mut().rev().zip(digits.bytes().rev()) {
            *to = from;
        }
        value
    }
}

impl Fixture {
    pub(super) fn new(page_size: usize, kind: PageKind) -> Self {
        Self {
            pages: MemoryPages::new(page_size),
            root: kind.root(),
            model: BTreeMap::new(),
        }
    }

    fn tree(&mut self) -> Tree<'_, MemoryPages> {
        Tree::new(&mut self.pages, &mut self.root)
    }

    pub(super) fn order(&self) -> KeyOrder {
        self.root.value_order()
    }

    /// The index of a value in the set of a key, or its insertion point.
    fn index_of(&self, key: &[u8], value: &[u8]) -> Result<usize, usize> {
        let set = self.model.get(key).map_or(&[][..], |set| &set[..]);
        set.binary_search_by(|old| self.order().compare(old, value))
    }

    fn insert_in_model(&mut self, key: &[u8], value: &[u8]) -> bool {
        match self.index_of(key, value) {
            Ok(_) => false,
            Err(index) => {
                let set = self.model.entry(key.to_vec()).or_default();
                set.insert(index, value.to_vec());
                true
            }
        }
    }

    fn remove_in_model(&mut self, key: &[u8], value: &[u8]) -> bool {
        let Ok(index) = self.index_of(key, value) else {
            return false;
        };
        let set = self.model.get_mut(key).unwrap();
        set.remove(index);
        if set.is_empty() {
            self.model.remove(key);
        }
        true
    }

    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) {
        let is_new = self.tree().insert_pair(key, value).unwrap();
        assert_eq!(is_new, self.insert_in_model(key, value));
    }

    pub(super) fn remove(&mut self, key: &[u8], value: &[u8]) {
        let was_there = self.tree().remove_pair(key, value).unwrap();
        assert_eq!(was_there, self.remove_in_model(key, value));
    }

    pub(super) fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let pairs = self.model.iter();
        pairs
            .flat_map(|(key, set)| set.iter().map(|value| (key.clone(), value.clone())))
            .collect()
    }

    /// Checks all invariants of a tree, and its contents against the model.
    fn audit(&mut self) {
        seal::seal(&mut self.pages, &mut self.root).unwrap();
        let mut audit = Audit::default();
        let totals = walk::walk(
            &self.pages,
            &self.root,
            crate::TransactionId(u64::MAX),
            &mut audit,
        );
        assert!(audit.findings.is_empty(), "{:?}", audit.findings);
        let pairs = self.pairs();
        assert_eq!(audit.pairs, pairs);
        assert_eq!(self.root.records, pairs.len() as u64);
        assert_eq!(totals.records, self.root.records);
        assert_eq!(u64::from(self.root.inner_pages), totals.inner_pages);
        assert_eq!(u64::from(self.root.leaf_pages), totals.leaf_pages);
        assert_eq!(self.root.value_pages, 0);
        assert_eq!(self.pages.live(), (audit.seen.len(), 0), "nothing leaks");
        self.assert_owned();
        self.read_both_directions(&pairs);
    }

    /// Checks that a changeable page of a nested tree has a changeable leaf around it.
    fn assert_owned(&self) {
        let mut position = crate::btree::position::Position::default();
        while position.next(&self.pages, &self.root).unwrap() {
            let (number, _) = position.record().unwrap();
            let mut key = Vec::new();
            let record = crate::btree::cursor::record_at(&self.pages, &position, &mut key);
            let (_, stored) = record.unwrap().unwrap();
            if let KeyValues::Tree(nested) = KeyValues::of(&self.root, stored).unwrap() {
                assert!(self.pages.is_own(number) || !self.pages.is_own(nested.page));
            }
        }
    }

    fn read_both_directions(&self, pairs: &[(Vec<u8>, Vec<u8>)]) {
        let mut cursor = PairCursor::new(&self.pages, self.root);
        for (key, value) in pairs {
            assert!(cursor.next().unwrap());
            assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
            assert_eq!(cursor.count(), self.model[key].len() as u64);
        }
        assert!(!cursor.next().unwrap());
        assert!(!cursor.is_on_pair());
        for (key, value) in pairs.iter().rev() {
            assert!(cursor.prev().unwrap());
            assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
        }
        assert!(!cursor.prev().unwrap());
    }

    /// How many keys have a nested tree.
    fn nested_count(&self) -> usize {
        let is_nested = |key: &&Vec<u8>| {
            let found = lookup::find(&self.pages, &self.root, key).unwrap();
            matches!(found, Some(KeyValues::Tree(_)))
        };
        self.model.keys().filter(is_nested).count()
    }

    fn commit(&mut self) {
        seal::seal(&mut self.pages, &mut self.root).unwrap();
        self.pages.commit();
    }
}

pub(super) fn key_of(random: &mut Rng, page_size: usize) -> Vec<u8> {
    match random.u64(..30) {
        0 => vec![b'k'; max_key_len(page_size) - random.usize(..3)],
        1 => vec![],
        2..5 => [&[b'p'; 300][..], &random.u64(..9).to_be_bytes()].concat(),
        5..20 => vec![b'a' + random.u8(..4)],
        _ => random.u16(..200).to_be_bytes().to_vec(),
    }
}

fn bound_of<'p>(random: &mut Rng, pair: (&'p [u8], &'p [u8])) -> Bound<(&'p [u8], &'p [u8])> {
    match random.u64(..5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(pair),
        _ => Bound::Excluded(pair),
    }
}

#[test]
fn random_operations_match_a_map_of_sets() {
    for (seed, kind) in (1..).zip(KINDS) {
        for page_size in [4096, 65536] {
            let mut random = Rng::with_seed(seed * 31 + page_size as u64);
            let mut fixture = Fixture::new(page_size, kind);
            for round in 0..12 {
                // Sets grow and shrink in turn.
                let inserts = if round % 3 == 2 { 300 } else { 700 };
                for _ in 0..500 {
                    one_operation(&mut fixture, kind, &mut random, inserts);
                }
                fixture.audit();
            }
            let pairs = fixture.pairs();
            for (key, value) in &pairs {
                fixture.remove(key, value);
            }
            assert_eq!(fixture.pages.live(), (0, 0));
            assert_eq!(fixture.root.records, 0);
        }
    }
}

fn one_operation(fixture: &mut Fixture, kind: PageKind, random: &mut Rng, inserts: u64) {
    let page_size = crate::btree::PageSource::page_size(&fixture.pages);
    let key = key_of(random, page_size);
    let value = kind.value(random.u64(..900), page_size);
    match random.u64(..1000) {
        choice if choice < inserts => fixture.insert(&key, &value),
        ..900 => {
            // Usually one that is present.
            let set = fixture.model.get(&key).cloned().unwrap_or_default();
            match set.is_empty() {
                true => fixture.remove(&key, &value),
                false => fixture.remove(&key, &set[random.usize(..set.len())]),
            }
        }
        900..905 => fixture.commit(),
        905..910 => {
            let removed = fixture.tree().remove_key(&key).unwrap();
            let set = fixture.model.remove(&key).unwrap_or_default();
            assert_eq!(removed, set.len() as u64);
        }
        910..930 => many_values(fixture, kind, random, &key),
        930..935 => {
            let pairs = fixture.pairs();
            if !pairs.is_empty() {
                let low = pairs[random.usize(..pairs.len())].clone();
                let high =
                    pairs[(random.usize(..pairs.len()) + pairs.len() / 2) % pairs.len()].clone();
                remove_range(fixture, random, (&low.0, &low.1), (&high.0, &high.1));
            }
        }
        935..960 => replace(fixture, kind, random, &key),
        _ => {
            let found = lookup::contains(&fixture.pages, &fixture.root, &key, &value);
            assert_eq!(found.unwrap(), fixture.index_of(&key, &value).is_ok());
            let values = lookup::find(&fixture.pages, &fixture.root, &key).unwrap();
            let count = fixture.model.get(&key).map(|set| set.len() as u64);
            assert_eq!(values.map(|values| values.count()), count);
        }
    }
}

fn many_values(fixture: &mut Fixture, kind: PageKind, random: &mut Rng, key: &[u8]) {
    let page_size = crate::btree::PageSource::page_size(&fixture.pages);
    let order = fixture.order();
    let count = random.usize(..200);
    let mut values: Vec<_> = (0..count)
        .map(|_| kind.value(random.u64(..900), page_size))
        .collect();
    values.sort_by(|a, b| order.compare(a, b));
    values.dedup_by(|later, earlier| order.compare(later, earlier).is_eq());
    let slices: Vec<_> = values.iter().map(Vec::as_slice).collect();
    if random.bool() {
        let before = fixture.model.get(key).map_or(0, |set| set.len() as u64);
        assert_eq!(fixture.tree().set_values(key, &slices).unwrap(), before);
        match values.is_empty() {
            true => drop(fixture.model.remove(key)),
            false => drop(fixture.model.insert(key.to_vec(), values)),
        }
    } else {
        let added = fixture.tree().insert_values(key, &slices).unwrap();
        let expected = values
            .iter()
            .filter(|value| fixture.insert_in_model(key, value))
            .count();
        assert_eq!(added, expected as u64);
    }
}

fn replace(fixture: &mut Fixture, kind: PageKind, random: &mut Rng, key: &[u8]) {
    let page_size = crate::btree::PageSource::page_size(&fixture.pages);
    let set = fixture.model.get(key).cloned().unwrap_or_default();
    let old = match set.is_empty() {
        true => kind.value(random.u64(..900), page_size),
        false => set[random.usize(..set.len())].clone(),
    };
    let new = kind.value(random.u64(..900), page_size);
    let is_same = fixture.order().compare(&old, &new).is_eq();
    let expected = match (fixture.index_of(key, &old), fixture.index_of(key, &new)) {
        (Err(_), _) => PairReplaced::NoOld,
        (Ok(_), Ok(_)) if !is_same => PairReplaced::NewThere,
        _ => PairReplaced::Done,
    };
    let replaced = fixture.tree().replace_pair(key, &old, &new).unwrap();
    assert_eq!(replaced, expected);
    if replaced == PairReplaced::Done {
        fixture.remove_in_model(key, &old);
        fixture.insert_in_model(key, &new);
    }
}

fn remove_range(
    fixture: &mut Fixture,
    random: &mut Rng,
    low: (&[u8], &[u8]),
    high: (&[u8], &[u8]),
) {
    let (low, high) = (bound_of(random, low), bound_of(random, high));
    let root = fixture.root;
    let removed_slots: Vec<_> = fixture
        .pairs()
        .into_iter()
        .filter(|(key, value)| {
            let pair = (&key[..], &value[..]);
            let is_after = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => root.compare_pairs(low, pair).is_le(),
                Bound::Excluded(low) => root.compare_pairs(low, pair).is_lt(),
            };
            is_after
                && match high {
                    Bound::Unbounded => true,
                    Bound::Included(high) => root.compare_pairs(pair, high).is_le(),
                    Bound::Excluded(high) => root.compare_pairs(pair, high).is_lt(),
                }
        })
        .collect();
    let of_pair = |(key, value)| (key, Some(value));
    let removed = (fixture.tree())
        .remove_pairs_in(low.map(of_pair), high.map(of_pair))
        .unwrap();
    assert_eq!(removed, removed_slots.len() as u64);
    for (key, value) in removed_slots {
        assert!(fixture.remove_in_model(&key, &value));
    }
}

/// Steps within a leaf check the length of a value like all others.
#[test]
fn a_step_to_a_value_of_a_wrong_length_is_an_error() {
    let mut fixture = Fixture::new(4096, KINDS[1]);
    for (key, value) in [("a", "12345678"), ("b", "123456789"), ("c", "12345678")] {
        fixture.insert(key.as_bytes(), value.as_bytes());
    }
    fixture.root.kind.value_size = 8;
    let mut cursor = PairCursor::new(&fixture.pages, fixture.root);
    assert!(cursor.first().unwrap());
    assert!(cursor.next().is_err() && !cursor.is_on_pair());
    assert!(cursor.last().unwrap());
    assert!(cursor.prev().is_err() && !cursor.is_on_pair());
}

#[test]
fn seeking_finds_the_least_pair_that_is_not_smaller() {
    for (seed, kind) in (1..).zip(KINDS) {
        let mut random = Rng::with_seed(seed);
        let mut fixture = Fixture::new(4096, kind);
        for _ in 0..1500 {
            let (key, value) = (
                key_of(&mut random, 4096),
                kind.value(random.u64(..900), 4096),
            );
            fixture.insert(&key, &value);
        }
        let (pairs, root) = (fixture.pairs(), fixture.root);
        let mut cursor = PairCursor::new(&fixture.pages, fixture.root);
        for _ in 0..500 {
            let (key, value) = (
                key_of(&mut random, 4096),
                kind.value(random.u64(..1200), 4096),
            );
            let probe = (&key[..], &value[..]);
            let at = pairs
                .partition_point(|(key, value)| root.compare_pairs((key, value), probe).is_lt());
            let found = cursor.seek_pair(&key, &value).unwrap();
            let expected = pairs
                .get(at)
                .map(|(key, value)| root.compare_pairs((key, value), probe).is_eq());
            assert_eq!(found, expected);
            let (key_there, value_there) = pairs.get(at).cloned().unwrap_or_default();
            assert_eq!(
                (cursor.key(), cursor.value()),
                (&key_there[..], &value_there[..])
            );
            let of_key = (key_there == key && found.is_some()).then_some(found == Some(true));
            for (op, expected) in [
                (SeekOp::GreaterOrEqual, of_key.is_some()),
                (SeekOp::Equal, of_key == Some(true)),
            ] {
                let target = SeekTarget::Value(&key, &value);
                assert_eq!(cursor.seek(op, target).unwrap(), expected);
                assert_eq!(cursor.is_on_pair(), expected);
            }
            let first = pairs.partition_point(|(other, _)| *other < key);
            let found = cursor.seek_key(&key).unwrap();
            assert_eq!(found, pairs.get(first).map(|(other, _)| *other == key));
            if found.is_some() {
                assert_eq!(cursor.value(), pairs[first].1);
                let last = pairs.partition_point(|(other, _)| *other <= pairs[first].0) - 1;
                assert!(cursor.last_value().unwrap());
                assert_eq!(cursor.value(), pairs[last].1);
                assert_eq!(cursor.prev_value().unwrap(), last > first);
                assert!(cursor.first_value().unwrap());
                assert_eq!(cursor.value(), pairs[first].1);
            }
        }
    }
}

/// A value is inserted and removed at the size at which sets become nested trees: the form changes
/// only the first time.
#[test]
fn a_set_at_the_size_limit_does_not_alternate() {
    for kind in KINDS.into_iter().filter(|kind| kind.1 < 100) {
        let mut fixture = Fixture::new(4096, kind);
        for number in 0.. {
            let value = kind.value(number, 4096);
            if value.len() < 100 {
                fixture.insert(b"key", &value);
            }
            if fixture.nested_count() > 0 {
                break;
            }
        }
        for _ in 0..20 {
            let set = fixture.model[&b"key"[..]].clone();
            fixture.remove(b"key", &set[0]);
            assert_eq!(fixture.nested_count(), 1);
            fixture.insert(b"key", &set[0]);
            assert_eq!(fixture.nested_count(), 1);
        }
        let set = fixture.model[&b"key"[..]].clone();
        for value in &set[1..] {
            fixture.remove(b"key", value);
        }
        assert_eq!(fixture.nested_count(), 0);
        fixture.audit();
    }
}

#[test]
fn built_trees_agree_with_grown_ones() {
    for kind in KINDS {
        for (keys, values) in [(3u32, 4000u64), (900, 5), (4000, 1), (1, 20_000), (40, 300)] {
            let mut fixture = Fixture::new(4096, kind);
            for key in 0..keys {
                for value in 0..values {
                    let number = value * 7 + u64::from(key);
                    // Long values would make this slow.
                    let value = kind.value(number, 4096);
                    if value.len() < 1000 {
                        let set = fixture.model.entry(key.to_be_bytes().to_vec()).or_default();
                        set.push(value);
                    }
                }
            }
            let order = fixture.order();
            for set in fixture.model.values_mut() {
                set.sort_by(|a, b| order.compare(a, b));
                set.dedup_by(|later, earlier| order.compare(later, earlier).is_eq());
            }
            let pairs = fixture.pairs();
            let (built, after) = pairs.split_at(pairs.len() / 2);
            let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
            let mut builder = PairBuilder::new(&mut tree);
            for (key, value) in built {
                builder.push(key, value).unwrap();
            }
            if let Some((key, value)) = built.last() {
                assert!(
                    builder.push(key, value).is_err(),
                    "it is not after the last one"
                );
            }
            assert_eq!(builder.finish().unwrap(), built.len() as u64);
            let mut appender = PairAppender::new(&mut tree).unwrap();
            for (key, value) in after {
                appender.push(key, value).unwrap();
            }
            if let Some((key, value)) = after.last() {
                assert!(appender.push(key, value).is_err());
            }
            assert_eq!(appender.finish().unwrap(), after.len() as u64);
            fixture.audit();
        }
    }
}

#[test]
fn batches_of_pairs_agree_with_single_inserts() {
    for (seed, kind) in (1..).zip(KINDS) {
        let mut random = Rng::with_seed(seed);
        let mut fixture = Fixture::new(4096, kind);
        for round in 0..6 {
            let pairs: Vec<_> = (0..800)
                .map(|_| {
                    (
                        key_of(&mut random, 4096),
                        kind.value(random.u64(..900), 4096),
                    )
                })
                .collect();
            if round % 3 < 2 {
                let added = fixture.tree().insert_pairs(&pairs).unwrap();
                let mut expected = 0;
                for (key, value) in &pairs {
                    expected += u64::from(fixture.insert_in_model(key, value));
                }
                assert_eq!(added, expected);
            } else {
                let removed = fixture.tree().remove_pairs(&pairs).unwrap();
                let mut expected = 0;
                for (key, value) in &pairs {
                    expected += u64::from(fixture.remove_in_model(key, value));
                }
                assert_eq!(removed, expected);
            }
            fixture.commit();
            fixture.audit();
        }
        fixture.tree().clear().unwrap();
        assert_eq!(fixture.pages.live(), (0, 0));
    }
}

/// The pages that two states do not share include those of nested trees.
#[test]
fn states_are_compared_with_their_nested_trees() {
    let kind = KINDS[0];
    let mut random = Rng::with_seed(5);
    let mut fixture = Fixture::new(4096, kind);
    for _ in 0..6000 {
        let (key, value) = (
            key_of(&mut random, 4096),
            kind.value(random.u64(..3000), 4096),
        );
        fixture.insert(&key, &value);
    }
    fixture.commit();
    let (before, old) = (fixture.pages.clone(), fixture.root);
    fixture.insert(b"a", b"one more");
    fixture.remove_key_of_both(b"b");
    fixture.commit();
    let pages_of = |pages: &MemoryPages, root: &TreeRoot| {
        let mut audit = Audit::default();
        walk::walk(pages, root, crate::TransactionId(u64::MAX), &mut audit);
        audit.seen
    };
    let all = [
        pages_of(&before, &old),
        pages_of(&fixture.pages, &fixture.root),
    ];
    let mut forests = [
        Forest::new(crate::TransactionId(u64::MAX)),
        Forest::new(crate::TransactionId(u64::MAX)),
    ];
    forests[0].add(&old);
    forests[1].add(&fixture.root);
    let both = before.with_pages_of(&fixture.pages);
    let [a, b] = forests;
    let found = unshared(&both, a, b).unwrap();
    for (found, (this, other)) in found.iter().zip([(&all[0], &all[1]), (&all[1], &all[0])]) {
        let found: BTreeSet<_> = found
            .iter()
            .flat_map(|page| page.checksummed.extent.pages())
            .collect();
        assert_eq!(found, this - other);
        assert!(!found.is_empty());
    }
}

impl Fixture {
    fn remove_key_of_both(&mut self, key: &[u8]) {
        self.tree().remove_key(key).unwrap();
        self.model.remove(key);
    }
}

/// Nested trees move down with all other pages, in small steps.
#[test]
fn nested_trees_are_moved_to_lower_pages() {
    let kind = KINDS[5];
    let mut fixture = Fixture::new(4096, kind);
    for key in 0..60u8 {
        for number in 0..2000 {
            fixture.insert(&[key], &kind.value(number, 4096));
        }
    }
    fixture.commit();
    let boundary = u64::from(fixture.pages.next_number());
    let mut work = Relocation {
        boundary: 0,
        pages_left: 7,
        visits_left: 7,
        saved_min: 1,
        ..Relocation::default()
    };
    let (mut from, mut rounds) = (None, 0);
    loop {
        from = fixture.tree().relocate(from.as_ref(), &mut work).unwrap();
        fixture.commit();
        (work.pages_left, work.visits_left) = (7, 7);
        rounds += 1;
        if from.is_none() {
            break;
        }
    }
    assert!(rounds > 10, "it goes on within a nested tree");
    fixture.audit();
    let mut audit = Audit::default();
    walk::walk(
        &fixture.pages,
        &fixture.root,
        crate::TransactionId(u64::MAX),
        &mut audit,
    );
    // Pages in memory are never reused: all moved pages are past the boundary.
    assert!(audit.seen.iter().all(|page| u64::from(page.0) >= boundary));
}
