//! Choosing the state of a damaged file that is saved.
//!
//! All four slots are tried, the newest record first. A record that opening would roll back is
//! skipped: its commit is not known to have been durable, and its pages are not complete. A record
//! whose catalog cannot be read at all is skipped too. If no other record is left, the newest
//! skipped record with a readable catalog is used.

use crate::{
    Checksum, Error, PageNumber, Result,
    btree::PageSource,
    commit::journal::Redo,
    io::{Content, Mapping, Pinned, Storage},
    open::{inspect::records_in, recovery_audit::young_fault, slots::known_flushed},
    page::{
        comparison::Comparisons,
        header::{Header, PageKind},
    },
    read::{
        prefault::Prefault,
        snapshot::{PinnedSnapshot, Snapshot},
    },
    record::{Record, probe::PROBE_LEN},
};
use std::{ops::Deref, path::Path, sync::Arc};

/// Bytes that are prefaulted at once: no page is smaller.
const PART_LEN: usize = 4096;

/// The state to save.
#[derive(Debug)]
pub(super) struct SalvageState {
    pub(super) state: StateToSave,
    pub(super) passed_over: Vec<String>,
}

/// A state of the file that is being salvaged.
#[derive(Debug)]
pub(super) struct StateToSave(Snapshot);

impl StateToSave {
    pub(super) fn with_comparisons(self, comparisons: Comparisons) -> Self {
        Self(self.0.with_comparisons(comparisons))
    }
}

impl Deref for StateToSave {
    type Target = PinnedSnapshot;

    fn deref(&self) -> &PinnedSnapshot {
        // SAFETY: reason 4 of `io/pinned.rs`. A file is salvaged under a lock that keeps writers
        // out, and salvaging writes nothing to it.
        unsafe { Pinned::assume(&self.0) }
    }
}

/// Finds the state to save.
pub(super) fn choose(storage: &Arc<dyn Storage>, path: &Path) -> Result<SalvageState> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let mut passed_over = Vec::new();
    let records = read_records(&mapping, storage.len(), path, &mut passed_over)?;
    let known_flushed = known_flushed(&records);
    if let Ok(Some(redo)) = Redo::read(&mapping, storage.len(), &records)
        && records
            .iter()
            .all(|record| record.sequence < redo.record.sequence)
    {
        passed_over.push(format!(
            "commits up to {} exist only in the journal; opening the database for writing applies them if possible",
            redo.record.transaction
        ));
    }
    let mut second_best = None;
    for record in records {
        let (slot, transaction) = (record.slot, record.transaction);
        let mut pass = |why: &str| {
            passed_over.push(format!(
                "commit {transaction}, record in page {slot}: {why}"
            ));
        };
        let is_durable = transaction <= known_flushed;
        let state = match Snapshot::unchecked(record, Arc::clone(&mapping)) {
            Ok(state) => StateToSave(state),
            Err(error) => {
                pass(&error.to_string());
                continue;
            }
        };
        if !has_catalog(&state) {
            pass("the root of its catalog is damaged");
        } else if !is_durable && let Some(page) = young_fault(&state) {
            pass(&format!(
                "it is not known to have been durable, and page {page}, which it or a commit shortly \
                 before it wrote, is not whole"
            ));
            second_best.get_or_insert((passed_over.len() - 1, state));
        } else {
            return Ok(SalvageState { state, passed_over });
        }
    }
    match second_best {
        Some((index, state)) => {
            passed_over[index].push_str("; used anyway, because no better state was found");
            Ok(SalvageState { state, passed_over })
        }
        None => {
            let detail = format!(
                "no commit record leads to tables that can be read: {}",
                passed_over.join("; ")
            );
            Err(Error::corrupted(PageNumber(0), "salvage", detail))
        }
    }
}

/// All readable records of the database that the newest record belongs to, the newest first.
fn read_records(
    mapping: &Mapping,
    file_len: u64,
    path: &Path,
    passed_over: &mut Vec<String>,
) -> Result<Vec<Record>> {
    let head = read_head(mapping, file_len.min(PROBE_LEN as u64) as usize);
    records_in(&head, path, Some(mapping), passed_over)
}

/// The beginning of the file; zeros where it cannot be read.
fn read_head(mapping: &Mapping, len: usize) -> Vec<u8> {
    let mut head = vec![0; len];
    for (part, offset) in head.chunks_mut(PART_LEN).zip((0..).step_by(PART_LEN)) {
        let is_there = mapping.prefault(offset, part.len(), Content::Raw).is_ok();
        if !(is_there && mapping.copy(offset, part)) {
            part.fill(0);
        }
    }
    head
}

/// Whether the catalog is empty, or its root page is sound.
fn has_catalog(state: &PinnedSnapshot) -> bool {
    let root = state.catalog();
    let Some(level) = root.depth.checked_sub(1) else {
        return true;
    };
    let pages = Prefault(state);
    let page = PageSource::page(&pages, root.page);
    page.is_ok_and(|page| {
        let header = Header::read(page);
        let kind = if level == 0 {
            PageKind::Leaf
        } else {
            PageKind::Inner
        };
        Checksum::of(page) == root.checksum && header.kind == kind as u8 && header.level == level
    })
}
