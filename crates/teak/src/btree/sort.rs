//! External sort, for more records than fit into memory: sorted runs go to temporary files and are
//! merged.
//!
//! A run is collected until the memory budget is used up, sorted, and written as length-prefixed
//! records. The merge reads all runs together through buffers that share the budget. Of records
//! with equal keys, the one that came last wins: the others are left out of a run, and of several
//! runs the last one counts.
//!
//! Records are in memory in the order of arrival, so that sorted ones are scattered. They are
//! sorted by the first bytes of their keys, which are contiguous, and prefetched when they are
//! read.

use crate::{
    Error, Result,
    btree::TreeRoot,
    io::{PageCodec, TemporaryFile, prefetch_lines},
    page::key::KeyOrder,
};
use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io::{BufReader, BufWriter, Read, Write},
    mem,
    path::Path,
    sync::Arc,
};

/// More files than this are merged in rounds.
const FAN_IN_MAX: usize = 256;
/// How many records are prefetched, and how many cache lines of each.
const AHEAD: usize = 12;
const AHEAD_LINES: usize = 4;

/// The order that records are sorted by.
#[derive(Clone, Copy, Debug)]
struct SortOrder {
    keys: KeyOrder,
    /// The order of values, if a key has several.
    values: Option<KeyOrder>,
}

impl SortOrder {
    fn compare(&self, a: (&[u8], &[u8]), b: (&[u8], &[u8])) -> Ordering {
        let by_key = self.keys.compare(a.0, b.0);
        match self.values {
            Some(values) => by_key.then_with(|| values.compare(a.1, b.1)),
            None => by_key,
        }
    }

    /// Of these orders, the comparison of the application, if there is one.
    fn custom(&self) -> Option<KeyOrder> {
        let both = [Some(self.keys), self.values].into_iter().flatten();
        both.into_iter()
            .find(|order| matches!(order, KeyOrder::Custom(_)))
    }
}

/// Where a record is, and how it sorts: by the head, by the record if heads are equal, and then by
/// the order of arrival.
#[derive(Clone, Copy, Debug)]
struct SortItem {
    head: u64,
    start: usize,
    key_len: u32,
    value_len: u32,
}

/// Records in memory: bytes in the order of arrival, and sortable items.
#[derive(Default, Debug)]
struct SortBuffer {
    bytes: Vec<u8>,
    items: Vec<SortItem>,
}

impl SortBuffer {
    fn len_bytes(&self) -> usize {
        self.bytes.len() + self.items.len() * size_of::<SortItem>()
    }

    fn record(&self, item: &SortItem) -> (&[u8], &[u8]) {
        let middle = item.start + item.key_len as usize;
        let end = middle + item.value_len as usize;
        (&self.bytes[item.start..middle], &self.bytes[middle..end])
    }

    /// Returns the record at an index, and prefetches later ones.
    fn record_at(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if let Some(ahead) = self.items.get(index + AHEAD) {
            prefetch_lines(&self.bytes[ahead.start..], AHEAD_LINES);
        }
        self.items.get(index).map(|item| self.record(item))
    }

    /// Sorts, and leaves out all but the last of equal records.
    fn sort(&mut self, order: SortOrder) {
        let mut items = mem::take(&mut self.items);
        let compare = |a: &SortItem, b: &SortItem| {
            let by_head = a.head.cmp(&b.head);
            by_head.then_with(|| order.compare(self.record(a), self.record(b)))
        };
        match order.custom() {
            Some(custom) => custom.sort(&mut items, compare),
            // Of records that begin at the same offset, all but the last are empty.
            None => items.sort_unstable_by(|a, b| {
                let by_arrival = || (a.start, a.value_len).cmp(&(b.start, b.value_len));
                compare(a, b).then_with(by_arrival)
            }),
        }
        let mut kept = 0;
        for index in 0..items.len() {
            let next = items.get(index + 1);
            if next.is_none_or(|next| compare(&items[index], next).is_ne()) {
                items[kept] = items[index];
                kept += 1;
            }
        }
        items.truncate(kept);
        self.items = items;
    }
}

/// Collects records in any order and returns them sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    order: SortOrder,
    memory_bytes: usize,
    directory: std::path::PathBuf,
    /// Encodes the files.
    codec: Option<Arc<dyn PageCodec>>,
    memory: SortBuffer,
    runs: Vec<TemporaryFile>,
    records: u64,
}

impl Sorter {
    /// Creates a sorter for a tree: by keys and, if a key has several values, by values.
    /// Records that do not fit into memory go to files in `directory`, which `codec` encodes.
    pub(crate) fn new(
        root: &TreeRoot,
        memory_bytes: usize,
        directory: &Path,
        codec: Option<Arc<dyn PageCodec>>,
    ) -> Self {
        Self {
            order: SortOrder {
                keys: root.order,
                values: root.kind.values,
            },
            memory_bytes: memory_bytes.max(1 << 16),
            directory: directory.to_path_buf(),
            codec,
            memory: SortBuffer::default(),
            runs: Vec::new(),
            records: 0,
        }
    }

    /// Records pushed so far.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let too_long =
            || Error::InvalidArgument("a record of more than 4 GiB cannot be sorted".into());
        let key_len = u32::try_from(key.len()).map_err(|_| too_long())?;
        let value_len = u32::try_from(value.len()).map_err(|_| too_long())?;
        let len = key.len() + value.len() + size_of::<SortItem>();
        if self.memory.len_bytes() + len > self.memory_bytes && !self.memory.items.is_empty() {
            self.spill()?;
        }
        let memory = &mut self.memory;
        memory.items.push(SortItem {
            head: self.order.keys.sort_head(key),
            start: memory.bytes.len(),
            key_len,
            value_len,
        });
        memory.bytes.extend_from_slice(key);
        memory.bytes.extend_from_slice(value);
        self.records += 1;
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.memory.sort(self.order);
        let mut file = BufWriter::with_capacity(1 << 18, self.temporary_file()?);
        let mut records = (0..).map_while(|index| self.memory.record_at(index));
        records.try_for_each(|(key, value)| write_record(&mut file, key, value))?;
        self.runs.push(rewound(file)?);
        self.memory.bytes.clear();
        self.memory.items.clear();
        Ok(())
    }

    fn temporary_file(&self) -> Result<TemporaryFile> {
        TemporaryFile::create(&self.directory, self.codec.clone())
            .map_err(|error| Error::io("creating a temporary file")(error).at(&self.directory))
    }

    /// Returns all records, sorted, without duplicate keys, or duplicate pairs.
    pub(crate) fn finish(mut self) -> Result<SortedMerge> {
        self.memory.sort(self.order);
        while self.runs.len() > FAN_IN_MAX {
            self.merge_some()?;
        }
        let files = mem::take(&mut self.runs);
        SortedMerge::new(self.order, files, self.memory, self.memory_bytes)
    }

    /// Merges the oldest runs into one, which replaces them.
    fn merge_some(&mut self) -> Result<()> {
        let rest = self.runs.split_off(FAN_IN_MAX);
        let files = mem::replace(&mut self.runs, rest);
        let mut merged = BufWriter::with_capacity(1 << 18, self.temporary_file()?);
        let merge = SortedMerge::new(self.order, files, SortBuffer::default(), self.memory_bytes)?;
        merge.for_each(|key, value| write_record(&mut merged, key, value))?;
        self.runs.insert(0, rewound(merged)?);
        Ok(())
    }
}

fn write_record(file: &mut BufWriter<TemporaryFile>, key: &[u8], value: &[u8]) -> Result<()> {
    let len = |bytes: &[u8]| (bytes.len() as u32).to_le_bytes();
    let written = file
        .write_all(&len(key))
        .and_then(|()| file.write_all(&len(value)))
        .and_then(|()| file.write_all(key))
        .and_then(|()| file.write_all(value));
    written.map_err(Error::io("writing a temporary file"))
}

fn rewound(file: BufWriter<TemporaryFile>) -> Result<TemporaryFile> {
    let mut file = file
        .into_inner()
        .map_err(|error| error.into_error())
        .map_err(Error::io("writing a temporary file"))?;
    file.rewind()
        .map_err(Error::io("reading a temporary file"))?;
    Ok(file)
}

/// A record of a file: key and value.
#[derive(Default, Debug)]
struct SortRecord {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl SortRecord {
    fn slices(&self) -> (&[u8], &[u8]) {
        (&self.key, &self.value)
    }

    /// Reads the next record of a file into this one; `false` at its end.
    fn read(&mut self, file: &mut BufReader<TemporaryFile>) -> std::io::Result<bool> {
        let mut lens = [0; 8];
        match file.read_exact(&mut lens) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let [a, b, c, d, e, f, g, h] = lens;
        self.key
            .resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        self.value
            .resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
        file.read_exact(&mut self.key)?;
        file.read_exact(&mut self.value)?;
        Ok(true)
    }
}

/// A sorted run in a file, and its smallest remaining record. Ordered so that a heap returns the
/// smallest key first and, of equal keys, that of the last run.
#[derive(Debug)]
struct MergeSource {
    order: SortOrder,
    pair: SortRecord,
    run: usize,
    file: BufReader<TemporaryFile>,
}

impl MergeSource {
    /// Moves to the next record; `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
        let read = self.pair.read(&mut self.file);
        read.map_err(Error::io("reading a temporary file"))
    }
}

impl Ord for MergeSource {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order
            .compare(other.pair.slices(), self.pair.slices())
            .then(self.run.cmp(&other.run))
    }
}

impl PartialOrd for MergeSource {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeSource {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MergeSource {}

/// The sorted records of many runs.
#[derive(Debug)]
pub(crate) struct SortedMerge {
    order: SortOrder,
    sources: BinaryHeap<MergeSource>,
    /// The last run.
    memory: SortBuffer,
}

impl SortedMerge {
    fn new(
        order: SortOrder,
        files: Vec<TemporaryFile>,
        memory: SortBuffer,
        memory_bytes: usize,
    ) -> Result<Self> {
        let buffer_len = (memory_bytes / (files.len() + 1)).clamp(1 << 12, 1 << 20);
        let mut sources = BinaryHeap::with_capacity(files.len());
        for (run, file) in files.into_iter().enumerate() {
            let mut front = MergeSource {
                order,
                pair: SortRecord::default(),
                run,
                file: BufReader::with_capacity(buffer_len, file),
            };
            if front.advance()? {
                sources.push(front);
            }
        }
        Ok(Self {
            order,
            sources,
            memory,
        })
    }

    /// Calls a function with each record.
    pub(crate) fn for_each(
        mut self,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let memory = mem::take(&mut self.memory);
        let mut index = 0;
        let mut pair = SortRecord::default();
        loop {
            let in_memory = memory.record_at(index).filter(|record| {
                let front = self.sources.peek();
                front.is_none_or(|front| self.order.compare(*record, front.pair.slices()).is_le())
            });
            let record = match in_memory {
                Some(record) => {
                    index += 1;
                    record
                }
                None if self.take(&mut pair)? => pair.slices(),
                None => return Ok(()),
            };
            while let Some(front) = self.sources.peek()
                && self.order.compare(front.pair.slices(), record).is_eq()
            {
                self.advance()?;
            }
            visit(record.0, record.1)?;
        }
    }

    /// Takes the smallest record of all files; `false` if there is none.
    fn take(&mut self, pair: &mut SortRecord) -> Result<bool> {
        let Some(mut front) = self.sources.peek_mut() else {
            return Ok(false);
        };
        mem::swap(&mut front.pair, pair);
        if !front.advance()? {
            PeekMut::pop(front);
        }
        Ok(true)
    }

    /// Skips the smallest record of all files.
    fn advance(&mut self) -> Result<()> {
        if let Some(mut front) = self.sources.peek_mut()
            && !front.advance()?
        {
            PeekMut::pop(front);
        }
        Ok(())
    }
}
