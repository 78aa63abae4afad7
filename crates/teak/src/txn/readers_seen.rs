//! Who reads what, and what of the file is there for nobody else.

use super::engine::Engine;
use crate::{Result, TransactionId, share::Pinned, store::uptime_ms};
use std::{process, sync::Arc, time::Duration};

/// A read transaction of any process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReaderInfo {
    /// The id of its process; `None` if that is not known here, as in another PID namespace.
    pub process: Option<u32>,
    /// The system's number of the thread that began it.
    pub thread: u64,
    /// How long ago it began, to within some milliseconds.
    pub age: Duration,
    /// The state that it reads.
    pub transaction: TransactionId,
    /// So many commits have become visible since.
    pub lag: u64,
    /// Pages that would be free if nobody read this state. Other readers of the same state keep the same ones.
    pub kept_pages: u64,
    /// The bytes of these pages.
    pub kept_bytes: u64,
}

impl Engine {
    /// All readers of all processes, the oldest state first.
    pub(crate) fn readers(self: &Arc<Self>) -> Result<Vec<ReaderInfo>> {
        let before = self.readers.table.readers();
        // Keeps the space map as it is while it is read. Who began before it is still there counts.
        let newest = self.begin_read()?;
        let now = uptime_ms();
        let mut pinned = self.readers.table.readers();
        pinned.retain(|reader| before.contains(reader));
        pinned.sort_unstable_by_key(|reader| (reader.state, reader.began));
        let own = [newest.transaction(), self.durable()];
        let states = pinned.iter().map(|reader| TransactionId(reader.state));
        let mut pins: Vec<_> = states.chain(own).collect();
        pins.sort_unstable();
        pins.dedup();
        let kept = newest.space(&pins)?.kept_alone(&pins);
        let kept_by = |state: TransactionId| match own.contains(&state) {
            true => 0,
            false => pins.binary_search(&state).map_or(0, |index| kept[index]),
        };
        let seen = |reader: &Pinned| {
            let transaction = TransactionId(reader.state);
            let kept_pages = kept_by(transaction);
            ReaderInfo {
                process: self.process_of(reader.owner),
                thread: reader.thread,
                age: Duration::from_millis(now.saturating_sub(reader.began)),
                transaction,
                lag: newest.transaction().0.saturating_sub(reader.state),
                kept_pages,
                kept_bytes: kept_pages * self.page_size as u64,
            }
        };
        Ok(pinned.iter().map(seen).collect())
    }

    fn process_of(&self, owner: u64) -> Option<u32> {
        match &self.flusher.shared {
            Some(shared) if owner != shared.owner() => {
                shared.lock_file.process_at(owner as u32 - 1)
            }
            _ => Some(process::id()),
        }
    }
}
