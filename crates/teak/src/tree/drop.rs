//! Releasing a tree from its front, a part at a time: what is left is a whole tree each time. No key is compared for that, so
//! it goes also where the comparison is missing.

use super::{PageSink, enter, insert::Tree, position::Position, visit_inner};
use crate::{Result, page::entries::children_of};

impl<S: PageSink> Tree<'_, S> {
    /// Releases leaves from the first one on, with their large values and the pages above them, until nothing is left or about `budget`
    /// pages were released. A large value counts as one page, since it takes no more work.
    pub(crate) fn drop_front(&mut self, budget: u64) -> Result<()> {
        let mut left = budget;
        while left > 0 && !self.root.is_empty() {
            let work = self.drop_some(left)?;
            left = left.saturating_sub(work.max(1));
        }
        Ok(())
    }

    /// Releases leaves below the first inner page above leaves, and that page if none is left; returns how much work it was.
    fn drop_some(&mut self, budget: u64) -> Result<u64> {
        let before = *self.root;
        let mut position = Position::default();
        position.first(&*self.sink, self.root)?;
        let mut path = position.into_path();
        path.pop();
        let Some(&above) = path.last() else {
            self.clear()?;
            return Ok(1);
        };
        let damaged = |damage: crate::page::Damage| damage.at(above.page, "release");
        let inner = visit_inner(&*self.sink, above.page, 1, "release")?;
        let mut children = children_of(&inner).map_err(damaged)?;
        let path = self.own_path(path)?;
        let (mut dropped, mut records, mut work) = (0, 0, 0);
        while dropped < children.len() && work < budget {
            let child = &children[dropped];
            enter::page(&*self.sink, child.page, child.tag, "release")?;
            let in_leaf = self.drop_subtree(child.page, 0)?;
            dropped += 1;
            records += in_leaf;
            let value_pages = before.value_pages.saturating_sub(self.root.value_pages);
            work = dropped as u64 + value_pages.min(records);
        }
        children.drain(..dropped);
        self.root.records = before.records.saturating_sub(records);
        self.touch();
        self.write_inner(&path, path.len() - 1, children)?;
        self.lower_root()?;
        Ok(work)
    }
}

#[cfg(test)]
#[path = "drop_tests.rs"]
mod tests;
