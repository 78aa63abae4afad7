use super::*;
use crate::{
    btree::{insert::Existing, memory::MemoryPages, mutable_tree::Tree},
    page::{
        key::KeyOrder,
        value::{StoredValue, ValueExtent, ValueKind},
    },
};
use std::collections::BTreeSet;

fn change(pages: &mut MemoryPages, root: &mut TreeRoot, keys: impl Iterator<Item = u32>, byte: u8) {
    let mut tree = Tree::new(pages, root);
    for key in keys {
        let value = StoredValue {
            kind: ValueKind::Inline,
            bytes: &[byte; 50],
        };
        tree.insert(&key.to_be_bytes(), value, Existing::Replace)
            .unwrap();
    }
    pages.commit();
}

fn forest(root: &TreeRoot) -> Forest {
    let mut forest = Forest::new(TransactionId(u64::MAX));
    forest.add(root);
    forest
}

fn numbers(pages: &[Unshared]) -> BTreeSet<u32> {
    pages.iter().map(|page| page.start().0).collect()
}

/// The pages of two states.
struct Both<'p>(&'p MemoryPages, &'p MemoryPages);

impl PageSource for Both<'_> {
    fn page_size(&self) -> usize {
        self.0.page_size()
    }

    fn page(&self, number: PageNumber) -> Result<&[u8]> {
        self.0.page(number).or_else(|_| self.1.page(number))
    }

    fn value(&self, extent: &ValueExtent) -> Result<&[u8]> {
        self.0.value(extent).or_else(|_| self.1.value(extent))
    }
}

#[test]
fn only_unshared_pages_are_read() {
    let mut pages = MemoryPages::new(1024);
    let mut root = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
    change(&mut pages, &mut root, 0..5000, 1);
    let (old, old_pages) = (root, pages.clone());
    let [all, none] = unshared(&pages, forest(&old), Forest::new(TransactionId(u64::MAX))).unwrap();
    assert_eq!(all.len() as u64, old.page_count());
    assert!(none.is_empty());
    // Other heights, splits, and leaves that stay.
    change(&mut pages, &mut root, (10_000..90_000).chain([77, 4000]), 2);
    assert!(root.depth > old.depth, "{}", root.depth);
    let pages = Both(&pages, &old_pages);
    let [born, died] = unshared(&pages, forest(&root), forest(&old)).unwrap();
    let (born, died) = (numbers(&born), numbers(&died));
    assert!(born.is_disjoint(&died));
    let [new, _] = unshared(&pages, forest(&root), Forest::new(TransactionId(u64::MAX))).unwrap();
    let (new, all) = (numbers(&new), numbers(&all));
    assert_eq!(born, &new - &all);
    assert_eq!(died, &all - &new);
    assert!(died.len() < 40, "{}", died.len());
    let [nothing, nor] = unshared(&pages, forest(&root), forest(&root)).unwrap();
    assert!(nothing.is_empty() && nor.is_empty());
}
