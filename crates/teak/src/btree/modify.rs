//! Changes of one record that depend on its stored value: one descent finds it, and the change is
//! made on the same path.

use super::{
    PageSink, PageSource, TreeRoot,
    cursor::value_at,
    mutable_tree::Tree,
    position::{PathStep, Position},
    visit_leaf,
};
use crate::{
    Error, PageNumber, Result,
    page::{
        leaf::{self, LocalChange},
        value::{StoredValue, TREE_ROOT_LEN, ValueKind},
    },
};
use std::mem;

/// A key that was searched for: the position of its record, or the one where it would be inserted.
/// It is valid as long as nothing else changes the tree.
#[derive(Debug, Default)]
pub(crate) struct FoundKey {
    position: Position,
    is_there: bool,
}

impl FoundKey {
    /// Searches for a key, which must not be longer than the longest that a page holds.
    pub(crate) fn search<S: PageSource + ?Sized>(
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<Self> {
        let mut position = Position::default();
        let is_there = !root.is_empty() && position.descend(source, root, key)?;
        Ok(Self { position, is_there })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Reads the value of the record, if there is one.
    pub(crate) fn value<'s, S: PageSource + ?Sized>(
        &self,
        source: &'s S,
    ) -> Result<Option<&'s [u8]>> {
        match self.is_there {
            true => value_at(source, &self.position),
            false => Ok(None),
        }
    }
}

/// As long as the longest value in a leaf: half of the largest page.
static ZEROS: [u8; 1 << 15] = [0; 1 << 15];

impl<S: PageSink> Tree<'_, S> {
    /// Stores a value of a key that was searched for, and inserts the record if it is absent.
    pub(crate) fn put_found(
        &mut self,
        found: &mut FoundKey,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let value = StoredValue::inline(value);
        let position = mem::take(&mut found.position);
        let path = if found.is_there {
            self.replace(position, key, value)?.1
        } else if self.root.is_empty() {
            self.create_root_leaf(key, value)?;
            Vec::new()
        } else {
            self.add(position.into_path(), key, value)?
        };
        *found = match path.is_empty() {
            true => FoundKey::search(&*self.sink, self.root, key)?,
            false => FoundKey {
                position: Position::on(path),
                is_there: true,
            },
        };
        Ok(())
    }

    /// Removes the record of a key that was searched for, if there is one.
    pub(crate) fn remove_found(&mut self, found: FoundKey) -> Result<()> {
        match found.is_there {
            true => self.remove_at(found.position).map(drop),
            false => Ok(()),
        }
    }

    /// Replaces the root in the catalog entry of a table by its new root. The names after it stay.
    pub(crate) fn replace_root(&mut self, name: &[u8], root: &TreeRoot) -> Result<()> {
        let catalog = self.root.page;
        let damaged = |detail| Error::corrupted(catalog, "commit", detail);
        let mut position = Position::default();
        if self.root.is_empty() || !position.descend(&*self.sink, self.root, name)? {
            return Err(damaged("the catalog has no entry of a table"));
        }
        let (number, index) = position.record().expect("the name was found");
        let leaf = visit_leaf(&*self.sink, number, "commit")?;
        let node = leaf
            .node(index)
            .map_err(|damage| damage.at(number, "commit"))?;
        let (old, new) = (node.value.bytes, root.encode());
        // The order of keys, the flags, and the order of values say which names follow. A plain
        // table has no order of values: there that byte may be anything.
        let is_multi = root.kind.values.is_some();
        let names = |bytes: &[u8]| [bytes[5], bytes[6], bytes[7], bytes[57] * u8::from(is_multi)];
        let is_root = node.value.kind == ValueKind::Tree && old.len() >= TREE_ROOT_LEN;
        if !is_root || names(old) != names(&new) {
            return Err(damaged("the catalog has an entry of another kind of table"));
        }
        if old[..TREE_ROOT_LEN] == new {
            return Ok(());
        }
        let path = self.own_path(position.into_path())?;
        self.mark_changed();
        let number = path[path.len() - 1].page;
        let entry = leaf::value_mut(self.sink.page_mut(number)?, index);
        let entry = entry.map_err(|damage| damage.at(number, "commit"))?;
        entry[..TREE_ROOT_LEN].copy_from_slice(&new);
        Ok(())
    }

    /// Inserts a record after the last one. If its key is not after the last one, returns `false`
    /// and changes nothing. `hint` is as in [`Self::insert_with_hint`]; after another append only
    /// the last record is looked at.
    pub(crate) fn append_with_hint(
        &mut self,
        hint: &mut Vec<PathStep>,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<bool> {
        let mut position = Position::on(mem::take(hint));
        if self.root.is_empty() {
            self.create_root_leaf(key, value)?;
            return Ok(true);
        }
        let is_there = position.descend_from_hint(&*self.sink, self.root, key)?;
        let path = position.into_path();
        let (leaf, above) = path.split_last().expect("a path has a leaf");
        let is_after = leaf.index == leaf.count && above.iter().all(PathStep::is_last);
        if is_there || !is_after {
            *hint = path;
            return Ok(false);
        }
        *hint = self.add(path, key, value)?;
        Ok(true)
    }

    /// Inserts a record with `len` zeros as its value, or replaces the value by them, and calls
    /// `fill` to overwrite them in place. The value must be one that stays inline.
    pub(crate) fn insert_with(
        &mut self,
        key: &[u8],
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let (number, index) = self.put_zeros(key, StoredValue::inline(&ZEROS[..len]))?;
        let value = leaf::value_mut(self.sink.page_mut(number)?, index);
        fill(value.map_err(|damage| damage.at(number, "insert"))?);
        Ok(())
    }

    /// Stores the value to be filled; returns its leaf and its index there.
    fn put_zeros(&mut self, key: &[u8], zeros: StoredValue<'_>) -> Result<(PageNumber, usize)> {
        if self.root.is_empty() {
            self.create_root_leaf(key, zeros)?;
            return Ok((self.root.page, 0));
        }
        let mut position = Position::default();
        let is_there = position.descend(&*self.sink, self.root, key)?;
        let path = self.own_path(position.into_path())?;
        self.mark_changed();
        let placed = if is_there {
            let leaf = path[path.len() - 1];
            let old_extent = self.extent_at(leaf.page, leaf.index, "insert")?;
            let placed = self.put_value(&path, key, zeros)?;
            if let Some(extent) = old_extent {
                self.release_extent(&extent)?;
            }
            placed
        } else {
            self.root.records += 1;
            let placed = self.insert_at(&path, key, zeros)?;
            if placed == LocalChange::Done {
                self.add_to_counts(&path, 1)?;
            }
            placed
        };
        let mut position = Position::on(path);
        if placed == LocalChange::Rebuild {
            position.descend(&*self.sink, self.root, key)?;
        }
        Ok(position.record().expect("the record was put there"))
    }
}

#[cfg(test)]
#[path = "modify_tests.rs"]
mod tests;
