//! The write transaction: tables that are changed, and what becomes of them.

use super::{
    catalog::{self, printable},
    dropped_trees::Debts,
    durability::Durability,
    engine::Engine,
    events::{CommitNote, Event},
    latency::Stopwatch,
    located::located,
    named_list::{self, NamedChange, NamedPins},
    open_table::OpenTable,
    pages::{Limits, WritePages},
    readers_seen::SlowReaders,
    savepoint_state::SavepointState,
    snapshot::Snapshot,
    teller::Teller,
    unique_id::unique_id,
    writer_turn::WriterTurn,
};
use crate::{
    Error, Geometry, Result, Run, TransactionId,
    commit::record::{self, JournalPages},
    page::{key::KeyOrder, value::StoredValue},
    store::{Mapping, uptime_ms},
    tree::{
        PageSource, RootRef, TreeRoot,
        insert::{Existing, Inserted},
        mutable_tree::Tree,
        position::{Position, Step},
        reading::{reading, reading_from, reading_twice},
    },
};
use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::Arc,
    time::Duration,
};

/// A write transaction. Dropping it undoes it.
#[derive(Debug)]
pub(crate) struct WriteTransaction {
    // Fields are dropped in this order: the turn ends before the engine, whose end takes a turn.
    pub(super) pages: WritePages,
    teller: Teller,
    pub(super) base: Arc<Snapshot>,
    pub(super) engine: Arc<Engine>,
    pub(super) catalog: TreeRoot,
    /// By the number of the table's handle: as many as were opened, however many handles there are.
    pub(super) tables: BTreeMap<usize, OpenTable>,
    /// Whether tables that are not open here may have other roots than in the state that this builds on.
    pub(super) has_other_roots: bool,
    pub(super) savepoints: Vec<SavepointState>,
    /// Tells write transactions of this process apart.
    unique_id: u64,
    /// How many changes there were. No number comes twice, also after a rollback.
    version: u64,
    /// The list of named snapshots, and what is to be done to it.
    pub(super) snapshots: TreeRoot,
    pub(super) named: Vec<NamedChange>,
    /// What must stay once that is done.
    pub(super) named_pins: Option<NamedPins>,
    /// After a rollback to a named snapshot, the dead pages that it has made alive again, sorted.
    pub(super) revived: Option<Vec<Run>>,
    /// The numbers of the application.
    pub(super) marks: record::Marks,
    /// Pages for small commits to come, as its record will have them.
    pub(super) journal: Option<JournalPages>,
    /// Whether somebody reads the state that it makes from the moment on that the turn ends.
    pub(super) stays: bool,
    /// Absent where nobody wants to know how long the steps of the commit take.
    pub(super) stopwatch: Option<Stopwatch>,
    /// Absent where nobody wants to know of commits.
    pub(super) commit_note: Option<CommitNote>,
    /// When it got its turn, as [`uptime_ms`] has it.
    began_ms: u64,
    /// Whether it commits also if nothing has changed, and cuts off all that is free.
    pub(super) is_compacting: bool,
    /// Whether an error came in the middle of a change.
    pub(super) is_broken: bool,
    pub(super) is_ended: bool,
}

impl WriteTransaction {
    /// Waits for the writer's place and begins.
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        Self::begin_in(engine, engine.take_turn()?, Debts::All)
    }

    /// The same, but waits only as long as `limit`; `None` if that was not enough.
    pub(crate) fn begin_within(engine: &Arc<Engine>, limit: Duration) -> Result<Option<Self>> {
        let turn = engine.try_turn(Some(limit))?;
        turn.map(|turn| Self::begin_in(engine, turn, Debts::Some))
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
        let Some(turn) = engine.try_turn(limit)? else {
            return Ok(None);
        };
        refuse_stale(state, engine.flusher.base()?.transaction())?;
        Self::begin_in(engine, turn, Debts::Some).map(Some)
    }

    fn begin_in(engine: &Arc<Engine>, mut writer: WriterTurn, debts: Debts) -> Result<Self> {
        let beginning = engine.named(Beginning::new(engine, &mut writer))?;
        let mut txn = Self::of(engine, beginning, writer);
        txn.pay_debts(debts)?;
        Ok(txn)
    }

    fn of(engine: &Arc<Engine>, beginning: Beginning, writer: WriterTurn) -> Self {
        let Beginning {
            base,
            snapshots,
            mapping,
            limits,
        } = beginning;
        let storage = Arc::clone(&engine.file.storage);
        Self {
            engine: Arc::clone(engine),
            teller: Teller::new(&engine.flusher),
            catalog: base.catalog,
            pages: WritePages::new(storage, mapping, &base, writer, limits),
            tables: BTreeMap::new(),
            has_other_roots: false,
            savepoints: Vec::new(),
            unique_id: unique_id(),
            version: 0,
            snapshots,
            named: Vec::new(),
            named_pins: None,
            revived: None,
            marks: base.record.marks,
            journal: base.record.journal,
            stays: false,
            stopwatch: None,
            commit_note: None,
            began_ms: uptime_ms(),
            base,
            is_compacting: false,
            is_broken: false,
            is_ended: false,
        }
    }

    /// Begins anew with the turn that it has, on the newest state. It has ended.
    pub(super) fn begin_again(&mut self) -> Result<()> {
        debug_assert!(self.is_ended, "what it has is undone or committed");
        let beginning = Beginning::new(&self.engine, &mut self.pages.writer)?;
        let (durability, began_ms) = (self.pages.durability, self.began_ms);
        let (engine, writer) = (Arc::clone(&self.engine), self.pages.writer.take());
        self.teller.disarm();
        *self = Self::of(&engine, beginning, writer);
        self.pages.durability = durability;
        self.began_ms = began_ms;
        Ok(())
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The id that the commit will have.
    pub(crate) fn id(&self) -> TransactionId {
        self.base.transaction().next()
    }

    pub(crate) fn pages(&self) -> &WritePages {
        &self.pages
    }

    pub(crate) fn dirty_bytes(&self) -> usize {
        self.pages.dirty_bytes()
    }

    /// How long it has had its turn, to within some milliseconds.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_millis(uptime_ms().saturating_sub(self.began_ms))
    }

    pub(crate) fn taken_pages(&self) -> u64 {
        self.pages.taken_count()
    }

    pub(crate) fn dead_pages(&self) -> u64 {
        self.pages.dead_count()
    }

    /// How long the file may become.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.pages.geometry.upper_limit_bytes
    }

    pub(crate) fn savepoint_count(&self) -> usize {
        self.savepoints.len()
    }

    pub(crate) fn set_geometry(&mut self, geometry: Geometry) {
        self.pages.geometry = geometry;
    }

    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.pages.durability = durability;
    }

    /// The root of a table, by its handle and name.
    #[inline]
    pub(crate) fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.engine.refuse_forked()?;
        if let Some(table) = self.tables.get(&handle) {
            return Ok(table.root.as_ref().map(RootRef::Kept));
        }
        if self.catalog == self.base.catalog {
            if let Some(root) = self.base.known_root(handle) {
                return Ok(root.map(RootRef::Kept));
            }
            // Not through the state itself: its pages may not be in the file yet.
            let root = self.find(name)?;
            self.base.set_root(handle, root);
            return Ok(root.map(RootRef::found));
        }
        Ok(self.find(name)?.map(RootRef::found))
    }

    pub(super) fn find(&self, name: &[u8]) -> Result<Option<TreeRoot>> {
        self.refuse_ended()?;
        let pages = &self.pages;
        reading_twice(pages, || {
            catalog::find(pages, &self.catalog, name, &self.base.comparisons)
        })
    }

    fn open(&mut self, handle: usize, name: &[u8]) -> Result<&mut OpenTable> {
        if !self.tables.contains_key(&handle) {
            let root = self.root_of(handle, name)?.as_deref().copied();
            self.note_open(handle, name, root);
        }
        Ok(self.opened(handle))
    }

    fn opened(&mut self, handle: usize) -> &mut OpenTable {
        let table = self.tables.get_mut(&handle);
        table.expect("the table was opened")
    }

    fn note_open(&mut self, handle: usize, name: &[u8], root: Option<TreeRoot>) {
        let table = OpenTable {
            name: name.to_vec(),
            root,
            is_changed: false,
            version: 0,
            near: Vec::new(),
        };
        self.tables.insert(handle, table);
    }

    /// Refuses to read after a checkpoint that failed.
    fn refuse_ended(&self) -> Result<()> {
        match self.is_ended {
            true => Err(Error::TransactionBroken),
            false => Ok(()),
        }
    }

    /// Says which state of a table this transaction sees, if it has changed it: two equal answers are of one state. A rollback brings
    /// back what was said of the state that it brings back.
    pub(crate) fn version_of(&self, handle: usize) -> Option<(u64, u64)> {
        let table = self.tables.get(&handle)?;
        (table.version > 0).then_some((self.unique_id, table.version))
    }

    /// Leaves nothing to do but rolling back.
    pub(crate) fn set_broken(&mut self) {
        self.is_broken = true;
    }

    pub(crate) fn refuse_broken(&self) -> Result<()> {
        self.engine.refuse_forked()?;
        self.engine.flusher.refuse_evicted()?;
        if self.is_broken {
            Err(Error::TransactionBroken)
        } else {
            Ok(())
        }
    }

    /// Changes a table. An error in the middle of that makes the transaction unusable but for
    /// rolling back; so does a panic of what the caller had called.
    pub(crate) fn change<R>(
        &mut self,
        handle: usize,
        name: &[u8],
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.change_near(handle, name, |tree, near| {
            near.clear();
            change(tree)
        })
    }

    /// Inserts a record.
    pub(crate) fn insert(
        &mut self,
        handle: usize,
        name: &[u8],
        key: &[u8],
        value: StoredValue<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        self.change_near(handle, name, |tree, near| {
            tree.insert_near(near, key, value, existing)
        })
    }

    /// Removes a record; says whether there was one.
    pub(crate) fn remove(&mut self, handle: usize, name: &[u8], key: &[u8]) -> Result<bool> {
        self.change_near(handle, name, |tree, near| tree.remove_near(near, key))
    }

    /// The path to the record behind the one that was just removed, if it is in the same leaf. Right behind a removal only.
    pub(crate) fn behind_removed(&self, handle: usize) -> Option<Position> {
        let near = &self.tables.get(&handle)?.near;
        let leaf = near.last()?;
        (leaf.index < leaf.count).then(|| Position::on(near.clone()))
    }

    /// Changes a table, with [`OpenTable::near`], which `change` keeps true.
    #[inline(always)]
    fn change_near<R>(
        &mut self,
        handle: usize,
        name: &[u8],
        change: impl FnOnce(&mut Tree<'_, WritePages>, &mut Vec<Step>) -> Result<R>,
    ) -> Result<R> {
        self.refuse_broken()?;
        self.version += 1;
        let version = self.version;
        self.open(handle, name)?;
        let table = self.tables.get_mut(&handle);
        let table = table.expect("the table was opened");
        let Some(root) = &mut table.root else {
            return Err(not_found(name));
        };
        table.version = version;
        let before = *root;
        self.is_broken = true;
        // The root is changed where it is: a copy would wait for each of its fields to be written.
        let result = changing(&mut self.pages, |pages| {
            change(&mut Tree::new(pages, root), &mut table.near)
        });
        table.is_changed |= *root != before;
        self.is_broken = result.is_err();
        result.map_err(|error| {
            located(error, &self.pages, root, name, None).at(&self.engine.file.path)
        })
    }

    /// Changes the catalog. An error or a panic in the middle of that leaves nothing to do but rolling back, as with a table.
    pub(super) fn change_catalog<R>(
        &mut self,
        change: impl FnOnce(&mut WritePages, &mut TreeRoot) -> Result<R>,
    ) -> Result<R> {
        let was_broken = mem::replace(&mut self.is_broken, true);
        let changed = changing(&mut self.pages, |pages| change(pages, &mut self.catalog));
        self.is_broken = was_broken || changed.is_err();
        self.engine.named(changed)
    }

    /// Creates a table; it must not exist.
    pub(crate) fn create_table(
        &mut self,
        handle: usize,
        name: &[u8],
        mut root: TreeRoot,
    ) -> Result<()> {
        self.refuse_broken()?;
        let orders = [Some(&mut root.order), root.kind.values.as_mut()];
        for order in orders.into_iter().flatten() {
            if let KeyOrder::Custom(comparison) = order {
                let known = self.base.comparisons.named(comparison.name());
                *order = KeyOrder::Custom(known.ok_or_else(|| Error::ComparisonMissing {
                    table: printable(name),
                    comparison: comparison.name().to_owned(),
                })?);
            }
        }
        let table = self.open(handle, name)?;
        if table.root.is_some() {
            return Err(Error::TableExists(printable(name)));
        }
        self.set_root(handle, name, root)
    }

    /// Writes the root of a table that is open to the catalog.
    fn set_root(&mut self, handle: usize, name: &[u8], root: TreeRoot) -> Result<()> {
        self.change_catalog(|pages, catalog| catalog::put(pages, catalog, name, &root))?;
        self.note_root(handle, name, Some(root))
    }

    /// Notes which root the catalog has now.
    fn note_root(&mut self, handle: usize, name: &[u8], root: Option<TreeRoot>) -> Result<()> {
        self.version += 1;
        let version = self.version;
        let table = self.open(handle, name)?;
        table.root = root;
        table.is_changed = false;
        table.version = version;
        table.near.clear();
        Ok(())
    }

    /// Drops a table with all its pages; says whether there was one.
    pub(crate) fn drop_table(&mut self, handle: usize, name: &[u8]) -> Result<bool> {
        self.refuse_broken()?;
        let table = match self.open(handle, name) {
            Err(Error::ComparisonMissing { .. }) => return self.drop_unordered(handle, name),
            opened => opened?,
        };
        if table.root.is_none() {
            return Ok(false);
        }
        self.change(handle, name, |tree| tree.clear())?;
        self.forget_table(handle, name)?;
        Ok(true)
    }

    /// The same for a table whose keys cannot be compared here.
    fn drop_unordered(&mut self, handle: usize, name: &[u8]) -> Result<bool> {
        let pages = &self.pages;
        let entry = reading_twice(pages, || {
            catalog::entry(pages, &self.catalog, name, &self.base.comparisons)
        })?;
        let Some(mut root) = entry.and_then(|entry| entry.root().copied()) else {
            return Ok(false);
        };
        self.is_broken = true;
        changing(&mut self.pages, |pages| Tree::new(pages, &mut root).clear())?;
        self.is_broken = false;
        self.note_open(handle, name, None);
        self.forget_table(handle, name)?;
        Ok(true)
    }

    fn forget_table(&mut self, handle: usize, name: &[u8]) -> Result<()> {
        self.change_catalog(|pages, catalog| catalog::remove(pages, catalog, name))?;
        self.note_root(handle, name, None)
    }

    /// Gives a table another name, which must be free.
    pub(crate) fn rename_table(
        &mut self,
        (old_handle, old): (usize, &[u8]),
        (new_handle, new): (usize, &[u8]),
    ) -> Result<()> {
        self.refuse_broken()?;
        let Some(root) = self.open(old_handle, old)?.root else {
            return Err(not_found(old));
        };
        if self.open(new_handle, new)?.root.is_some() {
            return Err(Error::TableExists(printable(new)));
        }
        self.forget_table(old_handle, old)?;
        self.set_root(new_handle, new, root)?;
        // The catalog holds the root without the tags that sealing gives it.
        let table = self.open(new_handle, new)?;
        table.is_changed = true;
        Ok(())
    }

    /// Draws so many numbers from the sequence of a table; returns the first of them. No record changes by it.
    pub(crate) fn draw_sequence(&mut self, handle: usize, name: &[u8], count: u64) -> Result<u64> {
        self.refuse_broken()?;
        let table = self.open(handle, name)?;
        let Some(root) = &mut table.root else {
            return Err(not_found(name));
        };
        let first = root.sequence;
        let next = first.checked_add(count);
        root.sequence = next.ok_or_else(|| Error::SequenceExhausted {
            table: printable(name),
            next: first,
            count,
        })?;
        table.is_changed |= count > 0;
        Ok(first)
    }

    /// Calls `visit` for each table, in the order of names, as this transaction sees it.
    pub(crate) fn for_each_table(
        &self,
        mut visit: impl FnMut(&[u8], catalog::Entry) -> Result<()>,
    ) -> Result<()> {
        self.refuse_ended()?;
        let open: HashMap<&[u8], TreeRoot> = self
            .tables
            .values()
            .filter_map(|table| Some((table.name.as_slice(), table.root?)))
            .collect();
        reading(&self.pages, || {
            let comparisons = &self.base.comparisons;
            catalog::for_each(&self.pages, &self.catalog, comparisons, |name, entry| {
                let open = open.get(name).map(|root| catalog::Entry::Table(*root));
                match entry {
                    catalog::Entry::Dropped(_) => Ok(()),
                    entry => visit(name, open.unwrap_or(entry)),
                }
            })
        })
    }

    /// Undoes everything.
    pub(crate) fn abort(mut self) {
        self.undo();
    }

    pub(super) fn undo(&mut self) {
        if !mem::replace(&mut self.is_ended, true) && !self.engine.generation.is_past() {
            self.pages.abandon();
        }
    }
}

/// What a write transaction begins with.
struct Beginning {
    base: Arc<Snapshot>,
    /// The list of named snapshots.
    snapshots: TreeRoot,
    mapping: Arc<Mapping>,
    limits: Limits,
}

impl Beginning {
    /// Frees what nobody needs any more, for a writer whose turn it is.
    fn new(engine: &Arc<Engine>, writer: &mut WriterTurn) -> Result<Self> {
        let shared = engine.flusher.shared.as_ref();
        shared.iter().for_each(|shared| shared.bury_the_dead());
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
            limits: Limits {
                durability: engine.policies.durability,
                memory_bytes: engine.policies.write_memory_bytes,
                geometry: writer.newest.geometry,
                slow_readers: SlowReaders::of(engine),
                parks_above: engine.policies.drop_limits.at_once,
            },
        })
    }
}

/// The writer's place without a transaction.
#[derive(Debug)]
pub(crate) struct HeldPlace {
    // The turn ends before the engine, whose end takes a turn.
    turn: WriterTurn,
    engine: Arc<Engine>,
}

impl HeldPlace {
    /// Waits for the place, for as long as `limit`; `None` if that was not enough.
    pub(crate) fn take(engine: &Arc<Engine>, limit: Option<Duration>) -> Result<Option<Self>> {
        let turn = engine.try_turn(limit)?;
        Ok(turn.map(|turn| Self {
            turn,
            engine: Arc::clone(engine),
        }))
    }

    /// Begins to write.
    pub(crate) fn begin(self) -> Result<WriteTransaction> {
        self.engine.refuse_forked()?;
        WriteTransaction::begin_in(&self.engine, self.turn, Debts::All)
    }
}

fn refuse_stale(held: TransactionId, newest: TransactionId) -> Result<()> {
    match held == newest {
        true => Ok(()),
        false => Err(Error::SnapshotStale { held, newest }),
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        self.undo();
    }
}

/// Changes pages, and fails if some of what was read for it was not there.
pub(super) fn changing<R>(
    pages: &mut WritePages,
    change: impl FnOnce(&mut WritePages) -> Result<R>,
) -> Result<R> {
    reading_from(pages.faults(), pages.page_size(), || {
        let changed = change(pages)?;
        pages.refuse_lost()?;
        Ok(changed)
    })
}

pub(crate) fn not_found(name: &[u8]) -> Error {
    Error::TableNotFound(printable(name))
}
