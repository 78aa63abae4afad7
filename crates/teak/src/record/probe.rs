//! Finds the page size of a file. It is stored in the records, which are at multiples of it.

use super::{Record, RecordFault, SLOT_COUNT, is_page_size};

/// Length of the beginning of the file that suffices to find a record with any page size.
pub(crate) const PROBE_LEN: usize = SLOT_COUNT as usize * PAGE_SIZE_MAX;

const PAGE_SIZE_MIN: usize = 4096;
const PAGE_SIZE_MAX: usize = 65536;

const _: () = assert!(
    is_page_size(PAGE_SIZE_MIN as u32) && is_page_size(PAGE_SIZE_MAX as u32),
    "the limits are page sizes that a record may have"
);
const _: () = assert!(
    !is_page_size(PAGE_SIZE_MIN as u32 / 2) && !is_page_size(PAGE_SIZE_MAX as u32 * 2),
    "a record may have no page size beyond the limits"
);

/// Returns the page size of a file that begins with `head`: its first [`PROBE_LEN`] bytes, or all
/// of it if it is shorter. A record counts only at the offset that its own page size and slot give.
///
/// # Errors
///
/// The fault of the records if none is usable: of several faults, the most informative one.
pub(crate) fn find_page_size(head: &[u8]) -> Result<u32, RecordFault> {
    let mut fault = RecordFault::NotARecord;
    let page_sizes = || (0..).map(|shift| PAGE_SIZE_MIN << shift);
    for slot in 0..SLOT_COUNT {
        for page_size in page_sizes().take_while(|size| *size <= PAGE_SIZE_MAX) {
            let at = head
                .get(usize::from(slot) * page_size..)
                .unwrap_or_default();
            match Record::decode(at, slot) {
                Ok(record) if slot == 0 || record.page_size as usize == page_size => {
                    return Ok(record.page_size);
                }
                Err(RecordFault::Encrypted(found)) if slot == 0 || found as usize == page_size => {
                    return Ok(found);
                }
                Err(found) if weight(&found) > weight(&fault) => fault = found,
                _ => {}
            }
        }
    }
    Err(fault)
}

/// Whether a file begins with bytes that may be a record.
pub(crate) fn begins_with_record(head: &[u8]) -> bool {
    head.starts_with(&super::MAGIC)
}

/// How informative a fault is about the file.
fn weight(fault: &RecordFault) -> u8 {
    match fault {
        RecordFault::NotARecord => 0,
        RecordFault::WrongSlot(_) => 1,
        RecordFault::Damaged => 2,
        RecordFault::Inconsistent(_) | RecordFault::Encrypted(_) => 3,
        RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_) => 4,
    }
}
