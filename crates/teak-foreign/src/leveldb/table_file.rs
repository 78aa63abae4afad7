//! Table files: an index of blocks, and the blocks.

use super::{
    block::BlockEntries,
    entry::{EntryVersion, LevelDbEntry, compare, split_internal},
    log::unmasked,
    merge::EntrySource,
    named_file::NamedFile,
    parser::Parser,
    table_writer::{MAGIC, PLAIN, SNAPPY},
};
use crate::{
    Error, Result,
    bytes::{PageSlice, u32_at, u64_at},
};
use std::io::Read as _;

const FOOTER_LEN: u64 = 48;
/// The kind of compression and the checksum after a block.
const TRAILER_LEN: u64 = 5;
/// Bytes that are read from the file together.
const READ_AHEAD: u64 = 256 << 10;
/// The greatest length of blocks: a value has at most 4 GiB.
const BLOCK_MAX: u64 = 5 << 30;
/// Snappy makes at most 64 bytes of 3.
const SNAPPY_RATIO_MAX: usize = 22;
/// The length of blocks compressed with zstd, whose compression has no bound.
const ZSTD_BLOCK_MAX: u64 = 256 << 20;

/// A kind of compression that LevelDB has had since 2023.
const ZSTD: u8 = 2;

/// The place of a block.
struct Handle {
    offset: u64,
    len: u64,
}

impl Handle {
    fn parse(rest: &mut Parser<'_>) -> Option<Self> {
        Some(Self {
            offset: rest.varint64()?,
            len: rest.varint64()?,
        })
    }
}

/// The entries of a table file, in its order.
pub(super) struct TableEntries {
    file: NamedFile,
    index: BlockEntries,
    block: Option<BlockEntries>,
    /// Where the next block may begin.
    next_offset: u64,
    entry: LevelDbEntry,
    /// Whether keys must ascend, by bytes.
    is_sorted: bool,
    /// The key before that of the entry.
    previous: Vec<u8>,
    window: Window,
}

impl TableEntries {
    /// Reads the footer and the index, and moves to the first entry. `None` if there is no entry.
    pub(super) fn open(file: NamedFile, is_sorted: bool) -> Result<Option<Self>> {
        let mut window = Window::default();
        let footer_offset = file.len.checked_sub(FOOTER_LEN);
        let footer_offset =
            footer_offset.ok_or_else(|| file.damaged(0, "a table is shorter than its footer"))?;
        let mut footer = [0; FOOTER_LEN as usize];
        file.read(footer_offset, &mut footer)?;
        if u64_at(&footer, 40) != Some(MAGIC) {
            return Err(file.damaged(footer_offset, "this is not the footer of a table"));
        }
        let mut rest = Parser(&footer[..40]);
        let handles = (Handle::parse(&mut rest), Handle::parse(&mut rest));
        let (Some(_), Some(index)) = handles else {
            return Err(file.damaged(footer_offset, "the footer names no index"));
        };
        let index_block = window.block(&file, &index)?;
        let mut run = Self {
            index: entries(&file, &index, index_block)?,
            block: None,
            next_offset: 0,
            entry: LevelDbEntry::default(),
            is_sorted,
            previous: Vec::new(),
            window,
            file,
        };
        Ok(run.step()?.then_some(run))
    }

    /// Moves to the next entry. `false` at the end.
    fn step(&mut self) -> Result<bool> {
        loop {
            if let Some(block) = &mut self.block {
                let next = block.next();
                let next = next.map_err(|detail| self.file.damaged(self.next_offset, detail))?;
                if let Some(value) = next {
                    let Some((key, version)) = split_internal(&block.key) else {
                        return Err(
                            (self.file).damaged(self.next_offset, "a key has no sequence number")
                        );
                    };
                    self.entry.key.clear();
                    self.entry.key.extend_from_slice(key);
                    self.entry.version = version;
                    self.entry.value = value;
                    return Ok(true);
                }
            }
            let next = self.index.next();
            let next = next.map_err(|detail| self.file.damaged(self.next_offset, detail))?;
            let Some(handle) = next else {
                return Ok(false);
            };
            let handle = Handle::parse(&mut Parser(&handle));
            let handle = handle.filter(|handle| handle.offset >= self.next_offset);
            let handle = handle.ok_or_else(|| {
                (self.file).damaged(
                    self.next_offset,
                    "the index names no block after the last one",
                )
            })?;
            let bytes = self.window.block(&self.file, &handle)?;
            self.block = Some(entries(&self.file, &handle, bytes)?);
            self.next_offset = handle.offset + handle.len + TRAILER_LEN;
        }
    }
}

impl TableEntries {
    /// Fails if the current entry does not come after `last` in the order of runs.
    pub(super) fn refuse_not_after(&self, last: (&[u8], EntryVersion)) -> Result<()> {
        match compare(last, (&self.entry.key, self.entry.version)).is_lt() {
            true => Ok(()),
            false => Err((self.file).damaged(
                self.next_offset,
                "a key is not greater than the one before it",
            )),
        }
    }
}

impl EntrySource for TableEntries {
    fn entry(&self) -> &LevelDbEntry {
        &self.entry
    }

    fn advance(&mut self) -> Result<bool> {
        if !self.is_sorted {
            return self.step();
        }
        let version = self.entry.version;
        self.previous.clone_from(&self.entry.key);
        if !self.step()? {
            return Ok(false);
        }
        self.refuse_not_after((&self.previous, version))?;
        Ok(true)
    }
}

fn entries(file: &NamedFile, handle: &Handle, block: Vec<u8>) -> Result<BlockEntries> {
    BlockEntries::new(PageSlice::whole(block))
        .ok_or_else(|| file.damaged(handle.offset, "a block has no list of restart points"))
}

/// The bytes of a file that were read last. Blocks follow each other, so they are read together.
#[derive(Default)]
struct Window {
    offset: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// A block, checked and decompressed.
    fn block(&mut self, file: &NamedFile, handle: &Handle) -> Result<Vec<u8>> {
        let damaged = |detail: &str| Err(file.damaged(handle.offset, detail));
        let end = (handle.offset.checked_add(handle.len))
            .and_then(|end| end.checked_add(TRAILER_LEN))
            .filter(|end| *end <= file.len - FOOTER_LEN && handle.len <= BLOCK_MAX);
        let Some(end) = end else {
            return damaged("a block ends after the end of its table");
        };
        self.read(file, handle.offset, end)?;
        let start = (handle.offset - self.offset) as usize;
        let bytes = &self.bytes[start..start + (end - handle.offset) as usize];
        let len = handle.len as usize;
        let (checked, compressed) = (&bytes[..len + 1], &bytes[..len]);
        if u32_at(bytes, len + 1).map(unmasked) != Some(crc32c::crc32c(checked)) {
            return damaged("a block has another checksum");
        }
        match bytes[len] {
            PLAIN => Ok(compressed.to_vec()),
            SNAPPY => {
                let plain_len = snap::raw::decompress_len(compressed).unwrap_or(usize::MAX);
                if plain_len / SNAPPY_RATIO_MAX > len {
                    return damaged("a block has an impossible length");
                }
                let plain = snap::raw::Decoder::new().decompress_vec(compressed);
                plain.or_else(|_| damaged("a block cannot be decompressed by snappy"))
            }
            ZSTD => {
                let mut plain = Vec::new();
                let decoded = ruzstd::decoding::StreamingDecoder::new(compressed)
                    .map(|decoder| decoder.take(ZSTD_BLOCK_MAX + 1).read_to_end(&mut plain));
                match decoded {
                    Ok(Ok(_)) if plain.len() as u64 <= ZSTD_BLOCK_MAX => Ok(plain),
                    Ok(Ok(_)) => Err(Error::Unsupported(format!(
                        "a block at {} has more than {ZSTD_BLOCK_MAX} bytes",
                        handle.offset
                    ))),
                    _ => damaged("a block cannot be decompressed by zstd"),
                }
            }
            _ => damaged("a block is compressed in an unknown way"),
        }
    }

    /// Makes sure that the bytes from `start` to `end` are there.
    fn read(&mut self, file: &NamedFile, start: u64, end: u64) -> Result<()> {
        if start >= self.offset && end <= self.offset + self.bytes.len() as u64 {
            return Ok(());
        }
        let more = end.max((start + READ_AHEAD).min(file.len));
        self.offset = start;
        self.bytes.resize((more - start) as usize, 0);
        file.read(start, &mut self.bytes)
    }
}
