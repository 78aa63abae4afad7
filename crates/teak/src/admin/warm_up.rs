//! Bringing a database into memory before it is needed.

use crate::read::snapshot::Snapshot;
use crate::{Error, Result};
use std::time::{Duration, Instant};

/// Bytes between two looks at the clock.
const STRETCH_BYTES: u64 = 4 << 20;

/// How [`Database::warm_up`](crate::Database::warm_up) brings a database into memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarmUp {
    /// The system is asked to read it soon, and does so as it sees fit.
    Ask,
    /// It is read. What the disk does not give is an error.
    Read,
    /// It is read and stays in memory, until [`Database::release_memory`](crate::Database::release_memory), the end of the process, or that of its mapping: the
    /// database is closed, or the file outgrows the addresses that were reserved for it and is mapped anew. What is written later stays there only if it takes the place of something old. The system limits how much a process may lock: where
    /// that is not enough nothing stays locked.
    Lock,
}

/// What [`Database::warm_up`](crate::Database::warm_up) did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Warmed {
    /// So many bytes were asked for or read.
    pub bytes: u64,
    /// Whether that is all that is in use. Else there was no more time.
    pub is_whole: bool,
}

/// Brings all that is in use into memory, from the beginning of the file on, as long as there is time.
pub(crate) fn warm_up(snapshot: &Snapshot, how: WarmUp, limit: Duration) -> Result<Warmed> {
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
            match how {
                WarmUp::Ask => snapshot.mapping.announce(offset, len),
                WarmUp::Read => (snapshot.mapping.prefault(offset, len as usize))
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

/// Unlocks what is locked in memory, and says that nothing of it is needed there just now.
pub(crate) fn release(snapshot: &Snapshot) -> Result<()> {
    let unlocked = snapshot.mapping.unlock_all();
    snapshot.mapping.release();
    unlocked.map_err(Error::io("unlocking the database in memory"))
}
