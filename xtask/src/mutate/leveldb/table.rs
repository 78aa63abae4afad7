//! Tables with other contents of blocks, or other blocks, and correct checksums.

use super::bytes::{change, put_varint, stored_checksum, varint};
use fastrand::Rng;

const FOOTER_LEN: usize = 48;
const MAGIC_LEN: usize = 8;
/// Bytes after the content of a block: its compression and its checksum.
const TRAILER_LEN: usize = 5;
const PLAIN: u8 = 0;
const SNAPPY: u8 = 1;

/// A block of a table, and the compression that its header names.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TableBlock {
    content: Vec<u8>,
    compression: u8,
}

/// The offset and the length of a block.
type BlockHandle = (u64, u64);

/// Changes one or several blocks of a table: those of data, the index, the index of other blocks,
/// or the footer. Handles are those of the new blocks, if they are not what changes.
pub(super) fn forge(table: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let footer = table.get(table.len().checked_sub(FOOTER_LEN)?..)?;
    let mut handles = footer;
    let _of_others = handle(&mut handles)?;
    let index = block(table, handle(&mut handles)?)?;
    let mut entries = index_entries(&index.content)?;
    let mut blocks = Vec::new();
    for (_, handle) in &entries {
        blocks.push(block(table, *handle)?);
    }
    let part = rng.u8(0..10);
    if part < 6 {
        let victim = rng.usize(0..blocks.len().max(1));
        change_block(blocks.get_mut(victim)?, rng);
    } else if part == 6 && blocks.len() > 1 {
        let (a, b) = (rng.usize(0..blocks.len()), rng.usize(0..blocks.len()));
        blocks.swap(a, b);
    }
    let mut forged = Vec::new();
    for (block, (_, handle)) in blocks.iter().zip(&mut entries) {
        *handle = append(&mut forged, block);
    }
    if part == 7 {
        let victim = rng.usize(0..entries.len());
        let (offset, len) = &mut entries[victim].1;
        *[offset, len][rng.usize(..2)] = [0, 1, 1 << 20, u64::MAX, rng.u64(..)][rng.usize(..5)];
    }
    // No filter.
    let empty = TableBlock {
        content: block_of(&[]),
        compression: PLAIN,
    };
    let of_others = append(&mut forged, &empty);
    let mut index = TableBlock {
        content: block_of(&entries),
        compression: PLAIN,
    };
    if part == 8 {
        change_block(&mut index, rng);
    }
    let index = append(&mut forged, &index);
    let mut new_footer = Vec::new();
    for (offset, len) in [of_others, index] {
        put_varint(&mut new_footer, offset);
        put_varint(&mut new_footer, len);
    }
    if part == 9 {
        change(&mut new_footer, rng);
    }
    new_footer.resize(FOOTER_LEN - MAGIC_LEN, 0);
    new_footer.extend(&footer[FOOTER_LEN - MAGIC_LEN..]);
    forged.extend(new_footer);
    Some(forged)
}

/// Changes the content of a block, sometimes before it is compressed.
fn change_block(block: &mut TableBlock, rng: &mut Rng) {
    for _ in 0..rng.usize(1..=3) {
        change(&mut block.content, rng);
    }
    if block.compression == PLAIN && rng.bool() {
        let compressed = snap::raw::Encoder::new().compress_vec(&block.content);
        if let Ok(compressed) = compressed {
            block.content = compressed;
            block.compression = SNAPPY;
        }
        if rng.u8(0..4) == 0 {
            change(&mut block.content, rng);
        }
    }
    if rng.u8(0..20) == 0 {
        block.compression = rng.u8(..);
    }
}

fn handle(bytes: &mut &[u8]) -> Option<BlockHandle> {
    Some((varint(bytes)?, varint(bytes)?))
}

/// A block, not compressed if possible.
fn block(table: &[u8], (offset, len): BlockHandle) -> Option<TableBlock> {
    let (offset, len) = (offset as usize, len as usize);
    let content = table.get(offset..offset.checked_add(len)?)?;
    let compression = *table.get(offset + len)?;
    let plain = match compression {
        SNAPPY => snap::raw::Decoder::new().decompress_vec(content).ok(),
        _ => None,
    };
    Some(match plain {
        Some(content) => TableBlock {
            content,
            compression: PLAIN,
        },
        None => TableBlock {
            content: content.to_vec(),
            compression,
        },
    })
}

/// Appends a block. Returns its handle.
fn append(table: &mut Vec<u8>, block: &TableBlock) -> BlockHandle {
    let start = table.len();
    table.extend(&block.content);
    table.push(block.compression);
    let checksum = stored_checksum(&table[start..]);
    table.extend(checksum);
    (start as u64, (table.len() - start - TRAILER_LEN) as u64)
}

/// The entries of an undamaged index.
fn index_entries(index: &[u8]) -> Option<Vec<(Vec<u8>, BlockHandle)>> {
    let count_at = index.len().checked_sub(4)?;
    let restarts = u32::from_le_bytes(*index[count_at..].first_chunk()?) as usize;
    let mut rest = index.get(..count_at.checked_sub(restarts * 4)?)?;
    let (mut entries, mut key) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let mut number = || varint(&mut rest).and_then(|number| usize::try_from(number).ok());
        let (shared, unshared, value_len) = (number()?, number()?, number()?);
        key.truncate(shared);
        let (piece, after) = rest.split_at_checked(unshared)?;
        key.extend(piece);
        let (mut value, after) = after.split_at_checked(value_len)?;
        entries.push((key.clone(), handle(&mut value)?));
        rest = after;
    }
    Some(entries)
}

/// A block of these entries, none of which shares bytes with the one before.
fn block_of(entries: &[(Vec<u8>, BlockHandle)]) -> Vec<u8> {
    let (mut content, mut restarts) = (Vec::new(), Vec::new());
    for (key, (offset, len)) in entries {
        restarts.extend((content.len() as u32).to_le_bytes());
        let mut value = Vec::new();
        put_varint(&mut value, *offset);
        put_varint(&mut value, *len);
        for number in [0, key.len(), value.len()] {
            put_varint(&mut content, number as u64);
        }
        content.extend(key);
        content.extend(value);
    }
    if restarts.is_empty() {
        restarts.extend([0; 4]);
    }
    let count = restarts.len() as u32 / 4;
    content.extend(restarts);
    content.extend(count.to_le_bytes());
    content
}
