//! What may be on the disk after a crash.
//!
//! The disk writes blocks of a *granularity*, each whole or not at all, in any order. A block that
//! was written to several times since the last flush may hold what it held behind any of these
//! writes, or what was there before: a *prefix* of its writes. Blocks are independent of each other.
//!
//! Lengths are metadata, which file systems keep in order: the file has one of the lengths it had
//! since the last flush. Cutting the file short makes zeros of what was there, and that comes and
//! goes with the length: of a block that was cut, only states that were reached behind the cut go
//! with a length set at or behind it, and only states before it go with an earlier length.
//!
//! The system keeps the file in *cache pages*. A flush that fails marks them clean: what they hold
//! is *stranded*, in memory and not on the disk, until something in the same page is written again.

use super::Event;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Length of a cache page in bytes.
const CACHE_PAGE_LEN: u64 = 4096;

/// A walk through what was done to a disk, with the crashes that are possible at each point.
///
/// Starts before the first event. [`advance`](Self::advance) goes one event on.
#[derive(Clone, Debug)]
pub struct CrashPoints {
    events: Vec<Arc<Event>>,
    event_index: usize,
    granularity: u64,
    /// The file as a process sees it.
    memory: Vec<u8>,
    /// What is surely on the disk, blocks that may be in another state apart; zero behind the end.
    durable: Vec<u8>,
    /// Blocks that may be in one of several states.
    pending: BTreeMap<u64, History>,
    /// Blocks that a failed flush left in memory only.
    stranded: BTreeSet<u64>,
    /// The lengths the file may have, oldest first. Never empty.
    lengths: Vec<Length>,
}

#[derive(Clone, Copy, Debug)]
struct Length {
    bytes: u64,
    /// The event that set it, counted from 1; 0 for the length at the start.
    set_by: usize,
}

/// States of a block behind the durable one, oldest first.
type History = Vec<BlockState>;

#[derive(Clone, Debug)]
struct BlockState {
    bytes: Box<[u8]>,
    /// For a state made by cutting the file short: that event, counted from 1.
    cut_by: Option<usize>,
}

impl CrashPoints {
    pub(super) fn new(
        initial: Arc<[u8]>,
        events: Vec<Arc<Event>>,
        granularity_bytes: usize,
    ) -> Self {
        assert!(
            granularity_bytes.is_power_of_two() && granularity_bytes as u64 <= CACHE_PAGE_LEN,
            "the granularity is to be a power of two of at most {CACHE_PAGE_LEN}, not {granularity_bytes}",
        );
        Self {
            events,
            event_index: 0,
            granularity: granularity_bytes as u64,
            memory: initial.to_vec(),
            durable: initial.to_vec(),
            pending: BTreeMap::new(),
            stranded: BTreeSet::new(),
            lengths: vec![Length {
                bytes: initial.len() as u64,
                set_by: 0,
            }],
        }
    }

    /// How many events are behind.
    #[must_use]
    pub fn event_index(&self) -> usize {
        self.event_index
    }

    /// Goes behind the next event, which is returned; `None` at the end.
    pub fn advance(&mut self) -> Option<Arc<Event>> {
        let event = Arc::clone(self.events.get(self.event_index)?);
        match &*event {
            Event::Write { offset, bytes } => self.apply_write(*offset, bytes),
            Event::SetLen { bytes } => self.apply_length(*bytes),
            Event::Flush => self.apply_flush(),
            Event::FlushFailed => self.apply_failed_flush(),
        }
        self.event_index += 1;
        Some(event)
    }

    /// The file after the process was killed at this point: all that was written.
    #[must_use]
    pub fn process_crash(&self) -> Vec<u8> {
        self.memory.clone()
    }

    /// What may be on the disk if power fails at this point. `choice` is called with a number of
    /// alternatives, at least 2, and answers with the index of one (the remainder counts). The
    /// first call is about the length of the file, the others about blocks from the start of the
    /// file on; index 0 is the oldest state, the last index the newest one.
    pub fn power_cut(&self, choice: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let mut choose = |count: usize| if count < 2 { 0 } else { choice(count) % count };
        let length = self.lengths[choose(self.lengths.len())];
        let mut image = self.durable.clone();
        image.resize(length.bytes as usize, 0);
        for (block, history) in &self.pending {
            let start = block * self.granularity;
            if start >= length.bytes {
                break;
            }
            let (first, end) = states_beside(history, length);
            let chosen = first + choose(end - first);
            // State 0 is the durable one, which is there already.
            if let Some(state) = chosen.checked_sub(1).map(|index| &history[index]) {
                let len = self.granularity.min(length.bytes - start) as usize;
                image[start as usize..][..len].copy_from_slice(&state.bytes[..len]);
            }
        }
        image
    }

    fn apply_write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        self.memory[offset as usize..end as usize].copy_from_slice(bytes);
        let pages_start = offset - offset % CACHE_PAGE_LEN;
        let pages_end = end.next_multiple_of(CACHE_PAGE_LEN);
        let again: Vec<u64> = self
            .stranded
            .range(self.block_range(pages_start, pages_end))
            .copied()
            .collect();
        for block in self.block_range(offset, end).chain(again) {
            self.stranded.remove(&block);
            let content = read_block(&self.memory, block, self.granularity);
            if *content != *self.newest_state(block) {
                self.pending.entry(block).or_default().push(BlockState {
                    bytes: content,
                    cut_by: None,
                });
            }
        }
    }

    fn apply_length(&mut self, bytes: u64) {
        let old_len = self.memory.len() as u64;
        let number = self.event_index + 1;
        self.memory.resize(bytes as usize, 0);
        for block in self.block_range(bytes, old_len.max(bytes)) {
            let mut content = self.newest_state(block);
            let kept = bytes.saturating_sub(block * self.granularity) as usize;
            content[kept..].fill(0);
            // Where nothing is pending and nothing changes there is nothing to tell apart.
            if self.pending.contains_key(&block) || *content != *self.newest_state(block) {
                let state = BlockState {
                    bytes: content,
                    cut_by: Some(number),
                };
                self.pending.entry(block).or_default().push(state);
            }
            self.strand_if_different(block);
        }
        self.lengths.push(Length {
            bytes,
            set_by: number,
        });
    }

    fn apply_flush(&mut self) {
        for (block, mut history) in std::mem::take(&mut self.pending) {
            let newest = history
                .pop()
                .expect("a history is made with its first state");
            let start = (block * self.granularity) as usize;
            let end = start + newest.bytes.len();
            if self.durable.len() < end {
                self.durable.resize(end, 0);
            }
            self.durable[start..end].copy_from_slice(&newest.bytes);
        }
        self.lengths.drain(..self.lengths.len() - 1);
    }

    /// The data is forgotten; the metadata is the file system's, which will still write it.
    fn apply_failed_flush(&mut self) {
        for (block, mut history) in std::mem::take(&mut self.pending) {
            history.retain(|state| state.cut_by.is_some());
            if !history.is_empty() {
                self.pending.insert(block, history);
            }
            self.strand_if_different(block);
        }
    }

    fn strand_if_different(&mut self, block: u64) {
        if *read_block(&self.memory, block, self.granularity) == *self.newest_state(block) {
            self.stranded.remove(&block);
        } else {
            self.stranded.insert(block);
        }
    }

    /// What the block will hold when all that is pending is on the disk.
    fn newest_state(&self, block: u64) -> Box<[u8]> {
        match self.pending.get(&block).and_then(|history| history.last()) {
            Some(state) => state.bytes.clone(),
            None => read_block(&self.durable, block, self.granularity),
        }
    }

    /// The blocks that bytes from `start` to `end` touch.
    fn block_range(&self, start: u64, end: u64) -> std::ops::Range<u64> {
        start / self.granularity..end.div_ceil(self.granularity)
    }
}

/// The states that can be on the disk beside this length: the first and the one behind the last,
/// counted from the durable state as 0.
fn states_beside(history: &History, length: Length) -> (usize, usize) {
    let is_cut = |state: &BlockState, before: bool| {
        state
            .cut_by
            .is_some_and(|event| (event <= length.set_by) == before)
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

/// A block of `bytes`, with zeros where they end.
fn read_block(bytes: &[u8], block: u64, granularity: u64) -> Box<[u8]> {
    let start = bytes.len().min((block * granularity) as usize);
    let end = bytes.len().min(start + granularity as usize);
    let mut content = vec![0; granularity as usize].into_boxed_slice();
    content[..end - start].copy_from_slice(&bytes[start..end]);
    content
}

#[cfg(test)]
#[path = "crash_tests.rs"]
mod tests;
