//! Recovery: which commit counts when a database is opened.
//!
//! A process that was killed loses nothing: everything that it wrote, including the newest record,
//! is in the system's cache. If the machine went down, the boot id in the record differs from the
//! present one, and a record may be on the disk without its pages. The records are then tried from
//! the newest on. Recovery walks the pages written since the last durable commit and verifies their
//! checksums. The first complete record wins. A record that is known to have been durable but is
//! not complete is an error (corruption) and not rolled back, because its commit was acknowledged.
//!
//! The same walk is made after a process was killed. A flush may have failed before that, and the
//! system may have dropped pages from its cache that never reached the disk. In all cases the
//! complete state is written once more and flushed before anything counts as durable, because it is
//! unknown whether an earlier flush failed during this boot of the machine.
//!
//! The system may drop older pages from its cache meanwhile, but not pages that were just written.
//! After the rewrite, pages and record are therefore verified once more. If they are not complete
//! any more, the decision starts again.
//!
//! The changes of the journal are applied first: see [`journal`](crate::commit::journal).
//!
//! The decision changes nothing, so a crash meanwhile leads to the same decision. Only after it are
//! the losing records erased, before anything is written where their pages may be.

use crate::{
    Error, Extent, PageNumber, Result, TransactionId,
    btree::{
        RootFault, TreeRoot,
        walk::{self, Finding, PageRole, Visitor},
    },
    io::{Mapping, Storage},
    page::{
        comparison::Comparisons,
        value::{StoredValue, ValueKind},
    },
    planted::{Planted, is_planted},
    record::{
        ERASED_LEN, Record, RecordFault, SLOT_COUNT, is_erased,
        probe::{PROBE_LEN, find_page_size},
    },
};
use crate::{
    commit::journal::Redo,
    io::file_reads,
    observe::recovery::Recovery,
    read::{
        catalog::{self, CatalogEntry},
        named_list,
        prefault::Prefault,
        snapshot::Snapshot,
    },
    record::record_ref::slot_page,
};
use std::{collections::HashSet, io::IoSlice, path::Path, sync::Arc};

/// The commit that counts, and what was found with it.
#[derive(Debug)]
pub(crate) struct RecoveredCommit {
    pub(crate) newest: Record,
    /// Extents written since the last flush, if the commit is that of a journal entry.
    entry_extents: Option<Vec<Extent>>,
    pub(crate) sequences: [u64; SLOT_COUNT as usize],
    pub(crate) recovery: Recovery,
    /// A slot with a record of the same transaction as the newest. The record is certainly on the
    /// disk, or will be once the database is settled.
    pub(crate) durable_slot: u8,
    /// Whether that record and its pages are on the disk, so that nothing has to be settled.
    is_on_disk: bool,
    /// The last transaction that the records prove to be on the disk. Once the database is settled,
    /// the newest transaction is too.
    pub(crate) known_durable: TransactionId,
    /// A table that was changed since the last durable commit, and that only a newer version can
    /// verify.
    pub(crate) unverified: Option<Vec<u8>>,
    /// Slots to erase: records that are incomplete or unreadable. Unreadable ones too, because
    /// after an erasure that was not flushed the disk may still have a record that the cache does
    /// not.
    losers: Vec<u8>,
}

/// What has to be done when a file is opened.
#[derive(Debug)]
pub(crate) enum Decision {
    Found(Box<RecoveredCommit>),
    /// The journal has commits that are nowhere else.
    ToRedo(Box<Redo>),
}

/// Reads the records and decides which one counts.
pub(crate) fn find(storage: &Arc<dyn Storage>, path: &Path, boot: [u8; 16]) -> Result<Decision> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let SlotRecords {
        mut records,
        unreadable,
    } = read_slots(&mapping, storage.len(), path)?;
    records.sort_by_key(|record| std::cmp::Reverse(record.sequence));
    let redo = Redo::read(&mapping, storage.len(), &records)?;
    let redo = match redo {
        Some(redo) if redo.record.sequence > records[0].sequence => {
            return Ok(Decision::ToRedo(Box::new(redo)));
        }
        redo => redo,
    };
    // The extents written by the commit of the last entry, whose own list may have become too long.
    let entry_extents = redo.as_ref().map(Redo::extents);
    let entry_extents_of = |record: &Record| match &redo {
        Some(redo) if redo.record == *record => entry_extents.as_deref(),
        _ => None,
    };
    let mut sequences = [0; SLOT_COUNT as usize];
    for record in &records {
        sequences[usize::from(record.slot)] = record.sequence;
    }
    let known_durable = records
        .iter()
        .map(|record| match record.clean_close {
            true => record.transaction,
            false => record.durable_transaction,
        })
        .max()
        .unwrap_or_default();
    let newest = &records[0];
    let is_same_boot = newest.boot_id == boot && boot != [0; 16];
    if (newest.clean_close || is_same_boot) && is_cut_short(newest, storage.len()) {
        return Err(Error::corrupted(slot_page(newest.slot), "open", CUT_SHORT));
    }
    let is_unread = |slot: &u8| records.iter().all(|record| record.slot != *slot);
    let mut losers: Vec<u8> = (0..SLOT_COUNT).filter(is_unread).collect();
    if newest.clean_close && unreadable.is_empty() {
        let durable_slot = match losers.is_empty() {
            true => durable_slot(&records, storage.len()),
            false => None,
        };
        return Ok(Decision::Found(Box::new(RecoveredCommit {
            durable_slot: durable_slot.unwrap_or(newest.slot),
            is_on_disk: durable_slot.is_some(),
            known_durable,
            unverified: None,
            newest: newest.clone(),
            entry_extents: None,
            sequences,
            recovery: Recovery::Clean,
            losers,
        })));
    }
    let mut reason = unreadable.first().map(|slot| {
        let page = slot_page(*slot);
        format!("page {page}: there is a commit record that cannot be read")
    });
    let from = match &reason {
        Some(_) => newest.transaction.next(),
        None => newest.transaction,
    };
    for record in &records {
        let verdict = match is_planted(Planted::TrustRecord) {
            true => RecordVerdict::default(),
            false => verify(record, entry_extents_of(record), &mapping, storage.len())?,
        };
        let Some(fault) = verdict.fault else {
            let to = record.transaction;
            if to < known_durable {
                let detail =
                    format!("the record of commit {known_durable}, which was durable, is gone");
                return Err(Error::corrupted(slot_page(record.slot), "recovery", detail));
            }
            let entry_extents = entry_extents_of(record).map(<[Extent]>::to_vec);
            if let Some(redo) = redo.filter(|redo| redo.record.sequence > record.sequence) {
                return Ok(Decision::ToRedo(Box::new(redo)));
            }
            let acknowledged = records.iter().map(|record| record.acknowledged).max();
            if let Some(lost) = acknowledged.filter(|acknowledged| to < *acknowledged) {
                let detail =
                    format!("commit {lost}, which was durable, is missing from the journal");
                return Err(Error::corrupted(slot_page(record.slot), "recovery", detail));
            }
            let recovery = match reason {
                None if is_same_boot => Recovery::Killed { last: to },
                None => Recovery::Verified { last: to },
                Some(reason) => Recovery::RolledBack { from, to, reason },
            };
            return Ok(Decision::Found(Box::new(RecoveredCommit {
                durable_slot: record.slot,
                is_on_disk: false,
                known_durable,
                unverified: verdict.unverified,
                newest: record.clone(),
                entry_extents,
                sequences,
                recovery,
                losers,
            })));
        };
        if record.transaction <= known_durable {
            return Err(Error::corrupted(fault.page, "recovery", fault.detail));
        }
        reason.get_or_insert_with(|| format!("page {}: {}", fault.page, fault.detail));
        losers.push(record.slot);
    }
    let detail = reason.unwrap_or_default();
    Err(Error::corrupted(
        slot_page(newest.slot),
        "recovery",
        format!("no commit is complete: {detail}"),
    ))
}

/// A slot whose record of a cleanly closed database is certainly on the disk, if there is one. The
/// two records of the clean close may only be in the system's cache, if their flush failed or the
/// process ended before it. The file was not truncated in that case, and the record that they
/// repeat is on the disk. If that record refers to a longer file, and the file has that length, the
/// answer is unknown: the file may have been truncated and have grown again since.
fn durable_slot(records: &[Record], file_len: u64) -> Option<u8> {
    let newest = &records[0];
    let repeated = records
        .iter()
        .find(|record| !record.clean_close && record.transaction == newest.transaction);
    match repeated {
        Some(record) if is_cut_short(record, file_len) => Some(newest.slot),
        Some(record) => (record.page_count <= newest.page_count).then_some(record.slot),
        None => Some(newest.slot),
    }
}

const CUT_SHORT: &str = "the file is shorter than the commit says";

fn is_cut_short(record: &Record, file_len: u64) -> bool {
    record
        .page_count
        .saturating_mul(u64::from(record.page_size))
        > file_len
}

impl RecoveredCommit {
    /// Makes the decision permanent: no losing record is left, and the complete state is on the
    /// disk. Returns `false` if the decision must be repeated, because pages are no longer complete
    /// or the record is gone. In that case the system has dropped them from its cache meanwhile,
    /// and the disk never had them.
    ///
    /// A cleanly closed database needs this too in two cases: if a slot has no record, because an
    /// opening may have erased it without a successful flush, so that the disk still has it; and if
    /// it is uncertain which record is on the disk.
    pub(crate) fn settle(&self, storage: &Arc<dyn Storage>) -> Result<bool> {
        if self.is_on_disk {
            return Ok(true);
        }
        if !is_planted(Planted::WriteNothingAgain) {
            self.write_again(&**storage)?;
        }
        // Pages that are written again stay in the cache until they are on the disk.
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        let verdict = verify(
            &self.newest,
            self.entry_extents.as_deref(),
            &mapping,
            storage.len(),
        )?;
        if verdict.fault.is_some() && !is_planted(Planted::TrustRecord) {
            return Ok(false);
        }
        if !self.is_record_there(&mapping)? {
            return Ok(false);
        }
        let zeros = [0; ERASED_LEN];
        for &slot in &self.losers {
            if is_planted(Planted::KeepLosers) {
                continue;
            }
            let offset = u64::from(slot) * u64::from(self.newest.page_size);
            let erased = storage.write(offset, &[IoSlice::new(&zeros)]);
            erased.map_err(Error::io("erasing an incomplete commit record"))?;
        }
        if !is_planted(Planted::SettleWithoutFlush) {
            storage.flush().map_err(Error::io("flushing the file"))?;
        }
        Ok(true)
    }

    /// Whether the record that counts is still in its slot.
    fn is_record_there(&self, mapping: &Mapping) -> Result<bool> {
        let page_size = self.newest.page_size as usize;
        let mut image = vec![0; page_size];
        let offset = u64::from(self.newest.slot) * page_size as u64;
        let is_read = file_reads::copy(mapping, offset, &mut image)?;
        let there = Record::decode(&image, self.newest.slot);
        Ok(is_read && there.is_ok_and(|record| record == self.newest))
    }

    /// Writes everything after the last durable commit again. If a flush failed before, even one by
    /// an earlier opening, the system's cache has these pages but may count them as written
    /// although they never reached the disk. Another flush would prove nothing about them.
    fn write_again(&self, storage: &dyn Storage) -> Result<()> {
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        let page_size = u64::from(self.newest.page_size);
        let listed = listed(&self.newest, self.entry_extents.as_deref());
        let mut extents = young_extents(&self.newest, listed.is_some(), &mapping)?;
        extents.extend_from_slice(listed.unwrap_or_default());
        extents.push(Extent {
            start: slot_page(self.newest.slot),
            len: 1,
        });
        extents.sort_unstable_by_key(|extent| extent.start);
        let longest = extents
            .iter()
            .map(|extent| u64::from(extent.len))
            .max()
            .unwrap_or(0)
            * page_size;
        let mut chunk = vec![0; longest.min(CHUNK_LEN.max(page_size)) as usize];
        for extent in extents {
            let (mut start, end) = (
                u64::from(extent.start.0) * page_size,
                extent.end() * page_size,
            );
            while start < end {
                let len = (end - start).min(chunk.len() as u64) as usize;
                let part = &mut chunk[..len];
                if file_reads::copy(&mapping, start, part)? {
                    let written = storage.write(start, &[IoSlice::new(part)]);
                    written.map_err(Error::io("writing pages again"))?;
                }
                start += part.len() as u64;
            }
        }
        Ok(())
    }
}

/// Bytes that are written again at once.
const CHUNK_LEN: u64 = 1 << 20;

/// All extents written since the last flush, from the record's own list or from that of a journal
/// entry.
fn listed<'r>(record: &'r Record, entry_extents: Option<&'r [Extent]>) -> Option<&'r [Extent]> {
    record.written.as_deref().or(entry_extents)
}

/// All extents that are younger than the last durable commit and not listed.
fn young_extents(record: &Record, are_listed: bool, mapping: &Arc<Mapping>) -> Result<Vec<Extent>> {
    let snapshot = Snapshot::unchecked(record.clone(), Arc::clone(mapping))?;
    let mut audit = RecoveryAudit::new(record, None);
    if are_listed {
        audit.walk_named(&snapshot)?;
        return Ok(audit.young);
    }
    audit.walk(&snapshot, snapshot.catalog());
    audit.walk(&snapshot, &named_list::root(record)?);
    audit.walk_named(&snapshot)?;
    let mut extents = audit.young;
    let own = snapshot.load_space_map()?.classify().own;
    extents.extend(own.into_iter().map(|start| Extent { start, len: 1 }));
    Ok(extents)
}

/// The content of the slots.
struct SlotRecords {
    /// At least one record.
    records: Vec<Record>,
    /// Slots that contain neither a record nor an erasure.
    unreadable: Vec<u8>,
}

/// Reads all slots of the file. Fails if there is no record.
fn read_slots(mapping: &Mapping, file_len: u64, path: &Path) -> Result<SlotRecords> {
    let mut head = vec![0; file_len.min(PROBE_LEN as u64) as usize];
    let not_a_database = |fault: RecordFault| match fault {
        RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_) => {
            Error::UnknownFormat(fault.to_string())
        }
        fault => Error::NotADatabase {
            path: path.to_path_buf(),
            reason: fault.to_string(),
        },
    };
    if !file_reads::copy(mapping, 0, &mut head)? {
        return Err(not_a_database(RecordFault::NotARecord));
    }
    let page_size = find_page_size(&head).map_err(not_a_database)?;
    let mut records: Vec<Record> = Vec::new();
    let mut unreadable = Vec::new();
    let mut fault = RecordFault::NotARecord;
    for slot in 0..SLOT_COUNT {
        let start = (usize::from(slot) * page_size as usize).min(head.len());
        let end = (start + page_size as usize).min(head.len());
        match Record::decode(&head[start..end], slot) {
            Ok(record) if record.page_size == page_size => records.push(record),
            Ok(_) => {}
            // Whatever it contains, only the newer version may continue from there.
            Err(found @ (RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_))) => {
                return Err(not_a_database(found));
            }
            Err(found) => {
                if !is_erased(&head[start..end]) {
                    unreadable.push(slot);
                }
                fault = found;
            }
        }
    }
    let id = records
        .iter()
        .max_by_key(|record| record.sequence)
        .map(|record| record.database_id);
    records.retain(|record| Some(record.database_id) == id);
    if records.is_empty() {
        return Err(not_a_database(fault));
    }
    Ok(SlotRecords {
        records,
        unreadable,
    })
}

/// Damage to a page that a record needs.
#[derive(Debug)]
struct PageFault {
    page: PageNumber,
    detail: String,
}

/// The result of verifying a record.
#[derive(Default, Debug)]
struct RecordVerdict {
    fault: Option<PageFault>,
    unverified: Option<Vec<u8>>,
}

/// Verifies everything that was written between the last durable commit and this one.
fn verify(
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
        Err(error @ Error::UnknownFormat(_)) => return Err(error),
        Err(error) => return Ok(faulty(error.to_string())),
    };
    let mut audit = RecoveryAudit::new(record, listed(record, entry_extents));
    audit.walk(&snapshot, snapshot.catalog());
    match TreeRoot::decode_of_names(&record.snapshots_root) {
        Ok(root) => audit.walk(&snapshot, &root),
        Err(RootFault::Damaged(damage)) => audit.note(page, damage.0.to_owned()),
        Err(RootFault::Unknown(unknown)) => {
            return Err(unknown.error("the tree of named snapshots"));
        }
    }
    if audit.fault.is_none()
        && let Err(error) = audit.walk_named(&snapshot)
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
            durable: record.durable_transaction,
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
    fn walk(&mut self, snapshot: &Snapshot, root: &TreeRoot) {
        let pages = Prefault(snapshot);
        walk::walk(&pages, root, snapshot.transaction(), self);
        while let Some(table) = self.tables.pop() {
            if self.fault.is_some() {
                return;
            }
            walk::walk(&pages, &table, snapshot.transaction(), self);
        }
    }

    /// Walks the named snapshots that may not be on the disk. Pages that only they use are not
    /// listed.
    fn walk_named(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.written = None;
        for (name, named) in snapshot.all_named()? {
            if named.transaction > self.durable && !is_planted(Planted::VerifyNoNamed) {
                let catalog = TreeRoot::decode_of_names(&named.catalog);
                let catalog = catalog.map_err(|fault| {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    fault.at(PageNumber(0), "recovery", &format!("the snapshot {name:?}"))
                })?;
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
        let is_passed_over = is_planted(Planted::VerifyNoValues) && role == PageRole::Value
            || is_planted(Planted::VerifyRootOnly) && !self.seen.is_empty();
        if is_passed_over {
            return false;
        }
        let is_written = self.written.is_none_or(|extents| {
            let behind = extents.partition_point(|written| written.start <= extent.start);
            behind > 0 && u64::from(extent.start.0) < extents[behind - 1].end()
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
