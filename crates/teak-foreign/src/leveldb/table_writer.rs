//! Writing of table files.

use super::{
    bloom::{FILTER_NAME, FilterWriter},
    entry::EntryVersion,
    log::masked,
    named_file::failed,
    varint::push_varint,
};
use crate::{Error, Result};
use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::PathBuf,
};

pub(super) const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// The length from which on a block is full.
const BLOCK_LEN: usize = 4 << 10;
/// Every so many entries a key is stored whole.
const RESTART_INTERVAL: usize = 16;
/// Kinds of compression.
pub(super) const PLAIN: u8 = 0;
pub(super) const SNAPPY: u8 = 1;
const BUFFER_LEN: usize = 256 << 10;
/// The greatest length of keys and values, which LevelDB counts in 32 bits.
const LEN_MAX: usize = u32::MAX as usize - (1 << 20);

/// How tables are written.
#[derive(Clone, Copy, Debug)]
pub struct LevelDbOptions {
    /// Whether blocks are compressed with snappy if that makes them smaller.
    pub is_compressed: bool,
    /// The number of bits per key of the Bloom filters, without which tables are written if 0.
    /// LevelDB uses them if it is opened with its own filter policy.
    pub bloom_bits_per_key: usize,
    /// The number of bytes after which a table ends.
    pub table_bytes: u64,
}

impl Default for LevelDbOptions {
    /// Compressed blocks, ten bits per key, and tables of 2 MiB as LevelDB's own.
    fn default() -> Self {
        Self {
            is_compressed: true,
            bloom_bits_per_key: 10,
            table_bytes: 2 << 20,
        }
    }
}

/// A table that is being written.
pub(super) struct TableWriter {
    path: PathBuf,
    output: BufWriter<File>,
    options: LevelDbOptions,
    block: BlockWriter,
    index: BlockWriter,
    filter: Option<FilterWriter>,
    len: u64,
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

/// A table that was written.
pub(super) struct WrittenTable {
    pub(super) len: u64,
    /// The first and the last internal key.
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
}

impl TableWriter {
    pub(super) fn create(path: PathBuf, options: LevelDbOptions) -> Result<Self> {
        let file = File::create_new(&path).map_err(failed(&path))?;
        let bits = options.bloom_bits_per_key;
        let mut filter = (bits > 0).then(|| FilterWriter::new(bits));
        if let Some(filter) = &mut filter {
            filter.begin_block(0);
        }
        Ok(Self {
            path,
            output: BufWriter::with_capacity(BUFFER_LEN, file),
            options,
            block: BlockWriter::new(RESTART_INTERVAL),
            index: BlockWriter::new(1),
            filter,
            len: 0,
            smallest: Vec::new(),
            largest: Vec::new(),
        })
    }

    /// The number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.len + self.block.bytes.len() as u64
    }

    /// Adds a record, whose key must be greater than the one before.
    pub(super) fn add(&mut self, key: &[u8], version: EntryVersion, value: &[u8]) -> Result<()> {
        if key.len() > LEN_MAX || value.len() > LEN_MAX {
            let text = "LevelDB has no keys and values of 4 GiB";
            return Err(Error::Unsupported(text.to_owned()));
        }
        self.largest.clear();
        self.largest.extend_from_slice(key);
        self.largest
            .extend_from_slice(&version.number().to_le_bytes());
        if self.smallest.is_empty() {
            self.smallest.clone_from(&self.largest);
        }
        if let Some(filter) = &mut self.filter {
            filter.add(key);
        }
        self.block.add(&self.largest, value);
        match self.block.bytes.len() < BLOCK_LEN {
            true => Ok(()),
            false => self.end_block(),
        }
    }

    /// Writes the index, and flushes the file.
    pub(super) fn finish(mut self) -> Result<WrittenTable> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut meta = BlockWriter::new(1);
        if let Some(filter) = self.filter.take() {
            let filters = filter.finish();
            meta.add(FILTER_NAME, &self.write(&filters, PLAIN)?);
        }
        let mut footer = self.write(&meta.finish(), PLAIN)?;
        let index = std::mem::replace(&mut self.index, BlockWriter::new(1));
        footer.extend_from_slice(&self.write(&index.finish(), PLAIN)?);
        footer.resize(40, 0);
        footer.extend_from_slice(&MAGIC.to_le_bytes());
        self.append(&footer)?;
        let file = self.output.into_inner().map_err(|error| error.into_error());
        let flushed = file.and_then(|file| file.sync_all());
        flushed.map_err(failed(&self.path))?;
        Ok(WrittenTable {
            len: self.len,
            smallest: self.smallest,
            largest: self.largest,
        })
    }

    fn end_block(&mut self) -> Result<()> {
        let block = std::mem::replace(&mut self.block, BlockWriter::new(RESTART_INTERVAL));
        let plain = block.finish();
        let compressed = match self.options.is_compressed {
            true => snap::raw::Encoder::new().compress_vec(&plain).ok(),
            false => None,
        };
        // As LevelDB does: an eighth must be saved.
        let handle = match compressed.filter(|it| it.len() < plain.len() - plain.len() / 8) {
            Some(compressed) => self.write(&compressed, SNAPPY)?,
            None => self.write(&plain, PLAIN)?,
        };
        self.index.add(&self.largest, &handle);
        if let Some(filter) = &mut self.filter {
            filter.begin_block(self.len);
        }
        Ok(())
    }

    /// Writes a block with its trailer. Returns its handle.
    fn write(&mut self, content: &[u8], kind: u8) -> Result<Vec<u8>> {
        let mut handle = Vec::new();
        push_varint(&mut handle, self.len);
        push_varint(&mut handle, content.len() as u64);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(content), &[kind]);
        self.append(content)?;
        self.append(&[kind])?;
        self.append(&masked(checksum).to_le_bytes())?;
        Ok(handle)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        self.output.write_all(bytes).map_err(failed(&self.path))
    }
}

/// The entries of a block.
struct BlockWriter {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: usize,
    /// Entries since the last restart.
    entries: usize,
    last_key: Vec<u8>,
}

impl BlockWriter {
    fn new(restart_interval: usize) -> Self {
        Self {
            bytes: Vec::new(),
            restarts: vec![0],
            restart_interval,
            entries: 0,
            last_key: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.entries == self.restart_interval {
            self.restarts.push(self.bytes.len() as u32);
            self.entries = 0;
        } else {
            let pairs = self.last_key.iter().zip(key);
            shared = pairs.take_while(|(left, right)| left == right).count();
        }
        push_varint(&mut self.bytes, shared as u64);
        push_varint(&mut self.bytes, (key.len() - shared) as u64);
        push_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let count = self.restarts.len() as u32;
        for number in self.restarts.iter().chain([&count]) {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.bytes
    }
}
