//! The walk over the values of a key, in multi-value tables.

use super::{KeyBounds, TreeWalk, Visitor};
use crate::{
    PageNumber,
    btree::{
        PageSource, TreeRoot,
        multi::{DISORDER, KeyValues},
    },
    page::{PageDamage, max_key_len, value::StoredValue},
};

impl<S: PageSource + ?Sized, V: Visitor> TreeWalk<'_, S, V> {
    /// Walks the values of a key, wherever they are stored.
    pub(super) fn values(
        &mut self,
        leaf: PageNumber,
        key: &[u8],
        stored: StoredValue<'_>,
        bounds: &KeyBounds,
    ) -> Result<(), PageDamage> {
        let root = self.root;
        match KeyValues::of(&root, stored)? {
            KeyValues::One(value) => self.pair(leaf, key, value, bounds),
            KeyValues::Set(set) => {
                let order = root.value_order();
                let mut last = None;
                for value in set.iter() {
                    let is_after = |last| order.compare(last, value).is_lt();
                    if order.is_resolved() && !last.is_none_or(is_after) {
                        self.report_of(leaf, key, bounds, DISORDER);
                    }
                    self.pair(leaf, key, value, bounds);
                    last = Some(value);
                }
            }
            KeyValues::Tree(nested) => self.nested(leaf, key, &nested, bounds),
        }
        Ok(())
    }

    fn pair(&mut self, leaf: PageNumber, key: &[u8], value: &[u8], bounds: &KeyBounds) {
        if value.len() > max_key_len(self.source.page_size()) {
            self.report_of(leaf, key, bounds, "a value is longer than values can be");
        }
        self.totals.records += 1;
        self.totals.add_data(value.len() as u64);
        self.visitor.record(leaf, key, StoredValue::inline(value));
    }

    fn nested(&mut self, leaf: PageNumber, key: &[u8], root: &TreeRoot, bounds: &KeyBounds) {
        let mut below = TreeWalk::new(self.source, root, Some((key, bounds)), &mut *self.visitor);
        let records = below.all(bounds.written);
        let found = below.totals;
        let totals = &mut self.totals;
        totals.records += found.records;
        totals.inner_pages += found.inner_pages;
        totals.leaf_pages += found.leaf_pages;
        totals.add_data(found.data_bytes);
        let counts = (
            root.records,
            u64::from(root.inner_pages),
            u64::from(root.leaf_pages),
        );
        let is_right = counts == (found.records, found.inner_pages, found.leaf_pages);
        if records.is_some() && !is_right {
            self.report_of(
                leaf,
                key,
                bounds,
                "the root of a nested tree counts other than there is",
            );
        }
    }

    /// Reports damage of the values of one key.
    fn report_of(
        &mut self,
        leaf: PageNumber,
        key: &[u8],
        bounds: &KeyBounds,
        detail: &'static str,
    ) {
        let bounds = KeyBounds {
            low: key.to_vec(),
            high: bounds.high.clone(),
            records: None,
            ..*bounds
        };
        self.report(leaf, &bounds, detail);
    }
}
