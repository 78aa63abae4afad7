//! Builds a tree from sorted pairs, from the leaves up. The values of one key may exceed memory:
//! those that are too long for a leaf go to a nested tree page by page.

use super::LeafValues;
use crate::{
    Error, Result,
    btree::{
        PageSink, TreeRoot,
        bulk::{RecordLoader, TreeBuild},
        mutable_tree::Tree,
    },
    page::{
        set,
        value::{StoredValue, ValueKind},
    },
};

/// A tree of pairs under construction.
#[derive(Debug)]
pub(crate) struct PairBuilder<'t, 's, S> {
    tree: &'t mut Tree<'s, S>,
    outer: TreeBuild,
    /// The current key, and how many of its values have arrived.
    key: Vec<u8>,
    count: u64,
    /// Its values, concatenated, and the end of each, unless they go to a nested tree.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The last of them, if they do.
    last: Vec<u8>,
    nested: Option<(TreeRoot, TreeBuild)>,
}

impl<'t, 's, S: PageSink> PairBuilder<'t, 's, S> {
    /// Begins to build. The tree must be empty.
    pub(crate) fn new(tree: &'t mut Tree<'s, S>) -> Self {
        assert!(tree.root.is_empty(), "a tree is built where there is none");
        Self {
            tree,
            outer: TreeBuild::default(),
            key: Vec::new(),
            count: 0,
            bytes: Vec::new(),
            ends: Vec::new(),
            last: Vec::new(),
            nested: None,
        }
    }

    fn last_value(&self) -> &[u8] {
        match (&self.nested, &self.ends[..]) {
            (None, [.., start, end]) => &self.bytes[*start..*end],
            (None, _) => &self.bytes,
            _ => &self.last,
        }
    }

    /// Adds a value to those of the key.
    fn add(&mut self, value: &[u8]) -> Result<()> {
        if self.nested.is_none() {
            let (count, len) = (self.ends.len() + 1, self.bytes.len() + value.len());
            if self.tree.values_fit_in_leaf(self.key.len(), count, len) {
                self.bytes.extend_from_slice(value);
                self.ends.push(self.bytes.len());
                return Ok(());
            }
            self.begin_nested()?;
        }
        self.last.clear();
        self.last.extend_from_slice(value);
        self.add_nested(value)
    }

    /// Moves the values so far to a nested tree.
    fn begin_nested(&mut self) -> Result<()> {
        self.nested = Some((self.tree.root.nested(), TreeBuild::default()));
        let (bytes, ends) = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.ends),
        );
        let mut start = 0;
        for end in ends {
            self.add_nested(&bytes[start..end])?;
            start = end;
        }
        Ok(())
    }

    fn add_nested(&mut self, value: &[u8]) -> Result<()> {
        let Some((root, building)) = &mut self.nested else {
            return Ok(());
        };
        let before = *root;
        let mut tree = Tree::new(&mut *self.tree.sink, root);
        building.push_leaf_value(&mut tree, value, StoredValue::inline(&[]))?;
        root.records += 1;
        let after = *root;
        self.tree.add_page_difference(&before, &after);
        Ok(())
    }

    /// Stores the key with its values in its leaf.
    fn end_key(&mut self) -> Result<()> {
        let kept = match self.nested.take() {
            Some((mut root, building)) => {
                let before = root;
                building.finish(&mut Tree::new(&mut *self.tree.sink, &mut root))?;
                self.tree.add_page_difference(&before, &root);
                LeafValues::nested(&root)
            }
            None if self.ends.len() == 1 => LeafValues {
                kind: ValueKind::Inline,
                bytes: std::mem::take(&mut self.bytes),
            },
            None => {
                let mut bytes = Vec::new();
                let starts = |index: usize| index.checked_sub(1).map_or(0, |i| self.ends[i]);
                let values =
                    (0..self.ends.len()).map(|index| &self.bytes[starts(index)..self.ends[index]]);
                set::write_all(&mut bytes, self.tree.root.kind.value_size, values);
                LeafValues {
                    kind: ValueKind::Set,
                    bytes,
                }
            }
        };
        self.outer
            .push_leaf_value(self.tree, &self.key, kept.value())?;
        self.bytes.clear();
        self.ends.clear();
        self.count = 0;
        Ok(())
    }
}

impl<S: PageSink> RecordLoader for PairBuilder<'_, '_, S> {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let index = self.tree.root.records;
        if index == 0 {
            self.tree.fix_key_len(key);
            self.tree.fix_value_size(value);
        } else {
            let last = (&self.key[..], self.last_value());
            if self.tree.root.compare_pairs(last, (key, value)).is_ge() {
                return Err(Error::NotSorted { index });
            }
            if self.tree.root.order.stored_to(&self.key, key).is_lt() {
                self.end_key()?;
            }
        }
        if self.count == 0 {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.add(value)?;
        self.count += 1;
        self.tree.root.records += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        if self.count > 0 {
            self.end_key()?;
        }
        self.outer.finish(self.tree)
    }
}
