//! Draws the next operation of an episode, from what is there.

use super::{
    counting::TableCounting,
    cursors::{CURSORS_MAX, CursorChange, CursorOperation, CursorRead, CursorStep, draw_pair},
    multi::draw::{MultiDrawContext, draw_kind},
    operation::{
        Direction, ModelChange, ModelOperation, NestedTransaction, OtherThreadRead, ReadSource,
        ReopenMode, TableRead,
    },
    oracle::{AnyModel, AnyTableKind, KeyRange, OracleTables, TableKind, TableModel},
    points::PointChange,
    settings::{ModelSettings, OperationKind},
    shape::{KeyShape, ModelKey, ModelRecord, ModelValue, SWAPPED},
};
use crate::geometry;
use fastrand::Rng;
use std::ops::Bound;
use teak::{Durability, KeyOrder, WarmUp};

/// Records in a table, above which cursors insert no more.
pub(super) const RECORDS_MAX: usize = 20_000;
/// Tables of an episode at one time.
const TABLES_MAX: usize = 6;
const READERS_MAX: usize = 6;
const SAVEPOINTS_MAX: usize = 5;
const SNAPSHOTS_MAX: usize = 5;
/// Bytes of values in a table, above which records are rather removed.
const TABLE_BYTES_MAX: usize = 8 << 20;

/// What an operation can be about.
pub(crate) struct DrawContext<'a> {
    pub(crate) settings: &'a ModelSettings,
    pub(crate) key_len_max: usize,
    /// The newest state: the open write transaction's, or else what was committed last.
    pub(crate) tables: &'a OracleTables,
    pub(crate) committed: &'a OracleTables,
    pub(crate) readers: Vec<&'a OracleTables>,
    /// The tables that cursors are over.
    pub(crate) cursors: Vec<&'a [u8]>,
    pub(crate) is_writing: bool,
    pub(crate) savepoint_count: usize,
    /// The names of snapshots, those included that the open transaction makes.
    pub(crate) snapshots: Vec<&'a str>,
    /// Those that were committed.
    pub(crate) committed_snapshots: Vec<&'a str>,
}

impl DrawContext<'_> {
    /// A random operation that makes sense here.
    pub(crate) fn draw(&self, rng: &mut Rng) -> ModelOperation {
        if self.is_writing && rng.u32(0..self.settings.operations_per_commit) == 0 {
            return draw_end(rng);
        }
        loop {
            let kind = self.settings.kind(rng);
            let operation = self
                .draw_multi(rng, kind)
                .or_else(|| self.draw_cursor(rng, kind))
                .or_else(|| self.draw_read(rng, kind))
                .or_else(|| self.draw_change(rng, kind))
                .or_else(|| self.draw_other(rng, kind));
            if let Some(operation) = operation {
                return operation;
            }
        }
    }

    fn source(&self, rng: &mut Rng) -> ReadSource {
        if !self.readers.is_empty() && rng.u8(0..4) == 0 {
            return ReadSource::Reader(rng.usize(0..self.readers.len()));
        }
        if self.is_writing {
            ReadSource::Write
        } else {
            ReadSource::Newest
        }
    }

    fn tables_of(&self, source: ReadSource) -> &OracleTables {
        match source {
            ReadSource::Reader(index) => self.readers[index],
            ReadSource::Write | ReadSource::Newest => self.tables,
        }
    }

    fn draw_read(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        let source = self.source(rng);
        let (name, table) = pick(rng, self.tables_of(source), AnyModel::plain)?;
        let read = match kind {
            OperationKind::Get => TableRead::Get(self.probe(rng, table)),
            OperationKind::GetMany => {
                let count = rng.usize(0..40);
                TableRead::GetMany((0..count).map(|_| self.probe(rng, table)).collect())
            }
            OperationKind::Ends => TableRead::Ends,
            OperationKind::Scan => TableRead::Scan {
                range: self.range(rng, table),
                direction: Direction::draw(rng),
                records_max: rng.usize(0..200),
            },
            OperationKind::Prefix if table.kind.order == KeyOrder::Bytes => {
                let mut key = self.probe(rng, table).to_vec();
                key.truncate(rng.usize(0..=key.len()));
                TableRead::Prefix(key.into())
            }
            OperationKind::Count => TableRead::Count(TableCounting {
                of: self.probe(rng, table),
                number: rng.u64(0..table.len() as u64 + 2),
                range: self.range(rng, table),
                keys: self.range(rng, table),
                parts: rng.usize(1..9),
            }),
            _ => return None,
        };
        Some(ModelOperation::Read(source, name.clone(), read))
    }

    fn draw_multi(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        let source = match kind {
            OperationKind::ReadMulti => self.source(rng),
            OperationKind::ChangeMulti => ReadSource::Write,
            _ => return None,
        };
        let (name, table) = match kind {
            OperationKind::ReadMulti => pick(rng, self.tables_of(source), AnyModel::multi)?,
            _ => pick(rng, self.tables, AnyModel::multi)?,
        };
        let view = MultiDrawContext {
            table,
            domain: self.settings.domain,
            key_len_max: self.key_len_max,
        };
        Some(match kind {
            OperationKind::ReadMulti => {
                ModelOperation::ReadMulti(source, name.clone(), view.read(rng))
            }
            _ => ModelOperation::ChangeMulti(name.clone(), view.change(rng)),
        })
    }

    fn draw_cursor(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        let source = self.source(rng);
        let domain = self.settings.domain;
        if kind == OperationKind::Walk {
            let (name, model) = pick(rng, self.tables_of(source), Some)?;
            let steps = (0..rng.usize(1..40)).map(|_| CursorStep::draw(rng, model, domain));
            let walk = (steps.collect(), CursorRead::draw(rng));
            return Some(ModelOperation::Walk(source, name.clone(), walk));
        }
        if kind == OperationKind::OpenCursor {
            let (name, _) = pick(rng, self.tables_of(source), Some)?;
            let is_copy = !self.cursors.is_empty() && rng.u8(0..4) == 0;
            return Some(ModelOperation::Cursor(match is_copy {
                true => CursorOperation::Copy(rng.usize(0..self.cursors.len())),
                false => CursorOperation::Open(source, name.clone()),
            }));
        }
        if !matches!(
            kind,
            OperationKind::MoveCursor | OperationKind::ChangeByCursor
        ) || self.cursors.is_empty()
        {
            return None;
        }
        let slot = rng.usize(0..self.cursors.len().min(CURSORS_MAX));
        if kind == OperationKind::MoveCursor {
            return Some(ModelOperation::Cursor(match rng.u8(0..16) {
                0 if rng.u8(0..4) == 0 => CursorOperation::Reset(slot),
                0 => CursorOperation::Compare(slot, rng.usize(0..self.cursors.len()), source),
                1 | 2 => CursorOperation::Read(slot, source, CursorRead::draw(rng)),
                _ => {
                    let model = self.tables_of(source).get(self.cursors[slot])?;
                    CursorOperation::Step(slot, source, CursorStep::draw(rng, model, domain))
                }
            }));
        }
        let model = self.tables.get(self.cursors[slot])?;
        let (pair, value) = (draw_pair(rng, model, domain), self.value(rng));
        let change = CursorChange::draw(rng, model, pair, value);
        Some(ModelOperation::Cursor(CursorOperation::Change(
            slot, change,
        )))
    }

    fn draw_change(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        let (name, table) = pick(rng, self.tables, AnyModel::plain)?;
        let kind = match kind {
            OperationKind::Insert if table.value_bytes() > TABLE_BYTES_MAX => OperationKind::Remove,
            other => other,
        };
        let change = match kind {
            OperationKind::Insert => ModelChange::Insert(self.key(rng, table), self.value(rng)),
            OperationKind::InsertNew => {
                ModelChange::InsertNew(self.key(rng, table), self.value(rng))
            }
            OperationKind::Point => ModelChange::Point(self.point(rng, table)),
            OperationKind::InsertTooLong if table.kind.order != KeyOrder::Integer => {
                ModelChange::InsertTooLong
            }
            OperationKind::InsertMany => {
                let count = rng.usize(0..200);
                ModelChange::InsertMany(self.records(rng, table, count))
            }
            OperationKind::Remove => ModelChange::Remove(self.probe(rng, table)),
            OperationKind::RemoveMany => {
                let count = rng.usize(0..200);
                ModelChange::RemoveMany((0..count).map(|_| self.probe(rng, table)).collect())
            }
            OperationKind::RemoveRange => ModelChange::RemoveRange(self.range(rng, table)),
            OperationKind::Clear => ModelChange::Clear,
            OperationKind::BulkLoad => ModelChange::BulkLoad(self.records_after(rng, table)?),
            OperationKind::BulkLoadUnsorted => {
                let count = rng.usize(0..1000);
                ModelChange::BulkLoadUnsorted {
                    records: self.records(rng, table, count),
                    memory_bytes: [0, 70_000, 1 << 20][rng.usize(0..3)],
                }
            }
            OperationKind::BulkLoadWrong => {
                let mut records = self.records_after(rng, table)?;
                records.push(records.first()?.clone());
                ModelChange::BulkLoadWrong(records)
            }
            OperationKind::Nested => {
                let depth = rng.usize(1..5);
                ModelChange::Nested((0..depth).map(|_| self.layer(rng, table)).collect())
            }
            _ => return None,
        };
        Some(ModelOperation::Change(name.clone(), change))
    }

    fn point(&self, rng: &mut Rng, table: &TableModel) -> PointChange {
        let (key, value) = (self.probe_to_insert(rng, table), self.value(rng));
        let is_full = table.value_bytes() > TABLE_BYTES_MAX;
        let new = (!is_full && rng.u8(0..4) > 0).then_some(value);
        let old = match rng.u8(0..4) {
            0 => Some(self.value(rng)),
            1 => None,
            _ => table.get(&key),
        };
        match rng.u8(0..12) {
            0 | 1 if !is_full => PointChange::GetOrInsert(key, value),
            2 if !is_full => PointChange::Update(key, value),
            3 if !is_full => PointChange::Replace(key, value),
            4 if !is_full => PointChange::InsertWith(key, value),
            5 if !is_full => PointChange::Append(key, value),
            6 | 7 => PointChange::CompareAndSwap(key, old, new),
            8 | 9 => PointChange::Modify(key, new),
            10 => PointChange::RemoveIf(key, old.unwrap_or(value)),
            _ => PointChange::Take(key),
        }
    }

    fn draw_other(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        let reader_count = self.readers.len();
        Some(match kind {
            OperationKind::CreateTable => self.draw_table(rng),
            OperationKind::DropTable => ModelOperation::DropTable(self.table_name(rng)),
            OperationKind::RenameTable => {
                ModelOperation::RenameTable(self.table_name(rng), self.table_name(rng))
            }
            OperationKind::ListTables => ModelOperation::ListTables(self.source(rng)),
            OperationKind::Savepoint
                if self.is_writing && self.savepoint_count < SAVEPOINTS_MAX =>
            {
                ModelOperation::Savepoint
            }
            OperationKind::RollBack if self.savepoint_count > 0 => {
                ModelOperation::RollBack(rng.usize(0..self.savepoint_count))
            }
            OperationKind::Release if self.savepoint_count > 0 => {
                ModelOperation::Release(rng.usize(0..self.savepoint_count))
            }
            OperationKind::Checkpoint if self.is_writing => ModelOperation::Checkpoint,
            OperationKind::OpenReader if reader_count < READERS_MAX => ModelOperation::OpenReader,
            OperationKind::CloneReader if (1..READERS_MAX).contains(&reader_count) => {
                ModelOperation::CloneReader(rng.usize(0..reader_count))
            }
            OperationKind::VerifyReader if reader_count > 0 => {
                ModelOperation::VerifyReader(rng.usize(0..reader_count))
            }
            OperationKind::CloseReader if reader_count > 0 => {
                ModelOperation::CloseReader(rng.usize(0..reader_count))
            }
            OperationKind::RefreshReader if reader_count > 0 => {
                ModelOperation::RefreshReader(rng.usize(0..reader_count))
            }
            OperationKind::ParkReader if reader_count > 0 => {
                ModelOperation::ParkReader(rng.usize(0..reader_count))
            }
            OperationKind::BeginAt if !self.is_writing && reader_count > 0 => {
                ModelOperation::BeginAt(rng.usize(0..reader_count))
            }
            OperationKind::CommitAndRead if self.is_writing && reader_count < READERS_MAX => {
                ModelOperation::CommitAndRead
            }
            OperationKind::CopyRange => return self.draw_copy(rng),
            OperationKind::GetCached => {
                let reader = match self.source(rng) {
                    ReadSource::Reader(index) => Some(index),
                    ReadSource::Write | ReadSource::Newest => None,
                };
                let tables = reader.map_or(self.committed, |index| self.readers[index]);
                let (name, table) = pick(rng, tables, AnyModel::plain)?;
                // A few keys again and again.
                let key = table
                    .kind
                    .shape
                    .key(rng.u64(0..self.settings.domain.min(16)));
                ModelOperation::GetCached(reader, name.clone(), key)
            }
            OperationKind::SetMarks => {
                ModelOperation::SetMarks([rng.u64(0..3), rng.u64(..), rng.u64(..)])
            }
            OperationKind::WarmUp => {
                ModelOperation::WarmUp([WarmUp::Ask, WarmUp::Read, WarmUp::Lock][rng.usize(0..3)])
            }
            OperationKind::DrawSequence => {
                let (name, _) = pick(rng, self.tables, Some)?;
                ModelOperation::DrawSequence(name.clone(), rng.u64(0..100))
            }
            OperationKind::SetGeometry => {
                ModelOperation::SetGeometry(geometry::draw(rng, self.settings.page_size))
            }
            OperationKind::Compact if !self.is_writing => ModelOperation::Compact,
            OperationKind::ReadOnOtherThread => return self.draw_other_thread(rng),
            OperationKind::CreateSnapshot if self.snapshots.len() < SNAPSHOTS_MAX => {
                let name = format!("snapshot {}", rng.u8(0..20));
                if self.snapshots.contains(&&*name) {
                    return None;
                }
                ModelOperation::CreateSnapshot(name)
            }
            OperationKind::DropSnapshot if !self.snapshots.is_empty() => {
                ModelOperation::DropSnapshot(pick_name(rng, &self.snapshots))
            }
            OperationKind::RollBackToSnapshot
                if !self.is_writing && !self.committed_snapshots.is_empty() =>
            {
                ModelOperation::RollBackToSnapshot(pick_name(rng, &self.committed_snapshots))
            }
            OperationKind::VerifySnapshots => ModelOperation::VerifySnapshots,
            OperationKind::Compare if reader_count > 0 => {
                let other = rng.bool().then(|| rng.usize(0..reader_count));
                ModelOperation::Compare(rng.usize(0..reader_count), other)
            }
            OperationKind::OpenCopy => ModelOperation::OpenCopy,
            OperationKind::Sync if !self.is_writing => ModelOperation::Sync,
            OperationKind::Check if !self.is_writing => ModelOperation::Check,
            OperationKind::Reopen if !self.is_writing => ModelOperation::Reopen(
                [
                    ReopenMode::Close,
                    ReopenMode::Drop,
                    ReopenMode::CloseThenReadOnly,
                ][rng.usize(0..3)],
            ),
            _ => return None,
        })
    }

    /// Copies to a table that can take it, or makes one.
    fn draw_copy(&self, rng: &mut Rng) -> Option<ModelOperation> {
        let (from, source) = pick(rng, self.tables, Some)?;
        let to = self.table_name(rng);
        let range = match source {
            AnyModel::Plain(table) => self.range(rng, table),
            AnyModel::Multi(table) => {
                let kind = &table.kind;
                let mut bound = || {
                    let key = kind.shape.key(rng.u64(0..kind.key_domain));
                    draw_bound(rng, key)
                };
                (bound(), bound())
            }
        };
        match self.tables.get(&to) {
            None => Some(ModelOperation::CreateTable(to, source.kind())),
            Some(target) if to != *from && source.fits_into(target) => {
                Some(ModelOperation::CopyRange {
                    from: from.clone(),
                    to,
                    range,
                    moves: rng.bool(),
                })
            }
            Some(_) => None,
        }
    }

    fn layer(&self, rng: &mut Rng, table: &TableModel) -> NestedTransaction {
        let count = rng.usize(0..20);
        NestedTransaction {
            records: self.records(rng, table, count),
            keep: rng.bool(),
        }
    }

    fn draw_other_thread(&self, rng: &mut Rng) -> Option<ModelOperation> {
        let reader = match self.readers.len() {
            0 => None,
            count => rng.bool().then(|| rng.usize(0..count)),
        };
        let tables = match reader {
            Some(reader) => self.readers[reader],
            None => self.committed,
        };
        let (name, table) = pick(rng, tables, AnyModel::plain)?;
        let count = rng.usize(0..20);
        let description = OtherThreadRead {
            keys: (0..count).map(|_| self.probe(rng, table)).collect(),
            range: self.range(rng, table),
            bits: rng.u64(..),
        };
        Some(ModelOperation::ReadOnOtherThread(
            reader,
            name.clone(),
            description,
        ))
    }

    fn draw_table(&self, rng: &mut Rng) -> ModelOperation {
        let name = self.table_name(rng);
        if let Some(table) = self.tables.get(&name) {
            return ModelOperation::CreateTable(name, table.kind());
        }
        if rng.u8(0..3) == 0 {
            let kind = draw_kind(rng, self.key_len_max, self.settings.domain);
            return ModelOperation::CreateTable(name, AnyTableKind::Multi(kind));
        }
        let order = [
            KeyOrder::Bytes,
            KeyOrder::Bytes,
            KeyOrder::Bytes,
            KeyOrder::ReverseBytes,
            KeyOrder::Integer,
            KeyOrder::Custom(&SWAPPED),
        ][rng.usize(0..6)];
        let kind = TableKind {
            order,
            share_prefixes: rng.bool(),
            counted: rng.u8(0..4) == 0,
            value_align: [1, 1, 1, 2, 4, 8, 16][rng.usize(0..7)],
            shape: KeyShape::draw(rng, order, self.key_len_max),
        };
        ModelOperation::CreateTable(name, AnyTableKind::Plain(kind))
    }

    fn table_name(&self, rng: &mut Rng) -> Vec<u8> {
        match rng.usize(0..TABLES_MAX) {
            0 => b"coins".to_vec(),
            1 => vec![0],
            2 => vec![0xff; 40],
            number => format!("table {number}").into(),
        }
    }

    fn key(&self, rng: &mut Rng, table: &TableModel) -> ModelKey {
        table.kind.shape.key(rng.u64(0..self.settings.domain))
    }

    fn probe(&self, rng: &mut Rng, table: &TableModel) -> ModelKey {
        if rng.u8(0..4) == 0 {
            return table.kind.shape.probe(rng, self.settings.domain);
        }
        self.key(rng, table)
    }

    /// A key that is often there, and such as the table takes.
    fn probe_to_insert(&self, rng: &mut Rng, table: &TableModel) -> ModelKey {
        let key = self.key(rng, table);
        if rng.bool() {
            return key;
        }
        let after = (Bound::Included(key.clone()), Bound::Unbounded);
        let record = table.range(&after).next().or_else(|| table.last());
        record.map_or(key, |(key, _)| key)
    }

    fn value(&self, rng: &mut Rng) -> ModelValue {
        self.settings.value_sizes.value(rng)
    }

    fn records(&self, rng: &mut Rng, table: &TableModel, count: usize) -> Vec<ModelRecord> {
        (0..count)
            .map(|_| (self.key(rng, table), self.value(rng)))
            .collect()
    }

    /// Sorted records that are all behind the table's last; none if there can hardly be any.
    fn records_after(&self, rng: &mut Rng, table: &TableModel) -> Option<Vec<ModelRecord>> {
        let count = rng.usize(0..1000);
        let mut records = table.sorted(&self.records(rng, table, count));
        if let Some((last, _)) = table.last() {
            records.retain(|(key, _)| table.sorts_before(&last, key));
        }
        (!records.is_empty() || rng.u8(0..8) == 0).then_some(records)
    }

    /// Mostly a few records wide, at times anything, a range that ends before it starts included.
    fn range(&self, rng: &mut Rng, table: &TableModel) -> KeyRange {
        let start = self.probe(rng, table);
        let end = if rng.u8(0..5) == 0 {
            self.probe(rng, table)
        } else {
            let width = rng.usize(0..60);
            let after = (Bound::Included(start.clone()), Bound::Unbounded);
            table
                .range(&after)
                .nth(width)
                .map_or_else(|| start.clone(), |(key, _)| key)
        };
        (draw_bound(rng, start), draw_bound(rng, end))
    }
}

fn draw_end(rng: &mut Rng) -> ModelOperation {
    match rng.u8(0..8) {
        0 if rng.u8(0..4) == 0 => ModelOperation::BreakOff,
        0 => ModelOperation::Abort,
        1 => ModelOperation::Commit(Some(Durability::Durable)),
        2 => ModelOperation::Commit(Some(Durability::Lazy)),
        3 => ModelOperation::Commit(Some(Durability::Async)),
        _ => ModelOperation::Commit(None),
    }
}

fn pick_name(rng: &mut Rng, names: &[&str]) -> String {
    names[rng.usize(0..names.len())].to_owned()
}

pub(super) fn draw_bound<T>(rng: &mut Rng, key: T) -> Bound<T> {
    match rng.u8(0..12) {
        0 => Bound::Unbounded,
        1..=5 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

/// One of the tables of a kind, if there is any.
fn pick<'a, T>(
    rng: &mut Rng,
    tables: &'a OracleTables,
    of_kind: impl Fn(&'a AnyModel) -> Option<&'a T>,
) -> Option<(&'a Vec<u8>, &'a T)> {
    let mut tables: Vec<_> = tables
        .iter()
        .filter_map(|(name, table)| Some((name, of_kind(table)?)))
        .collect();
    match tables.len() {
        0 => None,
        count => Some(tables.swap_remove(rng.usize(0..count))),
    }
}
