//! Truncating the file: first a commit shortens the database, and a later write transaction
//! truncates the file when no crash can lead back to a longer state. `policy.rs` decides by how
//! much.

use crate::{
    Geometry, TransactionId, instance::writer::WriterState, io::Storage, planted::planted,
};
use std::sync::Arc;

impl WriterState {
    /// Shortens the database by the part of its end that is free for long.
    pub(crate) fn cut_long_free(&mut self, geometry: Geometry) {
        let policy = self.shrink_policy(geometry);
        self.cut_space(policy.cut(self.space.trailing_free()));
    }

    /// Shortens the database by all of its free end.
    pub(crate) fn cut_all_free(&mut self, geometry: Geometry) {
        let policy = self.shrink_policy(geometry);
        self.cut_space(policy.cut_all(self.space.trailing_free()));
    }

    /// Shortens the database. The file is truncated later, by [`Self::cut_file`] or when the
    /// database is closed.
    fn cut_space(&mut self, page_count: Option<u64>) {
        if let Some(page_count) = page_count {
            self.space.shrink(page_count);
            self.written.cut(page_count);
        }
    }

    /// Truncates the end of the file that no commit uses which recovery could choose. Returns
    /// whether it tried. A failed truncation is retried later.
    pub(crate) fn cut_file(&mut self, storage: &Arc<dyn Storage>, flushed: TransactionId) -> bool {
        let bytes = self.least_bytes();
        if storage.len() <= bytes {
            return false;
        }
        assert!(
            self.shrink.truncation_point.page_count() >= self.newest.page_count,
            "the newest commit keeps its pages"
        );
        let is_due = self.shrink.truncation_point.is_due(flushed) || planted!(CutEarly);
        if is_due {
            let _ = storage.set_len(bytes);
        }
        is_due
    }
}
