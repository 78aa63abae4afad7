//! Contents of the commit records of a file, for programs that judge the result of opening it.

use crate::{
    Options, TransactionId,
    open::encryption,
    record::{
        Record, SLOT_COUNT, is_erased,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::{ops::Range, path::Path};

/// The contents of a commit record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordSummary {
    /// The commit.
    pub transaction: TransactionId,
    /// Records with a higher number are newer.
    pub sequence: u64,
    /// Whether the database was closed.
    pub is_clean_close: bool,
    /// Whether there is something else that was to be a record, and cannot be read.
    pub has_unreadable_record: bool,
}

/// Bytes of a record that differ when the same is done again: checksum, database and boot, time.
const ACCIDENTS: [Range<usize>; 3] = [8..16, 56..88, 112..120];

/// The newest record that can be read, whether or not its pages are there.
#[must_use]
pub fn newest_record(image: &[u8]) -> Option<RecordSummary> {
    let page_size = find_page_size(image).ok()? as usize;
    let slots = (0..SLOT_COUNT).filter_map(|slot| {
        let bytes = image.get(usize::from(slot) * page_size..)?;
        Some((bytes, Record::decode(bytes, slot)))
    });
    let (mut newest, mut has_unreadable_record) = (None::<Record>, false);
    for (bytes, decoded) in slots {
        match decoded {
            Ok(record) if newest.as_ref().is_none_or(|n| record.sequence > n.sequence) => {
                newest = Some(record);
            }
            Ok(_) => {}
            Err(_) => has_unreadable_record |= !is_erased(bytes),
        }
    }
    newest.map(|record| RecordSummary {
        transaction: record.transaction,
        sequence: record.sequence,
        is_clean_close: record.clean_close,
        has_unreadable_record,
    })
}

/// The beginning of a file, with its commit records decrypted by the key of these options. Records
/// that the key does not open stay encrypted.
#[must_use]
pub fn decrypted_records(image: &[u8], options: &Options) -> Vec<u8> {
    let mut head = image[..image.len().min(PROBE_LEN)].to_vec();
    let codec = encryption::codec_of(&head, Path::new("simulated"), options.encryption());
    let (Ok(Some(codec)), Ok(page_size)) = (codec, find_page_size(&head)) else {
        return head;
    };
    let slots = head.chunks_mut(page_size as usize);
    for slot in slots.take(SLOT_COUNT.into()) {
        if let Some(record) = codec.open_record(slot) {
            slot.fill(0);
            slot[..record.len()].copy_from_slice(&record);
        }
    }
    head
}

/// A file after its journal was applied; `None` if the journal says nothing.
#[must_use]
pub fn redone(image: &[u8]) -> Option<Vec<u8>> {
    crate::commit::journal::redone(image)
}

/// Calls `inspect` with the file as it would be if nothing depended on the time, the machine and
/// chance: those bytes of the records are zero for that time.
pub fn without_accidents<R>(
    image: &mut [u8],
    page_size: usize,
    inspect: impl FnOnce(&[u8]) -> R,
) -> R {
    let mut saved = [0; 48 * SLOT_COUNT as usize];
    let mut saved_slots = saved.iter_mut();
    for at in accidents(image.len(), page_size) {
        if let Some(saved_slot) = saved_slots.next() {
            *saved_slot = std::mem::take(&mut image[at]);
        }
    }
    let result = inspect(image);
    for (at, byte) in accidents(image.len(), page_size).zip(saved) {
        image[at] = byte;
    }
    result
}

fn accidents(len: usize, page_size: usize) -> impl Iterator<Item = usize> {
    let slots = (0..usize::from(SLOT_COUNT)).map(move |slot| slot * page_size);
    let bytes = slots.flat_map(|slot| {
        let ranges = ACCIDENTS.into_iter();
        ranges.flat_map(move |range| slot + range.start..slot + range.end)
    });
    bytes.filter(move |at| *at < len)
}
