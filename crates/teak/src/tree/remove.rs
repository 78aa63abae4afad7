//! Removal of one record.

use super::{
    PageSink,
    insert::Tree,
    position::{Position, Step},
};
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
        self.remove_at(position)?;
        Ok(true)
    }

    /// Removes the record at a position.
    pub(super) fn remove_at(&mut self, position: Position) -> Result<()> {
        let path = self.own_path(position.into_path())?;
        self.remove_record(&path, 1)
    }

    /// Removes the entry of a leaf where a path leads, which may be changed. It stands for so many records.
    pub(super) fn remove_record(&mut self, path: &[Step], records: u64) -> Result<()> {
        let step = *path.last().expect("a path has a leaf");
        let run = self.run_at(step.page, step.index, "remove")?;
        leaf::remove(self.sink.page_mut(step.page)?, step.index)
            .map_err(|damage| damage.at(step.page, "remove"))?;
        if let Some(run) = run {
            self.release_run(&run)?;
        }
        self.root.records = self.root.records.saturating_sub(records);
        self.touch();
        self.add_to_counts(path, -(records as i64))?;
        self.mend_leaf(path)
    }
}
