//! The engine: one open database, shared by all its handles and transactions.

use crate::{
    Error, Result, TransactionId,
    clock::ExpiryClock,
    io::{Access, ForkGeneration, Mapping, Storage},
    share::{LockOutcome, WriterLock},
};
use crate::{
    commit::{committer::Committer, ticket::Ticket},
    instance::{
        database_file::DatabaseFile,
        held_writer_lock::HeldWriterLock,
        memtable::{Memtable, MemtableState},
        merger::Merger,
        openings::Openings,
        policies::{ClosePolicy, OpenRequest, Policies, RequestedPolicies, Settings},
        recovered::RecoveredDatabase,
        table_handles::TableHandles,
        writer::WriterState,
    },
    observe::{
        events::{CommitNote, Event, Events},
        metrics::Metrics,
        recovery::Recovery,
    },
    read::{
        published::{FOLLOWING, Published, foreign_snapshot, refuse_shorter},
        readers::{Readers, private_table},
        snapshot::Snapshot,
    },
    record::{
        durability::Durability,
        record_ref::{RecordRef, slot_page},
    },
    share::attachment::Shared,
    unique_id::unique_id,
};
use std::{fs::Metadata, path::PathBuf, sync::Arc};

/// One open database.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Distinguishes engines of this process.
    id: u64,
    /// The process that opened the database.
    pub(crate) generation: ForkGeneration,
    pub(crate) file: DatabaseFile,
    pub(crate) policies: Policies,
    /// The lock of the writer's state; `None` if the database is open for reading only.
    pub(crate) writer_lock: Option<Arc<WriterLock<WriterState>>>,
    /// The lock of the writer lock, taken before that of the writer's state.
    pub(crate) permit_lock: Arc<WriterLock<()>>,
    pub(crate) memtable: Memtable,
    pub(crate) merger: Merger,
    pub(crate) committer: Arc<Committer>,
    pub(crate) openings: Openings,
    pub(crate) recovery: Recovery,
    pub(crate) readers: Readers,
    pub(crate) tables: TableHandles,
    pub(crate) expiry: ExpiryClock,
}

impl Engine {
    /// Fails if there is no memory for the reader table of a database that is not shared.
    pub(crate) fn new(
        request: OpenRequest,
        storage: Arc<dyn Storage>,
        recovered: RecoveredDatabase,
        shared: Option<Arc<Shared>>,
    ) -> Result<Self> {
        let OpenRequest {
            path,
            settings,
            log_location,
            ..
        } = request;
        let settings = &settings;
        let RecoveredDatabase {
            snapshot: newest,
            state,
            writer,
            recovery,
            left,
        } = recovered;
        let policies = Policies::new(settings, &newest.record);
        let log_location = log_location.filter(|_| settings.has_memtable && writer.is_some());
        let memtable = Memtable::new(log_location, policies.durability);
        let tables = TableHandles::default();
        let writer = writer.map(|mut writer| {
            writer.asked = RequestedPolicies::new(settings, &policies);
            writer.is_changed |= writer.asked.note(&mut writer.newest);
            writer
        });
        let region = shared.as_ref().map(|shared| shared.region.clone());
        let (table, notifier) = match &region {
            Some(region) => (region.readers.clone(), region.notifier.clone()),
            None => private_table()?,
        };
        let file = {
            let encryption = settings.codecs.encryption.clone();
            DatabaseFile::new(path, Arc::clone(&storage), &newest.record, encryption)
        };
        let events = Events::new(settings.events.clone(), &file.path);
        let published = Published::new(
            (table.clone(), notifier),
            newest,
            Arc::clone(&storage),
            region,
        );
        memtable.fill_with(left, published.newest_here(), |name| tables.of(name));
        Ok(Self {
            id: unique_id(),
            generation: ForkGeneration::current(),
            file,
            policies,
            writer_lock: writer.map(WriterLock::new),
            permit_lock: WriterLock::new(()),
            memtable,
            merger: Merger::default(),
            openings: Openings::default(),
            recovery,
            tables,
            expiry: ExpiryClock::new(settings.clock.clone()),
            readers: Readers::new(table, shared.clone(), settings.slow_readers.clone()),
            committer: Arc::new(Committer::new(
                storage,
                published,
                state,
                policies.flush_limits,
                shared,
                events,
            )),
        })
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.file.path
    }

    /// Distinguishes engines of this process.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn metrics(&self) -> Metrics {
        self.committer.metrics()
    }

    /// The directory of the file, or of temporary files if it is in none.
    pub(crate) fn directory(&self) -> PathBuf {
        match self.file.path.parent() {
            _ if self.policies.on_close == ClosePolicy::Discard => std::env::temp_dir(),
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        }
    }

    pub(crate) fn page_size(&self) -> usize {
        self.file.page_size
    }

    /// The mapping of the newest state that this process knows.
    pub(crate) fn mapping(&self) -> Arc<Mapping> {
        Arc::clone(&self.committer.published.newest_here().mapping)
    }

    /// The usable bytes of a page.
    #[inline]
    pub(crate) fn usable_page_len(&self) -> usize {
        self.file.usable_len
    }

    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Whether the processes that use the database coordinate through a lock file.
    pub(crate) fn has_lock_file(&self) -> bool {
        self.committer.shared.is_some()
    }

    /// The shared memory; `None` if no other process can have the database open.
    pub(crate) fn shared(&self) -> Option<&Shared> {
        self.committer.shared.as_deref()
    }

    /// Delivers the event of a finished commit.
    pub(crate) fn note_and_deliver_commit(
        &self,
        note: Option<CommitNote>,
        transaction: TransactionId,
        durability: Durability,
    ) {
        let events = &self.committer.events;
        if let Some(note) = note {
            note.note(events, transaction, durability);
            events.deliver();
        }
    }

    /// Delivers the event of the opening, and other events from it.
    pub(crate) fn note_and_deliver_open(&self) {
        self.committer.events.note(|| Event::Opened {
            recovery: self.recovery.clone(),
            file_bytes: self.file_bytes(),
        });
        self.committer.events.deliver();
    }

    /// The attributes of the file; empty if the storage is not a file.
    pub(crate) fn file_metadata(&self) -> Result<Vec<Metadata>> {
        let found = self.file.storage.metadata();
        let found = found.map_err(Error::io("reading the attributes of the database file"))?;
        Ok(found.into_iter().collect())
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.file.storage.len()
    }

    /// Number of readers.
    pub(crate) fn reader_count(&self) -> Result<usize> {
        Ok(self.committer.published.readers()?.len())
    }

    /// Notes that a handle of this process opens the database, possibly again. Returns `false` if
    /// the database is being closed.
    pub(crate) fn begin_opening(&self) -> bool {
        self.openings.begin(&self.readers)
    }

    /// Notes that the last handle of an opening is dropped.
    pub(crate) fn end_opening(&self, was_closed: bool) {
        if !self.generation.is_past() {
            self.openings.end(&self.readers, was_closed);
        }
    }

    /// Whether it can be opened again in this process.
    pub(crate) fn is_usable(&self, access: Access) -> bool {
        let is_writable = || self.committer.refuse_poisoned().is_ok();
        self.refuse_closed().is_ok() && (access == Access::ReadOnly || is_writable())
    }

    /// Refuses to be opened again with different options.
    pub(crate) fn refuse_other(&self, access: Access, asked: &Settings) -> Result<()> {
        if access == Access::ReadWrite && self.is_read_only() {
            let option = "read_only";
            return Err(Error::OptionsDiffer { option });
        }
        // Another process may have set another geometry since.
        let newest = self.committer.published.newest()?;
        if !newest.comparisons.have(&asked.comparisons) {
            let option = "comparison";
            return Err(Error::OptionsDiffer { option });
        }
        #[cfg(feature = "encryption")]
        (self.file).refuse_other_key(newest.record.database_id, &asked.codecs)?;
        self.policies.refuse_other(newest.geometry(), asked)?;
        // Closing a read-only opening flushes nothing.
        if access == Access::ReadWrite && asked.on_close != self.policies.on_close {
            let option = "flush_on_close";
            return Err(Error::OptionsDiffer { option });
        }
        Ok(())
    }

    /// The handle of a table, if this process has assigned one.
    pub(crate) fn known_handle(&self, name: &[u8]) -> Option<usize> {
        self.tables.known(name)
    }

    /// The handle of the table `name` in this process. It is kept as long as the database is open,
    /// so it must only be assigned for tables that exist or are about to.
    pub(crate) fn handle(&self, name: &[u8]) -> usize {
        self.tables.of(name)
    }

    /// Refuses a forked child, which inherited the database from the process that opened it.
    #[inline]
    pub(crate) fn refuse_forked(&self) -> Result<()> {
        match self.generation.is_past() {
            true => Err(Error::Forked),
            false => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn refuse_closed(&self) -> Result<()> {
        self.refuse_forked()?;
        if self.openings.is_closed() {
            return Err(closed());
        }
        Ok(())
    }

    /// The id of the process that holds the cross-process writer lock, if that is known.
    pub(crate) fn writer_process(&self) -> Option<u32> {
        let shared = self.committer.shared.as_ref()?;
        shared.process_of(shared.region.writer.holder().into())
    }

    /// Updates the writer's state if another process wrote meanwhile.
    pub(crate) fn follow(&self, writer: &mut HeldWriterLock, taken: LockOutcome) -> Result<()> {
        let Some(shared) = &self.committer.shared else {
            return Ok(());
        };
        let newest = {
            let mut state = self.committer.commit_state.lock();
            if taken == LockOutcome::Abandoned {
                state.refresh_if_newer(shared);
            }
            state.newest()
        };
        let is_known = newest.transaction == writer.newest.transaction && !writer.is_stale;
        if taken == LockOutcome::Unchanged && is_known {
            return self.file.storage.refuse_cut().map_err(Error::io(FOLLOWING));
        }
        // If a step fails, the whole update is repeated when the lock is acquired next.
        let was_stale = std::mem::replace(&mut writer.is_stale, true);
        if taken == LockOutcome::Abandoned {
            let newest = newest.transaction;
            (self.committer.events).note(|| Event::WriterDied { newest });
            // The dead process may have given blocks back without noting it.
            shared.region.note_blocks_given_back();
        }
        // The file may also be shorter, even if the other process committed nothing.
        let given_back = shared.region.blocks_given_back();
        self.file
            .storage
            .refresh(given_back == writer.blocks_given_back)
            .map_err(Error::io("reading the length of the file"))?;
        writer.blocks_given_back = given_back;
        if is_known {
            refuse_shorter(&*self.file.storage, &writer.newest)?;
            // After an aborted transaction here, the free-space map may be for a longer file than
            // the other process left.
            (writer.space).shrink(self.file.storage.len() / self.file.page_size as u64);
            writer.is_stale = false;
            return Ok(());
        }
        let published = &self.committer.published;
        published.forget_held();
        let snapshot = match newest.transaction == published.visible() {
            true => published.newest()?,
            false => Arc::new(self.unseen(shared, newest)?),
        };
        let record = &snapshot.record;
        refuse_shorter(&*self.file.storage, record)?;
        if was_stale || record.snapshots_root != writer.newest.snapshots_root {
            writer.named = writer.pinned(&snapshot).named_pins()?;
        }
        let pins = self.committer.pins(&writer.named)?;
        let was_checkpointed = was_stale || writer.space.roots() != record.space_roots;
        if was_checkpointed
            || !writer
                .space
                .follow(&record.space_log, record.page_count, &pins)
        {
            writer.space = writer.pinned(&snapshot).space(&pins)?;
        }
        writer.take_over(record.clone());
        if newest.transaction > published.visible() {
            self.committer.commit_state.lock().set_unpublished(snapshot);
        }
        Ok(())
    }

    /// The state of another process's commit that readers do not see yet.
    fn unseen(&self, shared: &Shared, newest: RecordRef) -> Result<Snapshot> {
        let record = shared.record_in(newest.slot)?;
        let record = match record {
            Some(record) if record.transaction == newest.transaction => record,
            other => {
                // It was taken back, if something failed.
                self.refuse_unwritable()?;
                let there = other.map(|record| (record.transaction, record.sequence));
                let detail = format!(
                    "another process has written the newest commit there, {newest:?}, and it is gone: there is {there:?}, {:?} is visible",
                    self.committer.published.visible()
                );
                return Err(Error::corrupted(slot_page(newest.slot), "begin", detail));
            }
        };
        let before = self.committer.published.newest_here();
        foreign_snapshot(&*self.file.storage, record, &before)
    }

    pub(crate) fn refuse_unwritable(&self) -> Result<()> {
        if self.writer_lock.is_none() {
            return Err(Error::ReadOnly);
        }
        self.refuse_closed()?;
        self.refuse_poisoned()
    }

    /// Fails if an earlier write or flush failed.
    pub(crate) fn refuse_poisoned(&self) -> Result<()> {
        self.named(self.committer.refuse_poisoned())
    }

    /// Waits until every commit so far is durable.
    pub(crate) fn sync(self: &Arc<Self>) -> Result<()> {
        self.refuse_unwritable()?;
        self.show_memtable()?;
        self.named(self.committer.wait(self.committer.newest()))
    }

    /// Adds the path of the database file to a system error that names no other file.
    pub(crate) fn named<T>(&self, done: Result<T>) -> Result<T> {
        done.map_err(|error| error.at(&self.file.path))
    }

    /// Waits until a commit is durable. Does nothing in a database that is open for reading only.
    pub(crate) fn make_durable(self: &Arc<Self>, transaction: TransactionId) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        self.show_memtable()?;
        self.committer.wait(transaction)
    }

    /// Whether the limits for lazy commits are reached.
    pub(crate) fn is_flush_due(self: &Arc<Self>) -> Result<bool> {
        self.refuse_unwritable()?;
        self.show_memtable()?;
        Ok(self.committer.is_due())
    }

    /// Begins to make every commit so far durable.
    pub(crate) fn begin_sync(self: &Arc<Self>) -> Result<Ticket> {
        self.refuse_unwritable()?;
        self.show_memtable()?;
        Ok(self.ticket(self.committer.request_flush_of_newest()?))
    }

    /// A ticket for a commit.
    pub(crate) fn ticket(&self, transaction: TransactionId) -> Ticket {
        let path = Arc::clone(&self.file.path);
        Ticket::new(Arc::clone(&self.committer.commit_state), path, transaction)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.writer_lock.is_none()
    }

    /// The newest commit, whether or not readers see it yet.
    pub(crate) fn newest(&self) -> TransactionId {
        let last = self.in_memtable(MemtableState::last);
        last.unwrap_or_else(|| self.committer.newest())
    }

    /// The newest commit that readers see if they begin now.
    pub(crate) fn visible(&self) -> TransactionId {
        let visible = self.in_memtable(MemtableState::visible);
        visible.unwrap_or_else(|| self.committer.published.visible())
    }

    /// A commit in the memtable, if it has commits.
    fn in_memtable(
        &self,
        find: fn(&MemtableState) -> Option<TransactionId>,
    ) -> Option<TransactionId> {
        let is_filled = self.memtable.is_filled() && !self.generation.is_past();
        is_filled.then(|| find(&self.memtable.lock())).flatten()
    }

    /// The last commit that is known to be on the disk.
    pub(crate) fn durable(&self) -> TransactionId {
        self.durable_in_trees()
            .max(self.memtable.log_flush.flushed())
    }

    /// The last commit whose trees are known to be on the disk.
    pub(crate) fn durable_in_trees(&self) -> TransactionId {
        self.committer.commit_state.lock().durable().transaction
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.generation.is_past() {
            return;
        }
        // A caller that wants the errors of closing calls `close`.
        let _ = self.close_merged();
        self.merger.stop();
        match &self.committer.shared {
            Some(shared) => self.leave(shared),
            None => self.committer.stop(),
        }
    }
}

/// The error for using a closed database.
pub(crate) fn closed() -> Error {
    Error::InvalidArgument("the database has been closed; open it again".into())
}
