//! Information about readers, and about the space that only they keep. A writer that needs space
//! may ask the application about them, and may take the states of parked readers away.

use crate::{Error, Result, TransactionId, io::uptime_ms, share::PinnedReader};
use crate::{
    instance::engine::Engine,
    observe::slow_reader::{ReaderInfo, SlowReaderHook},
    read::{named_list::NamedPins, reader::Reader},
};
use std::{
    collections::HashMap,
    process,
    sync::{Arc, Weak},
    time::Duration,
};

/// The hook for slow readers, and the database that it concerns.
#[derive(Clone, Debug)]
pub(crate) struct SlowReaders {
    /// `None` if the file grows without asking.
    pub(crate) hook: Option<SlowReaderHook>,
    pub(crate) engine: Weak<Engine>,
}

impl SlowReaders {
    /// `None` if neither a hook nor an event listener wants to know of slow readers.
    pub(crate) fn of(engine: &Arc<Engine>) -> Option<Self> {
        let hook = engine.readers.slow_hook.clone();
        let is_wanted = hook.is_some() || engine.committer.events.is_wanted();
        is_wanted.then(|| Self {
            hook,
            engine: Arc::downgrade(engine),
        })
    }

    pub(crate) fn asks(&self) -> bool {
        self.hook.is_some()
    }
}

impl Engine {
    /// All readers of all processes, the oldest state first.
    pub(crate) fn readers(self: &Arc<Self>) -> Result<Vec<ReaderInfo>> {
        let same = |reader: &PinnedReader| (reader.reader, reader.state);
        let mut before: Vec<_> = (self.committer.published.readers()?.iter().map(same)).collect();
        before.sort_unstable();
        // The new reader keeps the free-space map unchanged while it is read. Only readers that
        // began before and are still there count.
        let newest = self.begin_read()?;
        let mut pinned = self.committer.published.readers()?;
        pinned.retain(|reader| before.binary_search(&same(reader)).is_ok());
        let named = newest.named_pins()?;
        self.describe(pinned, newest.transaction(), &named, |pins| {
            Ok(newest.space(&pins.into())?.kept_alone(pins))
        })
    }

    /// The information about one reader.
    pub(crate) fn reader_info(self: &Arc<Self>, reader: &Reader) -> Result<ReaderInfo> {
        let slot = reader.hold().slot;
        let mut readers = self.readers()?.into_iter();
        let own = readers.find(|info| info.id.1.is_at(slot));
        own.ok_or(Error::SnapshotLost)
    }

    pub(crate) fn describe(
        &self,
        mut pinned: Vec<PinnedReader>,
        newest: TransactionId,
        named: &NamedPins,
        kept_alone: impl FnOnce(&[TransactionId]) -> Result<Vec<u64>>,
    ) -> Result<Vec<ReaderInfo>> {
        let now = uptime_ms();
        pinned.sort_unstable_by_key(|reader| (reader.state, reader.began));
        let mut own = vec![newest];
        own.extend(self.committer.commit_state.lock().pins());
        let oldest = own.iter().min().copied();
        own.extend(named.counting(oldest));
        let states = pinned.iter().map(|reader| TransactionId(reader.state));
        let mut pins: Vec<_> = states.chain(own.iter().copied()).collect();
        pins.sort_unstable();
        pins.dedup();
        let kept = kept_alone(&pins)?;
        let kept_by = |state: TransactionId| match own.contains(&state) {
            true => 0,
            false => pins.binary_search(&state).map_or(0, |index| kept[index]),
        };
        let mut processes = HashMap::new();
        let mut seen = |reader: &PinnedReader| {
            let transaction = TransactionId(reader.state);
            let kept_pages = kept_by(transaction);
            ReaderInfo {
                process: *processes
                    .entry(reader.owner)
                    .or_insert_with(|| self.process_of(reader.owner)),
                thread: reader.thread,
                age: Duration::from_millis(now.saturating_sub(reader.began)),
                transaction,
                lag: newest.0.saturating_sub(reader.state),
                is_parked: reader.is_parked,
                kept_pages,
                kept_bytes: kept_pages * self.file.page_size as u64,
                is_cancelled: reader.is_cancelled,
                id: (self.id(), reader.reader),
            }
        };
        Ok(pinned.iter().map(&mut seen).collect())
    }

    /// Asks a reader to end. Returns `false` if it has ended already.
    pub(crate) fn cancel_reader(&self, reader: &ReaderInfo) -> Result<bool> {
        let (engine, reader) = reader.id;
        if engine != self.id() {
            let text = "this reader was listed by another database, or by an earlier opening of this one; list the readers again";
            return Err(Error::InvalidArgument(text.into()));
        }
        Ok(self.readers.table.cancel(reader))
    }

    fn process_of(&self, owner: u64) -> Option<u32> {
        match &self.committer.shared {
            Some(shared) if owner != shared.owner() => shared.process_of(owner),
            _ => Some(process::id()),
        }
    }
}
