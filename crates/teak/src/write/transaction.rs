//! The write transaction: changing tables and the catalog.

use crate::{
    Error, Geometry, Result, TransactionId,
    btree::{
        PageSource, RootRef, TreeRoot,
        insert::{Existing, Inserted},
        mutable_tree::Tree,
        position::{PathStep, Position},
        reading::{reading, reading_from, reading_twice},
    },
    io::uptime_ms,
    page::value::StoredValue,
    record::{self, JournalPages},
    types::TypeNames,
};
use crate::{
    instance::{engine::Engine, small_changes::RecordChange},
    read::{
        catalog::{self, printable},
        located::located,
        snapshot::Snapshot,
    },
    record::durability::Durability,
    write::{
        event_delivery::EventDelivery,
        named_edits::NamedEdits,
        open_table::{OpenTable, OpenTables},
        pages::WritePages,
        savepoint_state::SavepointState,
        transaction_status::TransactionStatus,
        transaction_timing::TransactionTiming,
    },
};
use std::{collections::HashMap, mem, sync::Arc, time::Duration};

/// A write transaction. Dropping it undoes it.
#[derive(Debug)]
pub(crate) struct WriteTransaction {
    // Fields are dropped in this order: `pages` releases the writer lock before the engine is
    // dropped, which acquires it.
    pub(crate) pages: WritePages,
    pub(crate) event_delivery: EventDelivery,
    pub(crate) base: Arc<Snapshot>,
    pub(crate) engine: Arc<Engine>,
    /// How many commits this is: those of the memtable are merged as one.
    pub(crate) commit_count: u64,
    pub(crate) catalog: TreeRoot,
    pub(crate) tables: OpenTables,
    pub(crate) savepoints: Vec<SavepointState>,
    pub(crate) named: NamedEdits,
    /// The application's marks.
    pub(crate) marks: record::RecordMarks,
    /// The journal's pages, as this transaction's record will have them.
    pub(crate) journal: Option<JournalPages>,
    pub(crate) timing: TransactionTiming,
    pub(crate) status: TransactionStatus,
}

impl WriteTransaction {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The id that the commit will have.
    pub(crate) fn id(&self) -> TransactionId {
        TransactionId(self.base.transaction().0 + self.commit_count)
    }

    pub(crate) fn pages(&self) -> &WritePages {
        &self.pages
    }

    pub(crate) fn dirty_bytes(&self) -> usize {
        self.pages.dirty_bytes()
    }

    /// How long the transaction has held the writer lock, to within some milliseconds.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_millis(uptime_ms().saturating_sub(self.timing.began_ms))
    }

    pub(crate) fn taken_pages(&self) -> u64 {
        self.pages.taken_count()
    }

    pub(crate) fn dead_pages(&self) -> u64 {
        self.pages.dead_count()
    }

    /// The maximum size of the file in bytes.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.pages.limits.geometry.upper_limit_bytes
    }

    pub(crate) fn savepoint_count(&self) -> usize {
        self.savepoints.len()
    }

    pub(crate) fn set_geometry(&mut self, geometry: Geometry) {
        self.pages.limits.geometry = geometry;
    }

    pub(crate) fn set_durability(&mut self, durability: Durability) {
        self.pages.limits.durability = durability;
        self.pages.limits.expected = durability;
    }

    /// The root of a table, by its handle and name.
    #[inline]
    pub(crate) fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.engine.refuse_forked()?;
        if let Some(table) = self.tables.open.get(&handle) {
            return Ok(table.root.as_ref().map(RootRef::Kept));
        }
        if self.catalog == self.base.catalog {
            if let Some(root) = self.base.known_root(handle) {
                return Ok(root.map(RootRef::Kept));
            }
            // Not read through the base state: its pages may not be in the file yet.
            let root = self.find(name)?;
            self.base.set_root(handle, root);
            return Ok(root.map(RootRef::found));
        }
        Ok(self.find(name)?.map(RootRef::found))
    }

    pub(crate) fn find(&self, name: &[u8]) -> Result<Option<TreeRoot>> {
        self.refuse_ended()?;
        let pages = &self.pages;
        reading_twice(pages, || {
            catalog::find(pages, &self.catalog, name, &self.base.comparisons)
        })
    }

    pub(super) fn open(&mut self, handle: usize, name: &[u8]) -> Result<&mut OpenTable> {
        if !self.tables.open.contains_key(&handle) {
            let root = self.root_of(handle, name)?.as_deref().copied();
            self.note_open(handle, name, root);
        }
        Ok(self.opened(handle))
    }

    pub(super) fn opened(&mut self, handle: usize) -> &mut OpenTable {
        let table = self.tables.open.get_mut(&handle);
        table.expect("the table was opened")
    }

    pub(super) fn note_open(&mut self, handle: usize, name: &[u8], root: Option<TreeRoot>) {
        let table = OpenTable {
            name: name.to_vec(),
            root,
            is_changed: false,
            version: 0,
            hint: Vec::new(),
        };
        let before = self.tables.open.insert(handle, table);
        debug_assert!(
            before.is_none_or(|before| !before.is_changed),
            "a table with changes is not forgotten"
        );
    }

    /// Refuses to read after a failed checkpoint.
    fn refuse_ended(&self) -> Result<()> {
        match self.status.is_ended {
            true => Err(Error::TransactionBroken),
            false => Ok(()),
        }
    }

    /// Identifies the state of a table in this transaction, if the transaction has changed it. Two
    /// equal values identify the same state. A rollback restores the value of the restored state.
    pub(crate) fn version_of(&self, handle: usize) -> Option<(u64, u64)> {
        let table = self.tables.open.get(&handle)?;
        (table.version > 0).then_some((self.tables.unique_id, table.version))
    }

    /// Allows only a rollback from now on.
    pub(crate) fn set_broken(&mut self) {
        self.status.is_broken = true;
    }

    pub(crate) fn refuse_broken(&self) -> Result<()> {
        self.engine.refuse_forked()?;
        self.engine.committer.refuse_evicted()?;
        if self.status.is_broken {
            Err(Error::TransactionBroken)
        } else {
            Ok(())
        }
    }

    /// Changes a table. An error or a panic of the caller's code in the middle leaves only a
    /// rollback possible.
    pub(crate) fn change<R>(
        &mut self,
        handle: usize,
        name: &[u8],
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.change_with_hint(
            handle,
            name,
            |_| Ok(()),
            |tree, hint| {
                hint.clear();
                change(tree)
            },
        )
    }

    /// Inserts a record, after `check` has seen the root of the table.
    pub(crate) fn insert(
        &mut self,
        (handle, name): (usize, &[u8]),
        check: impl FnOnce(Option<&TreeRoot>) -> Result<()>,
        (key, value): (&[u8], StoredValue<'_>),
        existing: Existing,
    ) -> Result<Inserted> {
        self.change_with_hint(handle, name, check, |tree, hint| {
            tree.insert_with_hint(hint, key, value, existing)
        })
    }

    /// Inserts a record after the last one. Returns whether its key is after it.
    pub(crate) fn append(
        &mut self,
        (handle, name): (usize, &[u8]),
        check: impl FnOnce(Option<&TreeRoot>) -> Result<()>,
        (key, value): (&[u8], StoredValue<'_>),
    ) -> Result<bool> {
        self.change_with_hint(handle, name, check, |tree, hint| {
            tree.append_with_hint(hint, key, value)
        })
    }

    /// Removes a record. Returns whether there was one.
    pub(crate) fn remove(
        &mut self,
        (handle, name): (usize, &[u8]),
        check: impl FnOnce(Option<&TreeRoot>) -> Result<()>,
        key: &[u8],
    ) -> Result<bool> {
        self.change_with_hint(handle, name, check, |tree, hint| {
            tree.remove_with_hint(hint, key)
        })
    }

    /// Makes changes of small transactions. They are in the order of their tables and keys as
    /// bytes: in tables of another order neighbours do not help each other.
    pub(super) fn apply(&mut self, changes: &[RecordChange<'_>]) -> Result<()> {
        let check = |_: Option<&TreeRoot>| Ok(());
        for changes in changes.chunk_by(|a, b| a.handle == b.handle) {
            let (handle, name) = (changes[0].handle, changes[0].change.table);
            self.change_with_hint(handle, name, check, |tree, hint| {
                tree.put_or_remove(hint, changes, |change| {
                    (change.change.key, change.change.value)
                })
            })?;
        }
        Ok(())
    }

    /// The path to the record after the one just removed, if it is in the same leaf. Valid only
    /// directly after a removal.
    pub(crate) fn position_after_removed(&self, handle: usize) -> Option<Position> {
        let hint = &self.tables.open.get(&handle)?.hint;
        let leaf = hint.last()?;
        (leaf.index < leaf.count).then(|| Position::on(hint.clone()))
    }

    /// Changes a table, with [`OpenTable::hint`], which `change` must keep valid. An error of
    /// `check` changes nothing, and leaves the transaction usable.
    #[inline(always)]
    fn change_with_hint<R>(
        &mut self,
        handle: usize,
        name: &[u8],
        check: impl FnOnce(Option<&TreeRoot>) -> Result<()>,
        change: impl FnOnce(&mut Tree<'_, WritePages>, &mut Vec<PathStep>) -> Result<R>,
    ) -> Result<R> {
        self.refuse_broken()?;
        debug_assert!(
            !self.status.is_ended,
            "a transaction that has ended, and was not begun again, is broken"
        );
        self.tables.version += 1;
        let version = self.tables.version;
        if !self.tables.open.contains_key(&handle) {
            self.open(handle, name)?;
        }
        let table = self.tables.open.get_mut(&handle);
        let table = table.expect("the table was opened");
        check(table.root.as_ref())?;
        let Some(root) = &mut table.root else {
            return Err(not_found(name));
        };
        debug_assert!(
            table.version < version,
            "each change of a table has a version of its own"
        );
        table.version = version;
        let before = *root;
        self.status.is_broken = true;
        // The root is changed in place: a copy would wait until each of its fields is written.
        let result = changing(&mut self.pages, |pages| {
            change(&mut Tree::new(pages, root), &mut table.hint)
        });
        table.is_changed |= *root != before;
        self.status.is_broken = result.is_err();
        result.map_err(|error| {
            located(error, &self.pages, root, name, None).at(&self.engine.file.path)
        })
    }

    /// Changes the catalog. As with a table, an error or a panic in the middle leaves only a
    /// rollback possible.
    pub(crate) fn change_catalog<R>(
        &mut self,
        change: impl FnOnce(&mut WritePages, &mut TreeRoot) -> Result<R>,
    ) -> Result<R> {
        let was_broken = mem::replace(&mut self.status.is_broken, true);
        let changed = changing(&mut self.pages, |pages| change(pages, &mut self.catalog));
        self.status.is_broken = was_broken || changed.is_err();
        self.engine.named(changed)
    }

    /// Draws `count` numbers from the sequence of a table, and returns the first one. No record
    /// changes.
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

    /// Calls `visit` for each table that this transaction sees, in the order of names.
    pub(crate) fn for_each_table(
        &self,
        mut visit: impl FnMut(&[u8], catalog::CatalogEntry, TypeNames<'_>) -> Result<()>,
    ) -> Result<()> {
        self.refuse_ended()?;
        let open: HashMap<&[u8], TreeRoot> = self
            .tables
            .open
            .values()
            .filter_map(|table| Some((table.name.as_slice(), table.root?)))
            .collect();
        reading(&self.pages, || {
            let comparisons = &self.base.comparisons;
            let (pages, catalog) = (&self.pages, &self.catalog);
            catalog::for_each(pages, catalog, comparisons, |name, entry, types| {
                let open = open
                    .get(name)
                    .map(|root| catalog::CatalogEntry::Table(*root));
                match entry {
                    catalog::CatalogEntry::Dropped(_) => Ok(()),
                    entry if catalog::table_of_index(name, &entry).is_some() => Ok(()),
                    entry => visit(name, open.unwrap_or(entry), types),
                }
            })
        })
    }

    /// Undoes everything.
    pub(crate) fn abort(mut self) {
        self.undo();
    }

    pub(crate) fn undo(&mut self) {
        if !mem::replace(&mut self.status.is_ended, true) && !self.engine.generation.is_past() {
            self.pages.abandon();
        }
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        self.undo();
        self.timing.spans.note_aborted();
    }
}

/// Changes pages. Fails if a page that was read meanwhile could not be read.
pub(crate) fn changing<R>(
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
