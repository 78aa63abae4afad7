//! Differences between states of a tree on pages in memory, against a `BTreeMap`, and how many
//! pages it takes to find them.

use super::{ChangeKind, DifferenceWalk};
use crate::{
    Checksum, PageNumber, Result,
    btree::{
        PageSink, PageSource, TreeRoot, insert::Existing, memory::MemoryPages, mutable_tree::Tree,
        seal,
    },
    page::{
        child::Child,
        key::KeyOrder,
        value::{StoredValue, ValueExtent},
    },
};
use fastrand::Rng;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

const PAGE_SIZE: usize = 1024;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Found = Vec<(ChangeKind, Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>)>;

/// A state of a tree, and its contents.
#[derive(Clone)]
struct State {
    pages: MemoryPages,
    root: TreeRoot,
    model: Model,
}

impl State {
    fn new(root: TreeRoot) -> Self {
        Self {
            pages: MemoryPages::new(PAGE_SIZE),
            root,
            model: Model::new(),
        }
    }

    fn bytes() -> Self {
        Self::new(TreeRoot::new(KeyOrder::Bytes, true, false, 0))
    }

    /// Creates a state of `count` records, whose keys are even numbers.
    fn of(count: u64) -> Self {
        let mut state = Self::bytes();
        for number in 0..count {
            state.insert(&key(2 * number), &[number as u8; 8]);
        }
        state.commit();
        state
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) {
        let value_of_tree = StoredValue::inline(value);
        Tree::new(&mut self.pages, &mut self.root)
            .insert(key, value_of_tree, Existing::Replace)
            .unwrap();
        self.model.insert(key.to_vec(), value.to_vec());
    }

    fn remove(&mut self, key: &[u8]) {
        Tree::new(&mut self.pages, &mut self.root)
            .remove(key)
            .unwrap();
        self.model.remove(key);
    }

    fn remove_range(&mut self, low: &[u8], high: &[u8]) {
        let order = self.root.order;
        Tree::new(&mut self.pages, &mut self.root)
            .remove_range(Bound::Included(low), Bound::Excluded(high))
            .unwrap();
        self.model
            .retain(|key, _| order.compare(key, low).is_lt() || order.compare(key, high).is_ge());
    }

    fn commit(&mut self) {
        seal::seal(&mut self.pages, &mut self.root).unwrap();
        self.pages.commit();
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:012}").into_bytes()
}

/// Pages, and which of them were read.
struct Counted<'p> {
    pages: &'p MemoryPages,
    read: RefCell<BTreeSet<PageNumber>>,
    calls: Cell<usize>,
}

impl<'p> Counted<'p> {
    fn new(pages: &'p MemoryPages) -> Self {
        Self {
            pages,
            read: RefCell::default(),
            calls: Cell::default(),
        }
    }

    fn count(&self) -> usize {
        self.read.borrow().len()
    }
}

impl PageSource for Counted<'_> {
    fn page_size(&self) -> usize {
        self.pages.page_size()
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.read.borrow_mut().insert(number);
        self.calls.set(self.calls.get() + 1);
        self.pages.page(number)
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.read.borrow_mut().insert(extent.start);
        self.pages.value(extent)
    }
}

fn collect(
    older: (&Counted<'_>, TreeRoot),
    newer: (&Counted<'_>, TreeRoot),
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<Found> {
    let mut differences = DifferenceWalk::new(older, newer, low, high);
    let mut found = Vec::new();
    while let Some(kind) = differences.next()? {
        let key = differences.key().to_vec();
        let old = (kind != ChangeKind::Inserted).then(|| differences.old_value(|v| Ok(v.to_vec())));
        let new = (kind != ChangeKind::Removed).then(|| differences.new_value(|v| Ok(v.to_vec())));
        found.push((kind, key, old.transpose()?, new.transpose()?));
    }
    Ok(found)
}

fn is_within(order: KeyOrder, key: &[u8], low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
    let is_high = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => order.compare(key, low).is_ge(),
        Bound::Excluded(low) => order.compare(key, low).is_gt(),
    };
    is_high
        && match high {
            Bound::Unbounded => true,
            Bound::Included(high) => order.compare(key, high).is_le(),
            Bound::Excluded(high) => order.compare(key, high).is_lt(),
        }
}

/// The differences according to the models.
fn expected(older: &State, newer: &State, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Found {
    let order = older.root.order;
    let mut keys: Vec<_> = older.model.keys().chain(newer.model.keys()).collect();
    keys.sort_by(|a, b| order.compare(a, b));
    keys.dedup();
    let all = keys
        .into_iter()
        .filter(|key| is_within(order, key, low, high));
    all.filter_map(|key| {
        let (old, new) = (older.model.get(key).cloned(), newer.model.get(key).cloned());
        let kind = match (&old, &new) {
            (Some(old), Some(new)) if old == new => return None,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
            _ => ChangeKind::Inserted,
        };
        Some((kind, key.clone(), old, new))
    })
    .collect()
}

/// Compares two states in both directions with the models; returns how many pages were read in one
/// direction.
fn compare(older: &State, newer: &State) -> usize {
    compare_within(older, newer, Bound::Unbounded, Bound::Unbounded)
}

fn compare_within(older: &State, newer: &State, low: Bound<&[u8]>, high: Bound<&[u8]>) -> usize {
    let mut pages = 0;
    for (older, newer) in [(newer, older), (older, newer)] {
        let counted = [Counted::new(&older.pages), Counted::new(&newer.pages)];
        let (old, new) = ((&counted[0], older.root), (&counted[1], newer.root));
        let found = collect(old, new, low, high).unwrap();
        assert_eq!(found, expected(older, newer, low, high));
        pages = counted[0].count() + counted[1].count();
    }
    pages
}

#[test]
fn equal_trees_have_no_differences_and_nothing_is_read() {
    let state = State::of(1000);
    assert_eq!(compare(&state, &state), 0);
    assert_eq!(compare(&State::bytes(), &State::bytes()), 0);
}

#[test]
fn differences_from_an_empty_tree_are_inserts() {
    let state = State::of(1000);
    assert_eq!(compare(&State::bytes(), &state), state.pages.live().0);
}

#[test]
fn ten_changes_among_a_hundred_thousand_records_are_a_few_dozen_pages() {
    let older = State::of(100_000);
    let mut newer = older.clone();
    for number in 0..10 {
        newer.insert(&key(20_000 * number), b"another");
    }
    newer.commit();
    // Out of some thousand.
    let pages = compare(&older, &newer);
    assert!(older.pages.live().0 > 1000);
    assert!(pages <= 60, "{pages} pages");
}

#[test]
fn temporary_records_cost_no_additional_pages() {
    let older = State::of(100_000);
    let mut newer = older.clone();
    for number in 0..5 {
        newer.insert(&key(40_000 * number + 1), b"inserted");
        newer.remove(&key(40_000 * number + 20_000));
    }
    newer.commit();
    let pages = compare(&older, &newer);
    let depth = usize::from(older.root.depth);
    assert!(pages <= 3 * 10 * depth, "{pages} pages, depth {depth}");
}

#[test]
fn trees_of_different_heights_share_their_leaves() {
    let mut grown = State::bytes();
    let mut count = 0;
    while grown.root.depth < 4 {
        grown.insert(&key(2 * count), &[count as u8; 8]);
        count += 1;
    }
    let older = State::of(count - 1);
    let mut newer = older.clone();
    newer.insert(&key(2 * count), &[7; 8]);
    newer.commit();
    assert_eq!((older.root.depth, newer.root.depth), (3, 4));
    let pages = compare(&older, &newer);
    assert!(pages <= 16, "{pages} pages");
}

#[test]
fn leaves_that_split_and_merge_leave_the_others_alone() {
    let older = State::of(50_000);
    let mut newer = older.clone();
    for number in 0..200 {
        newer.insert(
            &format!("{}/{number}", "key 000000020000").into_bytes(),
            &[9; 100],
        );
    }
    newer.remove_range(&key(60_000), &key(60_400));
    newer.commit();
    let is_live = |state: &State| state.pages.live().0;
    let changed = is_live(&newer).abs_diff(is_live(&older)) + 4 * usize::from(newer.root.depth);
    let pages = compare(&older, &newer);
    assert!(
        pages <= 4 * changed,
        "{pages} pages, of about {changed} that changed"
    );
}

#[test]
fn a_large_gap_costs_only_its_removed_pages() {
    let older = State::of(50_000);
    let mut newer = older.clone();
    newer.remove_range(&key(0), &key(90_000));
    newer.commit();
    let gone = older.pages.live().0 - newer.pages.live().0;
    let pages = compare(&older, &newer);
    assert!(
        pages <= gone + 8 * usize::from(older.root.depth),
        "{pages} pages, {gone} gone"
    );
}

#[test]
fn records_that_only_moved_are_not_reported() {
    let older = State::of(5000);
    let mut newer = State::bytes();
    // All pages have other numbers, as if the tree had been compacted.
    newer.pages.skip(1_000_000);
    for (key, value) in &older.model {
        newer.insert(key, value);
    }
    newer.commit();
    compare(&older, &newer);
    newer.insert(b"another", b"record");
    newer.commit();
    compare(&older, &newer);
}

#[test]
fn a_large_value_is_read_only_if_it_may_be_equal() {
    let mut older = State::bytes();
    older.insert(b"same", &[1; 5000]);
    older.insert(b"other", &[2; 5000]);
    older.commit();
    let mut newer = older.clone();
    newer.insert(b"other", &[3; 5000]);
    newer.insert(b"small", b"value");
    newer.commit();
    compare(&older, &newer);
    let counted = [Counted::new(&older.pages), Counted::new(&newer.pages)];
    let (old, new) = ((&counted[0], older.root), (&counted[1], newer.root));
    let mut differences = DifferenceWalk::new(old, new, Bound::Unbounded, Bound::Unbounded);
    assert_eq!(differences.next().unwrap(), Some(ChangeKind::Changed));
    assert_eq!(differences.key(), b"other");
    assert_eq!(
        counted[0].count() + counted[1].count(),
        2,
        "a leaf each, and no value"
    );
    // An equal value, stored elsewhere.
    let mut moved = older.clone();
    moved.remove(b"same");
    moved.insert(b"same", &[1; 5000]);
    moved.commit();
    compare(&older, &moved);
}

/// A tree of this depth, above a leaf, in which all children of a page are the same one.
fn tangled(pages: &mut MemoryPages, root: TreeRoot, depth: u8) -> TreeRoot {
    let mut below = root.page;
    for level in root.depth..depth {
        let child = |index| Child {
            separator: key(index),
            page: below,
            checksum: Checksum(0),
            records: 0,
        };
        let children: Vec<_> = (0..20).map(child).collect();
        let (number, birth) = (pages.allocate().unwrap(), pages.transaction());
        let page = pages.page_mut(number).unwrap();
        root.inner_format()
            .build(page, number, birth, level, &children)
            .unwrap();
        below = number;
    }
    TreeRoot {
        page: below,
        depth,
        ..root
    }
}

#[test]
fn pages_that_are_their_own_neighbours_end_the_walk() {
    let mut state = State::of(1);
    let older = tangled(&mut state.pages, state.root, 40);
    let newer = tangled(&mut state.pages, state.root, 40);
    let counted = Counted::new(&state.pages);
    let (low, high) = (Bound::Unbounded, Bound::Unbounded);
    let walked = collect((&counted, older), (&counted, newer), low, high);
    let error = walked.unwrap_err().to_string();
    assert!(error.contains("ascending order"), "{error}");
    assert!(counted.calls.get() < 1000);
}

#[test]
fn a_page_that_contradicts_its_parent_is_an_error() {
    let older = State::of(1000);
    let mut newer = older.clone();
    newer.insert(&key(77), b"another");
    newer.commit();
    let root = newer.root;
    for wrong in [
        TreeRoot {
            depth: root.depth + 1,
            ..root
        },
        TreeRoot {
            depth: root.depth - 1,
            ..root
        },
        TreeRoot {
            page: PageNumber(u32::MAX),
            ..root
        },
    ] {
        let counted = [Counted::new(&older.pages), Counted::new(&newer.pages)];
        let (old, new) = ((&counted[0], older.root), (&counted[1], wrong));
        assert!(collect(old, new, Bound::Unbounded, Bound::Unbounded).is_err());
    }
}

#[test]
fn differences_can_be_limited_to_a_range() {
    let older = State::of(3000);
    let mut newer = older.clone();
    for number in (0..6000).step_by(7) {
        newer.insert(&key(number), b"changed");
    }
    newer.remove_range(&key(2000), &key(2500));
    newer.commit();
    let (a, b) = (key(1000), key(4000));
    let bounds = |key| [Bound::Unbounded, Bound::Included(key), Bound::Excluded(key)];
    for low in bounds(&a[..]) {
        for high in bounds(&b[..]) {
            compare_within(&older, &newer, low, high);
        }
    }
    let void = compare_within(&older, &newer, Bound::Included(&b), Bound::Excluded(&a));
    assert_eq!(void, 0);
    let one = compare_within(&older, &newer, Bound::Included(&a), Bound::Included(&a));
    assert!(
        one <= 4 * usize::from(older.root.depth),
        "{one} pages for one key"
    );
}

#[test]
fn differences_of_random_states_match_the_model() {
    let roots = [
        TreeRoot::new(KeyOrder::Bytes, true, false, 0),
        TreeRoot::new(KeyOrder::Bytes, false, true, 3),
        TreeRoot::new(KeyOrder::ReverseBytes, true, true, 0),
        TreeRoot::new(KeyOrder::Integer, true, false, 0),
    ];
    for seed in 1..=12 {
        let mut random = Rng::with_seed(seed * 0x9e37_79b9);
        let root = roots[seed as usize % roots.len()];
        let mut states = vec![State::new(root)];
        for _ in 0..8 {
            let mut state = states[states.len() - 1].clone();
            change(&mut state, &mut random);
            state.commit();
            states.push(state);
        }
        for older in 0..states.len() {
            for newer in older..states.len() {
                compare(&states[older], &states[newer]);
                let (a, b) = (random_key(root, &mut random), random_key(root, &mut random));
                let (low, high) = (Bound::Included(&a[..]), Bound::Excluded(&b[..]));
                compare_within(&states[older], &states[newer], low, high);
            }
        }
    }
}

fn random_key(root: TreeRoot, random: &mut Rng) -> Vec<u8> {
    let number = random.u64(..4000);
    match root.order {
        KeyOrder::Integer => number.to_le_bytes().to_vec(),
        _ => {
            let mut key = format!("{:05}", number).into_bytes();
            key.extend(std::iter::repeat_n(b'x', (number % 40) as usize));
            key
        }
    }
}

fn change(state: &mut State, random: &mut Rng) {
    let root = state.root;
    match random.u64(..8) {
        0 => {
            let (a, b) = (random_key(root, random), random_key(root, random));
            if root.order.compare(&a, &b).is_lt() {
                state.remove_range(&a, &b);
            }
        }
        1 => {
            for _ in 0..1000 {
                let key = random_key(root, random);
                state.insert(&key, &random.u64(..).to_le_bytes());
            }
        }
        2 => {
            for _ in 0..500 {
                state.remove(&random_key(root, random));
            }
        }
        _ => {
            for _ in 0..random.u64(..30) {
                let key = random_key(root, random);
                match random.u64(..4) {
                    0 => state.remove(&key),
                    1 => {
                        let len = random.u64(..4000) as usize;
                        state.insert(&key, &vec![random.u64(..) as u8; len]);
                    }
                    _ => state.insert(&key, &random.u64(..).to_le_bytes()),
                }
            }
        }
    }
}
