//! Makes damaged bytes pass for written ones: an attacker can compute checksums too.

use super::forge::state_offsets;
use crate::{
    Checksum, PageNumber,
    btree::TreeRoot,
    commit::journal::changed,
    page::{
        header::{HEADER_LEN, Header, PageKind},
        inner::{self, Inner},
        leaf::Leaf,
        value::{ValueExtent, ValueKind},
    },
    record::{Record, SLOT_COUNT, probe::find_page_size},
};
use std::ops::Range;

/// Levels of pages that are repaired at most, from the lowest to the highest: what goes round is
/// never right.
const ROUNDS: usize = 45;
/// Where a record has its checksum, its length, and the first byte that the checksum covers.
const CHECKSUM: Range<usize> = 8..16;
const LENGTH: Range<usize> = 16..20;
const CHECKED_FROM: usize = 16;
/// Where an entry of a journal has the checksum of the one before; its own checksum and length are
/// where a record has its checksum and length.
const PREVIOUS_CHECKSUM: Range<usize> = 24..32;
/// Where the root of a tree has the checksum of its page.
const ROOT_CHECKSUM: Range<usize> = 8..16;

/// Gives records their checksums, and every reference to a page the present checksum of the page.
pub fn repair(image: &mut [u8]) {
    let damaged = image.to_vec();
    for start in [0, 4096, 8192, 12288] {
        repair_checksum(image.get_mut(start..).unwrap_or_default());
    }
    let page_size = find_page_size(image).map_or(4096, |bytes| bytes as usize);
    for slot in 1..usize::from(SLOT_COUNT) {
        repair_checksum(image.get_mut(slot * page_size..).unwrap_or_default());
    }
    for _ in 0..ROUNDS {
        let pages = usize::from(SLOT_COUNT)..image.len() / page_size;
        let changed = pages.filter(|number| repair_page(image, page_size, *number));
        if changed.count() == 0 {
            break;
        }
    }
    for slot in 0..SLOT_COUNT {
        repair_record(image, page_size, slot);
    }
    repair_chain(image, &damaged, page_size, repair_checksum);
}

/// Takes from the records what differs from one run to the next: the id of the database, and times.
pub fn anonymize(image: &mut [u8]) {
    let named = image.to_vec();
    let page_size = find_page_size(image).map_or(4096, |bytes| bytes as usize);
    for page in image.chunks_exact_mut(page_size).take(SLOT_COUNT.into()) {
        anonymize_record(page);
    }
    repair_chain(image, &named, page_size, |record| {
        repair_checksum(record);
        anonymize_record(record);
    });
}

fn anonymize_record(page: &mut [u8]) {
    let decoded = (0..SLOT_COUNT).find_map(|slot| Record::decode(page, slot).ok());
    if let Some(mut record) = decoded {
        record.database_id = [7; 16];
        record.time_ms = 0;
        let bytes = record.encode(page.len());
        page[..bytes.len()].copy_from_slice(&bytes);
    }
}

/// Gives a commit record, or an entry of a journal, the checksum of its bytes.
pub fn repair_checksum(bytes: &mut [u8]) {
    let Some(length) = bytes.get(LENGTH) else {
        return;
    };
    let length = u32::from_le_bytes(length.try_into().unwrap_or_default()) as usize;
    let Some(checked) = bytes.get(CHECKED_FROM..length) else {
        return;
    };
    let checksum = Checksum::of(checked).0;
    bytes[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

/// The checksum of `len` bytes from a page on, if they are all there.
fn checksum_at(image: &[u8], page_size: usize, page: PageNumber, len: usize) -> Option<Checksum> {
    if page.0 < u32::from(SLOT_COUNT) {
        return None;
    }
    let start = page.index().checked_mul(page_size)?;
    image.get(start..start.checked_add(len)?).map(Checksum::of)
}

/// Corrects the checksums that a page of the tree, or a node of an array, holds. Says whether there
/// was anything to correct.
fn repair_page(image: &mut [u8], page_size: usize, number: usize) -> bool {
    let start = number * page_size;
    // Pages are read where words are aligned.
    let mut words = vec![0u64; page_size / 8];
    let page: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    page.copy_from_slice(&image[start..start + page_size]);
    match Header::read(page).kind() {
        Some(PageKind::Inner) => repair_inner(image, page),
        Some(PageKind::Leaf) => repair_leaf(image, page),
        Some(PageKind::Array) => repair_array(image, page),
        _ => return false,
    }
    let target = &mut image[start..start + page_size];
    let is_changed = target != page;
    target.copy_from_slice(page);
    is_changed
}

fn repair_inner(image: &[u8], page: &mut [u8]) {
    let count = Inner::parse(page).map_or(0, |inner| inner.count());
    for index in 0..count {
        let child = Inner::parse(page).and_then(|inner| inner.child(index));
        let checksum = child
            .ok()
            .and_then(|child| checksum_at(image, page.len(), child, page.len()));
        if let Some(checksum) = checksum {
            inner::set_checksum(page, index, checksum);
        }
    }
}

fn repair_array(image: &[u8], page: &mut [u8]) {
    let page_size = page.len();
    for entry in page[HEADER_LEN..].chunks_exact_mut(16) {
        let child = u32::from_le_bytes(entry[0..4].try_into().unwrap_or_default());
        if let Some(checksum) = checksum_at(image, page_size, PageNumber(child), page_size) {
            entry[8..16].copy_from_slice(&checksum.0.to_le_bytes());
        }
    }
}

fn repair_leaf(image: &[u8], page: &mut [u8]) {
    let page_size = page.len();
    let count = Leaf::parse(page).map_or(0, |leaf| leaf.count());
    for index in 0..count {
        let Ok(Ok(node)) = Leaf::parse(page).map(|leaf| leaf.node(index)) else {
            continue;
        };
        let bytes = node.value.bytes;
        // The empty values of a fixed leaf stand nowhere in it.
        let at = bytes.as_ptr().addr().wrapping_sub(page.as_ptr().addr());
        let repaired = match node.value.kind {
            ValueKind::Tree => repaired_root(image, page_size, bytes),
            ValueKind::Extent => {
                repaired_extent(image, page_size, bytes).map(|extent| extent.to_vec())
            }
            _ => None,
        };
        if let Some(repaired) = repaired {
            page[at..at + repaired.len()].copy_from_slice(&repaired);
        }
    }
    for at in state_offsets(page) {
        if let Some(repaired) = repaired_root(image, page_size, &page[at..at + 64]) {
            page[at..at + repaired.len()].copy_from_slice(&repaired);
        }
    }
}

fn repaired_root(image: &[u8], page_size: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let root = match TreeRoot::decode_inner(bytes) {
        Ok(nested) => nested,
        Err(_) => TreeRoot::decode_entry(bytes).ok()?.0,
    };
    let checksum = checksum_at(image, page_size, root.page, page_size)?;
    let mut repaired = bytes.to_vec();
    repaired[ROOT_CHECKSUM].copy_from_slice(&checksum.0.to_le_bytes());
    Some(repaired)
}

fn repaired_extent(image: &[u8], page_size: usize, bytes: &[u8]) -> Option<[u8; 32]> {
    let mut extent = ValueExtent::decode(bytes).ok()?;
    extent.checksum = checksum_at(image, page_size, extent.start, extent.len_bytes as usize)?;
    Some(extent.encode())
}

fn repair_record(image: &mut [u8], page_size: usize, slot: u8) {
    let start = usize::from(slot) * page_size;
    let bytes = image.get(start..start + page_size).unwrap_or_default();
    let Ok(mut record) = Record::decode(bytes, slot) else {
        return;
    };
    if record.page_size as usize != page_size {
        return;
    }
    for root in [&mut record.catalog_root, &mut record.snapshots_root] {
        let repaired = repaired_root(image, page_size, &*root);
        *root = repaired
            .and_then(|root| root.try_into().ok())
            .unwrap_or(*root);
    }
    let roots = &mut record.space_roots;
    for root in [&mut roots.bitmaps, &mut roots.deaths] {
        root.checksum =
            checksum_at(image, page_size, root.page, page_size).unwrap_or(root.checksum);
    }
    let bytes = record.encode(page_size);
    image[start..start + bytes.len()].copy_from_slice(&bytes);
}

/// Has the entries of the journal follow the present record, if they did so in `before`, and each
/// other, once their own records are changed.
fn repair_chain(image: &mut [u8], before: &[u8], page_size: usize, change: fn(&mut [u8])) {
    for slot in 0..SLOT_COUNT {
        let start = usize::from(slot) * page_size;
        let Some(page) = image.get(start..start + page_size) else {
            return;
        };
        let mut record = page.to_vec();
        let decoded = Record::decode(page, slot).ok();
        let journal = decoded.and_then(|record| record.journal);
        let entries = journal.and_then(|journal| {
            image.get_mut(journal.extent.start.index().saturating_mul(page_size)..)
        });
        let old_checksum = before.get(start..).and_then(|old| old.get(CHECKSUM));
        if let Some(entries) =
            entries.filter(|entries| entries.get(PREVIOUS_CHECKSUM) == old_checksum)
        {
            repair_entries(entries, &mut record, change);
        }
    }
}

fn repair_entries(mut journal: &mut [u8], record: &mut [u8], change: fn(&mut [u8])) {
    let mut checksum: [u8; 8] = record[CHECKSUM].try_into().unwrap_or_default();
    while let Some(len) = journal.get(LENGTH) {
        let len = u32::from_le_bytes(len.try_into().unwrap_or_default()) as usize;
        let room = len.next_multiple_of(record.len());
        if len < PREVIOUS_CHECKSUM.end || room > journal.len() {
            return;
        }
        let (entry, after) = std::mem::take(&mut journal).split_at_mut(room);
        entry[PREVIOUS_CHECKSUM].copy_from_slice(&checksum);
        match changed(&entry[..len], record, change) {
            Some(changed) if changed.len() <= room => {
                entry[..changed.len()].copy_from_slice(&changed)
            }
            _ => return repair_checksum(entry),
        }
        checksum = entry[CHECKSUM].try_into().unwrap_or_default();
        journal = after;
    }
}
