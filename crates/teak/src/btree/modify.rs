//! Changes of one record that depend on its stored value: one descent finds it, and the decision is
//! executed on the same path.

use super::{PageSink, cursor::value_at, mutable_tree::Tree, position::Position, visit_leaf};
use crate::{
    PageNumber, Result,
    page::{
        leaf::{self, LocalChange},
        value::StoredValue,
    },
};
use std::borrow::Cow;

/// The decision about a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModifyAction<'v> {
    /// Nothing changes.
    Leave,
    /// Stores this value, and inserts the record if it is absent.
    Put(Cow<'v, [u8]>),
    /// Removes the record if it is present.
    Remove,
}

/// As long as the longest value in a leaf: half of the largest page.
static ZEROS: [u8; 1 << 15] = [0; 1 << 15];

impl<S: PageSink> Tree<'_, S> {
    /// Finds the record of `key`, passes its value to `decide`, and executes the decision. The key
    /// must not be longer than the longest that a page holds.
    pub(crate) fn modify<'v, R>(
        &mut self,
        key: &[u8],
        decide: impl FnOnce(Option<&[u8]>) -> (ModifyAction<'v>, R),
    ) -> Result<R> {
        let mut position = Position::default();
        let is_there = !self.root.is_empty() && position.descend(&*self.sink, self.root, key)?;
        let old = match is_there {
            true => value_at(&*self.sink, &position)?,
            false => None,
        };
        let (verdict, decided) = decide(old);
        match verdict {
            ModifyAction::Put(value) => {
                let value = StoredValue::inline(&value);
                if is_there {
                    self.replace(position, key, value)?;
                } else if self.root.is_empty() {
                    self.create_root_leaf(key, value)?;
                } else {
                    self.add(position.into_path(), key, value)?;
                }
            }
            ModifyAction::Remove if is_there => drop(self.remove_at(position)?),
            ModifyAction::Remove | ModifyAction::Leave => {}
        }
        Ok(decided)
    }

    /// Inserts a record after the last one, without a search. If its key is not after the last one,
    /// returns `false` and changes nothing.
    pub(crate) fn append(&mut self, key: &[u8], value: StoredValue<'_>) -> Result<bool> {
        if self.root.is_empty() {
            self.create_root_leaf(key, value)?;
            return Ok(true);
        }
        let mut position = Position::default();
        position.last(&*self.sink, self.root)?;
        let mut path = position.into_path();
        let end = path.last_mut().expect("a path has a leaf");
        let leaf = visit_leaf(&*self.sink, end.page, "append")?;
        let insert_index = leaf.search(self.root.order, key);
        if insert_index.map_err(|damage| damage.at(end.page, "append"))? != Err(end.count) {
            return Ok(false);
        }
        end.index = end.count;
        self.add(path, key, value)?;
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
