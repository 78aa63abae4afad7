//! Entries of a log, and how they are read.

use crate::{
    Checksum,
    io::{BLOCK_LEN, EntryKind, PageCodec},
};

pub(super) const ENTRY_HEAD_LEN: usize = 16;
const OPERATION_HEAD_LEN: usize = 8;
/// The length of a value that stands for a removal.
pub(super) const REMOVED: u32 = u32::MAX;

/// A change of one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change<'c> {
    pub(crate) table: &'c [u8],
    pub(crate) key: &'c [u8],
    /// `None` removes the record.
    pub(crate) value: Option<&'c [u8]>,
}

/// The offset, the checksum and the length of the entry that follows the one with the checksum
/// `before`, which ends at `end`: there, or in the next block. It is decrypted in place.
pub(super) fn entry_after(
    content: &mut [u8],
    end: usize,
    before: Checksum,
    codec: Option<&dyn PageCodec>,
) -> Option<(usize, Checksum, usize)> {
    let offsets = [end, end.next_multiple_of(BLOCK_LEN)];
    offsets.into_iter().find_map(|at| {
        let (checksum, len) = entry_at(content, at, before, codec)?;
        Some((at, checksum, len))
    })
}

/// The checksum and the length of the entry at `start`, if it follows the one with the checksum
/// `before`.
fn entry_at(
    content: &mut [u8],
    start: usize,
    before: Checksum,
    codec: Option<&dyn PageCodec>,
) -> Option<(Checksum, usize)> {
    let rest = content.get_mut(start..)?;
    let len = half_number_at(rest, 8)? as usize;
    let entry = rest.get_mut(..len).filter(|_| len >= ENTRY_HEAD_LEN)?;
    let mut covered = entry.to_vec();
    covered[..8].copy_from_slice(&before.0.to_le_bytes());
    let checksum = Checksum::of(&covered);
    if checksum.0 != number_at(entry, 0) {
        return None;
    }
    let entry = match codec {
        Some(codec) => decrypt(entry, before, codec)?,
        None => entry,
    };
    let count = half_number_at(entry, 12)? as usize;
    let changes_len = changes_of(entry).map(|change| change.len()).sum::<usize>();
    let is_whole =
        changes_of(entry).count() == count && changes_len + ENTRY_HEAD_LEN == entry.len();
    is_whole.then_some((checksum, len))
}

/// Decrypts the changes of an entry in place. The entry is shorter then.
fn decrypt<'e>(
    entry: &'e mut [u8],
    before: Checksum,
    codec: &dyn PageCodec,
) -> Option<&'e mut [u8]> {
    let changes = codec.open_entry(EntryKind::Log, before.0, &entry[ENTRY_HEAD_LEN..])?;
    let len = ENTRY_HEAD_LEN + changes.len();
    entry[ENTRY_HEAD_LEN..len].copy_from_slice(&changes);
    entry[8..12].copy_from_slice(&(len as u32).to_le_bytes());
    Some(&mut entry[..len])
}

/// The changes of a commit, as in its entry. If a record changes several times, the last change
/// counts.
///
/// The bytes of a change never move: users of the interface for C may pass values of a transaction
/// to change the same transaction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Operations {
    /// Each has room for some changes, in the order of the changes.
    chunks: Vec<Vec<u8>>,
    len: usize,
    count: u32,
}

/// Where a change begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationOffset {
    chunk: u32,
    offset: u32,
}

/// The room in the first chunk. Each further one has twice as much, up to the second number, or
/// room for one change.
const CHUNK_LEN: (usize, usize) = (512, 64 << 10);

impl Operations {
    /// Adds a change, and returns where it begins.
    pub(crate) fn push(&mut self, change: Change<'_>) -> OperationOffset {
        let (len, value) = (change.len(), change.value.unwrap_or_default());
        let room = self
            .chunks
            .last()
            .map(|chunk| chunk.capacity() - chunk.len());
        if room.is_none_or(|room| room < len) {
            let before = self.chunks.last().map_or(0, Vec::capacity);
            let room = (2 * before).clamp(CHUNK_LEN.0, CHUNK_LEN.1);
            self.chunks.push(Vec::with_capacity(room.max(len)));
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let offset = chunk.len();
        let value_len = change.value.map_or(REMOVED, |value| value.len() as u32);
        chunk.extend((change.table.len() as u16).to_le_bytes());
        chunk.extend((change.key.len() as u16).to_le_bytes());
        chunk.extend(value_len.to_le_bytes());
        for part in [change.table, change.key, value] {
            chunk.extend_from_slice(part);
        }
        debug_assert_eq!(chunk.len(), offset + len, "the chunk did not grow");
        self.len += len;
        self.count += 1;
        OperationOffset {
            chunk: index as u32,
            offset: offset as u32,
        }
    }

    /// The change that [`Self::push`] has added there.
    pub(crate) fn at(&self, at: OperationOffset) -> Change<'_> {
        let chunk = &self.chunks[at.chunk as usize];
        let found = chunk.get(at.offset as usize..).and_then(first_change);
        found.expect("a change was added there").0
    }

    /// The length of all changes in an entry.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The bytes of all changes.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().map(Vec::as_slice)
    }
}

impl Change<'_> {
    /// Its length in an entry.
    pub(crate) fn len(&self) -> usize {
        let value_len = self.value.map_or(0, <[u8]>::len);
        OPERATION_HEAD_LEN + self.table.len() + self.key.len() + value_len
    }
}

/// The changes of an entry, up to the first one that makes no sense.
pub(super) fn changes_of(entry: &[u8]) -> impl Iterator<Item = Change<'_>> {
    let len = half_number_at(entry, 8).unwrap_or(0) as usize;
    let mut rest = entry.get(ENTRY_HEAD_LEN..len).unwrap_or_default();
    std::iter::from_fn(move || {
        let (change, after) = first_change(rest)?;
        rest = after;
        Some(change)
    })
}

/// The first of some operations, and the bytes after it.
fn first_change(operations: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let (head, after) = operations.split_at_checked(OPERATION_HEAD_LEN)?;
    let value_len = half_number_at(head, 4)?;
    let (table, after) = after.split_at_checked(usize::from(quarter_number_at(head, 0)?))?;
    let (key, after) = after.split_at_checked(usize::from(quarter_number_at(head, 2)?))?;
    let (value, after) = match value_len {
        REMOVED => (None, after),
        len => {
            let (value, after) = after.split_at_checked(len as usize)?;
            (Some(value), after)
        }
    };
    Some((Change { table, key, value }, after))
}

pub(super) fn number_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn half_number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}

fn quarter_number_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(*bytes.first_chunk()?))
}
