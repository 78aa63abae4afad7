//! Files in the format of logs, which manifests have too: records in blocks of 32 KiB, in one piece
//! or several.

use super::{named_file::NamedFile, parser::Parser};
use crate::Result;

const BLOCK_LEN: usize = 32 << 10;
const HEADER_LEN: usize = 7;

/// Kinds of pieces.
const ZERO: u8 = 0;
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// The records of a log, in the order in which they were written.
pub(super) struct LogReader<'f> {
    file: &'f NamedFile,
    block: Vec<u8>,
    /// The offset of the block in the file, and of the next piece in the block.
    block_offset: u64,
    at: usize,
    /// Whether only a missing end is a torn one, and no damage.
    is_strict: bool,
}

/// A piece of a record.
enum Piece {
    Part {
        kind: u8,
        start: usize,
        end: usize,
    },
    /// The rest of the block is padding or was never written.
    EndOfBlock,
    /// A piece that is not complete or has another checksum, and its end if that is known.
    Damaged(&'static str, Option<usize>),
}

impl<'f> LogReader<'f> {
    pub(super) fn new(file: &'f NamedFile) -> Self {
        Self {
            file,
            block: Vec::new(),
            block_offset: 0,
            at: 0,
            is_strict: false,
        }
    }

    /// The reader of a manifest, whose last record counts: its logs may be gone already.
    pub(super) fn strict(file: &'f NamedFile) -> Self {
        Self {
            is_strict: true,
            ..Self::new(file)
        }
    }

    /// The offset of the piece after the last record.
    pub(super) fn offset(&self) -> u64 {
        self.block_offset + self.at as u64
    }

    /// Reads the next record into `record`. `false` at the end, where the last record may be
    /// missing because it was being written when the system stopped: the bytes of that record
    /// are then added to `torn`.
    pub(super) fn next(&mut self, record: &mut Vec<u8>, torn: &mut u64) -> Result<bool> {
        record.clear();
        let mut begun: Option<u64> = None;
        loop {
            let offset = self.offset();
            let detail = match self.piece() {
                None if self.fill()? => continue,
                None => {
                    *torn += begun.map_or(0, |begun| self.file.len - begun);
                    return Ok(false);
                }
                Some(Piece::EndOfBlock) => {
                    self.at = self.block.len();
                    continue;
                }
                Some(Piece::Part { kind, start, end }) => {
                    self.at = end;
                    let is_expected = match kind {
                        FULL | FIRST => begun.is_none(),
                        _ => begun.is_some(),
                    };
                    if is_expected {
                        begun.get_or_insert(offset);
                        record.extend_from_slice(&self.block[start..end]);
                        match kind {
                            FULL | LAST => return Ok(true),
                            _ => continue,
                        }
                    }
                    if matches!(kind, FULL | FIRST) {
                        // The writer stopped in a record, and another one appended to the file.
                        self.at = (offset - self.block_offset) as usize;
                        *torn += offset - begun.unwrap_or(offset);
                        begun = None;
                        record.clear();
                        continue;
                    }
                    "a piece of a record comes before the record's first"
                }
                Some(Piece::Damaged(detail, end)) => {
                    if self.is_strict && end.is_some() {
                        return Err(self.file.damaged(offset, detail));
                    }
                    self.at = end.unwrap_or(self.block.len());
                    detail
                }
            };
            if self.has_more()? {
                return Err(self.file.damaged(offset, detail));
            }
            *torn += self.file.len - begun.unwrap_or(offset);
            return Ok(false);
        }
    }

    /// The piece at the current place, if the block has one.
    fn piece(&self) -> Option<Piece> {
        let rest = self.block.get(self.at..)?;
        if rest.len() < HEADER_LEN {
            return (!rest.is_empty()).then_some(Piece::EndOfBlock);
        }
        let mut header = Parser(rest);
        let (checksum, low, high, kind) = (header.u32()?, header.u8()?, header.u8()?, header.u8()?);
        let len = usize::from(u16::from_le_bytes([low, high]));
        if kind == ZERO && len == 0 {
            return Some(Piece::EndOfBlock);
        }
        let start = self.at + HEADER_LEN;
        let Some(data) = self.block.get(start - 1..start + len) else {
            return Some(Piece::Damaged(
                "a piece of a record is longer than its block",
                None,
            ));
        };
        let end = start + len;
        if crc32c::crc32c(data) != unmasked(checksum) {
            return Some(Piece::Damaged(
                "a piece of a record has another checksum",
                Some(end),
            ));
        }
        if !matches!(kind, FULL | FIRST | MIDDLE | LAST) {
            return Some(Piece::Damaged(
                "a piece of a record is of an unknown kind",
                Some(end),
            ));
        }
        Some(Piece::Part { kind, start, end })
    }

    /// Reads the next block. `false` at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        self.block_offset += self.block.len() as u64;
        self.at = 0;
        let left = self.file.len - self.block_offset;
        self.block.resize(left.min(BLOCK_LEN as u64) as usize, 0);
        self.file.read(self.block_offset, &mut self.block)?;
        Ok(!self.block.is_empty())
    }

    /// Whether a valid piece follows the damaged one. Otherwise the damage is the torn end of the
    /// log, which was being written when the system stopped. Ends reading.
    fn has_more(&mut self) -> Result<bool> {
        loop {
            match self.piece() {
                Some(Piece::Part { .. }) => return Ok(true),
                Some(Piece::Damaged(_, Some(end))) => self.at = end,
                Some(Piece::EndOfBlock | Piece::Damaged(_, None)) => self.at = self.block.len(),
                None if self.fill()? => {}
                None => return Ok(false),
            }
        }
    }
}

/// The checksum of a stored one. LevelDB changes checksums that it stores, because the checksum of
/// bytes that contain their own checksum says little.
pub(super) fn unmasked(stored: u32) -> u32 {
    stored.wrapping_sub(0xa282_ead8).rotate_left(15)
}

/// The stored form of a checksum.
pub(super) fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A log with one record.
pub(super) fn in_log_format(record: &[u8]) -> Vec<u8> {
    const PIECE_MAX: usize = BLOCK_LEN - HEADER_LEN;
    let mut log = Vec::new();
    let count = record.len().div_ceil(PIECE_MAX).max(1);
    for index in 0..count {
        let end = record.len().min((index + 1) * PIECE_MAX);
        let data = &record[index * PIECE_MAX..end];
        let kind = match (index, count) {
            (_, 1) => FULL,
            (0, _) => FIRST,
            (index, count) if index + 1 == count => LAST,
            _ => MIDDLE,
        };
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&[kind]), data);
        log.extend_from_slice(&masked(checksum).to_le_bytes());
        log.extend_from_slice(&(data.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend_from_slice(data);
    }
    log
}
