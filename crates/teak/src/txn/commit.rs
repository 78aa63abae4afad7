//! The commit pipeline.
//!
//! 1. *Seal*: tags go from the leaves of each changed table to its root, from there into the
//!    catalog, and from its leaves to its root.
//! 2. *Space*: what was taken and what died goes to the record's log, or the space map is folded.
//! 3. *Write*: all pages that are not in their final place yet, one write for each run, then the
//!    record, in a slot that neither the newest commit nor the last durable one needs.
//! 4. *Flush*, once, if the commit is to be durable.
//! 5. *Publish*: readers see it from now on.
//!
//! Up to the record nothing refers to what was written, so an error undoes the transaction and the
//! space map is read anew from the record before. From the record on an error leaves it open what
//! is on the disk: the database refuses writes until it is opened again.

use super::{
    engine::Durability,
    open::{durability_byte, now_ms},
    pages::write_pages,
    snapshot::Snapshot,
    write::WriteTransaction,
};
use crate::{
    Error, Result, Run, TransactionId,
    commit::record::{Geometry, Record},
    space::{Change, Committed},
    store::Mapping,
    tree::{TreeRoot, seal},
};
use std::sync::{Arc, atomic::Ordering};

/// More written runs than this are not listed.
const WRITTEN_RUNS_MAX: usize = 4096;

impl WriteTransaction {
    /// Commits, and returns the id of the state that readers see now. A transaction that changed
    /// nothing writes nothing.
    pub(crate) fn commit(mut self) -> Result<TransactionId> {
        self.refuse_poisoned()?;
        if self.is_broken {
            return Err(Error::TransactionBroken);
        }
        if let Some(outermost) = self.outermost_savepoint() {
            self.end_savepoint(outermost)?;
        }
        self.write_roots()?;
        if self.pages.is_unchanged() {
            return Ok(self.base.transaction());
        }
        seal::seal(&mut self.pages, &mut self.catalog)?;
        let taken = self.pages.settle();
        let deaths = joined(&self.pages.deaths);
        let (committed, written) = self.commit_space(&taken, &deaths)?;
        self.is_ended = true;
        let put = self.put_on_disk(committed, written);
        self.pages.writer.arena.clear();
        match put {
            Ok((record, mapping)) => self.publish(record, mapping, &taken),
            Err(error) => {
                self.restore_space();
                Err(error)
            }
        }
    }

    /// Seals every changed table and writes its root to the catalog.
    fn write_roots(&mut self) -> Result<()> {
        for handle in 0..self.tables.len() {
            let Some(OpenTableRoot { name, mut root }) = self.changed_root(handle) else {
                continue;
            };
            seal::seal(&mut self.pages, &mut root)?;
            super::catalog::put(&mut self.pages, &mut self.catalog, &name, &root)?;
            if let Some(Some(table)) = self.tables.get_mut(handle) {
                table.root = Some(root);
                table.is_changed = false;
            }
        }
        Ok(())
    }

    fn changed_root(&self, handle: usize) -> Option<OpenTableRoot> {
        let table = self.tables[handle]
            .as_ref()
            .filter(|table| table.is_changed)?;
        Some(OpenTableRoot {
            name: table.name.clone(),
            root: table.root?,
        })
    }

    /// Has the space map take the transaction in. Nothing has changed if this fails.
    fn commit_space(
        &mut self,
        taken: &[Run],
        deaths: &[(Run, TransactionId)],
    ) -> Result<(Committed, Option<Vec<Run>>)> {
        let page_size = self.engine.page_size;
        let transaction = self.id();
        let page_limit = self.pages.size_limit_pages().min(u64::from(u32::MAX));
        let writer = &mut *self.pages.writer;
        let mut written = writer.written.as_ref().map(|before| union(before, taken));
        // Written runs may have a quarter of the record; the log is of more use.
        let listed_max = page_size / 4 / size_of::<Run>();
        written = written.filter(|runs| runs.len() <= WRITTEN_RUNS_MAX);
        let listed = written.as_ref().map_or(0, Vec::len);
        let reserved = if listed + 8 > listed_max {
            0
        } else {
            listed + 8
        };
        let log_room = Record::log_room(page_size, reserved);
        let change = Change {
            transaction,
            taken,
            deaths,
            log_room,
            page_limit,
        };
        let committed = writer.space.commit(change)?;
        let written = written.map(|runs| union(&runs, &committed.fold_taken));
        Ok((committed, written))
    }

    /// Writes pages and record, and flushes if that was asked for.
    fn put_on_disk(
        &mut self,
        committed: Committed,
        written: Option<Vec<Run>>,
    ) -> Result<(Record, Arc<Mapping>)> {
        let page_size = self.engine.page_size;
        let page_count = self.pages.writer.space.page_count();
        let bytes = page_count * page_size as u64;
        if bytes > self.engine.storage.len() {
            let grown = self.engine.storage.set_len(bytes);
            grown.map_err(Error::io("making the file longer"))?;
        }
        let mapping = self
            .engine
            .storage
            .mapping()
            .map_err(Error::io("mapping the file"))?;
        let engine = &self.engine;
        self.pages.mark_mapped();
        let mut pages = self.pages.unwritten_pages();
        pages.extend(
            committed
                .fold_pages
                .iter()
                .map(|(number, page)| (*number, &page[..])),
        );
        pages.sort_unstable_by_key(|(number, _)| *number);
        write_pages(&*engine.storage, page_size, &pages)?;
        let record = self.record(&committed, written.as_deref(), page_count);
        self.pages.writer.written = written;
        self.engine.write_record(&record)?;
        if self.pages.durability == Durability::Durable {
            self.engine.flush(Some(&record))?;
        }
        Ok((record, mapping))
    }

    fn record(&self, committed: &Committed, written: Option<&[Run]>, page_count: u64) -> Record {
        let writer = &*self.pages.writer;
        let page_size = self.engine.page_size;
        let fits = |runs: &&[Run]| committed.log.len() <= Record::log_room(page_size, runs.len());
        Record {
            slot: writer.next_slot(),
            sequence: writer.newest.sequence + 1,
            transaction: self.id(),
            durable_transaction: writer.durable,
            time_ms: now_ms(),
            asked_durable: self.pages.durability == Durability::Durable,
            clean_close: false,
            default_durability: durability_byte(self.engine.settings.durability),
            geometry: Geometry {
                upper_limit: self.engine.settings.size_limit_bytes.unwrap_or(u64::MAX),
                ..writer.newest.geometry
            },
            page_count,
            catalog_root: self.catalog.encode(),
            space_roots: committed.roots,
            written: written.filter(fits).map(<[Run]>::to_vec),
            space_log: committed.log.clone(),
            ..writer.newest.clone()
        }
    }

    fn publish(
        &mut self,
        record: Record,
        mapping: Arc<Mapping>,
        taken: &[Run],
    ) -> Result<TransactionId> {
        let transaction = record.transaction;
        let places = self.engine.root_places();
        let checked = self.base.checked.covering(record.page_count);
        // What was sealed just now is what stands there.
        taken.iter().for_each(|run| checked.note(*run));
        let snapshot = Snapshot::new(record.clone(), mapping, places)?
            .with_checked(checked)
            .with_counts_of(&self.pages.writer.space);
        for handle in 0..places {
            match self.tables.get(handle) {
                Some(Some(table)) => snapshot.set_root(handle, table.root),
                _ => {
                    if let Some(root) = self.base.known_root(handle) {
                        snapshot.set_root(handle, root);
                    }
                }
            }
        }
        self.pages.writer.note_record(record);
        if self.pages.durability == Durability::Durable {
            self.engine.note_durable(&mut self.pages.writer);
        }
        self.engine.published.publish(snapshot);
        Ok(transaction)
    }

    /// After a failed write the space map is read anew, as the record before has it.
    fn restore_space(&mut self) {
        let pins = self.engine.pins(&self.pages.writer);
        match self.base.space(&pins) {
            Ok(space) => self.pages.writer.space = space,
            Err(_) => self.engine.poisoned.store(true, Ordering::Release),
        }
    }
}

struct OpenTableRoot {
    name: Vec<u8>,
    root: TreeRoot,
}

/// Deaths, sorted and with neighbours of the same birth as one.
fn joined(deaths: &[(Run, TransactionId)]) -> Vec<(Run, TransactionId)> {
    let mut sorted = deaths.to_vec();
    sorted.sort_unstable_by_key(|(run, _)| run.start);
    let mut joined: Vec<(Run, TransactionId)> = Vec::with_capacity(sorted.len());
    for (run, birth) in sorted {
        match joined.last_mut() {
            Some((last, same)) if *same == birth && last.end() == u64::from(run.start.0) => {
                last.len += run.len;
            }
            _ => joined.push((run, birth)),
        }
    }
    joined
}

/// All pages of two lists of runs, each sorted, as one.
fn union(a: &[Run], b: &[Run]) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(x), Some(y)) if x.start <= y.start => left.next(),
            (_, Some(_)) => right.next(),
            (Some(_), None) => left.next(),
            (None, None) => return all,
        };
        let Some(&run) = next else { return all };
        match all.last_mut() {
            Some(last) if last.end() >= u64::from(run.start.0) => {
                let end = last.end().max(run.end());
                last.len = (end - u64::from(last.start.0)) as u32;
            }
            _ => all.push(run),
        }
    }
}
