//! The write-ahead log beside the file of a simulated disk.
//!
//! Operations on it are events of the disk, as [`DiskEvent::Log`], so that a crash may come between
//! any two operations on either file. The flush of one says nothing about the other.
//!
//! A log without bytes does not exist. It is created when it is first filled, and a log that is
//! removed becomes empty. A flush of the directory is one of the log.

use super::{Call, DiskEvent, SimDisk, SimDiskState};
use crate::io::{
    lock_header::LockMode,
    log_storage::{BLOCK_LEN, LogLocation, LogPart, LogStorage},
    mutex::lock,
};
use std::{
    collections::BTreeSet,
    io::{self, ErrorKind},
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

/// The log as processes see it, and on the disk before the first event.
#[derive(Clone, Default, Debug)]
pub(super) struct SimLog {
    pub(super) initial: Arc<Vec<u8>>,
    pub(super) content: Vec<u8>,
    /// Pages of the cache that were written since a flush began.
    pub(super) cached: BTreeSet<usize>,
}

/// A log that a process writes.
#[derive(Debug)]
struct SimLogFile {
    disk: SimDisk,
    is_named: AtomicBool,
    flush_count: AtomicU64,
}

impl SimDisk {
    /// Gives databases on this disk a write-ahead log, for their small commits. A database that a
    /// process left there has this one, all of it on the disk; it has none if that is empty.
    ///
    /// Without this, all commits go to the trees of a database on the disk.
    ///
    /// ```
    /// use teak::{Durability, Options, codec::Bytes, testing};
    ///
    /// let disk = testing::SimDisk::new(1 << 20).with_log(Vec::new());
    /// let options = Options::new().durability(Durability::Lazy);
    /// let database = testing::open(&disk, &options, true, [1; 16])?;
    /// let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Bytes, Bytes>("words")?;
    /// txn.commit()?;
    /// let mut txn = database.begin_write()?;
    /// words.insert(&mut txn, b"ash", b"1")?;
    /// txn.commit()?;
    /// assert!(!disk.log().is_empty());
    /// # Ok::<(), teak::Error>(())
    /// ```
    #[must_use]
    pub fn with_log(self, content: Vec<u8>) -> Self {
        lock(&self.inner.state).log = Some(SimLog {
            initial: Arc::new(content.clone()),
            content,
            cached: BTreeSet::new(),
        });
        self
    }

    /// The write-ahead log as a process sees it now; empty if there is none.
    ///
    /// ```
    /// let disk = teak::testing::SimDisk::new(1 << 20).with_log(vec![1, 2]);
    /// assert_eq!(disk.log(), [1, 2]);
    /// ```
    #[must_use]
    pub fn log(&self) -> Vec<u8> {
        let state = lock(&self.inner.state);
        let log = state.log.as_ref();
        log.map(|log| log.content.clone()).unwrap_or_default()
    }

    /// The location of the log; `None` if databases on this disk have none.
    pub(super) fn location_of_log(&self) -> Option<Arc<dyn LogLocation>> {
        let has_log = lock(&self.inner.state).log.is_some();
        has_log.then(|| Arc::new(self.clone()) as _)
    }

    fn remove_log(&self) -> io::Result<()> {
        self.state()?.set_log_len(0);
        Ok(())
    }
}

impl SimDiskState {
    fn log(&mut self) -> &mut SimLog {
        self.log.as_mut().expect("only disks with a log create one")
    }

    fn set_log_len(&mut self, bytes: usize) {
        self.log().content.resize(bytes, 0);
        let bytes = bytes as u64;
        let event = DiskEvent::SetLen { bytes };
        self.events.push(Arc::new(event.of_log()));
    }

    /// Writes each block by itself: a process may be killed in between.
    fn write_log(&mut self, offset: usize, bytes: &[u8]) {
        self.log().content[offset..][..bytes.len()].copy_from_slice(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = offset + bytes.len() - rest.len();
            let block_end = (offset + 1).next_multiple_of(BLOCK_LEN);
            let (block, after) = rest.split_at(rest.len().min(block_end - offset));
            let event = DiskEvent::Write {
                offset: offset as u64,
                bytes: block.to_vec(),
            };
            self.events.push(Arc::new(event.of_log()));
            rest = after;
        }
    }
}

impl LogLocation for SimDisk {
    fn path(&self) -> &Path {
        Path::new("simulated-wal")
    }

    /// Short, so that workloads use both halves, and many images can be made of it.
    fn half_len(&self) -> usize {
        512 << 10
    }

    fn create(&self, _mode: LockMode) -> io::Result<Arc<dyn LogStorage>> {
        let mut state = self.state()?;
        state.faults.count_call(Call::LogCreate)?;
        if !state.log().content.is_empty() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(Arc::new(SimLogFile {
            disk: self.clone(),
            is_named: AtomicBool::new(false),
            flush_count: AtomicU64::new(0),
        }))
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let content = self.log();
        Ok(Some(content).filter(|content| !content.is_empty()))
    }

    fn remove(&self) -> io::Result<()> {
        self.remove_log()?;
        self.flush_once(Call::LogFlush)
    }
}

impl SimLogFile {
    /// Writes bytes in a call of this kind, or a part of them if it fails as planned.
    fn write_as(&self, call: Call, bytes: &[u8], offset: usize) -> io::Result<()> {
        let mut state = self.disk.state()?;
        let fault = state.faults.count(call);
        let written = fault.map_or(bytes.len(), |fault| fault.written_of(bytes.len()));
        state.write_log(offset, &bytes[..written]);
        fault.map_or(Ok(()), |fault| Err(fault.to_error()))
    }
}

/// The pages of the cache with these bytes.
fn pages_of(offset: usize, len: usize) -> Range<usize> {
    const PAGE_LEN: usize = 4096;
    offset / PAGE_LEN..(offset + len).div_ceil(PAGE_LEN)
}

impl LogStorage for SimLogFile {
    fn fill(&self, part: Range<usize>) -> io::Result<()> {
        let mut state = self.disk.state()?;
        state.faults.count_call(Call::LogFill)?;
        let len = state.log().content.len();
        let in_file = part.start.min(len)..part.end.min(len);
        assert!(
            state.log().content[in_file].iter().all(|byte| *byte == 0),
            "a part is filled before anything is written there"
        );
        if part.end > len {
            state.set_log_len(part.end);
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        assert!(
            offset as usize + bytes.len() <= 2 * self.disk.half_len(),
            "an entry is in one of the halves"
        );
        self.disk
            .state()?
            .log()
            .cached
            .extend(pages_of(offset as usize, bytes.len()));
        self.write_as(Call::LogWrite, bytes, offset as usize)
    }

    fn flush(&self) -> io::Result<()> {
        assert!(
            self.is_named.load(Relaxed),
            "a file without a name that is on the disk is lost"
        );
        // After a failed flush nothing is written past the cache.
        self.disk.state()?.log().cached.clear();
        self.disk.flush_once(Call::LogFlush)?;
        self.flush_count.fetch_add(1, Relaxed);
        Ok(())
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn write_durably(&self, part: &LogPart) -> io::Result<bool> {
        assert!(
            part.start.is_multiple_of(BLOCK_LEN) && self.is_named.load(Relaxed),
            "whole blocks are written, and to a file whose name is on the disk"
        );
        let mut bytes = part.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(BLOCK_LEN), 0);
        let mut pages = pages_of(part.start, bytes.len());
        let mut state = self.disk.state()?;
        assert!(
            pages.all(|page| !state.log().cached.contains(&page)),
            "a page is not written through the cache and past it at a time"
        );
        drop(state);
        self.write_as(Call::LogWriteDirect, &bytes, part.start)?;
        let event = DiskEvent::DirectWriteEnded {
            offset: part.start as u64,
            len: bytes.len() as u64,
        };
        self.disk.end_call(event.of_log())?;
        self.flush_count.fetch_add(1, Relaxed);
        Ok(true)
    }

    fn flush_name(&self) -> io::Result<()> {
        if !self.is_named.load(Relaxed) {
            self.disk.flush_once(Call::LogFlush)?;
            self.is_named.store(true, Relaxed);
        }
        Ok(())
    }

    fn remove(&self) {
        // A killed process removes nothing.
        let _ = self.disk.remove_log();
    }

    fn flush_count(&self) -> u64 {
        self.flush_count.load(Relaxed)
    }
}
