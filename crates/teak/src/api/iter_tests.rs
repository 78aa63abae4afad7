use super::Iter;
use crate::{
    Error, Result,
    btree::{PageSink, TreeRoot, insert::Existing, memory::MemoryPages, mutable_tree::Tree},
    codec::Bytes,
    page::{header::HEADER_LEN, key::KeyOrder, value::StoredValue},
};
use std::ops::Bound;

const KEYS: [&[u8]; 3] = [&[1, 0, 0, 0], &[5, 0, 0, 0, 9], &[9, 0, 0, 0]];

/// A leaf with three records, without a prefix.
fn leaf() -> (MemoryPages, TreeRoot) {
    let mut pages = MemoryPages::new(4096);
    let mut root = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    for key in KEYS {
        let mut tree = Tree::new(&mut pages, &mut root);
        let value = StoredValue::inline(b"value");
        tree.insert(key, value, Existing::Replace).unwrap();
    }
    (pages, root)
}

fn range<'t>(
    pages: &'t MemoryPages,
    root: TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<Iter<'t, Bytes, Bytes>> {
    let of_key = |key| (key, None);
    let (low, high) = (low.map(of_key), high.map(of_key));
    Iter::new((pages, root), b"a"[..].into(), low, high)
}

/// The ends passed each other, and records without keys were returned forever.
#[test]
fn keys_out_of_order_end_a_range() {
    let (mut pages, root) = leaf();
    let page = pages.page_mut(root.page).unwrap();
    let (heads, offsets) = (HEADER_LEN, HEADER_LEN + 4 * KEYS.len());
    for index in 0..4 {
        page.swap(heads + index, heads + 8 + index);
    }
    for index in 0..2 {
        page.swap(offsets + index, offsets + 4 + index);
    }
    let low = Bound::Included(&[5, 0, 0, 0, 99][..]);
    let met = range(&pages, root, low, Bound::Excluded(&[7, 0, 0, 0]));
    assert!(matches!(met, Err(Error::Corrupted { .. })), "{met:?}");
}

#[test]
fn a_damaged_record_hides_neither_those_before_it_nor_the_bounds() {
    let (mut pages, root) = leaf();
    let offsets = HEADER_LEN + 4 * KEYS.len();
    pages.page_mut(root.page).unwrap()[offsets + 4..offsets + 6].fill(0xff);
    let mut all = range(&pages, root, Bound::Unbounded, Bound::Unbounded).unwrap();
    for key in &KEYS[..2] {
        assert_eq!(all.next().unwrap().unwrap().0, *key);
    }
    assert!(matches!(all.next(), Some(Err(Error::Corrupted { .. }))));
    assert!(all.next().is_none());
    let mut lent = range(&pages, root, Bound::Unbounded, Bound::Unbounded).unwrap();
    assert!(matches!(lent.lend_back(), Err(Error::Corrupted { .. })));
    assert!(lent.lend().unwrap().is_none() && lent.lend_back().unwrap().is_none());
    let before = range(&pages, root, Bound::Unbounded, Bound::Excluded(&[8])).unwrap();
    assert_eq!(before.map(Result::unwrap).count(), 2);
}
