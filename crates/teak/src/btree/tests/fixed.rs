//! Trees of fixed leaves: all operations, with keys of one length and no values.

use super::*;
use crate::{
    btree::{PageSource, root::TreeKind},
    page::leaf,
};

/// Key lengths, orders, and whether inner pages are counted.
const KINDS: [(u16, KeyOrder, bool); 7] = [
    (2, KeyOrder::Bytes, true),
    (4, KeyOrder::Bytes, false),
    (8, KeyOrder::Bytes, true),
    (4, KeyOrder::Integer, true),
    (8, KeyOrder::Integer, false),
    (20, KeyOrder::ReverseBytes, true),
    (900, KeyOrder::Bytes, false),
];

fn fixed_root((key_len, order, counted): (u16, KeyOrder, bool)) -> TreeRoot {
    TreeRoot {
        kind: TreeKind {
            fixed: true,
            ..TreeKind::default()
        },
        key_len,
        ..TreeRoot::new(order, false, counted, 0)
    }
}

fn key_of(number: u64, key_len: u16) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    mixed.iter().copied().cycle().take(key_len.into()).collect()
}

/// The fewest leaves that hold all keys.
fn leaves_of(keys: usize, key_len: u16) -> u32 {
    keys.div_ceil((4096 - 24) / usize::from(key_len)) as u32
}

fn kinds_of_leaves(fixture: &Fixture) -> BTreeSet<u8> {
    let mut position = Position::default();
    let mut kinds = BTreeSet::new();
    while position.next(&fixture.pages, &fixture.root).unwrap() {
        let (number, _) = position.record().unwrap();
        kinds.insert(Header::read(fixture.pages.page(number).unwrap()).kind);
    }
    kinds
}

#[test]
fn random_operations_match_a_set() {
    for (seed, kind) in (1..).zip(KINDS) {
        let mut random = Rng::with_seed(seed);
        let mut fixture = Fixture::new(4096, fixed_root(kind));
        for step in 0..12_000u32 {
            let key = key_of(random.u64(..9000), kind.0);
            match random.u64(..1000) {
                0..650 => fixture.insert(&key, b""),
                650..900 => fixture.remove(&key),
                900..901 => remove_random_range(&mut fixture, &mut random),
                901..905 => {
                    seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
                    fixture.pages.commit();
                }
                _ => assert_eq!(fixture.get(&key), fixture.model.get(&key).cloned()),
            }
            if step % 2000 == 0 {
                fixture.audit();
            }
        }
        fixture.audit();
        assert_eq!(kinds_of_leaves(&fixture), [3].into());
        let keys: Vec<_> = fixture.model.keys().cloned().collect();
        let many: Vec<_> = keys.iter().step_by(2).cloned().collect();
        many.iter().for_each(|key| drop(fixture.model.remove(key)));
        assert_eq!(
            fixture.tree().remove_many(&many).unwrap(),
            many.len() as u64
        );
        fixture.audit();
        keys.iter().for_each(|key| fixture.remove(key));
        assert_eq!(fixture.pages.live(), (0, 0));
        fixture.insert(&keys[0], b"");
        assert_eq!(
            kinds_of_leaves(&fixture),
            [3].into(),
            "the kind does not change"
        );
    }
}

#[test]
fn keys_are_found_one_by_one_and_together() {
    for kind in KINDS {
        let mut fixture = Fixture::new(4096, fixed_root(kind));
        (0..3000).for_each(|number| fixture.insert(&key_of(2 * number, kind.0), b""));
        let probes: Vec<_> = (0..700).map(|number| key_of(3 * number, kind.0)).collect();
        let mut found = Vec::new();
        lookup::get_many(
            &fixture.pages,
            &fixture.root,
            probes.iter().map(Ok),
            |value| {
                found.push(value.is_some());
                Ok(())
            },
        )
        .unwrap();
        let mut sorted: Vec<_> = fixture.model.keys().cloned().collect();
        sorted.sort_by(|a, b| kind.1.compare(a, b));
        for (probe, found) in probes.iter().zip(found) {
            assert_eq!(found, fixture.model.contains_key(probe));
            let mut position = Position::default();
            let exact = position.seek(&fixture.pages, &fixture.root, probe).unwrap();
            let at = sorted.partition_point(|key| kind.1.compare(key, probe).is_lt());
            let mut key = Vec::new();
            record_at(&fixture.pages, &position, &mut key).unwrap();
            assert_eq!(exact, (at < sorted.len()).then_some(found));
            assert_eq!(sorted.get(at).unwrap_or(&Vec::new()), &key);
        }
    }
}

#[test]
fn a_built_tree_is_full_and_accepts_appends() {
    for kind in KINDS {
        let mut fixture = Fixture::new(4096, fixed_root(kind));
        let mut keys: Vec<_> = (0..6000).map(|number| key_of(number, kind.0)).collect();
        keys.sort_by(|a, b| kind.1.compare(a, b));
        keys.dedup();
        let (built, appended) = keys.split_at(keys.len() / 2);
        let nothing = b"";
        let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
        let mut builder = TreeBuilder::new(&mut tree);
        built
            .iter()
            .for_each(|key| builder.push(key, nothing).unwrap());
        builder.finish().unwrap();
        assert_eq!(fixture.root.leaf_pages, leaves_of(built.len(), kind.0));
        seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
        fixture.pages.commit();
        let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
        let mut appender = TreeAppender::new(&mut tree).unwrap();
        for key in appended {
            appender.push(key, nothing).unwrap();
        }
        appender.finish().unwrap();
        fixture
            .model
            .extend(keys.iter().map(|key| (key.clone(), Vec::new())));
        fixture.audit();
        assert!(fixture.root.leaf_pages <= leaves_of(keys.len(), kind.0) + 1);
        assert_eq!(kinds_of_leaves(&fixture), [3].into());
    }
}

#[test]
fn a_random_load_fills_leaves_as_well_as_others() {
    for kind in [(8, KeyOrder::Integer, false), (20, KeyOrder::Bytes, false)] {
        let mut fixture = Fixture::new(4096, fixed_root(kind));
        for number in 0..60_000 {
            fixture.insert(&key_of(number, kind.0), b"");
        }
        fixture.audit();
        let fill = f64::from(leaves_of(60_000, kind.0)) / f64::from(fixture.root.leaf_pages);
        assert!(fill > 0.8, "{fill}");
    }
}

/// Pages with correct checksums that belong to another tree: errors, findings, and no panic.
#[test]
fn leaves_of_another_kind_are_found() {
    let ordinary = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    let fixed = fixed_root((4, KeyOrder::Bytes, false));
    let others = [
        (ordinary, fixed.leaf_format(), "kind and level"),
        (fixed, ordinary.leaf_format(), "kind and level"),
        (
            fixed,
            fixed_root((5, KeyOrder::Bytes, false)).leaf_format(),
            "have the length",
        ),
    ];
    for (root, other, finding) in others {
        for edit in 0..4u32 {
            let mut fixture = Fixture::new(4096, root);
            (0..3000u32).for_each(|number| fixture.insert(&number.to_be_bytes(), b""));
            let mut position = Position::default();
            position
                .seek(&fixture.pages, &fixture.root, &1500u32.to_be_bytes())
                .unwrap();
            let (number, _) = position.record().unwrap();
            let page = fixture.pages.page_mut(number).unwrap();
            leaf::init(page, number, crate::TransactionId(1), other, &[]);
            let len = if other.fixed_len == 5 { 5 } else { 4 };
            let keys: Vec<_> = (1400..1700u32)
                .map(|n| [n.to_be_bytes(), [9; 4]].concat()[..len].to_vec())
                .collect();
            let records = keys.iter().map(|key| leaf::ContiguousRecord::of_key(key));
            leaf::fill(page, other.order, records).unwrap();
            seal::seal(&mut fixture.pages, &mut fixture.root).unwrap();
            let mut audit = Audit::default();
            walk::walk(
                &fixture.pages,
                &fixture.root,
                crate::TransactionId(u64::MAX),
                &mut audit,
            );
            assert!(
                audit
                    .findings
                    .iter()
                    .any(|found| found.page == number && found.detail.contains(finding))
            );
            // Whatever they do, they terminate.
            let key = (1350 + 100 * edit).to_be_bytes();
            let _ = lookup::get(&fixture.pages, &fixture.root, &key);
            let mut cursor = TreeCursor::new(&fixture.pages, fixture.root);
            while cursor.next().is_ok_and(|moved| moved) {}
            let mut tree = Tree::new(&mut fixture.pages, &mut fixture.root);
            let (low, high) = (1300u32.to_be_bytes(), 1600u32.to_be_bytes());
            let _ = match edit {
                0 => tree
                    .insert(&key, StoredValue::inline(b"value"), Existing::Replace)
                    .map(drop),
                1 => (1300..1700u32).try_for_each(|n| tree.remove(&n.to_be_bytes()).map(drop)),
                2 => tree
                    .remove_range(Bound::Included(&low), Bound::Excluded(&high))
                    .map(drop),
                _ => (0..3000u32).try_for_each(|n| {
                    tree.insert(
                        &(n ^ 1).to_be_bytes(),
                        StoredValue::inline(b"v"),
                        Existing::Replace,
                    )
                    .map(drop)
                }),
            };
        }
    }
}
