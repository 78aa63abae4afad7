//! Recovery: which commit counts when a database is opened.
//!
//! A process that was killed loses nothing: everything that it wrote, including the newest record,
//! is in the system's cache. If the machine went down, the boot id in the record differs from the
//! present one, and a record may be on the disk without its pages. The records are then tried from
//! the newest on. Recovery walks the pages written since the last flushed commit that the record
//! names, and verifies their checksums. The first complete record wins. A record that is known to
//! have been durable but is not complete is an error (corruption) and not rolled back, because its
//! commit was acknowledged.
//!
//! This walk is also made after a process was killed. A flush may have failed before that, and the
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
//! The decision changes nothing, so a crash meanwhile leads to the same decision. The losing
//! records are erased afterwards, before their pages can be overwritten.

use crate::{
    Error, Extent, Result, TransactionId,
    io::{Mapping, Storage},
    planted::planted,
    record::{ERASED_LEN, Record, SLOT_COUNT},
};
use crate::{
    commit::journal::Redo,
    io::file_reads,
    observe::recovery::Recovery,
    open::{
        recovery_audit::{RecordVerdict, listed, verify, young_extents},
        slots::{CUT_SHORT, SlotRecords, acknowledged, is_cut_short, known_flushed, read_slots},
    },
    record::record_ref::slot_page,
};
use std::{io::IoSlice, path::Path, sync::Arc};

/// Bytes that are written again at once.
const CHUNK_LEN: u64 = 1 << 20;

/// The work to be done when a file is opened.
#[derive(Debug)]
pub(crate) enum Decision {
    Found(Box<RecoveredCommit>),
    /// The journal has commits that are nowhere else.
    ToRedo(Box<Redo>),
}

/// Reads the records and decides which one counts.
pub(crate) fn find(storage: &Arc<dyn Storage>, path: &Path, boot: [u8; 16]) -> Result<Decision> {
    let candidates = Candidates::read(storage, path, boot)?;
    if candidates.has_entry_after(candidates.slots.newest()) {
        return Ok(candidates.into_redo());
    }
    candidates.refuse_cut_short()?;
    if candidates.is_cleanly_closed() {
        return Ok(Decision::Found(Box::new(candidates.closed())));
    }
    let choice = candidates.choose()?;
    candidates.refuse_lost_record(choice.record)?;
    if candidates.has_entry_after(choice.record) {
        return Ok(candidates.into_redo());
    }
    candidates.refuse_lost_entry(choice.record)?;
    Ok(Decision::Found(Box::new(candidates.recovered(choice))))
}

/// Everything that the decision depends on.
struct Candidates {
    slots: SlotRecords,
    /// The journal entries after the flushed commit.
    redo: Option<Redo>,
    mapping: Arc<Mapping>,
    file_len: u64,
    /// Whether the newest record was written since the machine started.
    is_same_boot: bool,
}

/// The newest commit that is whole.
struct Choice<'c> {
    record: &'c Record,
    unverified: Option<Vec<u8>>,
    /// Slots to erase: those whose record is not whole, and those without a readable record, even
    /// if they are erased already.
    losers: Vec<u8>,
    /// Why newer commits were lost, if any were.
    reason: Option<String>,
}

impl Candidates {
    fn read(storage: &Arc<dyn Storage>, path: &Path, boot: [u8; 16]) -> Result<Self> {
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        let file_len = storage.len();
        let slots = read_slots(&mapping, file_len, path)?;
        let redo = Redo::read(&mapping, file_len, &slots.records)?;
        Ok(Self {
            is_same_boot: slots.newest().boot_id == boot && boot != [0; 16],
            slots,
            redo,
            mapping,
            file_len,
        })
    }

    /// Whether the journal has commits after this one.
    fn has_entry_after(&self, record: &Record) -> bool {
        let redo = self.redo.as_ref();
        redo.is_some_and(|redo| redo.record.sequence > record.sequence)
    }

    fn into_redo(self) -> Decision {
        let redo = self.redo.expect("there is an entry after a commit");
        Decision::ToRedo(Box::new(redo))
    }

    /// Refuses a file that is shorter than its newest commit, although no crash can be the reason.
    fn refuse_cut_short(&self) -> Result<()> {
        let newest = self.slots.newest();
        let is_certain = newest.clean_close || self.is_same_boot;
        match is_certain && is_cut_short(newest, self.file_len) {
            true => Err(Error::corrupted(slot_page(newest.slot), "open", CUT_SHORT)),
            false => Ok(()),
        }
    }

    fn is_cleanly_closed(&self) -> bool {
        self.slots.newest().clean_close && self.slots.unreadable.is_empty()
    }

    /// The commit of a database that was closed cleanly.
    fn closed(&self) -> RecoveredCommit {
        let newest = self.slots.newest();
        let losers = self.slots.without_record();
        let flushed_slot = match losers.is_empty() {
            true => self.slots.flushed_slot(self.file_len),
            false => None,
        };
        RecoveredCommit {
            flushed_slot: flushed_slot.unwrap_or(newest.slot),
            is_on_disk: flushed_slot.is_some(),
            known_flushed: known_flushed(&self.slots.records),
            unverified: None,
            newest: newest.clone(),
            entry_extents: None,
            sequences: self.slots.sequences(),
            recovery: Recovery::Clean,
            losers,
        }
    }

    /// Verifies the commits from the newest on, and chooses the first one that is whole.
    fn choose(&self) -> Result<Choice<'_>> {
        let known_flushed = known_flushed(&self.slots.records);
        let mut losers = self.slots.without_record();
        let mut reason = self.slots.unreadable.first().map(|slot| {
            let page = slot_page(*slot);
            format!("page {page}: there is a commit record that cannot be read")
        });
        for record in &self.slots.records {
            let verdict = self.verify(record)?;
            let Some(fault) = verdict.fault else {
                return Ok(Choice {
                    record,
                    unverified: verdict.unverified,
                    losers,
                    reason,
                });
            };
            if record.transaction <= known_flushed {
                return Err(Error::corrupted(fault.page, "recovery", fault.detail));
            }
            reason.get_or_insert_with(|| format!("page {}: {}", fault.page, fault.detail));
            losers.push(record.slot);
        }
        let detail = format!("no commit is complete: {}", reason.unwrap_or_default());
        let page = slot_page(self.slots.newest().slot);
        Err(Error::corrupted(page, "recovery", detail))
    }

    fn verify(&self, record: &Record) -> Result<RecordVerdict> {
        planted!(TrustRecord => return Ok(RecordVerdict::default()));
        let extents = self.entry_extents_of(record);
        verify(record, extents.as_deref(), &self.mapping, self.file_len)
    }

    /// The extents that a commit has written, if it is that of the last journal entry. Its own list
    /// may have become too long.
    fn entry_extents_of(&self, record: &Record) -> Option<Vec<Extent>> {
        let redo = self.redo.as_ref();
        redo.filter(|redo| redo.record == *record)
            .map(Redo::extents)
    }

    /// Refuses a commit that is older than one of which the records say that it was durable.
    fn refuse_lost_record(&self, record: &Record) -> Result<()> {
        let known_flushed = known_flushed(&self.slots.records);
        if record.transaction >= known_flushed {
            return Ok(());
        }
        let detail = format!("the record of commit {known_flushed}, which was durable, is gone");
        Err(Error::corrupted(slot_page(record.slot), "recovery", detail))
    }

    /// Refuses a commit that is older than one that was acknowledged when it was in the journal.
    fn refuse_lost_entry(&self, record: &Record) -> Result<()> {
        let lost = acknowledged(&self.slots.records);
        if record.transaction >= lost {
            return Ok(());
        }
        let detail = format!("commit {lost}, which was durable, is missing from the journal");
        Err(Error::corrupted(slot_page(record.slot), "recovery", detail))
    }

    /// The chosen commit of a database that was not closed cleanly.
    fn recovered(&self, choice: Choice<'_>) -> RecoveredCommit {
        let (newest, to) = (self.slots.newest(), choice.record.transaction);
        assert!(
            to >= acknowledged(&self.slots.records),
            "a commit that was acknowledged as durable is not rolled back"
        );
        let from = match self.slots.unreadable.is_empty() {
            true => newest.transaction,
            false => newest.transaction.next(),
        };
        let recovery = match choice.reason {
            None if self.is_same_boot => Recovery::Killed { last: to },
            None => Recovery::Verified { last: to },
            Some(reason) => Recovery::RolledBack { from, to, reason },
        };
        RecoveredCommit {
            flushed_slot: choice.record.slot,
            is_on_disk: false,
            known_flushed: known_flushed(&self.slots.records),
            unverified: choice.unverified,
            newest: choice.record.clone(),
            entry_extents: self.entry_extents_of(choice.record),
            sequences: self.slots.sequences(),
            recovery,
            losers: choice.losers,
        }
    }
}

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
    pub(crate) flushed_slot: u8,
    /// Whether that record and its pages are on the disk, so that nothing has to be settled.
    is_on_disk: bool,
    /// The last transaction that the records prove to be on the disk. Once the database is settled,
    /// the newest transaction is too.
    pub(crate) known_flushed: TransactionId,
    /// A table that was changed since the last flushed commit, and that only a newer version can
    /// verify.
    pub(crate) unverified: Option<Vec<u8>>,
    /// Slots to erase: records that are incomplete or unreadable. Unreadable ones too, because
    /// after an erasure that was not flushed the disk may still have a record that the cache does
    /// not.
    losers: Vec<u8>,
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
    pub(crate) fn make_permanent(&self, storage: &Arc<dyn Storage>) -> Result<bool> {
        if self.is_on_disk {
            return Ok(true);
        }
        assert!(
            !self.losers.contains(&self.newest.slot),
            "the record that counts is not erased"
        );
        if !planted!(WriteNothingAgain) {
            write_again(&**storage, &self.newest, self.entry_extents.as_deref())?;
        }
        // Pages that are written again stay in the cache until they are on the disk.
        let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
        let verdict = verify(
            &self.newest,
            self.entry_extents.as_deref(),
            &mapping,
            storage.len(),
        )?;
        if verdict.fault.is_some() && !planted!(TrustRecord) {
            return Ok(false);
        }
        if !self.is_record_there(&mapping)? {
            return Ok(false);
        }
        let zeros = [0; ERASED_LEN];
        for &slot in &self.losers {
            planted!(KeepLosers => continue);
            let offset = u64::from(slot) * u64::from(self.newest.page_size);
            let erased = storage.write(offset, &[IoSlice::new(&zeros)]);
            erased.map_err(Error::io("erasing an incomplete commit record"))?;
        }
        planted!(SettleWithoutFlush => return Ok(true));
        storage.flush().map_err(Error::io("flushing the file"))?;
        Ok(true)
    }

    /// Whether the record that counts is still in its slot.
    fn is_record_there(&self, mapping: &Mapping) -> Result<bool> {
        let page_size = self.newest.page_size as usize;
        let mut image = vec![0; page_size];
        let offset = u64::from(self.newest.slot) * page_size as u64;
        let is_read = file_reads::copy(mapping, offset, &mut image)?;
        let there = Record::decode(&mapping.opened_record(image), self.newest.slot);
        Ok(is_read && there.is_ok_and(|record| record == self.newest))
    }
}

/// Writes everything after the last flushed commit again. If a flush failed before, even one by an
/// earlier opening, the system's cache has these pages but may count them as written although they
/// never reached the disk. Another flush would prove nothing about them.
fn write_again(
    storage: &dyn Storage,
    newest: &Record,
    entry_extents: Option<&[Extent]>,
) -> Result<()> {
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    let page_size = u64::from(newest.page_size);
    let listed = listed(newest, entry_extents);
    let mut extents = young_extents(newest, listed.is_some(), &mapping)?;
    extents.extend_from_slice(listed.unwrap_or_default());
    extents.push(Extent {
        start: slot_page(newest.slot),
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
