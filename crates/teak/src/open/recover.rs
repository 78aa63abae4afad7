//! Which commit counts when a database is opened.
//!
//! A process that was killed loses nothing: all that it wrote is in the system's cache, the newest
//! record with it. When the machine went down (the boot id in the record is another) a record may
//! be there without its pages. Then the records are tried from the newest on: the pages that were
//! written since the last durable commit are walked, and their checksums checked; the first record that
//! is whole wins. A record that is known to have been durable and is not whole is not rolled back
//! over, because its commit was promised: that is corruption.
//!
//! The same walk is made after a kill, since a flush may have failed before it, and the system may
//! have dropped from its cache what never reached the disk. Whatever the outcome, what is whole is
//! written once more, and flushed, before anything counts as durable: nobody can tell whether a flush
//! failed before, in this boot of the machine.
//!
//! The system may drop pages from its cache meanwhile, but none that were just written, so what was
//! written again, the record too, is verified once more, and if it is not whole any more it is decided anew.
//!
//! What the journal says is put in its place before: see [`journal`](super::journal).
//!
//! Deciding changes nothing, so a crash meanwhile leads to the same decision again. Only then are
//! the records that lost erased, before anything is written where their pages may be.

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

/// What was found at the head of a file.
#[derive(Debug)]
pub(crate) struct RecoveredCommit {
    pub(crate) newest: Record,
    /// What was written since the last flush, if it is the commit of an entry of the journal.
    entry_extents: Option<Vec<Extent>>,
    pub(crate) sequences: [u64; SLOT_COUNT as usize],
    pub(crate) recovery: Recovery,
    /// A slot whose record is surely on the disk, or will be once all is settled, of the same transaction as the newest.
    pub(crate) durable_slot: u8,
    /// Whether that and all else is on the disk, and nothing has to be settled.
    is_on_disk: bool,
    /// The last transaction that the records prove to be on the disk; once all is settled the newest
    /// one is, too.
    pub(crate) known_durable: TransactionId,
    /// A table that was changed since the last durable commit, and that only a newer version can
    /// verify.
    pub(crate) unverified: Option<Vec<u8>>,
    /// Slots of records that are not whole, or that cannot be read, to be erased. The latter too:
    /// where an erasure was not flushed, the disk may still have what the cache has not.
    losers: Vec<u8>,
}

/// What is to be done at the head of a file.
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
    // What the commit of the last entry has written, whose own list may have become too long.
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
                let detail = format!("commit {lost}, which was durable, is in the journal no more");
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
        format!("no commit is whole: {detail}"),
    ))
}

/// A slot with a record of a database that was closed of which it is certain that it is on the disk, if there is one. Those of the
/// clean close may be in the system's cache only, if their flush failed or the process ended before it; then the file was
/// not cut yet, and the record that they repeat is on the disk. If that one speaks of a longer file, and the file is as long,
/// nobody can tell: it may have been cut, and have become longer again since.
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
    /// Makes what was decided hold: nothing of what lost is left, and all that counts is on disk.
    /// Says `false` if it is to be decided anew: pages that were whole are not any more, or the record is not
    /// there, since the system has dropped them from its cache meanwhile, and the disk never had them.
    ///
    /// A database that was closed needs this too where a slot has no record, which may have been erased by an opening whose
    /// flush failed, and still be on the disk; and where it is uncertain which record is on the disk.
    pub(crate) fn settle(&self, storage: &Arc<dyn Storage>) -> Result<bool> {
        if self.is_on_disk {
            return Ok(true);
        }
        if !is_planted(Planted::WriteNothingAgain) {
            self.write_again(&**storage)?;
        }
        // What is written again stays in the cache until it is on the disk.
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
            erased.map_err(Error::io("erasing a commit record that is not whole"))?;
        }
        if !is_planted(Planted::SettleWithoutFlush) {
            storage.flush().map_err(Error::io("flushing the file"))?;
        }
        Ok(true)
    }

    /// Whether the record that counts is still the one in its slot.
    fn is_record_there(&self, mapping: &Mapping) -> Result<bool> {
        let page_size = self.newest.page_size as usize;
        let mut image = vec![0; page_size];
        let offset = u64::from(self.newest.slot) * page_size as u64;
        let is_read = file_reads::copy(mapping, offset, &mut image)?;
        let there = Record::decode(&image, self.newest.slot);
        Ok(is_read && there.is_ok_and(|record| record == self.newest))
    }

    /// Writes all that came after the last durable commit again. If a flush failed before, that of
    /// an earlier opening included, the system's cache has these pages, but may count them as
    /// written although they never reached the disk; another flush would say nothing about them.
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

/// All runs that were written since the last flush, by the record's own list or by that of an entry of the journal.
fn listed<'r>(record: &'r Record, entry_extents: Option<&'r [Extent]>) -> Option<&'r [Extent]> {
    record.written.as_deref().or(entry_extents)
}

/// All runs that are younger than the last durable commit and that are not listed.
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

/// What stands in the slots.
struct SlotRecords {
    /// At least one.
    records: Vec<Record>,
    /// Slots with something else than a record, and not erased.
    unreadable: Vec<u8>,
}

/// Reads all slots of the file; an error if there is no record.
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
            // Whatever it says, it is the newer version's to go on from there.
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

/// Damage in what a record needs.
#[derive(Debug)]
struct PageFault {
    page: PageNumber,
    detail: String,
}

/// What is to be said of a record.
#[derive(Default, Debug)]
struct RecordVerdict {
    fault: Option<PageFault>,
    unverified: Option<Vec<u8>>,
}

/// Looks through all that was written since the last durable commit before this one.
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

/// Walks what is young.
struct RecoveryAudit<'r> {
    written: Option<&'r [Extent]>,
    durable: TransactionId,
    seen: HashSet<PageNumber>,
    /// Pages that trees may still have: a forged file makes runs overlap.
    pages_left: u64,
    /// What the walk entered last, and all that it found to be young.
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

    /// Walks the named snapshots that may not be on the disk. What they use and the newest state does not is not listed.
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
                "more pages are used than there are".to_owned(),
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
