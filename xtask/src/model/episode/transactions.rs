//! Operations of an episode on whole transactions, and on two tables at once.

use super::{
    super::{
        key_range::{KeyRange, borrowed},
        multi::RawMultiTable,
        oracle::{AnyModel, OracleTables},
        reading::RawTable,
        reads,
        shape::{ModelKey, ModelValue},
        violation::{
            ModelResult, ModelViolation, expect_bytes, expect_error, expect_refused, expect_same,
        },
    },
    ModelEpisode, ModelReader, ModelWriter, no_such_table,
};
use crate::Context;
use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc, time::Duration};
use teak::{
    CompactOptions, Error, Geometry, PageUse, Transaction, TransactionId, WarmUp, WriteOptions,
    WriteTxn, codec::Raw,
};

/// Cached lookups that are kept.
const CACHED_MAX: usize = 64;

impl ModelEpisode {
    /// Copies or moves a range of one table to another one, which must be compatible.
    pub(super) fn copy_range(
        &mut self,
        from: &[u8],
        to: &[u8],
        range: &KeyRange,
        moves: bool,
    ) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let source = tables.get(from).ok_or_else(no_such_table)?.clone();
        let target = tables.get_mut(to).ok_or_else(no_such_table)?;
        let bounds = borrowed(range);
        let (copied, expected) = match (&*source, Arc::make_mut(target)) {
            (AnyModel::Plain(source), AnyModel::Plain(target)) => {
                let records: Vec<_> = source.range(range).collect();
                for (key, value) in &records {
                    target.insert(key, *value);
                }
                let [source, target]: [RawTable; 2] = [txn.open_table(from)?, txn.open_table(to)?];
                let copied = match moves {
                    true => source.range(bounds).move_to(txn, &target)?,
                    false => source.range(bounds).copy_to(txn, &target)?,
                };
                (copied, records.len())
            }
            (AnyModel::Multi(source), AnyModel::Multi(target)) => {
                let pairs: Vec<_> = source.range(range).collect();
                target.insert_all(&pairs);
                let [source, target]: [RawMultiTable; 2] =
                    [txn.open_multi_table(from)?, txn.open_multi_table(to)?];
                let copied = match moves {
                    true => source.range(bounds).move_to(txn, &target)?,
                    false => source.range(bounds).copy_to(txn, &target)?,
                };
                (copied, pairs.len())
            }
            _ => return Err(no_such_table()),
        };
        if moves {
            match tables.get_mut(from).map(Arc::make_mut) {
                Some(AnyModel::Plain(source)) => drop(source.remove_range(range)),
                Some(AnyModel::Multi(source)) => {
                    let pairs: Vec<_> = source.range(range).collect();
                    source.remove_all(&pairs);
                }
                None => return Err(no_such_table()),
            }
        }
        expect_same("copied or moved", copied, expected as u64)
    }

    /// Begins a write transaction, with each method in turn.
    pub(super) fn begin(&mut self) -> ModelResult<WriteTxn> {
        self.begins += 1;
        let database = self.database()?;
        let options = WriteOptions::new();
        let begun = match self.begins % 3 {
            0 => database.begin_write_with(options.timeout(Duration::ZERO))?,
            1 => database.begin_write_with(options.timeout(Duration::from_secs(1)))?,
            _ => Some(database.begin_write()?),
        };
        let txn = begun.context("the writer lock was taken")?;
        expect_same("dirty bytes at the beginning", txn.info().dirty_bytes, 0)?;
        Ok(txn)
    }

    /// Commits, with each method in turn.
    pub(super) fn commit_in_turn(&mut self, txn: WriteTxn) -> ModelResult<TransactionId> {
        self.commits += 1;
        let id = txn.id();
        let committed = match self.commits % 8 {
            0 => {
                let ticket = txn.commit_async()?;
                ticket.wait()?;
                ticket.transaction()
            }
            1 => {
                let (committed, latency) = txn.commit_measured()?;
                expect_same("latency", latency.wait <= latency.whole, true)?;
                committed
            }
            _ => txn.commit()?,
        };
        // Nothing may have changed.
        expect_same(
            "id of the commit",
            committed == id || committed.next() == id,
            true,
        )?;
        Ok(committed)
    }

    /// The transaction that last changed each table.
    pub(super) fn changes(&self) -> ModelResult<BTreeMap<Vec<u8>, TransactionId>> {
        let tables = self.database()?.begin_read()?.tables()?;
        Ok((tables.into_iter())
            .map(|info| (info.name, info.stat.changed))
            .collect())
    }

    /// Fails unless each changed table reports the change by the commit.
    pub(super) fn expect_changed(
        &self,
        before: &BTreeMap<Vec<u8>, TransactionId>,
        tables: &OracleTables,
        committed: TransactionId,
    ) -> ModelResult {
        let reader = self.database()?.begin_read()?;
        for info in reader.tables()? {
            let (old, new) = (self.committed.get(&info.name), tables.get(&info.name));
            let (Some(old), Some(new), Some(before)) = (old, new, before.get(&info.name)) else {
                continue;
            };
            let changed = info.stat.changed;
            if Arc::ptr_eq(old, new) {
                expect_same("when an unchanged table was changed", changed, *before)?;
            } else if old.len() != new.len() {
                expect_same("when a table was changed", changed, committed)?;
            }
        }
        Ok(())
    }

    /// Flushes all commits, with each method in turn.
    pub(super) fn sync(&mut self) -> ModelResult {
        self.syncs += 1;
        let database = self.database()?;
        match self.syncs % 3 {
            0 if !database.info().is_flush_due => {}
            1 => database.begin_sync()?.wait()?,
            _ => database.sync()?,
        }
        Ok(())
    }

    /// A transaction that can only be rolled back must have no effect.
    pub(super) fn expect_only_rollback(&mut self) -> ModelResult {
        if let Some(mut writing) = self.writing.take() {
            self.handles.clear();
            writing.txn.set_broken();
            let changed = writing.txn.create_table::<Raw, Raw>("broken").map(drop);
            let is_broken = |error: &Error| matches!(error, Error::TransactionBroken);
            expect_error("a change of a broken transaction", changed, is_broken)?;
            expect_error(
                "a commit of a broken transaction",
                writing.txn.commit(),
                is_broken,
            )?;
        }
        Ok(())
    }

    /// Walks over all pages, and counts the records of each plain table.
    pub(super) fn walk_pages(&self) -> ModelResult {
        let reader = self.database()?.begin_read()?;
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        reader.walk_pages(&mut |page| {
            if let (Some(table), PageUse::Leaf) = (page.table, page.page_use) {
                *counts.entry(table.to_vec()).or_default() += page.entries;
            }
            ControlFlow::Continue(())
        })?;
        for (name, table) in self.committed.iter() {
            if let AnyModel::Plain(table) = &**table {
                let count = counts.get(name).copied().unwrap_or_default();
                expect_same("entries of all leaves of a table", count, table.len())?;
            }
        }
        let strange: Vec<_> = counts
            .keys()
            .filter(|name| !self.committed.contains_key(*name))
            .collect();
        expect_same("leaves of no table", strange, Vec::new())
    }

    /// Looks up a record with a cached hint.
    pub(super) fn get_cached(
        &mut self,
        reader: Option<usize>,
        name: &[u8],
        key: &ModelKey,
    ) -> ModelResult {
        let mut cached = std::mem::take(&mut self.cached);
        if cached.len() > CACHED_MAX {
            cached.clear();
        }
        let hint = cached.entry((name.to_vec(), key.clone())).or_default();
        let newest = self.database()?.begin_read()?;
        let (txn, tables) = match reader {
            Some(index) => self.readers[index].state(),
            None => (&newest, &self.committed),
        };
        let model = tables.get(name).and_then(|table| table.plain());
        let value = model.ok_or_else(no_such_table)?.get(key);
        let table: RawTable = txn.open_table(name)?;
        for is_again in [false, true] {
            let (found, is_kept) = table.get_cached(txn, key, hint)?;
            expect_bytes("get_cached", found, value.map(ModelValue::bytes))?;
            expect_same("whether a hint is kept", is_kept || !is_again, true)?;
        }
        self.cached = cached;
        Ok(())
    }

    pub(super) fn set_marks(&mut self, marks: [u64; 3]) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        txn.set_marks(marks)?;
        tables.marks.values = marks;
        tables.marks.set_in = Some(txn.id());
        expect_same("marks", txn.marks(), tables.marks)
    }

    /// Warms up the file, or locks it in memory and unlocks it.
    pub(super) fn warm_up(&self, mode: WarmUp) -> ModelResult {
        let database = self.database()?;
        // The system decides how much may be locked.
        match database.warm_up(mode, Duration::from_secs(1)) {
            Err(Error::Io { .. }) if mode == WarmUp::Lock => {}
            warmed => {
                let is_some = warmed?.bytes > 0;
                expect_same("whether something was warmed up", is_some, true)?;
            }
        }
        Ok(database.release_memory()?)
    }

    pub(super) fn draw_sequence(&mut self, name: &[u8], count: u64) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let model = tables.get_mut(name).map(Arc::make_mut);
        let model = model.ok_or_else(no_such_table)?;
        let (first, next) = match model {
            AnyModel::Plain(_) => {
                let table: RawTable = txn.open_table(name)?;
                (table.draw_sequence(txn, count)?, table.stat(txn)?.sequence)
            }
            AnyModel::Multi(_) => {
                let table: RawMultiTable = txn.open_multi_table(name)?;
                (table.draw_sequence(txn, count)?, table.stat(txn)?.sequence)
            }
        };
        let sequence = model.sequence_mut();
        let expected = (*sequence, *sequence + count);
        *sequence = expected.1;
        expect_same("the sequence", (first, next), expected)
    }

    pub(super) fn set_geometry(&mut self, geometry: Geometry) -> ModelResult {
        let limit = self.settings.size_limit_bytes;
        let geometry = geometry.upper_limit_bytes(limit.unwrap_or(geometry.upper_limit_bytes));
        Ok(self.writing()?.txn.set_geometry(geometry)?)
    }

    /// Commits, and begins a reader of exactly that state.
    pub(super) fn commit_and_read(&mut self) -> ModelResult {
        let Some(writing) = self.writing.take() else {
            return Ok(());
        };
        let (tables, snapshots) = (writing.tables, writing.snapshots);
        let txn = writing.txn.commit_and_read()?;
        self.publish(tables.clone(), snapshots);
        let reader = ModelReader { txn, tables };
        reader.verify()?;
        self.readers.push(reader);
        Ok(())
    }

    /// Begins a write transaction on the state of a reader, which must be the newest one.
    pub(super) fn begin_at(&mut self, reader: usize) -> ModelResult {
        let txn = &self.readers[reader].txn;
        let is_newest = self.database()?.begin_read()?.id() == txn.id();
        let database = self.database()?;
        let mut options = WriteOptions::new().at(txn);
        if !self.begins.is_multiple_of(2) {
            options = options.timeout(Duration::ZERO);
        }
        let begun = database.begin_write_with(options);
        let begun = begun.map(|begun| begun.expect("there is no other writer"));
        match begun {
            Ok(txn) if is_newest => {
                self.write_with(txn);
                Ok(())
            }
            result if !is_newest => {
                expect_refused!(
                    "writing on an old state",
                    result,
                    Error::SnapshotStale { .. }
                )
            }
            result => Ok(result.map(drop)?),
        }
    }

    pub(super) fn refresh(&mut self, reader: usize) -> ModelResult {
        let newest = self.database()?.begin_read()?.id();
        let tables = self.committed.clone();
        let reader = &mut self.readers[reader];
        let is_old = reader.txn.id() != newest;
        expect_same("lag", reader.txn.lag(), newest.0 - reader.txn.id().0)?;
        expect_same("refresh", reader.txn.refresh()?, is_old)?;
        reader.tables = tables;
        reads::list_tables(&reader.txn, &reader.tables)
    }

    /// Parks and resumes a reader, if no other reader, such as a clone, has its state.
    pub(super) fn park(&mut self, reader: usize) -> ModelResult {
        let ModelReader { txn, tables } = self.readers.swap_remove(reader);
        let id = txn.id();
        match txn.park() {
            Ok(parked) => {
                let txn = parked.resume()?;
                let reader = ModelReader { txn, tables };
                reader.verify()?;
                self.readers.push(reader);
                Ok(())
            }
            Err(Error::InvalidArgument(_)) if self.readers.iter().any(|r| r.txn.id() == id) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Compacts, which must not change any records.
    pub(super) fn compact(&mut self) -> ModelResult {
        let mut steps = 0;
        let compacted = self.database()?.compact(&CompactOptions::new(), &mut |_| {
            steps += 1;
            match steps {
                100 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        compacted
            .map_err(|error| ModelViolation::Other(format!("compacting: {error} ({error:?})")))?;
        reads::verify(&self.database()?.begin_read()?, &self.committed)?;
        self.check()
    }
}
