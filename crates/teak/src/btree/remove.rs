//! Removal of one record.

use super::{
    PageSink,
    mutable_tree::Tree,
    position::{PathStep, Position},
};
use crate::{
    Result,
    page::leaf::{self, LocalChange},
};
use std::mem;

impl<S: PageSink> Tree<'_, S> {
    /// Removes the record of `key`; returns whether there was one.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.remove_with_hint(&mut Vec::new(), key)
    }

    /// Like [`Self::remove`], for many records, one after the other. `hint` is the path that this
    /// function or [`Self::insert_with_hint`] left, if nothing else has changed the tree since, or
    /// empty.
    pub(crate) fn remove_with_hint(
        &mut self,
        hint: &mut Vec<PathStep>,
        key: &[u8],
    ) -> Result<bool> {
        if self.root.is_empty() {
            return Ok(false);
        }
        let mut position = Position::on(mem::take(hint));
        let is_there = position.descend_from_hint(&*self.sink, self.root, key)?;
        *hint = match is_there {
            true => self.remove_at(position)?,
            false => position.into_path(),
        };
        Ok(is_there)
    }

    /// Removes the record at a position. Returns the path to the record after it, or to the end of
    /// the leaf; empty if leaves were laid out again.
    pub(super) fn remove_at(&mut self, position: Position) -> Result<Vec<PathStep>> {
        let mut path = self.own_path(position.into_path())?;
        match self.remove_record(&path, 1)? {
            LocalChange::Done => path.last_mut().expect("a path has a leaf").count -= 1,
            LocalChange::Rebuild => path.clear(),
        }
        Ok(path)
    }

    /// Removes the entry of a leaf at the end of a path, which must be changeable. The entry
    /// represents `records` records. Returns `Done` if the path still leads to the leaf.
    pub(super) fn remove_record(&mut self, path: &[PathStep], records: u64) -> Result<LocalChange> {
        let step = *path.last().expect("a path has a leaf");
        let extent = self.extent_at(step.page, step.index, "remove")?;
        leaf::remove(self.sink.page_mut(step.page)?, step.index)
            .map_err(|damage| damage.at(step.page, "remove"))?;
        if let Some(extent) = extent {
            self.release_extent(&extent)?;
        }
        self.root.records = self.root.records.saturating_sub(records);
        self.mark_changed();
        self.add_to_counts(path, -(records as i64))?;
        self.rebalance_leaf(path)
    }
}
