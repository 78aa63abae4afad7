//! Beginning to write: acquiring the writer lock, and the state that a write transaction starts
//! from.

use crate::{
    Error, Result, TransactionId,
    btree::{PageSink, TreeRoot},
    io::Mapping,
};
use crate::{
    instance::{dropped_trees::DropBacklog, engine::Engine, held_writer_lock::HeldWriterLock},
    maintain::{dropped::release_backlog, holes::punch_some, truncate::cut_file},
    observe::{
        events::Event,
        trace::{TraceOrigin, WriteSpans},
    },
    read::{named_list, published::no_such_commit, slow_readers::SlowReaders, snapshot::Snapshot},
    write::{
        event_delivery::EventDelivery,
        named_edits::NamedEdits,
        open_table::OpenTables,
        pages::{WritePages, limits::WriteLimits},
        prepared::{begin_when_decided, refuse_prepared},
        transaction::WriteTransaction,
        transaction_status::TransactionStatus,
        transaction_timing::TransactionTiming,
    },
};
use std::{mem, sync::Arc, time::Duration};

impl WriteTransaction {
    /// Waits for the writer lock and begins. Releases all dropped trees if space was wanted.
    #[cfg(test)]
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        let begun = Self::begin_within(engine, None, None)?;
        Ok(begun.expect("without a limit the lock is always acquired"))
    }

    /// Waits for the writer lock and begins. Releases all dropped trees if space was wanted. Gives
    /// up after `limit`, and then returns `None`. With a `state`, begins only if that is the newest
    /// commit, whether or not readers see it. With a limit or a state, releases only some dropped
    /// trees. That takes commits, but those change no record.
    pub(crate) fn begin_within(
        engine: &Arc<Engine>,
        limit: Option<Duration>,
        state: Option<TransactionId>,
    ) -> Result<Option<Self>> {
        Self::begin_asked(engine, TraceOrigin::now(), limit, state)
    }

    /// Like [`Self::begin_within`], for a transaction that was asked for before.
    pub(crate) fn begin_asked(
        engine: &Arc<Engine>,
        asked: TraceOrigin,
        limit: Option<Duration>,
        state: Option<TransactionId>,
    ) -> Result<Option<Self>> {
        if let Some(state) = state {
            engine.refuse_unwritable()?;
            // A stale caller fails at once, without waiting for the lock.
            refuse_stale(state, engine.newest())?;
        }
        let backlog = match (limit, state) {
            (None, None) => DropBacklog::All,
            _ => DropBacklog::Some,
        };
        let begun = begin_when_decided(engine, limit, |limit| {
            let Some(writer) = engine.try_acquire_writer(limit)? else {
                return Ok(None);
            };
            if let Some(state) = state {
                refuse_stale(state, engine.newest())?;
            }
            Self::begin_in(engine, writer, backlog).map(Some)
        })?;
        let Some(mut txn) = begun else {
            return Ok(None);
        };
        assert!(
            state.is_none_or(|state| state <= txn.base.transaction()),
            "after the state that the caller names, only dropped trees are released"
        );
        txn.timing.spans = WriteSpans::begun(&engine.file.path, asked);
        Ok(Some(txn))
    }

    /// Begins for a thread that has the writer lock.
    ///
    /// # Errors
    ///
    /// [`Error::TransactionPrepared`] while a transaction is prepared.
    pub(crate) fn begin_in(
        engine: &Arc<Engine>,
        writer: HeldWriterLock,
        backlog: DropBacklog,
    ) -> Result<Self> {
        refuse_prepared(&writer.named)?;
        let mut txn = Self::begin_merged(engine, writer)?;
        release_backlog(&mut txn, backlog)?;
        Ok(txn)
    }

    /// Begins a transaction that commits several commits as one, on the newest state in the trees.
    /// `count` is called when it is certain to begin.
    pub(crate) fn begin_for(
        engine: &Arc<Engine>,
        mut writer: HeldWriterLock,
        count: impl FnOnce() -> u64,
    ) -> Result<Self> {
        let beginning = engine.named(WriteStart::new(engine, &mut writer))?;
        let commit_count = count();
        assert!(commit_count > 0, "a transaction is at least one commit");
        let txn = Self::of(engine, beginning, writer, commit_count);
        assert_eq!(
            txn.id(),
            txn.pages.transaction(),
            "pages are born in the transaction that commits them"
        );
        Ok(txn)
    }

    fn of(
        engine: &Arc<Engine>,
        beginning: WriteStart,
        writer: HeldWriterLock,
        commit_count: u64,
    ) -> Self {
        let WriteStart {
            base,
            snapshots,
            mapping,
            limits,
        } = beginning;
        let storage = Arc::clone(&engine.file.storage);
        Self {
            engine: Arc::clone(engine),
            event_delivery: EventDelivery::new(&engine.committer),
            catalog: base.catalog,
            pages: WritePages::new(storage, mapping, &base, writer, (limits, commit_count)),
            commit_count,
            tables: OpenTables::default(),
            savepoints: Vec::new(),
            named: NamedEdits::new(snapshots),
            marks: base.record.marks,
            journal: base.record.journal,
            timing: TransactionTiming::started(),
            status: TransactionStatus::default(),
            base,
        }
    }

    /// Begins again on the newest state, keeping the writer lock. The transaction must have ended.
    pub(crate) fn begin_again(&mut self) -> Result<()> {
        self.begin_again_for(1)
    }

    /// Like [`Self::begin_again`], to commit several commits as one.
    pub(crate) fn begin_again_for(&mut self, commit_count: u64) -> Result<()> {
        assert!(
            self.status.is_ended,
            "a transaction begins again when all that it did is committed or undone"
        );
        let begun = WriteStart::new(&self.engine, &mut self.pages.writer);
        let beginning = self.engine.named(begun)?;
        let (durability, began_ms) = (self.pages.limits.durability, self.timing.began_ms);
        let spans = mem::take(&mut self.timing.spans);
        let (engine, writer) = (Arc::clone(&self.engine), self.pages.writer.take());
        self.event_delivery.disarm();
        *self = Self::of(&engine, beginning, writer, commit_count);
        self.set_durability(durability);
        (self.timing.began_ms, self.timing.spans) = (began_ms, spans);
        Ok(())
    }
}

/// The state that a write transaction starts from.
pub(crate) struct WriteStart {
    base: Arc<Snapshot>,
    /// The list of named snapshots.
    snapshots: TreeRoot,
    mapping: Arc<Mapping>,
    limits: WriteLimits,
}

impl WriteStart {
    /// Reclaims free space, for a thread that holds the writer lock.
    fn new(engine: &Arc<Engine>, writer: &mut HeldWriterLock) -> Result<Self> {
        let shared = engine.committer.shared.as_ref();
        shared
            .iter()
            .for_each(|shared| shared.reclaim_dead_processes());
        let (base, pins, flushed) = engine.committer.beginning(&writer.named)?;
        let newest = base.transaction();
        if writer.newest.transaction != newest || !pins.contains(newest) {
            // A flush may have failed since this thread got the writer lock. Its commit is then
            // taken back.
            engine.committer.refuse_poisoned()?;
            assert!(
                shared.is_some(),
                "a writer without other processes continues from the newest commit, which is pinned"
            );
            writer.is_stale = true;
            return Err(no_such_commit());
        }
        writer.written.forget(flushed);
        let pending = writer.space.pending_count();
        let used = writer.space.used_count();
        writer.shrink.high_water.note(used, flushed);
        writer.space.reclaim(&pins);
        assert!(
            pending >= writer.space.pending_count(),
            "reclaiming makes no page pending"
        );
        assert!(
            writer.arena.is_empty(),
            "a transaction begins without pages of the one before"
        );
        let counters = &engine.committer.counters;
        counters.note_reclaimed(pending - writer.space.pending_count());
        let old_bytes = engine.file_bytes();
        let is_cut = cut_file(writer, &engine.file.storage, flushed);
        if engine.file_bytes() < old_bytes {
            engine.committer.events.note(|| Event::Shrunk {
                old_bytes,
                file_bytes: engine.file_bytes(),
            });
        }
        if (punch_some(writer, &*engine.file.storage) || is_cut)
            && let Some(shared) = shared
        {
            shared.region.note_blocks_given_back();
        }
        let mapping = engine.file.storage.mapping();
        Ok(Self {
            mapping: mapping.map_err(Error::io("mapping the file"))?,
            snapshots: named_list::root(&base.record)?,
            base,
            limits: WriteLimits {
                durability: engine.policies.durability,
                expected: (writer.last_durability).unwrap_or(engine.policies.durability),
                memory_bytes: engine.policies.write_memory_bytes,
                room_at: engine.policies.write_memory_bytes,
                geometry: writer.newest.geometry,
                slow_readers: SlowReaders::of(engine),
                parks_above: engine.policies.drop_limits.at_once,
            },
        })
    }
}

pub(crate) fn refuse_stale(held: TransactionId, newest: TransactionId) -> Result<()> {
    match held == newest {
        true => Ok(()),
        false => Err(Error::SnapshotStale { held, newest }),
    }
}
