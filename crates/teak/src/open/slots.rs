//! The commit records in the slots of a file, when it is opened.

use super::encryption;
use crate::{
    Error, Result, TransactionId,
    io::{Mapping, file_reads},
    record::{
        Record, RecordFault, SLOT_COUNT, is_erased,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::{cmp::Reverse, path::Path};

pub(super) const CUT_SHORT: &str = "the file is shorter than the commit says";

/// Whether the file is shorter than a commit says.
pub(super) fn is_cut_short(record: &Record, file_len: u64) -> bool {
    record
        .page_count
        .saturating_mul(u64::from(record.page_size))
        > file_len
}

/// Whether the records of an encrypted file can be decrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyPresence {
    Missing,
    /// A record that is still encrypted is not authentic.
    Known,
}

impl KeyPresence {
    /// The key of the file of a mapping.
    pub(super) fn of(mapping: &Mapping) -> Self {
        match mapping.codec().is_some() {
            true => Self::Known,
            false => Self::Missing,
        }
    }
}

/// The content of the slots.
pub(crate) struct SlotRecords {
    /// Records of the database that the newest one belongs to, the newest first.
    pub(crate) records: Vec<Record>,
    /// Why some slots have no readable record.
    pub(crate) faults: Vec<(u8, RecordFault)>,
    /// Slots that contain neither a record nor an erasure.
    pub(super) unreadable: Vec<u8>,
}

impl SlotRecords {
    /// Reads all slots at the beginning of a file. A record of a newer version is an error: only
    /// that version may continue from there.
    pub(crate) fn decode(head: &[u8]) -> Result<Self, RecordFault> {
        Self::decode_opened(head, KeyPresence::Missing, |image| image)
    }

    /// Like [`Self::decode`]. `open` decrypts the records of an encrypted file if the key is known.
    pub(crate) fn decode_opened(
        head: &[u8],
        key: KeyPresence,
        open: impl Fn(Vec<u8>) -> Vec<u8>,
    ) -> Result<Self, RecordFault> {
        let page_size = find_page_size(head)?;
        let (mut records, mut faults, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for slot in 0..SLOT_COUNT {
            let image = head.chunks(page_size as usize).nth(slot.into());
            let image = image.unwrap_or_default();
            match Record::decode(&open(image.to_vec()), slot) {
                Ok(record) if record.page_size == page_size => records.push(record),
                Ok(_) => {}
                Err(RecordFault::Encrypted(_)) if key == KeyPresence::Known => {
                    unreadable.push(slot);
                    faults.push((slot, RecordFault::Inconsistent("it is not authentic")));
                }
                Err(fault @ RecordFault::Encrypted(_)) => return Err(fault),
                Err(fault @ (RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_))) => {
                    return Err(fault);
                }
                Err(fault) => {
                    unreadable.extend((!is_erased(image)).then_some(slot));
                    faults.push((slot, fault));
                }
            }
        }
        records.sort_by_key(|record: &Record| Reverse(record.sequence));
        let id = records.first().map(|record| record.database_id);
        records.retain(|record| Some(record.database_id) == id);
        Ok(Self {
            records,
            faults,
            unreadable,
        })
    }

    /// The record of the newest commit.
    pub(super) fn newest(&self) -> &Record {
        &self.records[0]
    }

    /// The sequence of the record in each slot.
    pub(super) fn sequences(&self) -> [u64; SLOT_COUNT as usize] {
        let mut sequences = [0; SLOT_COUNT as usize];
        for record in &self.records {
            sequences[usize::from(record.slot)] = record.sequence;
        }
        sequences
    }

    /// Slots without a record.
    pub(super) fn without_record(&self) -> Vec<u8> {
        let is_unread = |slot: &u8| self.records.iter().all(|record| record.slot != *slot);
        (0..SLOT_COUNT).filter(is_unread).collect()
    }

    /// A slot whose record of a cleanly closed database is certainly on the disk, if there is one.
    /// The two records of the clean close may only be in the system's cache, if their flush failed
    /// or the process ended before it. The file was not truncated in that case, and the record that
    /// they repeat is on the disk. If that record refers to a longer file, and the file has that
    /// length, the answer is unknown: the file may have been truncated and have grown again since.
    pub(super) fn flushed_slot(&self, file_len: u64) -> Option<u8> {
        let newest = self.newest();
        let repeated = self
            .records
            .iter()
            .find(|record| !record.clean_close && record.transaction == newest.transaction);
        match repeated {
            Some(record) if is_cut_short(record, file_len) => Some(newest.slot),
            Some(record) => (record.page_count <= newest.page_count).then_some(record.slot),
            None => Some(newest.slot),
        }
    }
}

/// Reads all slots of the file. Fails if there is no record.
pub(super) fn read_slots(mapping: &Mapping, file_len: u64, path: &Path) -> Result<SlotRecords> {
    let mut head = vec![0; file_len.min(PROBE_LEN as u64) as usize];
    let read = match file_reads::copy(mapping, 0, &mut head)? {
        true => {
            let open = |image| mapping.opened_record(image);
            SlotRecords::decode_opened(&head, KeyPresence::of(mapping), open)
        }
        false => Err(RecordFault::NotARecord),
    };
    let found = read.and_then(|mut slots| match slots.records.is_empty() {
        true => Err((slots.faults.pop()).map_or(RecordFault::NotARecord, |(_, fault)| fault)),
        false => Ok(slots),
    });
    found.map_err(|fault| refusal(&fault, path, ""))
}

/// The error for a file without a record, with a supplement to the reason.
pub(crate) fn refusal(fault: &RecordFault, path: &Path, supplement: &str) -> Error {
    match fault {
        RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_) => {
            Error::unknown_format(fault.to_string()).at(path)
        }
        RecordFault::Encrypted(_) => encryption::key_needed(path),
        fault => Error::NotADatabase {
            path: path.to_path_buf(),
            reason: format!("{fault}{supplement}"),
        },
    }
}

/// The last transaction that the records prove to be on the disk.
pub(crate) fn known_flushed(records: &[Record]) -> TransactionId {
    let proven = records.iter().map(|record| match record.clean_close {
        true => record.transaction,
        false => record.flushed_transaction,
    });
    proven.max().unwrap_or_default()
}

/// The last transaction that the records report as durable, by a flush or by the journal.
pub(crate) fn acknowledged(records: &[Record]) -> TransactionId {
    let acknowledged = records.iter().map(|record| record.acknowledged).max();
    acknowledged.unwrap_or_default().max(known_flushed(records))
}
