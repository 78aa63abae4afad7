use super::{LookupHint, MAX_HANDLE, MAX_INDEX};
use crate::{PageNumber, btree::lookup::LookupEnd};

fn end(leaf: u32, next: usize) -> LookupEnd {
    let leaf = PageNumber(leaf);
    LookupEnd { leaf, next }
}

#[test]
fn a_leaf_is_a_hint_after_two_lookups_there() {
    let hint = LookupHint::default();
    assert_eq!(hint.of(0), None);
    hint.note(7, end(40, 1));
    assert_eq!(hint.of(7), None);
    hint.note(7, end(40, 2));
    assert_eq!(hint.of(7), Some(end(40, 2)));
    hint.note(7, end(40, 9));
    assert_eq!(hint.of(7), Some(end(40, 9)));
    assert_eq!(hint.clone().of(7), None);
}

/// Lookups in order go on in the next leaf. One lookup there, whose index is not known, does not
/// make the leaf after it a hint.
#[test]
fn the_leaf_after_a_hint_that_helped_is_one() {
    let unknown = usize::MAX;
    let hint = LookupHint::default();
    for next in [unknown, unknown, 3] {
        hint.note(7, end(40, next));
    }
    hint.note(7, end(41, unknown));
    assert_eq!(hint.of(7), Some(end(41, MAX_INDEX)));
    hint.note(7, end(42, unknown));
    assert_eq!(hint.of(7), None);
    hint.note(7, end(42, unknown));
    hint.note(7, end(42, 1));
    hint.note(8, end(43, unknown));
    assert_eq!(hint.of(8), None, "another table");
}

#[test]
fn a_leaf_is_a_hint_in_its_own_table_only() {
    let hint = LookupHint::default();
    for _ in 0..2 {
        hint.note(MAX_HANDLE, end(u32::MAX, MAX_INDEX + 1));
    }
    assert_eq!(hint.of(0), None);
    assert_eq!(hint.of(MAX_HANDLE), Some(end(u32::MAX, MAX_INDEX)));
    assert_eq!(hint.of(MAX_HANDLE + 1), None);
    hint.note(MAX_HANDLE + 1, end(1, 1));
    assert_eq!(hint.of(MAX_HANDLE), Some(end(u32::MAX, MAX_INDEX)));
    hint.note(0, end(u32::MAX, MAX_INDEX));
    assert_eq!(hint.of(0), None);
}
