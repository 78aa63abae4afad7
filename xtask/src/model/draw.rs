//! Draws the next operation of an episode, from what is there.

use super::{
    counting::Counting,
    cursors::{CURSORS_MAX, CursorChange, CursorOperation, CursorRead, CursorStep, draw_pair},
    multi::draw::{MultiView, draw_kind},
    operation::{Change, Direction, Elsewhere, Layer, Leave, Operation, Read, Source},
    oracle::{AnyKind, AnyModel, KeyRange, TableKind, TableModel, Tables},
    points::PointChange,
    settings::{Kind, Settings},
    shape::{Key, KeyShape, Record, SWAPPED, Value},
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
pub(crate) struct View<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) key_len_max: usize,
    /// The newest state: the open write transaction's, or else what was committed last.
    pub(crate) tables: &'a Tables,
    pub(crate) committed: &'a Tables,
    pub(crate) readers: Vec<&'a Tables>,
    /// The tables that cursors are over.
    pub(crate) cursors: Vec<&'a [u8]>,
    pub(crate) is_writing: bool,
    pub(crate) savepoint_count: usize,
    /// The names of snapshots, those included that the open transaction makes.
    pub(crate) snapshots: Vec<&'a str>,
    /// Those that were committed.
    pub(crate) committed_snapshots: Vec<&'a str>,
}

impl View<'_> {
    /// A random operation that makes sense here.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Operation {
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

    fn source(&self, rng: &mut Rng) -> Source {
        if !self.readers.is_empty() && rng.u8(0..4) == 0 {
            return Source::Reader(rng.usize(0..self.readers.len()));
        }
        if self.is_writing {
            Source::Write
        } else {
            Source::Newest
        }
    }

    fn tables_of(&self, source: Source) -> &Tables {
        match source {
            Source::Reader(index) => self.readers[index],
            Source::Write | Source::Newest => self.tables,
        }
    }

    fn draw_read(&self, rng: &mut Rng, kind: Kind) -> Option<Operation> {
        let source = self.source(rng);
        let (name, table) = pick(rng, self.tables_of(source), AnyModel::plain)?;
        let read = match kind {
            Kind::Get => Read::Get(self.probe(rng, table)),
            Kind::GetMany => {
                let count = rng.usize(0..40);
                Read::GetMany((0..count).map(|_| self.probe(rng, table)).collect())
            }
            Kind::Ends => Read::Ends,
            Kind::Scan => Read::Scan {
                range: self.range(rng, table),
                direction: Direction::draw(rng),
                records_max: rng.usize(0..200),
            },
            Kind::Prefix if table.kind.order == KeyOrder::Bytes => {
                let mut key = self.probe(rng, table).to_vec();
                key.truncate(rng.usize(0..=key.len()));
                Read::Prefix(key.into())
            }
            Kind::Count => Read::Count(Counting {
                of: self.probe(rng, table),
                number: rng.u64(0..table.len() as u64 + 2),
                range: self.range(rng, table),
                keys: self.range(rng, table),
                parts: rng.usize(1..9),
            }),
            _ => return None,
        };
        Some(Operation::Read(source, name.clone(), read))
    }

    fn draw_multi(&self, rng: &mut Rng, kind: Kind) -> Option<Operation> {
        let source = match kind {
            Kind::ReadMulti => self.source(rng),
            Kind::ChangeMulti => Source::Write,
            _ => return None,
        };
        let (name, table) = match kind {
            Kind::ReadMulti => pick(rng, self.tables_of(source), AnyModel::multi)?,
            _ => pick(rng, self.tables, AnyModel::multi)?,
        };
        let view = MultiView {
            table,
            domain: self.settings.domain,
            key_len_max: self.key_len_max,
        };
        Some(match kind {
            Kind::ReadMulti => Operation::ReadMulti(source, name.clone(), view.read(rng)),
            _ => Operation::ChangeMulti(name.clone(), view.change(rng)),
        })
    }

    fn draw_cursor(&self, rng: &mut Rng, kind: Kind) -> Option<Operation> {
        let source = self.source(rng);
        let domain = self.settings.domain;
        if kind == Kind::Walk {
            let (name, model) = pick(rng, self.tables_of(source), Some)?;
            let steps = (0..rng.usize(1..40)).map(|_| CursorStep::draw(rng, model, domain));
            let walk = (steps.collect(), CursorRead::draw(rng));
            return Some(Operation::Walk(source, name.clone(), walk));
        }
        if kind == Kind::OpenCursor {
            let (name, _) = pick(rng, self.tables_of(source), Some)?;
            let is_copy = !self.cursors.is_empty() && rng.u8(0..4) == 0;
            return Some(Operation::Cursor(match is_copy {
                true => CursorOperation::Copy(rng.usize(0..self.cursors.len())),
                false => CursorOperation::Open(source, name.clone()),
            }));
        }
        if !matches!(kind, Kind::MoveCursor | Kind::ChangeByCursor) || self.cursors.is_empty() {
            return None;
        }
        let slot = rng.usize(0..self.cursors.len().min(CURSORS_MAX));
        if kind == Kind::MoveCursor {
            return Some(Operation::Cursor(match rng.u8(0..16) {
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
        Some(Operation::Cursor(CursorOperation::Change(slot, change)))
    }

    fn draw_change(&self, rng: &mut Rng, kind: Kind) -> Option<Operation> {
        let (name, table) = pick(rng, self.tables, AnyModel::plain)?;
        let kind = match kind {
            Kind::Insert if table.value_bytes() > TABLE_BYTES_MAX => Kind::Remove,
            other => other,
        };
        let change = match kind {
            Kind::Insert => Change::Insert(self.key(rng, table), self.value(rng)),
            Kind::InsertNew => Change::InsertNew(self.key(rng, table), self.value(rng)),
            Kind::Point => Change::Point(self.point(rng, table)),
            Kind::InsertTooLong if table.kind.order != KeyOrder::Integer => Change::InsertTooLong,
            Kind::InsertMany => {
                let count = rng.usize(0..200);
                Change::InsertMany(self.records(rng, table, count))
            }
            Kind::Remove => Change::Remove(self.probe(rng, table)),
            Kind::RemoveMany => {
                let count = rng.usize(0..200);
                Change::RemoveMany((0..count).map(|_| self.probe(rng, table)).collect())
            }
            Kind::RemoveRange => Change::RemoveRange(self.range(rng, table)),
            Kind::Clear => Change::Clear,
            Kind::BulkLoad => Change::BulkLoad(self.records_behind(rng, table)?),
            Kind::BulkLoadUnsorted => {
                let count = rng.usize(0..1000);
                Change::BulkLoadUnsorted {
                    records: self.records(rng, table, count),
                    memory_bytes: [0, 70_000, 1 << 20][rng.usize(0..3)],
                }
            }
            Kind::BulkLoadWrong => {
                let mut records = self.records_behind(rng, table)?;
                records.push(records.first()?.clone());
                Change::BulkLoadWrong(records)
            }
            Kind::Nested => {
                let depth = rng.usize(1..5);
                Change::Nested((0..depth).map(|_| self.layer(rng, table)).collect())
            }
            _ => return None,
        };
        Some(Operation::Change(name.clone(), change))
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

    fn draw_other(&self, rng: &mut Rng, kind: Kind) -> Option<Operation> {
        let reader_count = self.readers.len();
        Some(match kind {
            Kind::CreateTable => self.draw_table(rng),
            Kind::DropTable => Operation::DropTable(self.table_name(rng)),
            Kind::RenameTable => Operation::RenameTable(self.table_name(rng), self.table_name(rng)),
            Kind::ListTables => Operation::ListTables(self.source(rng)),
            Kind::Savepoint if self.is_writing && self.savepoint_count < SAVEPOINTS_MAX => {
                Operation::Savepoint
            }
            Kind::RollBack if self.savepoint_count > 0 => {
                Operation::RollBack(rng.usize(0..self.savepoint_count))
            }
            Kind::Release if self.savepoint_count > 0 => {
                Operation::Release(rng.usize(0..self.savepoint_count))
            }
            Kind::Checkpoint if self.is_writing => Operation::Checkpoint,
            Kind::OpenReader if reader_count < READERS_MAX => Operation::OpenReader,
            Kind::CloneReader if (1..READERS_MAX).contains(&reader_count) => {
                Operation::CloneReader(rng.usize(0..reader_count))
            }
            Kind::VerifyReader if reader_count > 0 => {
                Operation::VerifyReader(rng.usize(0..reader_count))
            }
            Kind::CloseReader if reader_count > 0 => {
                Operation::CloseReader(rng.usize(0..reader_count))
            }
            Kind::RefreshReader if reader_count > 0 => {
                Operation::RefreshReader(rng.usize(0..reader_count))
            }
            Kind::ParkReader if reader_count > 0 => {
                Operation::ParkReader(rng.usize(0..reader_count))
            }
            Kind::BeginAt if !self.is_writing && reader_count > 0 => {
                Operation::BeginAt(rng.usize(0..reader_count))
            }
            Kind::CommitAndRead if self.is_writing && reader_count < READERS_MAX => {
                Operation::CommitAndRead
            }
            Kind::CopyRange => return self.draw_copy(rng),
            Kind::GetCached => {
                let reader = match self.source(rng) {
                    Source::Reader(index) => Some(index),
                    Source::Write | Source::Newest => None,
                };
                let tables = reader.map_or(self.committed, |index| self.readers[index]);
                let (name, table) = pick(rng, tables, AnyModel::plain)?;
                // A few keys again and again.
                let key = table
                    .kind
                    .shape
                    .key(rng.u64(0..self.settings.domain.min(16)));
                Operation::GetCached(reader, name.clone(), key)
            }
            Kind::SetMarks => Operation::SetMarks([rng.u64(0..3), rng.u64(..), rng.u64(..)]),
            Kind::WarmUp => {
                Operation::WarmUp([WarmUp::Ask, WarmUp::Read, WarmUp::Lock][rng.usize(0..3)])
            }
            Kind::DrawSequence => {
                let (name, _) = pick(rng, self.tables, Some)?;
                Operation::DrawSequence(name.clone(), rng.u64(0..100))
            }
            Kind::SetGeometry => {
                Operation::SetGeometry(geometry::draw(rng, self.settings.page_size))
            }
            Kind::Compact if !self.is_writing => Operation::Compact,
            Kind::ReadElsewhere => return self.draw_elsewhere(rng),
            Kind::CreateSnapshot if self.snapshots.len() < SNAPSHOTS_MAX => {
                let name = format!("snapshot {}", rng.u8(0..20));
                if self.snapshots.contains(&&*name) {
                    return None;
                }
                Operation::CreateSnapshot(name)
            }
            Kind::DropSnapshot if !self.snapshots.is_empty() => {
                Operation::DropSnapshot(pick_name(rng, &self.snapshots))
            }
            Kind::RollBackToSnapshot
                if !self.is_writing && !self.committed_snapshots.is_empty() =>
            {
                Operation::RollBackToSnapshot(pick_name(rng, &self.committed_snapshots))
            }
            Kind::VerifySnapshots => Operation::VerifySnapshots,
            Kind::Compare if reader_count > 0 => {
                let other = rng.bool().then(|| rng.usize(0..reader_count));
                Operation::Compare(rng.usize(0..reader_count), other)
            }
            Kind::OpenCopy => Operation::OpenCopy,
            Kind::Sync if !self.is_writing => Operation::Sync,
            Kind::Check if !self.is_writing => Operation::Check,
            Kind::Reopen if !self.is_writing => Operation::Reopen(
                [Leave::Close, Leave::Drop, Leave::CloseThenReadOnly][rng.usize(0..3)],
            ),
            _ => return None,
        })
    }

    /// Copies to a table that can take it, or makes one.
    fn draw_copy(&self, rng: &mut Rng) -> Option<Operation> {
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
            None => Some(Operation::CreateTable(to, source.kind())),
            Some(target) if to != *from && source.fits_into(target) => Some(Operation::CopyRange {
                from: from.clone(),
                to,
                range,
                moves: rng.bool(),
            }),
            Some(_) => None,
        }
    }

    fn layer(&self, rng: &mut Rng, table: &TableModel) -> Layer {
        let count = rng.usize(0..20);
        Layer {
            records: self.records(rng, table, count),
            keep: rng.bool(),
        }
    }

    fn draw_elsewhere(&self, rng: &mut Rng) -> Option<Operation> {
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
        let what = Elsewhere {
            keys: (0..count).map(|_| self.probe(rng, table)).collect(),
            range: self.range(rng, table),
            bits: rng.u64(..),
        };
        Some(Operation::ReadElsewhere(reader, name.clone(), what))
    }

    fn draw_table(&self, rng: &mut Rng) -> Operation {
        let name = self.table_name(rng);
        if let Some(table) = self.tables.get(&name) {
            return Operation::CreateTable(name, table.kind());
        }
        if rng.u8(0..3) == 0 {
            let kind = draw_kind(rng, self.key_len_max, self.settings.domain);
            return Operation::CreateTable(name, AnyKind::Multi(kind));
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
        Operation::CreateTable(name, AnyKind::Plain(kind))
    }

    fn table_name(&self, rng: &mut Rng) -> Vec<u8> {
        match rng.usize(0..TABLES_MAX) {
            0 => b"coins".to_vec(),
            1 => vec![0],
            2 => vec![0xff; 40],
            number => format!("table {number}").into(),
        }
    }

    fn key(&self, rng: &mut Rng, table: &TableModel) -> Key {
        table.kind.shape.key(rng.u64(0..self.settings.domain))
    }

    fn probe(&self, rng: &mut Rng, table: &TableModel) -> Key {
        if rng.u8(0..4) == 0 {
            return table.kind.shape.probe(rng, self.settings.domain);
        }
        self.key(rng, table)
    }

    /// A key that is often there, and such as the table takes.
    fn probe_to_insert(&self, rng: &mut Rng, table: &TableModel) -> Key {
        let key = self.key(rng, table);
        if rng.bool() {
            return key;
        }
        let behind = (Bound::Included(key.clone()), Bound::Unbounded);
        let record = table.range(&behind).next().or_else(|| table.last());
        record.map_or(key, |(key, _)| key)
    }

    fn value(&self, rng: &mut Rng) -> Value {
        self.settings.value_sizes.value(rng)
    }

    fn records(&self, rng: &mut Rng, table: &TableModel, count: usize) -> Vec<Record> {
        (0..count)
            .map(|_| (self.key(rng, table), self.value(rng)))
            .collect()
    }

    /// Sorted records that are all behind the table's last; none if there can hardly be any.
    fn records_behind(&self, rng: &mut Rng, table: &TableModel) -> Option<Vec<Record>> {
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
            let behind = (Bound::Included(start.clone()), Bound::Unbounded);
            table
                .range(&behind)
                .nth(width)
                .map_or_else(|| start.clone(), |(key, _)| key)
        };
        (draw_bound(rng, start), draw_bound(rng, end))
    }
}

fn draw_end(rng: &mut Rng) -> Operation {
    match rng.u8(0..8) {
        0 if rng.u8(0..4) == 0 => Operation::BreakOff,
        0 => Operation::Abort,
        1 => Operation::Commit(Some(Durability::Durable)),
        2 => Operation::Commit(Some(Durability::Lazy)),
        3 => Operation::Commit(Some(Durability::Async)),
        _ => Operation::Commit(None),
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
    tables: &'a Tables,
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
