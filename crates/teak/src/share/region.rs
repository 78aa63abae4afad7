//! The layout of the memory that all processes with a database open share.
//!
//! | from byte | content |
//! |---|---|
//! | 0 | magic; layout version; the boot of the machine; the database; whether it is in order; its *epoch*; device and inode of its file |
//! | 128 | the cross-process writer lock |
//! | 192 | the flush lock |
//! | 256 | the lock of the commit state |
//! | 320 | which of the two copies of that state is valid; whether a write or flush has failed; how often blocks of the file were given back; the process with a memtable; how many processes have joined |
//! | 512, 1024 | the two copies |
//! | 4,096 | the table of processes: incarnation and process id, PID namespace |
//! | 69,632 | four record areas, for the commit records of visible states |
//! | 389,120 | the reader table: the visible state; after it, the commit notification |
//! | 393,216 | blocks of reader slots, each with its owner: as many as were ever taken at once, and some more |
//!
//! The holder of its lock changes the commit state in the copy that is not valid. One store then
//! makes that copy valid. A process may therefore die at any instruction.
//!
//! The epoch grows when the database is recovered while processes have it open that know of a
//! failure. For those it stays closed for writing.

use super::{
    lock::SharedLock,
    notify::CommitNotifier,
    processes::{ProcessTable, TABLE_WORDS, entry_index_of},
    readers::{ReaderTable, SPARE},
    words::{AcqRel, Acquire, AtomicU64, Memory, PAGE, Relaxed, Release, SeqCst, fence},
};
use crate::io::FileId;
use std::{ops::Range, sync::Arc};

/// `TeakLock`, little-endian.
const MAGIC: u64 = u64::from_le_bytes(crate::io::LOCK_MAGIC);
/// Grows with each change of the layout described above.
const LAYOUT: u64 = 8;

const BOOT: usize = 2;
const DATABASE: usize = 4;
const IS_READY: usize = 6;
const EPOCH: usize = 7;
const FILE: usize = 8;
const WRITER: usize = 128;
const FLUSH: usize = 192;
const STATE_LOCK: usize = 256;
const CURRENT_COPY: usize = 40;
const HAS_FAILED: usize = 41;
const GIVEN_BACK: usize = 42;
const MEMTABLE_OWNER: usize = 43;
const JOINED: usize = 44;
/// Words before the two copies.
const HEAD_LEN: usize = COPIES[0];
const COPIES: [usize; 2] = [64, 128];
const PROCESSES: usize = 512;
const AREAS: usize = PROCESSES + TABLE_WORDS;
const AREA_COUNT: usize = 4;
/// Words of an area: one cache line, and the longest record.
const AREA_WORDS: usize = 8 + 65_536 / 8 + 504;
/// Length of the file without any reader. It is a multiple of the page size of every system.
pub(crate) const REGION_LEN: usize = 6 << 16;
const READERS: usize = REGION_LEN / 8 - PAGE;
const _: () = assert!(
    READERS >= AREAS + AREA_COUNT * AREA_WORDS,
    "the records end before the reader table"
);
const _: () = assert!(
    WRITER.is_multiple_of(64)
        && FLUSH == WRITER + 64
        && STATE_LOCK == FLUSH + 64
        && CURRENT_COPY * 8 == STATE_LOCK + 64,
    "each lock has a cache line"
);
const _: () = assert!(
    COPIES[0] > JOINED && COPIES[1] >= COPIES[0] + STATE_LEN && PROCESSES >= COPIES[1] + STATE_LEN,
    "the copies of the commit state overlap neither each other nor what is around them"
);
const _: () = assert!(
    AREA_WORDS >= 8 + 65_536 / 8,
    "an area has room for a record that fills the longest page"
);
const _: () = assert!(
    REGION_LEN.is_multiple_of(65_536),
    "blocks of slots begin at a system page, whatever its size"
);
/// Blocks of slots: 1,048,576 readers.
const BLOCK_COUNT: usize = 16_384;
/// Blocks that are allocated from the start, so that the first readers have room even if the disk
/// is full by then.
const BLOCKS_AT_FIRST: usize = 8;
/// Length of the part that is always used.
pub(crate) const REGION_HEAD_LEN: usize = PROCESSES * 8;
const _: () = assert!(
    REGION_HEAD_LEN < REGION_LEN,
    "locks are in the part that every file has"
);

/// Words of the commit state.
pub(crate) const STATE_LEN: usize = 32;
/// The commit state, in the layout of the layer above.
pub(crate) type StateWords = [u64; STATE_LEN];

/// The shared memory of one database.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    memory: Arc<Memory>,
    pub(crate) writer: SharedLock,
    pub(crate) flush: SharedLock,
    pub(crate) state: SharedLock,
    pub(crate) processes: ProcessTable,
    pub(crate) readers: ReaderTable,
    /// Notified when another state becomes visible.
    pub(crate) notifier: CommitNotifier,
}

impl Region {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        assert!(
            memory.words().len() >= HEAD_LEN,
            "the memory has the words at its head"
        );
        let lock = |byte: usize| SharedLock::new(Arc::clone(&memory), byte / 4);
        Self {
            writer: lock(WRITER),
            flush: lock(FLUSH),
            state: lock(STATE_LOCK),
            processes: ProcessTable::new(Arc::clone(&memory), PROCESSES),
            readers: ReaderTable::new(Arc::clone(&memory), READERS, BLOCK_COUNT),
            notifier: CommitNotifier::new(Arc::clone(&memory), (READERS + SPARE) * 2),
            memory,
        }
    }

    /// The boot of the machine in which the memory was initialized.
    pub(crate) fn boot(&self) -> [u8; 16] {
        self.id(BOOT)
    }

    /// Whether the layout is the one described here.
    pub(crate) fn is_known(&self) -> bool {
        self.word(1).load(Acquire) == LAYOUT && self.word(0).load(Relaxed) == MAGIC
    }

    /// Whether a process has the database open and has found or put it in order.
    pub(crate) fn is_ready(&self) -> bool {
        self.word(IS_READY).load(Acquire) == 1
    }

    /// Notes that the database is closed. The next process recovers it from its file.
    pub(crate) fn set_closed(&self) {
        self.word(IS_READY).store(0, Release);
    }

    /// Device and inode of the database file.
    pub(crate) fn file_id(&self) -> FileId {
        (
            self.word(FILE).load(Relaxed),
            self.word(FILE + 1).load(Relaxed),
        )
    }

    /// Notes the file that the shared state belongs to.
    pub(crate) fn set_file_id(&self, id: FileId) {
        self.word(FILE).store(id.0, Relaxed);
        self.word(FILE + 1).store(id.1, Relaxed);
    }

    /// Initializes the memory with the state found in the file. The caller holds the lock of the
    /// commit state.
    pub(crate) fn begin(&self, database: [u8; 16], boot: [u8; 16], state: &StateWords) {
        self.set_id(DATABASE, database);
        self.set_id(BOOT, boot);
        self.word(0).store(MAGIC, Relaxed);
        self.word(1).store(LAYOUT, Release);
        self.store_state(state);
    }

    /// Notes that the database is in order. After a failure this begins a new epoch.
    pub(crate) fn set_ready(&self) {
        if self.has_failed() {
            self.word(EPOCH).fetch_add(1, AcqRel);
            self.word(HAS_FAILED).store(0, Release);
        }
        self.word(IS_READY).store(1, Release);
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.word(EPOCH).load(Acquire)
    }

    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.word(HAS_FAILED).load(Acquire) != 0
    }

    /// Whether a write or flush has failed since this epoch began.
    #[inline]
    pub(crate) fn has_failed_since(&self, epoch: u64) -> bool {
        let head = self.head();
        head[HAS_FAILED].load(Acquire) != 0 || head[EPOCH].load(Acquire) != epoch
    }

    pub(crate) fn set_failed(&self) {
        self.word(HAS_FAILED).store(1, Release);
    }

    /// Simulates the death of this process: other processes no longer see its actions. For itself,
    /// all is closed for writing and no lock is held.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn die(&self) -> std::io::Result<()> {
        // No test has enough readers to use the memory after this.
        self.memory.detach(READERS * 8 + (1 << 20))?;
        self.word(EPOCH).store(u64::MAX, Relaxed);
        self.set_failed();
        for lock in [&self.writer, &self.flush, &self.state] {
            lock.forget();
        }
        Ok(())
    }

    /// How often writers have given blocks of the file back. The caller holds the writer lock.
    pub(crate) fn blocks_given_back(&self) -> u64 {
        self.word(GIVEN_BACK).load(Relaxed)
    }

    /// Notes that the caller, which holds the writer lock, gave blocks back.
    pub(crate) fn note_blocks_given_back(&self) {
        self.word(GIVEN_BACK).fetch_add(1, Relaxed);
    }

    /// The process that may have commits in its memtable; 0 if there is none.
    pub(crate) fn memtable_owner(&self) -> u32 {
        self.word(MEMTABLE_OWNER).load(SeqCst) as u32
    }

    /// Notes the process that may have commits in its memtable, or 0. After that, it looks whether
    /// others have [joined](Self::joined). A process that joins counts itself there, and then looks
    /// for an owner. So one of the two sees the other.
    pub(crate) fn set_memtable_owner(&self, token: u32) {
        debug_assert!(
            entry_index_of(token).is_some() || token == 0,
            "the owner is a process of the table"
        );
        self.word(MEMTABLE_OWNER).store(token.into(), SeqCst);
    }

    /// Notes that this process has no commits in its memtable any more. Does nothing if another one
    /// is noted, which has recovered the database meanwhile.
    pub(crate) fn clear_memtable_owner(&self, token: u32) {
        let owner = self.word(MEMTABLE_OWNER);
        let _ = owner.compare_exchange(token.into(), 0, SeqCst, SeqCst);
    }

    /// How many processes have joined others.
    pub(crate) fn joined(&self) -> u64 {
        self.word(JOINED).load(SeqCst)
    }

    /// Counts this process as one that joins others.
    pub(crate) fn note_joined(&self) {
        self.word(JOINED).fetch_add(1, SeqCst);
    }

    /// The commit state. The caller holds its lock.
    pub(crate) fn load_state(&self) -> StateWords {
        let copy = COPIES[self.word(CURRENT_COPY).load(Acquire) as usize % 2];
        let words = &self.memory.words()[copy..][..STATE_LEN];
        std::array::from_fn(|index| words[index].load(Relaxed))
    }

    /// Stores the commit state. The caller holds its lock.
    pub(crate) fn store_state(&self, state: &StateWords) {
        let copy_index = (self.word(CURRENT_COPY).load(Relaxed) % 2 + 1) % 2;
        let copy = &self.memory.words()[COPIES[copy_index as usize]..];
        for (target, word) in copy.iter().zip(state) {
            target.store(*word, Relaxed);
        }
        self.word(CURRENT_COPY).store(copy_index, Release);
    }

    /// Stores the record of a state for all processes, with two counts of the caller, and makes the
    /// state visible. One thread at a time does that.
    pub(crate) fn publish(&self, transaction: u64, record: &[u8], counts: [u64; 2]) {
        assert!(
            record.len().is_multiple_of(8) && record.len() / 8 <= AREA_WORDS - 8,
            "a record is whole words, and fits into its area"
        );
        assert!(
            transaction < u64::MAX,
            "every state has a number that is not 0 in the shared memory"
        );
        let visible = self.readers.visible().wrapping_add(1);
        let is_of_visible = |area: &usize| self.word(area_at(*area)).load(Relaxed) == visible;
        let of_visible = (0..AREA_COUNT).find(is_of_visible);
        let start = area_at(of_visible.map_or(0, |area| (area + 1) % AREA_COUNT));
        self.word(start).store(0, Relaxed);
        // Keeps readers from taking the following stores for the previous record.
        fence(Release);
        self.word(start + 1).store(record.len() as u64, Relaxed);
        self.word(start + 2).store(counts[0], Relaxed);
        self.word(start + 3).store(counts[1], Relaxed);
        let (record, _) = record.as_chunks();
        let words = &self.memory.words()[start + 8..][..record.len()];
        for (word, bytes) in words.iter().zip(record) {
            word.store(u64::from_ne_bytes(*bytes), Relaxed);
        }
        self.word(start).store(transaction + 1, Release);
        self.forget_others_of(transaction, start);
        self.readers.publish(transaction);
    }

    /// Forgets other records of this state. It may have become visible before and have a new record
    /// since it was closed, or since it was recovered after a failure.
    fn forget_others_of(&self, transaction: u64, start: usize) {
        for other in (0..AREA_COUNT).map(area_at) {
            if other != start && self.word(other).load(Relaxed) == transaction + 1 {
                self.word(other).store(0, Relaxed);
            }
        }
    }

    /// The record of a state; `None` if it is not among the last visible states, or was overwritten
    /// during the read.
    pub(crate) fn record(&self, transaction: u64) -> Option<(Vec<u8>, [u64; 2])> {
        let wanted = transaction.checked_add(1)?;
        let starts = (0..AREA_COUNT).map(area_at);
        let start = { starts }.find(|start| self.word(*start).load(Acquire) == wanted)?;
        let len = self.word(start + 1).load(Relaxed) as usize / 8;
        let mut record = vec![0; len.min(AREA_WORDS - 8) * 8];
        for (index, bytes) in record.chunks_exact_mut(8).enumerate() {
            let word = self.word(start + 8 + index).load(Relaxed);
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        let counts = [2, 3].map(|index| self.word(start + index).load(Relaxed));
        fence(Acquire);
        (self.word(start).load(Relaxed) == wanted).then_some((record, counts))
    }

    /// The bytes that a database with pages of this size always needs, and that must be allocated.
    pub(crate) fn needed(&self, page_size: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = (0..AREA_COUNT).map(|area| area_at(area) * 8);
        let areas = starts.map(move |start| start..start + 64 + page_size);
        areas.chain([self.readers.bytes(BLOCKS_AT_FIRST)])
    }

    /// Whether this process has lost the shared memory, for example because the file was truncated.
    /// Its memory is then private, and initially zero.
    pub(crate) fn is_lost(&self) -> bool {
        self.memory.is_lost()
    }

    /// Length of the part that this process has used, which the file has.
    pub(crate) fn used_len(&self) -> usize {
        self.memory.used_len()
    }

    /// Makes the memory [lost](Self::is_lost), as by a fault.
    #[cfg(test)]
    pub(crate) fn lose(&self) {
        self.memory.lose();
    }

    fn id(&self, index: usize) -> [u8; 16] {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.word(index).load(Relaxed).to_ne_bytes());
        id[8..].copy_from_slice(&self.word(index + 1).load(Relaxed).to_ne_bytes());
        id
    }

    fn set_id(&self, index: usize, id: [u8; 16]) {
        let half = |from: usize| {
            let bytes = id[from..from + 8].try_into();
            u64::from_ne_bytes(bytes.expect("eight bytes"))
        };
        self.word(index).store(half(0), Relaxed);
        self.word(index + 1).store(half(8), Relaxed);
    }

    #[inline]
    fn head(&self) -> &[AtomicU64; HEAD_LEN] {
        let head = self.memory.words().first_chunk();
        head.expect("the memory is longer than its head")
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        &self.memory.words()[index]
    }
}

fn area_at(area: usize) -> usize {
    AREAS + area * AREA_WORDS
}
