//! Removal of one record.

use super::{PageSink, insert::Tree, position::Position, visit_leaf};
use crate::{Result, page::leaf};

impl<S: PageSink> Tree<'_, S> {
    /// Removes the record of `key`; says whether there was one.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<bool> {
        if self.root.is_empty() {
            return Ok(false);
        }
        let mut position = Position::default();
        if !position.descend(&*self.sink, self.root, key)? {
            return Ok(false);
        }
        let path = self.own_path(position.into_path())?;
        let step = *path.last().expect("a path has a leaf");
        let leaf = visit_leaf(&*self.sink, step.page, "remove")?;
        let run = leaf.node(step.index).and_then(|node| node.value.as_run());
        let run = run.map_err(|damage| damage.at(step.page, "remove"))?;
        leaf::remove(self.sink.page_mut(step.page)?, step.index)
            .map_err(|damage| damage.at(step.page, "remove"))?;
        if let Some(run) = run {
            self.release_run(&run)?;
        }
        self.root.records = self.root.records.saturating_sub(1);
        self.touch();
        self.mend_leaf(&path)?;
        Ok(true)
    }
}
