//! Truncating the file: first a commit shortens the database, and a later write transaction
//! truncates the file when no crash can lead back to a longer state. `policy.rs` decides by how
//! much.

use crate::{
    Geometry, TransactionId, instance::writer::WriterState, io::Storage,
    maintain::policy::shrink_policy, planted::planted,
};
use std::sync::Arc;

/// Shortens the database by the part of its end that is free for long.
pub(crate) fn cut_long_free(writer: &mut WriterState, geometry: Geometry) {
    let policy = shrink_policy(writer, geometry);
    cut_space(writer, policy.cut(writer.space.trailing_free()));
}

/// Shortens the database by all of its free end.
pub(crate) fn cut_all_free(writer: &mut WriterState, geometry: Geometry) {
    let policy = shrink_policy(writer, geometry);
    cut_space(writer, policy.cut_all(writer.space.trailing_free()));
}

/// Shortens the database. The file is truncated later, by [`cut_file`] or when the
/// database is closed.
fn cut_space(writer: &mut WriterState, page_count: Option<u64>) {
    if let Some(page_count) = page_count {
        writer.space.shrink(page_count);
        writer.written.cut(page_count);
    }
}

/// Truncates the end of the file that no commit uses which recovery could choose. Returns
/// whether it tried. A failed truncation is retried later.
pub(crate) fn cut_file(
    writer: &mut WriterState,
    storage: &Arc<dyn Storage>,
    flushed: TransactionId,
) -> bool {
    let bytes = writer.least_bytes();
    if storage.len() <= bytes {
        return false;
    }
    assert!(
        writer.shrink.truncation_point.page_count() >= writer.newest.page_count,
        "the newest commit keeps its pages"
    );
    let is_due = writer.shrink.truncation_point.is_due(flushed) || planted!(CutEarly);
    if is_due {
        let _ = storage.set_len(bytes);
    }
    is_due
}
