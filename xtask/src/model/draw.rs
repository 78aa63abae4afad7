//! Draws the next operation of an episode from the present state.

mod other;

use super::{
    counting::TableCounting,
    cursors::steps::{
        CURSORS_MAX, CursorChange, CursorOperation, CursorRead, CursorStep, draw_pair,
    },
    key_range::{KeyRange, draw_bound},
    multi::draw::MultiDrawContext,
    operation::{ModelChange, ModelOperation, NestedTransaction, ReopenMode, TableRead},
    oracle::{AnyModel, OracleTables, TableModel},
    points::PointChange,
    reading::{Direction, ReadSource},
    settings::{ModelSettings, OperationKind},
    shape::{ModelKey, ModelRecord, ModelValue},
};
use fastrand::Rng;
use std::ops::Bound;
use teak::{Durability, KeyOrder};

/// The maximum number of tables of an episode.
const TABLES_MAX: usize = 6;
/// Bytes of values in a table above which records are removed more often.
const TABLE_BYTES_MAX: usize = 8 << 20;

/// The state that the next operation is drawn from.
pub(crate) struct DrawContext<'a> {
    pub(crate) settings: &'a ModelSettings,
    pub(crate) key_len_max: usize,
    /// The newest state: that of the open write transaction, or the last committed one.
    pub(crate) tables: &'a OracleTables,
    pub(crate) committed: &'a OracleTables,
    pub(crate) readers: Vec<&'a OracleTables>,
    /// The tables that have cursors.
    pub(crate) cursors: Vec<&'a [u8]>,
    pub(crate) is_writing: bool,
    pub(crate) savepoint_count: usize,
    /// The names of snapshots, including those made by the open transaction.
    pub(crate) snapshots: Vec<&'a str>,
    /// The committed ones among them.
    pub(crate) committed_snapshots: Vec<&'a str>,
}

impl DrawContext<'_> {
    /// A random operation that is possible in this state.
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
                .or_else(|| self.draw_transaction(rng, kind))
                .or_else(|| self.draw_snapshot(rng, kind))
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

    fn layer(&self, rng: &mut Rng, table: &TableModel) -> NestedTransaction {
        let count = rng.usize(0..20);
        NestedTransaction {
            records: self.records(rng, table, count),
            keep: rng.bool(),
        }
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

    /// A key that often exists, and that the table accepts.
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

    /// Sorted records that are all after the table's last one; `None` if hardly any can exist.
    fn records_after(&self, rng: &mut Rng, table: &TableModel) -> Option<Vec<ModelRecord>> {
        let count = rng.usize(0..1000);
        let mut records = table.sorted(&self.records(rng, table, count));
        if let Some((last, _)) = table.last() {
            records.retain(|(key, _)| table.sorts_before(&last, key));
        }
        (!records.is_empty() || rng.u8(0..8) == 0).then_some(records)
    }

    /// A range of a few records in most cases, sometimes an arbitrary one, including ranges that
    /// end before they start.
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
        0 if rng.u8(0..3) == 0 => ModelOperation::Prepare {
            is_commit: rng.u8(0..3) > 0,
            reopen: match rng.u8(0..6) {
                0 => Some(ReopenMode::Close),
                1 => Some(ReopenMode::Drop),
                2 => Some(ReopenMode::CloseThenReadOnly),
                _ => None,
            },
        },
        0 => ModelOperation::Abort,
        1 => ModelOperation::Commit(Some(Durability::Durable)),
        2 => ModelOperation::Commit(Some(Durability::Lazy)),
        3 => ModelOperation::Commit(Some(Durability::Async)),
        _ => ModelOperation::Commit(None),
    }
}

/// A table of a kind, if there is one.
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
