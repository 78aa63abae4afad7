//! Sorting more records than fit in memory: sorted stretches go to temporary files and are merged.
//!
//! A stretch is collected until the memory budget is used up, sorted and written as
//! length-prefixed records. The merge reads all stretches at once through buffers that share the
//! budget. Of records with equal keys the one that came last wins.

use crate::{Error, Result, page::key::KeyOrder, tree::TreeRoot};
use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// More files at once than this are merged in rounds.
const FAN_IN_MAX: usize = 256;
/// Bookkeeping for each record in memory.
const ITEM_LEN: usize = 24;

/// What records are sorted by.
#[derive(Clone, Copy, Debug)]
struct SortOrder {
    keys: KeyOrder,
    /// Where a key has several values.
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
}

/// Collects records in any order and gives them back sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    order: SortOrder,
    memory_bytes: usize,
    directory: std::path::PathBuf,
    bytes: Vec<u8>,
    items: Vec<(usize, u32, u32)>,
    stretches: Vec<File>,
    records: u64,
}

/// A record on its way: key and value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

impl Sorter {
    /// Sorts for a tree: by keys, and where a key has several values by these too.
    pub(crate) fn new(root: &TreeRoot, memory_bytes: usize, directory: &Path) -> Self {
        Self {
            order: SortOrder {
                keys: root.order,
                values: root.kind.values,
            },
            memory_bytes: memory_bytes.max(1 << 16),
            directory: directory.to_path_buf(),
            bytes: Vec::new(),
            items: Vec::new(),
            stretches: Vec::new(),
            records: 0,
        }
    }

    /// Records pushed so far.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let too_long =
            || Error::InvalidArgument("a record of more than 4 GiB cannot be sorted".into());
        let key_len = u32::try_from(key.len()).map_err(|_| too_long())?;
        let value_len = u32::try_from(value.len()).map_err(|_| too_long())?;
        let used = self.bytes.len() + self.items.len() * ITEM_LEN;
        if used + key.len() + value.len() + ITEM_LEN > self.memory_bytes && !self.items.is_empty() {
            self.spill()?;
        }
        self.items.push((self.bytes.len(), key_len, value_len));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.records += 1;
        Ok(())
    }

    fn sort(&mut self) {
        let (order, bytes) = (self.order, &self.bytes);
        // Stable, so that of equal keys the last one pushed stays last.
        let record = |&(start, key_len, value_len): &(usize, u32, u32)| {
            let middle = start + key_len as usize;
            let end = middle + value_len as usize;
            (&bytes[start..middle], &bytes[middle..end])
        };
        let sorting = match order.values {
            Some(values @ KeyOrder::Custom(_)) => values,
            _ => order.keys,
        };
        sorting.sort(&mut self.items, |a, b| order.compare(record(a), record(b)));
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut file = BufWriter::with_capacity(1 << 18, self.temporary_file()?);
        for &(start, key_len, value_len) in &self.items {
            let end = start + key_len as usize + value_len as usize;
            write_record(&mut file, key_len, value_len, &self.bytes[start..end])?;
        }
        self.stretches.push(rewound(file)?);
        self.bytes.clear();
        self.items.clear();
        Ok(())
    }

    fn temporary_file(&self) -> Result<File> {
        tempfile::tempfile_in(&self.directory).map_err(Error::io("creating a temporary file"))
    }

    /// All records, sorted, each key once, or each pair.
    pub(crate) fn finish(mut self) -> Result<Merge> {
        self.sort();
        while self.stretches.len() > FAN_IN_MAX {
            self.merge_some()?;
        }
        let files = std::mem::take(&mut self.stretches);
        let memory = Stretch::Memory {
            bytes: self.bytes,
            items: self.items,
            next: 0,
        };
        Merge::new(self.order, files, Some(memory), self.memory_bytes)
    }

    /// Merges the oldest stretches into one, which takes their place.
    fn merge_some(&mut self) -> Result<()> {
        let rest = self.stretches.split_off(FAN_IN_MAX);
        let files = std::mem::replace(&mut self.stretches, rest);
        let mut merged = BufWriter::with_capacity(1 << 18, self.temporary_file()?);
        let mut merge = Merge::new(self.order, files, None, self.memory_bytes)?;
        while let Some((key, value)) = merge.next()? {
            write_record(
                &mut merged,
                key.len() as u32,
                value.len() as u32,
                &[key, value].concat(),
            )?;
        }
        self.stretches.insert(0, rewound(merged)?);
        Ok(())
    }
}

fn write_record(
    file: &mut BufWriter<File>,
    key_len: u32,
    value_len: u32,
    bytes: &[u8],
) -> Result<()> {
    let written = file
        .write_all(&key_len.to_le_bytes())
        .and_then(|()| file.write_all(&value_len.to_le_bytes()))
        .and_then(|()| file.write_all(bytes));
    written.map_err(Error::io("writing a temporary file"))
}

fn rewound(file: BufWriter<File>) -> Result<File> {
    let mut file = file
        .into_inner()
        .map_err(|error| error.into_error())
        .map_err(Error::io("writing a temporary file"))?;
    file.seek(SeekFrom::Start(0))
        .map_err(Error::io("reading a temporary file"))?;
    Ok(file)
}

/// A sorted stretch, in a file or in memory.
#[derive(Debug)]
enum Stretch {
    File(BufReader<File>),
    Memory {
        bytes: Vec<u8>,
        items: Vec<(usize, u32, u32)>,
        next: usize,
    },
}

impl Stretch {
    fn next(&mut self) -> Result<Option<Pair>> {
        match self {
            Self::File(file) => read_record(file).map_err(Error::io("reading a temporary file")),
            Self::Memory { bytes, items, next } => {
                let Some(&(start, key_len, value_len)) = items.get(*next) else {
                    return Ok(None);
                };
                *next += 1;
                let middle = start + key_len as usize;
                let end = middle + value_len as usize;
                Ok(Some((
                    bytes[start..middle].to_vec(),
                    bytes[middle..end].to_vec(),
                )))
            }
        }
    }
}

fn read_record(file: &mut BufReader<File>) -> std::io::Result<Option<Pair>> {
    let mut lens = [0; 8];
    match file.read_exact(&mut lens) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let [a, b, c, d, e, f, g, h] = lens;
    let mut key = vec![0; u32::from_le_bytes([a, b, c, d]) as usize];
    let mut value = vec![0; u32::from_le_bytes([e, f, g, h]) as usize];
    file.read_exact(&mut key)?;
    file.read_exact(&mut value)?;
    Ok(Some((key, value)))
}

/// The smallest record of a stretch. Ordered so that a heap gives the smallest key first and, of
/// equal keys, that of the last stretch.
#[derive(Debug)]
struct Front {
    order: SortOrder,
    pair: Pair,
    stretch: usize,
}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order
            .compare(slices(&other.pair), slices(&self.pair))
            .then(self.stretch.cmp(&other.stretch))
    }
}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Front {}

fn slices((key, value): &Pair) -> (&[u8], &[u8]) {
    (key, value)
}

/// Sorted records of many stretches.
#[derive(Debug)]
pub(crate) struct Merge {
    order: SortOrder,
    stretches: Vec<Stretch>,
    fronts: BinaryHeap<Front>,
}

impl Merge {
    fn new(
        order: SortOrder,
        files: Vec<File>,
        memory: Option<Stretch>,
        memory_bytes: usize,
    ) -> Result<Self> {
        let buffer_len = (memory_bytes / (files.len() + 1)).clamp(1 << 12, 1 << 20);
        let readers = files
            .into_iter()
            .map(|f| Stretch::File(BufReader::with_capacity(buffer_len, f)));
        let stretches = readers.chain(memory).collect();
        let mut merge = Self {
            order,
            stretches,
            fronts: BinaryHeap::new(),
        };
        for stretch in 0..merge.stretches.len() {
            merge.refill(stretch)?;
        }
        Ok(merge)
    }

    /// Takes the next record of a stretch; within a stretch, of equal keys the last one.
    fn refill(&mut self, stretch: usize) -> Result<()> {
        if let Some(pair) = self.stretches[stretch].next()? {
            self.fronts.push(Front {
                order: self.order,
                pair,
                stretch,
            });
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<Option<Pair>> {
        let Some(Front {
            mut pair,
            mut stretch,
            ..
        }) = self.fronts.pop()
        else {
            return Ok(None);
        };
        self.refill(stretch)?;
        while let Some(front) = self.fronts.peek() {
            if (self.order)
                .compare(slices(&front.pair), slices(&pair))
                .is_ne()
            {
                break;
            }
            let other = self.fronts.pop().expect("a front was there");
            // Of the same stretch the later record wins, of different ones that of the later.
            if other.stretch >= stretch {
                (pair, stretch) = (other.pair, other.stretch);
            }
            self.refill(other.stretch)?;
        }
        Ok(Some(pair))
    }
}
