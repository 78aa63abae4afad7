//! Roots of special kinds: they can be read back, and contradictory ones are refused.

use super::{RootFault, TableClass, TreeKind, TreeRoot};
use crate::{
    PageNumber,
    page::{
        comparison::{Comparison, Comparisons},
        key::KeyOrder,
    },
    types::TypeNames,
};
use proptest::prelude::*;

static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));

fn multi(values: KeyOrder, value_size: u16, first_decides: bool) -> TreeRoot {
    TreeRoot {
        kind: TreeKind {
            class: TableClass::Multi,
            values: Some(values),
            value_size,
            first_decides,
            ..TreeKind::default()
        },
        page: PageNumber(9),
        depth: 1,
        ..TreeRoot::new(KeyOrder::Bytes, true, true, 0)
    }
}

fn expiring() -> TreeRoot {
    TreeRoot {
        kind: TreeKind {
            class: TableClass::Expiring,
            ..TreeKind::default()
        },
        ..TreeRoot::new(KeyOrder::Bytes, true, true, 0)
    }
}

/// The pages that are left of a dropped table are those of any tree.
#[test]
fn an_expiring_root_is_nothing_else() {
    let flags = |root: &TreeRoot| u16::from_le_bytes([root.encode()[6], root.encode()[7]]);
    for other in [multi(KeyOrder::Bytes, 0, false), dropped_root()] {
        let mut bytes = expiring().encode();
        let both = flags(&expiring()) | flags(&other);
        bytes[6..8].copy_from_slice(&both.to_le_bytes());
        assert!(matches!(
            TreeRoot::decode_entry(&bytes),
            Err(RootFault::Damaged(_))
        ));
    }
}

fn dropped_root() -> TreeRoot {
    TreeRoot {
        kind: TreeKind {
            dropped: true,
            ..TreeKind::default()
        },
        ..TreeRoot::new(KeyOrder::ReverseBytes, false, false, 4)
    }
}

#[test]
fn kinds_survive_a_round_trip() {
    let known = Comparisons::new(&[&DOWNWARDS]);
    let dropped = dropped_root();
    // The rest of a nested tree.
    let fixed = TreeRoot {
        key_len: 8,
        kind: TreeKind {
            fixed: true,
            ..dropped.kind
        },
        ..dropped
    };
    let roots = [
        multi(KeyOrder::ReverseBytes, 20, false),
        multi(KeyOrder::Integer, 8, true),
        multi(KeyOrder::Integer, 0, true).emptied(),
        multi(KeyOrder::Custom(&DOWNWARDS), 8, true),
        dropped,
        fixed,
        expiring(),
    ];
    for root in roots {
        let bytes = root.encode_entry(TypeNames::default());
        let (mut read, names) = TreeRoot::decode_entry(&bytes).unwrap();
        assert!(names.resolve(&mut read, &known).is_empty());
        assert_eq!(read, root);
        // Outside of a catalog, it belongs to a newer version.
        assert!(matches!(
            TreeRoot::decode(&root.encode()),
            Err(RootFault::Unknown(_))
        ));
    }
}

/// The keys of a dropped tree are not compared any more.
#[test]
fn dropped_trees_have_no_comparison_names() {
    let kind = TreeKind {
        dropped: true,
        ..multi(KeyOrder::Custom(&DOWNWARDS), 0, false).kind
    };
    let root = TreeRoot {
        kind,
        ..TreeRoot::new(KeyOrder::Custom(&DOWNWARDS), false, false, 0)
    };
    let bytes = root.encode_entry(TypeNames::default());
    assert_eq!(bytes, root.encode());
    let (mut read, names) = TreeRoot::decode_entry(&bytes).unwrap();
    assert!(names.resolve(&mut read, &Comparisons::default()).is_empty());
    assert!(read.kind.dropped && !read.order.is_resolved());
}

#[test]
fn a_missing_comparison_is_named() {
    let bytes = multi(KeyOrder::Custom(&DOWNWARDS), 0, false).encode_entry(TypeNames::default());
    let (mut root, names) = TreeRoot::decode_entry(&bytes).unwrap();
    assert_eq!(
        names.resolve(&mut root, &Comparisons::default()),
        ["downwards"]
    );
    assert!(root.kind.values.is_some_and(|order| !order.is_resolved()));
}

#[test]
fn emptying_forgets_a_size_that_the_first_value_decided() {
    assert_eq!(multi(KeyOrder::Bytes, 8, true).emptied().kind.value_size, 0);
    assert_eq!(
        multi(KeyOrder::Bytes, 8, false).emptied().kind.value_size,
        8
    );
}

/// An impossible combination is damage if its flags and fields are known.
#[test]
fn contradictions_are_damage() {
    let with_pages = TreeRoot {
        value_pages: 1,
        ..multi(KeyOrder::Bytes, 0, false)
    };
    let aligned = TreeRoot {
        value_align_log2: 3,
        ..multi(KeyOrder::Bytes, 0, false)
    };
    let single = TreeRoot {
        kind: TreeKind {
            first_decides: true,
            ..TreeKind::default()
        },
        ..TreeRoot::new(KeyOrder::Bytes, true, false, 0)
    };
    let typed_rest = TreeRoot {
        kind: TreeKind {
            dropped: true,
            typed: true,
            ..TreeKind::default()
        },
        ..TreeRoot::new(KeyOrder::Bytes, true, false, 0)
    };
    let roots = [
        multi(KeyOrder::Integer, 5, false),
        multi(KeyOrder::Integer, 0, false),
        multi(KeyOrder::Bytes, 0, true),
        multi(KeyOrder::Bytes, 0x8000, false),
        with_pages,
        aligned,
        single,
        typed_rest,
    ];
    for root in roots {
        let read = TreeRoot::decode_entry(&root.encode()).map(|(root, _)| root);
        assert!(matches!(read, Err(RootFault::Damaged(_))), "{read:?}");
    }
}

/// Names of types that are not text, that are missing, or that say nothing.
#[test]
fn damaged_names_of_types_are_found() {
    let mut root = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    root.kind.typed = true;
    for names in [
        &b""[..],
        b"\0",
        b"\0\0",
        b"\x03str",
        b"\x01\xff\x03str",
        b"\x03str\x04str",
    ] {
        let bytes = [&root.encode()[..], names].concat();
        let read = TreeRoot::decode_entry(&bytes);
        assert!(matches!(read, Err(RootFault::Damaged(_))), "{names:?}");
    }
    let bytes = [&root.encode()[..], b"\0\x03str"].concat();
    assert!(TreeRoot::decode_entry(&bytes).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..220),
        is_tame in any::<bool>(),
    ) {
        // Few flags and orders are known; some cases use only these.
        if is_tame && bytes.len() >= 64 {
            bytes[4] &= 1;
            bytes[5] &= 3;
            bytes[6] &= 127;
            bytes[7] = 0;
            bytes[56] &= 3;
            bytes[57] &= 3;
        }
        if let Ok((mut root, names)) = TreeRoot::decode_entry(&bytes) {
            let missing = names.resolve(&mut root, &Comparisons::new(&[&DOWNWARDS]));
            prop_assert!(missing.len() <= 2);
        }
    }
}
