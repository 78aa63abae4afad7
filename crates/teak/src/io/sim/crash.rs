//! The possible contents of the disk after a crash.
//!
//! The disk writes blocks of a *granularity*, each completely or not at all, in any order. A block
//! that was written several times since the last flush may have its content after any of these
//! writes, or the content before them: a *prefix* of its writes. Blocks are independent of each
//! other.
//!
//! After a successful flush, the disk has at least the content that each block had when the flush
//! began. Bytes written while the flush ran may or may not be there, before its end and after it.
//!
//! Lengths are metadata, which file systems keep in order: the file has one of the lengths it had
//! since the last flush. Truncation turns the removed bytes into zeros, and that is tied to the
//! length. For a truncated block, a length set at or after the truncation goes only with states
//! reached after it, and an earlier length only with states before it.
//!
//! Blocks that are given back become zeros, each independently, as by a write. That is metadata
//! too, and is not forgotten when a flush fails.
//!
//! The system keeps the file in *cache pages*. A failed flush marks them clean: their content is
//! *stranded*, in memory and not on the disk, until something in the same page is written again.
//!
//! The write-ahead log is another file with states of its own. Its blocks are at most as long as
//! those that are written past the cache.

use super::event::DiskEvent;
use crate::io::log_storage::BLOCK_LEN;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

/// Length of a cache page in bytes.
const CACHE_PAGE_LEN: u64 = 4096;

/// A walk through the events of a disk, with the crashes that are possible at each point.
///
/// Starts before the first event. [`advance`](Self::advance) moves one event forward.
#[derive(Clone, Debug)]
pub struct CrashPoints {
    events: Vec<Arc<DiskEvent>>,
    event_index: usize,
    blocks: BlockLayout,
    /// The file as a process sees it.
    memory: Vec<u8>,
    /// Content that is certainly on the disk, except for blocks that may be in another state. Zeros
    /// after the end; as long as all blocks of the longest file so far.
    durable: Vec<u8>,
    /// Blocks that may be in one of several states, by their start.
    pending: BTreeMap<u64, History>,
    /// Blocks that a failed flush left in memory only, by their start.
    stranded: BTreeSet<u64>,
    /// The lengths the file may have, oldest first. Never empty.
    lengths: Vec<LengthState>,
    /// The write-ahead log, which has no events of its own; `None` if the disk has none.
    log: Option<Box<CrashPoints>>,
}

#[derive(Clone, Copy, Debug)]
struct LengthState {
    bytes: u64,
    /// The event that set it, counted from 1; 0 for the initial length.
    set_by: usize,
}

/// A block that may be in one of several states, given one length of the file.
#[derive(Clone, Copy, Debug)]
pub struct OpenBlock {
    /// Offset of the block.
    pub start: u64,
    /// Number of possible states, oldest first. With the chosen length, some blocks have only one.
    pub state_count: usize,
    /// Index of the first of them; the durable state has index 0.
    first: usize,
}

/// States of a block after the durable one, oldest first.
type History = Vec<BlockState>;

#[derive(Clone, Debug)]
struct BlockState {
    bytes: Box<[u8]>,
    /// The event that made it, counted from 1.
    made_by: usize,
    maker: BlockChange,
}

/// The kind of change that makes another state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockChange {
    Write,
    /// The file was truncated.
    Cut,
    /// The block was given back.
    Punch,
}

/// How the file is divided into blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockLayout {
    /// Up to this offset the file has blocks of another length.
    head_len: u64,
    head_granularity: u64,
    granularity: u64,
}

impl CrashPoints {
    pub(super) fn new(
        initial: Arc<Vec<u8>>,
        log: Option<Arc<Vec<u8>>>,
        events: Vec<Arc<DiskEvent>>,
        blocks: BlockLayout,
    ) -> Self {
        let log = log.map(|log| Self::new(log, None, Vec::new(), blocks.of_log()));
        let mut durable = initial.to_vec();
        durable.resize(durable.len().next_multiple_of(CACHE_PAGE_LEN as usize), 0);
        Self {
            events,
            event_index: 0,
            blocks,
            memory: initial.to_vec(),
            durable,
            pending: BTreeMap::new(),
            stranded: BTreeSet::new(),
            lengths: vec![LengthState {
                bytes: initial.len() as u64,
                set_by: 0,
            }],
            log: log.map(Box::new),
        }
    }

    /// A walk through the operations of any program on an initially empty file, in blocks of
    /// `granularity_bytes`, and of `head_granularity_bytes` in the first `head_len` bytes.
    ///
    /// # Panics
    ///
    /// If a granularity is not a power of two of at most 4096, or `head_len` is not a multiple of
    /// 4096. [`advance`](Self::advance) panics if something was written after the end of the file
    /// without a preceding [`SetLen`](DiskEvent::SetLen).
    #[must_use]
    pub fn of_record(
        events: Vec<Arc<DiskEvent>>,
        head_len: u64,
        head_granularity_bytes: usize,
        granularity_bytes: usize,
    ) -> Self {
        let blocks = BlockLayout::new(head_len, head_granularity_bytes, granularity_bytes);
        Self::new(Arc::default(), None, events, blocks)
    }

    /// Number of events passed so far.
    #[must_use]
    pub fn event_index(&self) -> usize {
        self.event_index
    }

    /// Moves past the next event and returns it; `None` at the end.
    pub fn advance(&mut self) -> Option<Arc<DiskEvent>> {
        let event = Arc::clone(self.events.get(self.event_index)?);
        self.apply(&event);
        Some(event)
    }

    fn apply(&mut self, event: &DiskEvent) {
        match event {
            DiskEvent::Write { offset, bytes } => self.apply_write(*offset, bytes),
            DiskEvent::SetLen { bytes } => self.apply_length(*bytes),
            DiskEvent::Punch { offset, len } => self.apply_punch(*offset, offset + len),
            DiskEvent::Synced { offset, len } => self.apply_synced(*offset, offset + len),
            DiskEvent::Flush => {}
            DiskEvent::FlushEnded { began } => self.apply_flush(*began),
            DiskEvent::FlushFailed { began } => self.apply_failed_flush(*began),
            DiskEvent::DirectWriteEnded { offset, len } => {
                self.settle(self.event_index, *offset..offset + len);
            }
            DiskEvent::Log(event) => {
                let log = self.log.as_mut();
                let log = log.expect("a disk without a log has no events of one");
                log.event_index = self.event_index;
                log.apply(event);
            }
        }
        self.event_index += 1;
    }

    /// The write-ahead log, with the crashes that are possible at this point independently of those
    /// of the file; `None` if the disk has none. It does not move by itself.
    ///
    /// ```
    /// let disk = teak::testing::SimDisk::new(1 << 20).with_log(vec![1, 2]);
    /// let points = disk.crash_points(512);
    /// assert_eq!(points.log().unwrap().process_crash(), [1, 2]);
    /// ```
    #[must_use]
    pub fn log(&self) -> Option<&Self> {
        self.log.as_deref()
    }

    /// The file after the process was killed at this point: everything that was written.
    #[must_use]
    pub fn process_crash(&self) -> Vec<u8> {
        self.memory.clone()
    }

    pub(super) fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// A possible content of the disk if the power fails at this point. `choice` is called with a
    /// number of alternatives, at least 2, and returns the index of one (modulo the number). The
    /// first call selects the length of the file, the others the states of blocks from the start of
    /// the file on. Index 0 is the oldest state, the last index the newest one.
    pub fn power_cut(&self, choice: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let mut choose = |count: usize| if count < 2 { 0 } else { choice(count) % count };
        let length_index = choose(self.lengths.len());
        let blocks = self.open_blocks(length_index);
        let chosen: Vec<usize> = blocks
            .iter()
            .map(|block| choose(block.state_count))
            .collect();
        let mut image = Vec::new();
        self.build(length_index, &blocks, &chosen, &mut image);
        image
    }

    /// Number of lengths that the file may have if the power fails at this point.
    #[must_use]
    pub fn length_count(&self) -> usize {
        self.lengths.len()
    }

    /// The blocks that may be in several states, given one of the lengths, from the start of the
    /// file on.
    #[must_use]
    pub fn open_blocks(&self, length_index: usize) -> Vec<OpenBlock> {
        let length = self.lengths[length_index];
        let later = self.pending.range(..length.bytes);
        let open = later.map(|(&start, history)| {
            let (first, end) = states_with(history, length);
            OpenBlock {
                start,
                first,
                state_count: end - first,
            }
        });
        open.filter(|block| block.state_count > 1 || block.first > 0)
            .collect()
    }

    /// Builds the file with one of the lengths, with each of its [`open_blocks`](Self::open_blocks)
    /// in the chosen state.
    ///
    /// # Panics
    ///
    /// If there is no such length or state.
    pub fn build(
        &self,
        length_index: usize,
        blocks: &[OpenBlock],
        chosen: &[usize],
        image: &mut Vec<u8>,
    ) {
        let length = self.lengths[length_index].bytes as usize;
        let durable_len = self.durable.len().min(length);
        image.clear();
        image.extend_from_slice(&self.durable[..durable_len]);
        image.resize(length, 0);
        for (block, &chosen) in blocks.iter().zip(chosen) {
            // State 0 is the durable one, which is there already.
            let Some(index) = (block.first + chosen).checked_sub(1) else {
                continue;
            };
            let bytes = &self.pending[&block.start][index].bytes;
            let start = block.start as usize;
            let len = bytes.len().min(length - start);
            image[start..][..len].copy_from_slice(&bytes[..len]);
        }
    }

    /// The state of a block after the first `event_index` events.
    #[must_use]
    pub fn state_at(&self, block: &OpenBlock, event_index: usize) -> usize {
        let history = &self.pending[&block.start];
        let later = history.partition_point(|state| state.made_by <= event_index);
        later.clamp(block.first, block.first + block.state_count - 1) - block.first
    }

    fn apply_write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        self.memory[offset as usize..end as usize].copy_from_slice(bytes);
        let again = self.stranded_among(offset, end);
        for block in self.blocks.touched(offset, end).chain(again) {
            self.stranded.remove(&block);
            let content = self.in_memory(block);
            self.note_state(block, content, BlockChange::Write);
        }
    }

    fn apply_punch(&mut self, offset: u64, end: u64) {
        self.memory[offset as usize..end as usize].fill(0);
        for block in self.blocks.touched(offset, end) {
            let mut content: Box<[u8]> = self.newest_state(block).into();
            let start = offset.saturating_sub(block) as usize;
            let end = content.len().min((end - block) as usize);
            content[start..end].fill(0);
            self.note_state(block, content, BlockChange::Punch);
            self.strand_if_different(block);
        }
    }

    /// Stranded blocks in the cache pages of these bytes.
    fn stranded_among(&self, offset: u64, end: u64) -> Vec<u64> {
        let pages_start = offset - offset % CACHE_PAGE_LEN;
        let pages_end = end.next_multiple_of(CACHE_PAGE_LEN);
        self.stranded
            .range(pages_start..pages_end)
            .copied()
            .collect()
    }

    /// Notes the state of a block after the next event, if it differs.
    fn note_state(&mut self, block: u64, bytes: Box<[u8]>, maker: BlockChange) {
        // A cut separates the states before it from those after it, even if it changes nothing.
        let is_separator = maker == BlockChange::Cut && self.pending.contains_key(&block);
        if is_separator || *bytes != *self.newest_state(block) {
            self.pending.entry(block).or_default().push(BlockState {
                bytes,
                made_by: self.event_index + 1,
                maker,
            });
        }
    }

    fn apply_length(&mut self, bytes: u64) {
        let old_len = self.memory.len() as u64;
        self.memory.resize(bytes as usize, 0);
        let whole = bytes.next_multiple_of(CACHE_PAGE_LEN) as usize;
        if self.durable.len() < whole {
            self.durable.resize(whole, 0);
        }
        for block in self.blocks.touched(bytes, old_len.max(bytes)) {
            let mut content: Box<[u8]> = self.newest_state(block).into();
            let kept = bytes.saturating_sub(block) as usize;
            content[kept..].fill(0);
            self.note_state(block, content, BlockChange::Cut);
            self.strand_if_different(block);
        }
        self.lengths.push(LengthState {
            bytes,
            set_by: self.event_index + 1,
        });
    }

    /// Everything done before the event `began` is on the disk.
    fn apply_flush(&mut self, began: usize) {
        self.settle(began, 0..u64::MAX);
    }

    /// The content of these cache pages is on the disk, and the length, like all metadata.
    fn apply_synced(&mut self, offset: u64, end: u64) {
        let pages_start = offset - offset % CACHE_PAGE_LEN;
        self.settle(
            self.event_index,
            pages_start..end.next_multiple_of(CACHE_PAGE_LEN),
        );
    }

    /// Changes to these blocks before the event `began` are on the disk, and the length is too.
    fn settle(&mut self, began: usize, blocks: Range<u64>) {
        let durable = &mut self.durable;
        self.pending.retain(|block, history| {
            if !blocks.contains(block) {
                return true;
            }
            let block = *block;
            let settled = history.partition_point(|state| state.made_by <= began);
            if let Some(state) = history[..settled].last() {
                durable[block as usize..][..state.bytes.len()].copy_from_slice(&state.bytes);
            }
            history.drain(..settled);
            !history.is_empty()
        });
        let settled = self
            .lengths
            .partition_point(|length| length.set_by <= began);
        self.lengths.drain(..settled.saturating_sub(1));
    }

    /// The data is forgotten, except in cache pages that were written meanwhile. Metadata is kept
    /// by the file system, which will still write it.
    fn apply_failed_flush(&mut self, began: usize) {
        let mut dirty = Vec::new();
        for (block, mut history) in std::mem::take(&mut self.pending) {
            history.retain(|state| state.maker != BlockChange::Write || state.made_by > began);
            if history
                .iter()
                .any(|state| state.maker == BlockChange::Write)
            {
                dirty.push(block);
            }
            if !history.is_empty() {
                self.pending.insert(block, history);
            }
            self.strand_if_different(block);
        }
        for block in dirty {
            for stranded in self.stranded_among(block, block + 1) {
                self.stranded.remove(&stranded);
                let content = self.in_memory(stranded);
                self.note_state(stranded, content, BlockChange::Write);
            }
        }
    }

    fn strand_if_different(&mut self, block: u64) {
        if *self.in_memory(block) == *self.newest_state(block) {
            self.stranded.remove(&block);
        } else {
            self.stranded.insert(block);
        }
    }

    /// The content of the block when everything pending is on the disk.
    fn newest_state(&self, block: u64) -> &[u8] {
        match self.pending.get(&block).and_then(|history| history.last()) {
            Some(state) => &state.bytes,
            None => &self.durable[block as usize..][..self.blocks.len(block) as usize],
        }
    }

    /// The block as a process sees it, with zeros after the end of the file.
    fn in_memory(&self, block: u64) -> Box<[u8]> {
        let len = self.blocks.len(block) as usize;
        let start = self.memory.len().min(block as usize);
        let end = self.memory.len().min(start + len);
        let mut content = vec![0; len].into_boxed_slice();
        content[..end - start].copy_from_slice(&self.memory[start..end]);
        content
    }
}

impl BlockLayout {
    pub(super) fn new(head_len: u64, head_granularity: usize, granularity: usize) -> Self {
        for bytes in [head_granularity, granularity] {
            assert!(
                bytes.is_power_of_two() && bytes as u64 <= CACHE_PAGE_LEN,
                "the granularity is to be a power of two of at most {CACHE_PAGE_LEN}, not {bytes}",
            );
        }
        assert!(
            head_len.is_multiple_of(CACHE_PAGE_LEN),
            "the head is to end with a page of {CACHE_PAGE_LEN} bytes"
        );
        Self {
            head_len,
            head_granularity: head_granularity as u64,
            granularity: granularity as u64,
        }
    }

    /// How the log is divided: into parts of the blocks that are written past the cache.
    fn of_log(self) -> Self {
        let granularity = self.granularity.min(BLOCK_LEN as u64);
        Self {
            head_len: 0,
            head_granularity: granularity,
            granularity,
        }
    }

    /// Length of the block that contains this offset.
    fn len(&self, offset: u64) -> u64 {
        if offset < self.head_len {
            self.head_granularity
        } else {
            self.granularity
        }
    }

    /// The starts of the blocks that bytes from `start` to `end` touch.
    fn touched(self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        let mut next = start - start % self.len(start);
        std::iter::from_fn(move || {
            let block = next;
            next += self.len(block);
            (block < end).then_some(block)
        })
    }
}

/// The states that can be on the disk with this length: the first one, and one past the last,
/// counted from the durable state as 0.
fn states_with(history: &History, length: LengthState) -> (usize, usize) {
    let is_cut = |state: &BlockState, before: bool| {
        state.maker == BlockChange::Cut && (state.made_by <= length.set_by) == before
    };
    let first = history
        .iter()
        .rposition(|state| is_cut(state, true))
        .map_or(0, |index| index + 1);
    let end = history
        .iter()
        .position(|state| is_cut(state, false))
        .map_or(history.len() + 1, |index| index + 1);
    (first, end)
}

#[cfg(test)]
#[path = "crash_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "log_tests.rs"]
mod log_tests;
