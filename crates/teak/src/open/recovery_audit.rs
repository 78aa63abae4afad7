//! The audit of a commit when a database is opened: whether everything is whole that was written
//! between the last flushed commit and this one.

use crate::{
    Error, Extent, PageNumber, Result, TransactionId,
    btree::{
        RootFault, TreeRoot,
        walk::{self, Finding, PageRole, Visitor},
    },
    io::{Mapping, Pinned},
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueKind},
    },
    planted::planted,
    record::Record,
};
use crate::{
    open::slots::{CUT_SHORT, is_cut_short},
    read::{
        catalog::{self, CatalogEntry},
        named_list,
        prefault::Prefault,
        snapshot::{PinnedSnapshot, Snapshot},
    },
    record::record_ref::slot_page,
};
use std::{collections::HashSet, sync::Arc};

/// All extents written since the last flush, from the record's own list or from that of a journal
/// entry.
pub(super) fn listed<'r>(
    record: &'r Record,
    entry_extents: Option<&'r [Extent]>,
) -> Option<&'r [Extent]> {
    record.written.as_deref().or(entry_extents)
}

/// All extents that are younger than the last flushed commit and not listed.
pub(super) fn young_extents(
    record: &Record,
    are_listed: bool,
    mapping: &Arc<Mapping>,
) -> Result<Vec<Extent>> {
    let snapshot = Snapshot::unchecked(record.clone(), Arc::clone(mapping))?;
    // SAFETY: reason 4 of `io/pinned.rs`. The pages are written again after this returns.
    let snapshot = unsafe { Pinned::assume(&snapshot) };
    let mut audit = RecoveryAudit::new(record, None);
    if are_listed {
        audit.walk_named(snapshot)?;
        return Ok(audit.young);
    }
    audit.walk(snapshot, snapshot.catalog());
    audit.walk(snapshot, &named_list::root(record)?);
    audit.walk_named(snapshot)?;
    let mut extents = audit.young;
    let own = snapshot.load_space_map()?.classify().own;
    extents.extend(own.into_iter().map(|start| Extent { start, len: 1 }));
    Ok(extents)
}

/// An incomplete page among those that the tables of a state got since the last flushed commit.
pub(crate) fn young_fault(state: &PinnedSnapshot) -> Option<PageNumber> {
    let mut audit = RecoveryAudit::new(&state.record, state.record.written.as_deref());
    audit.walk(state, state.catalog());
    audit.fault.map(|fault| fault.page)
}

/// Damage to a page that a record needs.
#[derive(Debug)]
pub(super) struct PageFault {
    pub(super) page: PageNumber,
    pub(super) detail: String,
}

/// The result of verifying a record.
#[derive(Default, Debug)]
pub(super) struct RecordVerdict {
    pub(super) fault: Option<PageFault>,
    pub(super) unverified: Option<Vec<u8>>,
}

/// Verifies everything that was written between the last flushed commit and this one.
pub(super) fn verify(
    record: &Record,
    entry_extents: Option<&[Extent]>,
    mapping: &Arc<Mapping>,
    file_len: u64,
) -> Result<RecordVerdict> {
    let page = slot_page(record.slot);
    let faulty = |detail: String| RecordVerdict {
        fault: Some(PageFault { page, detail }),
        unverified: None,
    };
    if is_cut_short(record, file_len) {
        return Ok(faulty(CUT_SHORT.to_owned()));
    }
    let snapshot = match Snapshot::unchecked(record.clone(), Arc::clone(mapping)) {
        Ok(snapshot) => snapshot,
        Err(error @ Error::UnknownFormat { .. }) => return Err(error),
        Err(error) => return Ok(faulty(error.to_string())),
    };
    // SAFETY: reason 4 of `io/pinned.rs`, and reason 5 without a lock file beside writers. Nothing
    // is written before this returns.
    let snapshot = unsafe { Pinned::assume(&snapshot) };
    let mut audit = RecoveryAudit::new(record, listed(record, entry_extents));
    audit.walk(snapshot, snapshot.catalog());
    match TreeRoot::decode_of_names(&record.snapshots_root) {
        Ok(root) => audit.walk(snapshot, &root),
        Err(RootFault::Damaged(damage)) => audit.note(page, damage.0.to_owned()),
        Err(RootFault::Unknown(unknown)) => {
            return Err(unknown.error("the tree of named snapshots"));
        }
    }
    if audit.fault.is_none()
        && let Err(error) = audit.walk_named(snapshot)
    {
        audit.note(page, error.to_string());
    }
    if audit.fault.is_none()
        && let Err(error) = snapshot.load_space_map()
    {
        let page = match &error {
            Error::Corrupted { page, .. } => *page,
            _ => slot_page(record.slot),
        };
        audit.note(page, error.to_string());
    }
    Ok(RecordVerdict {
        fault: audit.fault,
        unverified: audit.unverified,
    })
}

/// Walks the young pages.
struct RecoveryAudit<'r> {
    written: Option<&'r [Extent]>,
    durable: TransactionId,
    seen: HashSet<PageNumber>,
    /// Number of pages that trees may still contain. It bounds the walk in a forged file with
    /// overlapping extents.
    pages_left: u64,
    /// The extent that the walk entered last, and (below) all extents that it found to be young.
    entered: Option<Extent>,
    young: Vec<Extent>,
    fault: Option<PageFault>,
    tables: Vec<TreeRoot>,
    /// A young table that this version does not know.
    unverified: Option<Vec<u8>>,
}

impl<'r> RecoveryAudit<'r> {
    fn new(record: &Record, written: Option<&'r [Extent]>) -> Self {
        Self {
            written,
            durable: record.flushed_transaction,
            seen: HashSet::new(),
            pages_left: record.page_count,
            entered: None,
            young: Vec::new(),
            fault: None,
            tables: Vec::new(),
            unverified: None,
        }
    }

    /// Walks a tree, and the tables that it names.
    fn walk(&mut self, snapshot: &PinnedSnapshot, root: &TreeRoot) {
        let pages = Prefault(snapshot);
        walk::walk(&pages, root, snapshot.transaction(), self);
        while let Some(table) = self.tables.pop() {
            if self.fault.is_some() {
                return;
            }
            walk::walk(&pages, &table, snapshot.transaction(), self);
        }
    }

    /// Walks the named snapshots, and the prepared transaction, that may not be on the disk. Pages
    /// that only they use are not listed.
    fn walk_named(&mut self, snapshot: &PinnedSnapshot) -> Result<()> {
        self.written = None;
        for (key, named) in snapshot.all_named()? {
            if named.transaction > self.durable && !planted!(VerifyNoNamed) {
                let catalog = TreeRoot::decode_of_names(&named.catalog);
                let catalog = catalog
                    .map_err(|fault| fault.at(PageNumber(0), "recovery", &key.to_string()))?;
                self.walk(snapshot, &catalog);
            }
        }
        Ok(())
    }

    fn note(&mut self, page: PageNumber, detail: String) {
        self.fault.get_or_insert(PageFault { page, detail });
    }
}

impl Visitor for RecoveryAudit<'_> {
    fn enter(&mut self, extent: Extent, role: PageRole) -> bool {
        let is_passed_over = planted!(VerifyNoValues) && role == PageRole::Value
            || planted!(VerifyRootOnly) && !self.seen.is_empty();
        if is_passed_over {
            return false;
        }
        let is_written = self.written.is_none_or(|extents| {
            let later = extents.partition_point(|written| written.start <= extent.start);
            later > 0 && u64::from(extent.start.0) < extents[later - 1].end()
        });
        self.entered = Some(extent);
        if self.fault.is_some() || !is_written || !self.seen.insert(extent.start) {
            return false;
        }
        match self.pages_left.checked_sub(u64::from(extent.len)) {
            Some(left) => self.pages_left = left,
            None => self.note(
                extent.start,
                "more pages are in use than the file has".to_owned(),
            ),
        }
        self.fault.is_none()
    }

    fn finding(&mut self, finding: Finding) {
        self.note(finding.page, finding.detail.to_owned());
    }

    fn record(&mut self, _leaf: PageNumber, key: &[u8], value: StoredValue<'_>) {
        if value.kind == ValueKind::Tree {
            match catalog::decode(PageNumber(0), value, &Comparisons::default()) {
                Ok(
                    CatalogEntry::Table(root)
                    | CatalogEntry::Unordered(root, _)
                    | CatalogEntry::Dropped(root),
                ) => {
                    self.tables.push(root);
                }
                Ok(CatalogEntry::Unknown(unknown)) if unknown.changed > self.durable => {
                    self.unverified.get_or_insert_with(|| key.to_vec());
                }
                Ok(CatalogEntry::Unknown(_)) => {}
                Err(error) => self.note(PageNumber(0), error.to_string()),
            }
        }
    }

    fn descend(&mut self, birth: TransactionId) -> bool {
        let is_young = birth > self.durable;
        self.young.extend(self.entered.filter(|_| is_young));
        is_young
    }
}
