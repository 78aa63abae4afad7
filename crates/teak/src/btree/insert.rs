//! Insertion: find the leaf, make the path to it changeable, insert the record.
//!
//! A page that a snapshot can see is copied first, and its parent points to the copy; so a path is
//! made changeable from the root down. Equal data is not rewritten: writing a value that is already
//! stored copies nothing.

use super::{
    PageSink,
    cursor::record_at,
    lookup,
    mutable_tree::{Tree, value_pages},
    position::{PathStep, Position},
    rebalance, visit_leaf,
};
use crate::{
    Error, PageNumber, Result,
    page::{
        PageDamage,
        key::KeyOrder,
        leaf::{self, Leaf, LocalChange},
        value::{StoredValue, VALUE_EXTENT_LEN, ValueKind},
    },
};
use std::mem;

/// How to treat an existing key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// Its value is replaced.
    Replace,
    /// It stays unchanged.
    Keep,
}

/// The outcome of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    /// The key was inserted.
    New,
    /// The key existed and has a new value.
    Replaced,
    /// The key existed, and nothing changed.
    Unchanged,
}

/// Buffer for the description of a value that is stored in an extent.
pub(super) type ValueExtentBytes = [u8; VALUE_EXTENT_LEN];

impl<'t, S: PageSink> Tree<'t, S> {
    /// The last key; empty in an empty tree.
    pub(crate) fn last_key(&self) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        let mut position = Position::default();
        position.last(&*self.sink, self.root)?;
        record_at(&*self.sink, &position, &mut key)?;
        Ok(key)
    }

    /// Inserts a record. The key must not be longer than the longest that a page holds.
    pub(crate) fn insert(
        &mut self,
        key: &[u8],
        value: StoredValue<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        self.insert_with_hint(&mut Vec::new(), key, value, existing)
    }

    /// Like [`Self::insert`], for many records, one after the other. `hint` is the path that this
    /// function or [`Self::remove_with_hint`] left, if nothing else has changed the tree since, or
    /// empty. Consecutive keys then need no descent, or a short one.
    pub(crate) fn insert_with_hint(
        &mut self,
        hint: &mut Vec<PathStep>,
        key: &[u8],
        value: StoredValue<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        let mut position = Position::on(mem::take(hint));
        if self.root.is_empty() {
            self.create_root_leaf(key, value)?;
            return Ok(Inserted::New);
        }
        if !position.descend_from_hint(&*self.sink, self.root, key)? {
            *hint = self.add(position.into_path(), key, value)?;
            return Ok(Inserted::New);
        }
        let (inserted, path) = match existing {
            Existing::Replace => self.replace(position, key, value)?,
            Existing::Keep => (Inserted::Unchanged, position.into_path()),
        };
        *hint = path;
        Ok(inserted)
    }

    /// Adds a record at the position of the path. Returns the path to it, which is empty if leaves
    /// were laid out again.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        path: Vec<PathStep>,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<Vec<PathStep>> {
        let mut path = self.own_path(path)?;
        let mut extent = ValueExtentBytes::default();
        let kept = self.store_value(key.len(), value, &mut extent)?;
        self.root.records += 1;
        self.mark_changed();
        match self.insert_at(&path, key, kept)? {
            LocalChange::Done => self.add_to_counts(&path, 1)?,
            LocalChange::Rebuild => path.clear(),
        }
        Ok(path)
    }

    /// Creates the root leaf, with the first record of an empty tree.
    pub(super) fn create_root_leaf(&mut self, key: &[u8], value: StoredValue<'_>) -> Result<()> {
        let mut extent = ValueExtentBytes::default();
        let kept = self.store_value(key.len(), value, &mut extent)?;
        self.create_root_leaf_from(key, kept, 1)
    }

    /// Creates the root leaf with a value in the form that leaves hold, which represents `records`
    /// records.
    pub(super) fn create_root_leaf_from(
        &mut self,
        key: &[u8],
        kept: StoredValue<'_>,
        records: u64,
    ) -> Result<()> {
        let number = self.new_leaf()?;
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(number)?;
        leaf::init(page, number, birth, format, &[]);
        let done = leaf::insert(page, format.order, 0, key, kept);
        let done = done.map_err(|damage| damage.at(number, "insert"))?;
        assert_eq!(done, LocalChange::Done, "an empty leaf holds every record");
        self.fix_key_len(key);
        self.root.page = number;
        self.root.depth = 1;
        self.root.records = records;
        self.mark_changed();
        Ok(())
    }

    /// The first key of a table of integers fixes their length.
    pub(super) fn fix_key_len(&mut self, key: &[u8]) {
        if self.root.order == KeyOrder::Integer {
            self.root.key_len = key.len() as u16;
        }
    }

    /// Replaces the value of the record at a position, which has this key. Returns also the path to
    /// it, which is empty if leaves were laid out again.
    pub(super) fn replace(
        &mut self,
        position: Position,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<(Inserted, Vec<PathStep>)> {
        let (number, index) = position.record().expect("the key was found");
        let leaf = visit_leaf(&*self.sink, number, "insert")?;
        let node = leaf
            .node(index)
            .map_err(|damage| damage.at(number, "insert"))?;
        let old = node.value;
        let old_extent = old
            .as_extent()
            .map_err(|damage| damage.at(number, "insert"))?;
        if self.is_same(number, old, value)? {
            return Ok((Inserted::Unchanged, position.into_path()));
        }
        let stored_key = self.stored_key(&leaf, index);
        let stored_key = stored_key.map_err(|damage| damage.at(number, "insert"))?;
        let key = stored_key.as_deref().unwrap_or(key);
        let mut path = self.own_path(position.into_path())?;
        let mut extent = ValueExtentBytes::default();
        let kept = self.store_value(key.len(), value, &mut extent)?;
        self.mark_changed();
        if self.put_value(&path, key, kept)? == LocalChange::Rebuild {
            path.clear();
        }
        if let Some(extent) = old_extent {
            self.release_extent(&extent)?;
        }
        Ok((Inserted::Replaced, path))
    }

    /// The stored key of a record whose value is about to be replaced. Its bytes may differ from
    /// the search key, and it stays unchanged.
    #[inline]
    pub(super) fn stored_key(
        &self,
        leaf: &Leaf<'_>,
        index: usize,
    ) -> Result<Option<Vec<u8>>, PageDamage> {
        match self.root.order {
            KeyOrder::Custom(_) => leaf.key(index).map(Some),
            _ => Ok(None),
        }
    }

    /// Replaces the value at the end of the path. The caller releases the pages that the old value
    /// refers to.
    #[inline(always)]
    pub(super) fn put_value(
        &mut self,
        path: &[PathStep],
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<LocalChange> {
        let step = *path.last().expect("a path has a leaf");
        let damaged = |damage: PageDamage| damage.at(step.page, "insert");
        let page = self.sink.page_mut(step.page)?;
        if leaf::set_value(page, step.index, value).map_err(damaged)? == LocalChange::Done {
            return Ok(LocalChange::Done);
        }
        leaf::remove(page, step.index).map_err(damaged)?;
        self.insert_at(path, key, value)
    }

    /// Whether the stored value already has these bytes.
    pub(super) fn is_same(
        &self,
        leaf: PageNumber,
        old: StoredValue<'_>,
        new: StoredValue<'_>,
    ) -> Result<bool> {
        match (old.kind, new.kind) {
            (ValueKind::Inline, ValueKind::Inline) | (ValueKind::Tree, ValueKind::Tree) => {
                Ok(old.bytes == new.bytes)
            }
            (ValueKind::Extent, ValueKind::Inline) => {
                let extent = old
                    .as_extent()
                    .map_err(|damage| damage.at(leaf, "insert"))?;
                if extent.is_none_or(|extent| extent.len_bytes != new.bytes.len() as u64) {
                    return Ok(false);
                }
                match lookup::load(&*self.sink, leaf, old) {
                    Ok(old) => Ok(old == new.bytes),
                    // A damaged value may be replaced.
                    Err(Error::Corrupted { .. }) => Ok(false),
                    Err(error) => Err(error),
                }
            }
            _ => Ok(false),
        }
    }

    /// Returns the form of a value that a leaf holds: the value itself or, if it is too large for a
    /// leaf, the description of the extent that it is written to.
    #[inline(always)]
    pub(super) fn store_value<'v>(
        &mut self,
        key_len: usize,
        value: StoredValue<'v>,
        extent: &'v mut ValueExtentBytes,
    ) -> Result<StoredValue<'v>> {
        let (format, page_size) = (self.root.leaf_format(), self.sink.page_size());
        let is_small = format.stays_inline(page_size, key_len, value.bytes.len());
        if is_small || value.kind != ValueKind::Inline {
            return Ok(value);
        }
        self.store_in_extent(value.bytes, extent)?;
        Ok(StoredValue {
            kind: ValueKind::Extent,
            bytes: extent,
        })
    }

    #[inline(never)]
    pub(super) fn store_in_extent(
        &mut self,
        value: &[u8],
        bytes: &mut ValueExtentBytes,
    ) -> Result<()> {
        let extent = self.sink.store_value(value)?;
        self.root.value_pages += value_pages(&extent, self.sink.page_size());
        *bytes = extent.encode();
        Ok(())
    }

    /// Inserts a record at the position of the path, in place if the leaf has room for it. The path
    /// leads to the record then, and the counts above are still to be corrected.
    pub(super) fn insert_at(
        &mut self,
        path: &[PathStep],
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<LocalChange> {
        let step = *path.last().expect("a path has a leaf");
        let order = self.root.order;
        let page = self.sink.page_mut(step.page)?;
        let done = leaf::insert(page, order, step.index, key, value);
        let done = done.map_err(|damage| damage.at(step.page, "insert"))?;
        match done {
            LocalChange::Done => {}
            LocalChange::Rebuild => rebalance::rebuild_and_insert(self, path, key, value)?,
        }
        Ok(done)
    }
}
