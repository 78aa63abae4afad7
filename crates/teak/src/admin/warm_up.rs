//! Bringing a database into memory before it is needed.

use crate::read::snapshot::PinnedSnapshot;
use crate::{Error, Result, io::Content};
use std::time::{Duration, Instant};

/// Bytes between two checks of the clock.
const STRETCH_BYTES: u64 = 4 << 20;

/// How [`Database::warm_up`](crate::Database::warm_up) brings a database into memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarmUp {
    /// Asks the system to read it soon. The system decides when.
    Ask,
    /// Reads it. An unreadable sector is an error.
    Read,
    /// Reads it and locks it in memory. It stays there until
    /// [`Database::release_memory`](crate::Database::release_memory), the end of the process, or
    /// the end of its mapping: when the database is closed, or when the file outgrows its reserved
    /// addresses and is mapped again. Pages written later stay in memory only if they replace old
    /// ones. The system limits how much a process may lock. If the limit is too low, nothing stays
    /// locked.
    Lock,
}

/// The result of [`Database::warm_up`](crate::Database::warm_up).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Warmed {
    /// Bytes that were requested or read.
    pub bytes: u64,
    /// Whether these are all bytes in use. If not, the time limit was reached.
    pub is_whole: bool,
}

/// Brings all pages in use into memory, from the beginning of the file on, until the time limit.
pub(crate) fn warm_up(
    snapshot: &PinnedSnapshot,
    method: WarmUp,
    limit: Duration,
) -> Result<Warmed> {
    let begun = Instant::now();
    let mut bytes = 0;
    let page_size = snapshot.record().page_size as u64;
    let free = snapshot.load_space_map()?.classify().free;
    let mut offset = 0;
    let ends = free
        .iter()
        .map(|extent| (u64::from(extent.start.0), extent.end()));
    let last = snapshot.page_count();
    for (end, next) in ends.chain([(last, last)]) {
        let end = end * page_size;
        while offset < end {
            if begun.elapsed() >= limit {
                let is_whole = false;
                return Ok(Warmed { bytes, is_whole });
            }
            let len = STRETCH_BYTES.min(end - offset);
            match method {
                WarmUp::Ask => snapshot.mapping.announce(offset, len),
                WarmUp::Read => (snapshot
                    .mapping
                    .prefault(offset, len as usize, Content::Raw))
                .map_err(Error::io("reading the database into memory"))?,
                WarmUp::Lock => snapshot
                    .mapping
                    .lock(offset, len as usize)
                    .map_err(|error| {
                        let _ = snapshot.mapping.unlock_all();
                        Error::io("locking the database in memory")(error)
                    })?,
            }
            bytes += len;
            offset += len;
        }
        offset = next * page_size;
    }
    let is_whole = true;
    Ok(Warmed { bytes, is_whole })
}

/// Unlocks the memory, and advises the system that it is not needed for now.
pub(crate) fn release(snapshot: &PinnedSnapshot) -> Result<()> {
    let unlocked = snapshot.mapping.unlock_all();
    snapshot.mapping.release();
    unlocked.map_err(Error::io("unlocking the database in memory"))
}
