//! Builds a tree from sorted records, from the leaves up: every page is written once and full.
//! Records after the last one of a tree are added without a search.

use super::{
    PageSink, TreeRoot, count,
    insert::{Existing, ValueExtentBytes},
    mutable_tree::Tree,
    neighbours::slots_in_parent,
    position::{PathStep, Position},
};
use crate::{
    Error, Result,
    page::{
        child::Child,
        entries::RecordList,
        header::{Header, arrays_start},
        key::{self, KeyOrder},
        leaf::{self, LeafFormat, LocalChange},
        value::StoredValue,
    },
};

/// Adds records to a tree in their order.
pub(crate) trait RecordLoader {
    /// Adds a record, which must be after the last one.
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Completes the tree; returns how many records were added.
    fn finish(self) -> Result<u64>;
}

/// A tree under construction.
#[derive(Debug)]
pub(crate) struct TreeBuilder<'t, 's, S> {
    tree: &'t mut Tree<'s, S>,
    state: TreeBuild,
}

impl<'t, 's, S: PageSink> TreeBuilder<'t, 's, S> {
    /// Begins to build. The tree must be empty.
    pub(crate) fn new(tree: &'t mut Tree<'s, S>) -> Self {
        assert!(tree.root.is_empty(), "a tree is built where there is none");
        let state = TreeBuild::default();
        Self { tree, state }
    }

    /// Adds a record whose key is known to be after the last one.
    pub(super) fn push_in_order(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.tree.root.records == 0 {
            self.tree.fix_key_len(key);
        }
        let mut extent = ValueExtentBytes::default();
        let value = StoredValue::inline(value);
        let kept = self.tree.store_value(key.len(), value, &mut extent)?;
        self.state.push_leaf_value(self.tree, key, kept)?;
        self.tree.root.records += 1;
        Ok(())
    }
}

impl<S: PageSink> RecordLoader for TreeBuilder<'_, '_, S> {
    #[inline]
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.state.refuse_unsorted(self.tree.root, key)?;
        self.push_in_order(key, value)
    }

    fn finish(self) -> Result<u64> {
        self.state.finish(self.tree)
    }
}

/// The leaf under construction, the last of a tree.
#[derive(Debug, Default)]
struct LastLeaf {
    records: RecordList,
    /// The maximum bytes that they would take.
    len: usize,
    prefix_len: usize,
    /// The last key before the leaf, if there is one.
    key_before: Option<Vec<u8>>,
}

impl LastLeaf {
    /// The key that was added last; empty before the first one.
    fn last_key(&self) -> &[u8] {
        match self.records.len() {
            0 => self.key_before.as_deref().unwrap_or_default(),
            count => self.records.key(count - 1),
        }
    }

    /// Adds a record whose value has the form that leaves hold. If the leaf had no room for it,
    /// returns the previous leaf, completed.
    #[inline(always)]
    fn push<S: PageSink>(
        &mut self,
        tree: &mut Tree<'_, S>,
        key: &[u8],
        kept: StoredValue<'_>,
    ) -> Result<Option<Child>> {
        let (format, page_size) = (tree.root.leaf_format(), tree.sink.page_size());
        let mut ended = None;
        if !self.takes(format, page_size, key, kept.bytes.len()) {
            ended = Some(self.end(tree)?);
            self.takes(format, page_size, key, kept.bytes.len());
        }
        self.records.push(key, kept);
        Ok(ended)
    }

    /// Whether one more record fits; room is reserved for it then.
    fn takes(
        &mut self,
        format: LeafFormat,
        page_size: usize,
        key: &[u8],
        value_len: usize,
    ) -> bool {
        if self.records.is_empty() {
            self.prefix_len = 0;
            self.len = arrays_start(0) + format.record_len(0, key.len(), value_len);
            return true;
        }
        let prefix_len = format.prefix_len(self.records.key(0), key);
        if prefix_len != self.prefix_len || self.records.len() == 1 {
            self.prefix_len = prefix_len;
            self.len = self.records.measure(format, prefix_len);
        }
        self.len += format.record_len(self.prefix_len, key.len(), value_len);
        self.len <= page_size
    }

    /// Completes the leaf, which has records, and begins the next one.
    fn end<S: PageSink>(&mut self, tree: &mut Tree<'_, S>) -> Result<Child> {
        let format = tree.root.leaf_format();
        let birth = tree.sink.transaction();
        let number = tree.new_leaf()?;
        let count = self.records.len();
        debug_assert!(count > 0, "a leaf that is completed has records");
        let page = tree.sink.page_mut(number)?;
        let built = self.records.build(page, number, birth, format, 0..count);
        built.map_err(|damage| damage.at(number, "bulk load"))?;
        let weight = tree.root.weight_of(&self.records, 0..count);
        let weight = weight.map_err(|damage| damage.at(number, "bulk load"))?;
        let first = self.records.key(0);
        let separator = match (format.order, &self.key_before) {
            (_, None) => Vec::new(),
            (KeyOrder::Bytes, Some(before)) => key::shortest_separator(before, first).to_vec(),
            (_, Some(_)) => first.to_vec(),
        };
        let before = self.key_before.get_or_insert_default();
        before.clear();
        before.extend_from_slice(self.records.key(count - 1));
        self.records.clear();
        Ok(Child::unsealed(separator, number, weight))
    }
}

/// The state of building a tree. Each call takes the tree, so that several can be built at a time.
#[derive(Debug, Default)]
pub(super) struct TreeBuild {
    leaf: LastLeaf,
    /// The children of the next inner page, for each level.
    levels: Vec<Vec<Child>>,
}

impl TreeBuild {
    /// The key that was added last; empty before the first one.
    pub(super) fn last_key(&self) -> &[u8] {
        self.leaf.last_key()
    }

    /// Refuses a key that is not after the last one.
    fn refuse_unsorted(&self, root: &TreeRoot, key: &[u8]) -> Result<()> {
        if root.records > 0 && root.order.stored_to(self.last_key(), key).is_ge() {
            return Err(Error::NotSorted {
                index: root.records,
            });
        }
        Ok(())
    }

    /// Adds a record whose value has the form that leaves hold.
    #[inline]
    pub(super) fn push_leaf_value<S: PageSink>(
        &mut self,
        tree: &mut Tree<'_, S>,
        key: &[u8],
        kept: StoredValue<'_>,
    ) -> Result<()> {
        match self.leaf.push(tree, key, kept)? {
            Some(leaf) => self.add_child(tree, 0, leaf),
            None => Ok(()),
        }
    }

    /// Adds a child to the next inner page above `level`, and completes that page if it is full.
    fn add_child<S: PageSink>(
        &mut self,
        tree: &mut Tree<'_, S>,
        level: usize,
        child: Child,
    ) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(child);
        let format = tree.root.inner_format();
        if format.page_len(&self.levels[level]) <= tree.sink.page_size() {
            return Ok(());
        }
        let next = self.levels[level].pop().expect("a child was added");
        self.end_inner(tree, level)?;
        self.levels[level].push(next);
        Ok(())
    }

    fn end_inner<S: PageSink>(&mut self, tree: &mut Tree<'_, S>, level: usize) -> Result<()> {
        let children = std::mem::take(&mut self.levels[level]);
        let number = tree.new_inner()?;
        let (format, birth) = (tree.root.inner_format(), tree.sink.transaction());
        let page = tree.sink.page_mut(number)?;
        let built = format.build(page, number, birth, level as u8 + 1, &children);
        built.map_err(|damage| damage.at(number, "build"))?;
        let records = children.iter().map(|child| child.records).sum();
        let separator = children.into_iter().next().map(|child| child.separator);
        let child = Child::unsealed(separator.unwrap_or_default(), number, records);
        self.add_child(tree, level + 1, child)
    }

    /// Completes all pages and sets the root; returns the number of records.
    pub(super) fn finish<S: PageSink>(mut self, tree: &mut Tree<'_, S>) -> Result<u64> {
        if !self.leaf.records.is_empty() {
            let leaf = self.leaf.end(tree)?;
            self.add_child(tree, 0, leaf)?;
        }
        let mut level = 0;
        while level < self.levels.len() {
            let is_top = level + 1 == self.levels.len();
            if is_top && self.levels[level].len() == 1 {
                tree.root.page = self.levels[level][0].page;
                tree.root.depth = level as u8 + 1;
                break;
            }
            if !self.levels[level].is_empty() {
                self.end_inner(tree, level)?;
            }
            level += 1;
        }
        if tree.root.records > 0 {
            tree.mark_changed();
        }
        Ok(tree.root.records)
    }
}

/// How many leaves are attached to the pages above them at a time.
const ATTACHED_TOGETHER: usize = 32;

/// Adds records after the last one of a tree: to its last leaf as far as that has room, and then to
/// leaves that are built as for an empty tree.
#[derive(Debug)]
pub(crate) struct TreeAppender<'t, 's, S> {
    tree: &'t mut Tree<'s, S>,
    last_key: Vec<u8>,
    /// The path to the last leaf, as long as that has room.
    path: Vec<PathStep>,
    /// The leaf after it, and the leaves between the two that are not attached yet.
    after: Option<LastLeaf>,
    ended: Vec<Child>,
    count: u64,
}

impl<'t, 's, S: PageSink> TreeAppender<'t, 's, S> {
    pub(crate) fn new(tree: &'t mut Tree<'s, S>) -> Result<Self> {
        let last_key = tree.last_key()?;
        Ok(Self {
            tree,
            last_key,
            path: Vec::new(),
            after: None,
            ended: Vec::new(),
            count: 0,
        })
    }

    fn last_path(&self) -> Result<Vec<PathStep>> {
        let mut position = Position::default();
        position.last(&*self.tree.sink, self.tree.root)?;
        Ok(position.into_path())
    }

    fn push_leaf_value(&mut self, key: &[u8], kept: StoredValue<'_>) -> Result<()> {
        if self.after.is_none() && self.push_in_last_leaf(key, kept)? {
            return Ok(());
        }
        let after = self.after.get_or_insert_with(|| LastLeaf {
            key_before: Some(self.last_key.clone()),
            ..LastLeaf::default()
        });
        self.ended.extend(after.push(self.tree, key, kept)?);
        match self.ended.len() >= ATTACHED_TOGETHER {
            true => self.attach(),
            false => Ok(()),
        }
    }

    /// Adds a record to the last leaf of the tree; `false` if it has no room.
    fn push_in_last_leaf(&mut self, key: &[u8], kept: StoredValue<'_>) -> Result<bool> {
        let tree = &mut *self.tree;
        let Some(last) = self.path.last_mut() else {
            return Ok(false);
        };
        let page = tree.sink.page_mut(last.page)?;
        last.index = usize::from(Header::read(page).count);
        let done = leaf::insert(page, tree.root.order, last.index, key, kept);
        let is_in = match done.map_err(|damage| damage.at(last.page, "append"))? {
            LocalChange::Done => true,
            LocalChange::Rebuild => tree.repack_and_insert(*last, key, kept)?,
        };
        if is_in {
            tree.mark_changed();
            tree.add_to_counts(&self.path, 1)?;
        }
        Ok(is_in)
    }

    /// Attaches the completed leaves to the pages above.
    fn attach(&mut self) -> Result<()> {
        let path = self.last_path()?;
        let tree = &mut *self.tree;
        let path = tree.own_path(path)?;
        let depth = path.len() - 1;
        let last = path[depth].page;
        let weight = count::weight(&*tree.sink, tree.root, last, 0..path[depth].count)?;
        let mut children = vec![Child::unsealed(Vec::new(), last, weight)];
        children.append(&mut self.ended);
        tree.replace_children(&path, depth, slots_in_parent(&path), children)
    }
}

impl<S: PageSink> RecordLoader for TreeAppender<'_, '_, S> {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.tree.root.order.stored_to(&self.last_key, key).is_ge() {
            return Err(Error::NotSorted { index: self.count });
        }
        let value = StoredValue::inline(value);
        if self.count == 0 {
            self.tree.insert(key, value, Existing::Replace)?;
            let path = self.last_path()?;
            self.path = self.tree.own_path(path)?;
        } else {
            let mut extent = ValueExtentBytes::default();
            let kept = self.tree.store_value(key.len(), value, &mut extent)?;
            self.tree.root.records += 1;
            self.push_leaf_value(key, kept)?;
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        if let Some(mut after) = self.after.take() {
            self.ended.push(after.end(self.tree)?);
            self.attach()?;
        }
        Ok(self.count)
    }
}
