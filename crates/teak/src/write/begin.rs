//! Beginning to write: taking the turn, and what a write transaction begins with.

use crate::{Error, Result, TransactionId, btree::TreeRoot, io::Mapping};
use crate::{
    instance::{dropped_trees::DropBacklog, engine::Engine, held_writer_lock::HeldWriterLock},
    observe::events::Event,
    read::{named_list, slow_readers::SlowReaders, snapshot::Snapshot},
    write::{
        event_delivery::EventDelivery,
        named_edits::NamedEdits,
        open_table::OpenTables,
        pages::{WriteLimits, WritePages},
        transaction::WriteTransaction,
        transaction_status::TransactionStatus,
        transaction_timing::TransactionTiming,
    },
};
use std::{sync::Arc, time::Duration};

impl WriteTransaction {
    /// Waits for the writer's place and begins.
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        Self::begin_in(engine, engine.acquire_writer()?, DropBacklog::All)
    }

    /// The same, but waits only as long as `limit`; `None` if that was not enough.
    pub(crate) fn begin_within(engine: &Arc<Engine>, limit: Duration) -> Result<Option<Self>> {
        let writer_lock = engine.try_acquire_writer(Some(limit))?;
        writer_lock
            .map(|writer_lock| Self::begin_in(engine, writer_lock, DropBacklog::Some))
            .transpose()
    }

    /// The same, if the newest commit is `state`, whether readers see it or not; `None` if the turn did not come within `limit`. Paying debts
    /// takes commits, but those change no record.
    pub(crate) fn begin_at(
        engine: &Arc<Engine>,
        state: TransactionId,
        limit: Option<Duration>,
    ) -> Result<Option<Self>> {
        engine.refuse_unwritable()?;
        // Who has lost already need not wait for that.
        refuse_stale(state, engine.newest())?;
        let Some(writer_lock) = engine.try_acquire_writer(limit)? else {
            return Ok(None);
        };
        refuse_stale(state, engine.flusher.base()?.transaction())?;
        Self::begin_in(engine, writer_lock, DropBacklog::Some).map(Some)
    }

    fn begin_in(
        engine: &Arc<Engine>,
        mut writer: HeldWriterLock,
        backlog: DropBacklog,
    ) -> Result<Self> {
        let beginning = engine.named(WriteStart::new(engine, &mut writer))?;
        let mut txn = Self::of(engine, beginning, writer);
        txn.release_backlog(backlog)?;
        Ok(txn)
    }

    fn of(engine: &Arc<Engine>, beginning: WriteStart, writer: HeldWriterLock) -> Self {
        let WriteStart {
            base,
            snapshots,
            mapping,
            limits,
        } = beginning;
        let storage = Arc::clone(&engine.file.storage);
        Self {
            engine: Arc::clone(engine),
            event_delivery: EventDelivery::new(&engine.flusher),
            catalog: base.catalog,
            pages: WritePages::new(storage, mapping, &base, writer, limits),
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

    /// Begins anew with the turn that it has, on the newest state. It has ended.
    pub(crate) fn begin_again(&mut self) -> Result<()> {
        debug_assert!(self.status.is_ended, "what it has is undone or committed");
        let beginning = WriteStart::new(&self.engine, &mut self.pages.writer)?;
        let (durability, began_ms) = (self.pages.limits.durability, self.timing.began_ms);
        let (engine, writer) = (Arc::clone(&self.engine), self.pages.writer.take());
        self.event_delivery.disarm();
        *self = Self::of(&engine, beginning, writer);
        self.pages.limits.durability = durability;
        self.timing.began_ms = began_ms;
        Ok(())
    }
}

/// What a write transaction begins with.
pub(crate) struct WriteStart {
    base: Arc<Snapshot>,
    /// The list of named snapshots.
    snapshots: TreeRoot,
    mapping: Arc<Mapping>,
    limits: WriteLimits,
}

impl WriteStart {
    /// Frees what nobody needs any more, for a writer whose turn it is.
    fn new(engine: &Arc<Engine>, writer: &mut HeldWriterLock) -> Result<Self> {
        let shared = engine.flusher.shared.as_ref();
        shared
            .iter()
            .for_each(|shared| shared.reclaim_dead_processes());
        let (base, pins, durable) = engine.flusher.beginning(&writer.named)?;
        writer.written.forget(durable);
        let pending = writer.space.pending_count();
        let used = writer.space.used_count();
        writer.high_water.note(used, durable);
        writer.space.reclaim(&pins);
        let counters = &engine.flusher.counters;
        counters.note_reclaimed(pending - writer.space.pending_count());
        let old_bytes = engine.file_bytes();
        let is_cut = writer.cut_file(&engine.file.storage, durable);
        if engine.file_bytes() < old_bytes {
            engine.flusher.events.note(|| Event::Shrunk {
                old_bytes,
                file_bytes: engine.file_bytes(),
            });
        }
        if (writer.punch_some(&*engine.file.storage) || is_cut)
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
                memory_bytes: engine.policies.write_memory_bytes,
                room_at: engine.policies.write_memory_bytes,
                geometry: writer.newest.geometry,
                slow_readers: SlowReaders::of(engine),
                parks_above: engine.policies.drop_limits.at_once,
            },
        })
    }
}

/// The writer's place without a transaction.
#[derive(Debug)]
pub(crate) struct ReservedWriterLock {
    // The turn ends before the engine, whose end takes a turn.
    writer_lock: HeldWriterLock,
    engine: Arc<Engine>,
}

impl ReservedWriterLock {
    /// Waits for the place, for as long as `limit`; `None` if that was not enough.
    pub(crate) fn take(engine: &Arc<Engine>, limit: Option<Duration>) -> Result<Option<Self>> {
        let writer_lock = engine.try_acquire_writer(limit)?;
        Ok(writer_lock.map(|writer_lock| Self {
            writer_lock,
            engine: Arc::clone(engine),
        }))
    }

    /// Begins to write.
    pub(crate) fn begin(self) -> Result<WriteTransaction> {
        self.engine.refuse_forked()?;
        WriteTransaction::begin_in(&self.engine, self.writer_lock, DropBacklog::All)
    }
}

pub(crate) fn refuse_stale(held: TransactionId, newest: TransactionId) -> Result<()> {
    match held == newest {
        true => Ok(()),
        false => Err(Error::SnapshotStale { held, newest }),
    }
}
