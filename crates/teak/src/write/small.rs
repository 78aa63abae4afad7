//! Small transactions, whose commits go to the memtable.
//!
//! A transaction is small while it only opens tables, looks records up, and inserts and removes
//! some ([`SMALL_CHANGES_MAX`]). Anything else makes it a whole [`WriteTransaction`], which merges
//! the memtable first. Until then it only collects its changes, and holds the writer lock. So no
//! other transaction changes the newest state meanwhile, but another thread may merge the memtable.
//! The transaction keeps the commits that were in it, and the state that they follow.

use crate::{
    Error, Result, TransactionId,
    btree::{
        RootRef,
        insert::{Existing, Inserted},
    },
    io::{Pinned, uptime_ms},
    record::durability::Durability,
    types::TypeNames,
};
use crate::{
    instance::{
        dropped_trees::DropBacklog,
        engine::Engine,
        memtable::{
            ORDERED_MAX, SMALL_BYTES_MAX, SMALL_CHANGES_MAX, SMALL_RECORD_MAX, is_plain,
            limits::MergeBy,
        },
        memtable_records::MemtableView,
        small_changes::{RecordKey, SmallChanges, sort_changes},
        wal::Change,
        writer_permit::WriterPermit,
    },
    read::{
        located::find_located,
        snapshot::{PinnedSnapshot, Snapshot},
    },
    sync::lock,
    unique_id::unique_id,
    write::{
        merge::MergeReason,
        prepared::begin_when_decided,
        small_commit::{Added, add_to_memtable, flush_and_check, is_alone, settle_newest},
        transaction::{WriteTransaction, not_found},
    },
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// A write transaction that was begun.
// It is taken apart at once.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum Begun {
    Small(SmallTransaction),
    Whole(WriteTransaction),
}

impl Begun {
    /// Waits for the writer lock, up to `limit`; `None` if it was not free in time. `durability`
    /// is that of the transaction, if it is known.
    pub(crate) fn begin(
        engine: &Arc<Engine>,
        limit: Option<Duration>,
        durability: Option<Durability>,
    ) -> Result<Option<Self>> {
        if engine.committer.events.is_wanted() {
            return Ok(WriteTransaction::begin_within(engine, limit, None)?.map(Self::Whole));
        }
        begin_when_decided(engine, limit, |limit| {
            Self::begin_now(engine, limit, durability)
        })
    }

    /// Like [`Self::begin`], but does not wait while a transaction is prepared.
    fn begin_now(
        engine: &Arc<Engine>,
        limit: Option<Duration>,
        durability: Option<Durability>,
    ) -> Result<Option<Self>> {
        let Some(permit) = engine.try_acquire_permit(limit)? else {
            return Ok(None);
        };
        // Not before: while many threads wait for the permit, commits begin to go to the memtable.
        let is_small = engine.memtable.is_wanted(durability);
        let is_durable = || engine.memtable.expects(durability) == Durability::Durable;
        if is_small && limit.is_none() && is_durable() {
            settle_newest(engine)?;
        }
        let backlog = match limit {
            None => DropBacklog::All,
            Some(_) => DropBacklog::Some,
        };
        if is_small {
            return SmallTransaction::begin(engine, permit, backlog).map(Some);
        }
        Self::begin_whole(engine, permit, backlog).map(Some)
    }

    fn begin_whole(
        engine: &Arc<Engine>,
        permit: WriterPermit,
        backlog: DropBacklog,
    ) -> Result<Self> {
        let writer = engine.writer_of(permit)?;
        WriteTransaction::begin_in(engine, writer, backlog).map(Self::Whole)
    }
}

/// A transaction that has changed up to [`SMALL_CHANGES_MAX`] records, or none.
#[derive(Debug)]
pub(crate) struct SmallTransaction {
    /// The commits in the memtable after `base`.
    memtable: MemtableView,
    /// `None` after [`Self::to_whole`], which then has it, and after the commit.
    permit: Mutex<Option<WriterPermit>>,
    engine: Arc<Engine>,
    /// The newest state in the trees when the transaction began.
    base: Arc<Snapshot>,
    id: TransactionId,
    /// `None` if it was not set.
    durability: Option<Durability>,
    changes: SmallChanges,
    /// Identifies the states of tables in this transaction, with the number of changes.
    pub(crate) unique_id: u64,
    version: u64,
    is_broken: bool,
    /// Whether it could not become a whole transaction.
    has_failed: AtomicBool,
    began_ms: u64,
}

impl SmallTransaction {
    /// Begins for a thread that has the permit. Begins a whole transaction if the memtable cannot
    /// be used now.
    fn begin(engine: &Arc<Engine>, permit: WriterPermit, backlog: DropBacklog) -> Result<Begun> {
        let memtable = engine.memtable.lock();
        let base = match memtable.base() {
            _ if !memtable.is_usable() || !is_alone(engine) => None,
            Some(base) => Some(Arc::clone(base)),
            None => engine.named(engine.committer.base_in_trees())?,
        };
        // A whole transaction is refused then.
        let Some(base) = base.filter(|base| !base.record.has_prepared()) else {
            drop(memtable);
            return Begun::begin_whole(engine, permit, backlog);
        };
        let last = memtable.last().unwrap_or(base.transaction());
        debug_assert!(
            last >= base.transaction(),
            "commits in the memtable follow those in the trees"
        );
        let view = memtable.view(last);
        // While the memtable is locked, no merge ends. So no writer has collected pins since
        // another state became the newest one.
        let unique_id = unique_id();
        lock(&engine.committer.small_pins).push((unique_id, base.transaction()));
        drop(memtable);
        Ok(Begun::Small(Self {
            memtable: view,
            permit: Mutex::new(Some(permit)),
            engine: Arc::clone(engine),
            base,
            id: last.next(),
            durability: None,
            changes: SmallChanges::default(),
            unique_id,
            version: 0,
            is_broken: false,
            has_failed: AtomicBool::new(false),
            began_ms: uptime_ms(),
        }))
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn id(&self) -> TransactionId {
        self.id
    }

    /// How long the transaction has held the permit, to within some milliseconds.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_millis(uptime_ms().saturating_sub(self.began_ms))
    }

    /// Whether the bytes lie in a value that this transaction has stored.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        self.changes.holds(bytes)
    }

    /// How many records it has changed.
    pub(crate) fn change_count(&self) -> usize {
        self.changes.len()
    }

    /// Bytes of its changes in the log.
    pub(crate) fn change_bytes(&self) -> usize {
        self.changes.bytes()
    }

    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.durability = Some(durability);
    }

    pub(crate) fn set_broken(&mut self) {
        self.is_broken = true;
    }

    /// Undoes all changes.
    pub(crate) fn roll_back(&mut self) -> Result<()> {
        self.refuse_failed()?;
        self.engine.refuse_poisoned()?;
        self.changes.clear();
        self.version += 1;
        self.is_broken = false;
        Ok(())
    }

    pub(crate) fn refuse_broken(&self) -> Result<()> {
        self.engine.refuse_forked()?;
        self.engine.named(self.engine.committer.refuse_evicted())?;
        match self.is_broken {
            true => Err(Error::TransactionBroken),
            false => Ok(()),
        }
    }

    /// Identifies the state of a table in this transaction, if the transaction has changed it.
    pub(crate) fn version_of(&self, handle: usize) -> Option<(u64, u64)> {
        let is_changed = self.changes.changes_table(handle);
        is_changed.then_some((self.unique_id, self.version))
    }

    /// Whether the table has changes that [`Self::state`] does not have.
    pub(crate) fn is_changed(&self, handle: usize) -> bool {
        // In a forked child another thread may have locked the records.
        self.changes.changes_table(handle)
            || self.engine.refuse_forked().is_ok() && self.memtable.changes(handle)
    }

    /// The newest state in the trees when the transaction began.
    pub(crate) fn state(&self) -> &PinnedSnapshot {
        // SAFETY: reason 6 of `io/pinned.rs`. The state is pinned until this transaction ends.
        unsafe { Pinned::assume(&*self.base) }
    }

    /// The root of a table in that state.
    pub(crate) fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.refuse_failed()?;
        self.state().root_of(handle, name)
    }

    pub(crate) fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>> {
        self.refuse_failed()?;
        self.state().types_of(name)
    }

    /// Refuses if it could not become a whole transaction: it has lost its permit.
    fn refuse_failed(&self) -> Result<()> {
        self.engine.refuse_forked()?;
        match self.has_failed.load(Relaxed) {
            false => Ok(()),
            true => Err(Error::TransactionBroken),
        }
    }

    /// The value of a record. The inner result is `None` if that needs a whole transaction.
    pub(crate) fn get(
        &self,
        handle: usize,
        name: &[u8],
        key: &[u8],
    ) -> Result<Option<Option<&[u8]>>> {
        self.find(RecordKey::new(handle, key), name)
    }

    /// As [`Self::get`].
    fn find(&self, record: RecordKey<'_>, name: &[u8]) -> Result<Option<Option<&[u8]>>> {
        let root = match self.root_of(record.handle, name)? {
            Some(root) if is_plain(&root) => root,
            Some(_) => return Ok(None),
            None => return Err(not_found(name)),
        };
        if let Some(change) = self.changes.find(record) {
            return Ok(Some(change.value));
        }
        if let Some(found) = self.memtable.get(record) {
            return Ok(Some(found));
        }
        let found = find_located(self.state(), &root, name, record.key);
        self.engine.named(found).map(Some)
    }

    /// Inserts a record. Returns `None`, and does nothing, if that needs a whole transaction.
    pub(crate) fn insert(
        &mut self,
        (handle, table): (usize, &[u8]),
        key: &[u8],
        value: &[u8],
        existing: Existing,
    ) -> Result<Option<Inserted>> {
        self.refuse_broken()?;
        if !self.has_room(key.len() + value.len()) {
            return Ok(None);
        }
        let record = RecordKey::new(handle, key);
        let Some(before) = self.find(record, table)? else {
            return Ok(None);
        };
        let inserted = match before {
            None => Inserted::New,
            Some(before) if existing == Existing::Keep || before == value => {
                return Ok(Some(Inserted::Unchanged));
            }
            Some(_) => Inserted::Replaced,
        };
        self.put(record, table, Some(value));
        Ok(Some(inserted))
    }

    /// Removes a record. Returns whether there was one; `None`, and does nothing, if that needs a
    /// whole transaction.
    pub(crate) fn remove(
        &mut self,
        (handle, table): (usize, &[u8]),
        key: &[u8],
    ) -> Result<Option<bool>> {
        self.refuse_broken()?;
        if !self.has_room(key.len()) {
            return Ok(None);
        }
        let record = RecordKey::new(handle, key);
        let Some(before) = self.find(record, table)? else {
            return Ok(None);
        };
        let is_there = before.is_some();
        if is_there {
            self.put(record, table, None);
        }
        Ok(Some(is_there))
    }

    /// Whether it would still be small with these records of a table.
    pub(crate) fn takes<'r>(
        &self,
        name: &[u8],
        records: impl ExactSizeIterator<Item = (&'r [u8], &'r [u8])> + Clone,
    ) -> bool {
        let count = records.len();
        if self.changes.len() + count > SMALL_CHANGES_MAX {
            return false;
        }
        let mut bytes = self.changes.bytes();
        let are_short = records.clone().all(|(key, value)| {
            let change = Change {
                table: name,
                key,
                value: Some(value),
            };
            bytes += change.len();
            key.len() + value.len() <= SMALL_RECORD_MAX
        });
        let is_sorted = count > ORDERED_MAX && records.is_sorted_by(|(a, _), (b, _)| a <= b);
        are_short && bytes <= SMALL_BYTES_MAX && !is_sorted
    }

    fn has_room(&self, len: usize) -> bool {
        let count = self.changes.len();
        let is_sorted = count >= ORDERED_MAX && self.changes.is_in_order();
        let is_fit = len <= SMALL_RECORD_MAX && self.changes.bytes() + len <= SMALL_BYTES_MAX;
        count < SMALL_CHANGES_MAX && is_fit && !is_sorted
    }

    fn put(&mut self, record: RecordKey<'_>, table: &[u8], value: Option<&[u8]>) {
        self.version += 1;
        self.changes.put(record, table, value);
        debug_assert!(
            self.changes.len() <= SMALL_CHANGES_MAX,
            "a transaction with more changes is a whole one"
        );
        debug_assert!(
            self.changes
                .find(record)
                .is_some_and(|found| found.value == value),
            "the last change of a record counts"
        );
    }

    /// Commits, and returns the id of the new state, or of the present one if nothing changed.
    pub(crate) fn commit(mut self) -> Result<TransactionId> {
        self.refuse_broken()?;
        self.refuse_failed()?;
        self.engine.refuse_poisoned()?;
        let durability = self.durability.unwrap_or(self.engine.policies.durability);
        let is_durable = durability == Durability::Durable;
        if !self.engine.memtable.takes(durability) {
            return self.commit_whole();
        }
        if self.changes.is_empty() {
            let seen = TransactionId(self.id.0 - 1);
            if is_durable && self.engine.durable() < seen {
                return self.commit_whole();
            }
            // It has found records of commits that a killed process would lose.
            let pending = self.engine.memtable.lock().pending();
            let engine = Arc::clone(&self.engine);
            drop(self);
            if let Some(commit) = pending {
                flush_and_check(&engine, commit)?;
            }
            return Ok(seen);
        }
        let added = add_to_memtable(&self.engine, self.id, &mut self.changes, durability)?;
        let Added::Yes {
            merge_by,
            is_durable,
        } = added
        else {
            return self.commit_whole();
        };
        let (engine, id) = (Arc::clone(&self.engine), self.id);
        // After the last opening, nobody waits for the thread that merges.
        let reason = match engine.openings.is_unopened() {
            true => Some(MergeReason::Limits),
            false => (merge_by == MergeBy::This).then_some(MergeReason::Full),
        };
        if reason.is_none() && merge_by == MergeBy::Another {
            engine.merger.hurry();
        }
        // Others may commit meanwhile, and wakers of the application may want to.
        drop(self);
        if is_durable {
            flush_and_check(&engine, id)?;
        }
        if let Some(reason) = reason {
            // The commit is in the log. The next reader or writer reports an error.
            let _ = engine.merge_memtable(reason);
        }
        Ok(id)
    }

    /// Commits as a whole transaction. The state that this one has begun with is not pinned while
    /// that waits for the disk.
    fn commit_whole(self) -> Result<TransactionId> {
        let (whole, id) = (self.to_whole()?, self.id);
        drop(self);
        let committed = whole.commit()?;
        assert!(
            committed <= id,
            "a transaction makes at most the next state"
        );
        Ok(committed)
    }

    /// The whole transaction that this one becomes. No other function may change this one from now
    /// on.
    ///
    /// # Errors
    ///
    /// [`Error::TransactionBroken`] if it was called before; errors of merging the memtable.
    pub(crate) fn to_whole(&self) -> Result<WriteTransaction> {
        self.refuse_failed()?;
        let whole = self.begin_whole();
        self.has_failed.store(whole.is_err(), Relaxed);
        whole
    }

    fn begin_whole(&self) -> Result<WriteTransaction> {
        let permit = lock(&self.permit).take().ok_or(Error::TransactionBroken)?;
        let engine = &self.engine;
        let writer = engine.writer_of(permit)?;
        let mut txn = engine.named(WriteTransaction::begin_merged(engine, writer))?;
        debug_assert_eq!(txn.id(), self.id, "the id of a transaction does not change");
        txn.timing.began_ms = self.began_ms;
        if let Some(durability) = self.durability {
            txn.set_durability(durability);
        }
        txn.apply(&sort_changes(self.changes.iter().collect()))?;
        if self.is_broken {
            txn.set_broken();
        }
        Ok(txn)
    }
}

impl Drop for SmallTransaction {
    fn drop(&mut self) {
        if !self.engine.generation.is_past() {
            // The next transaction may have begun.
            lock(&self.engine.committer.small_pins).retain(|(id, _)| *id != self.unique_id);
        }
    }
}
