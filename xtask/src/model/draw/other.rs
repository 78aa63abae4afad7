//! Draws operations other than reads and changes of one table.

use super::{DrawContext, pick};
use crate::{
    campaign::draw,
    model::{
        key_range::draw_bound,
        multi::draw::draw_kind,
        operation::{ModelOperation, OtherThreadRead, ReopenMode},
        oracle::{AnyModel, AnyTableKind, TableKind},
        reading::ReadSource,
        settings::OperationKind,
        shape::{KeyShape, SWAPPED},
    },
};
use fastrand::Rng;
use teak::{KeyOrder, TableTypes, WarmUp};

/// The length of the longest name of a type.
const TYPE_NAME_MAX: usize = 255;
const READERS_MAX: usize = 6;
const SAVEPOINTS_MAX: usize = 5;
const SNAPSHOTS_MAX: usize = 5;

impl DrawContext<'_> {
    /// An operation on savepoints and readers.
    pub(super) fn draw_transaction(
        &self,
        rng: &mut Rng,
        kind: OperationKind,
    ) -> Option<ModelOperation> {
        let reader_count = self.readers.len();
        Some(match kind {
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
            OperationKind::Compare if reader_count > 0 => {
                let other = rng.bool().then(|| rng.usize(0..reader_count));
                ModelOperation::Compare(rng.usize(0..reader_count), other)
            }
            _ => return None,
        })
    }

    /// An operation on named snapshots.
    pub(super) fn draw_snapshot(
        &self,
        rng: &mut Rng,
        kind: OperationKind,
    ) -> Option<ModelOperation> {
        Some(match kind {
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
            _ => return None,
        })
    }

    pub(super) fn draw_other(&self, rng: &mut Rng, kind: OperationKind) -> Option<ModelOperation> {
        Some(match kind {
            OperationKind::CreateTable => self.draw_table(rng),
            OperationKind::DropTable => ModelOperation::DropTable(self.table_name(rng)),
            OperationKind::RenameTable => {
                ModelOperation::RenameTable(self.table_name(rng), self.table_name(rng))
            }
            OperationKind::ListTables => ModelOperation::ListTables(self.source(rng)),
            OperationKind::CopyRange => return self.draw_copy(rng),
            OperationKind::GetCached => {
                let reader = match self.source(rng) {
                    ReadSource::Reader(index) => Some(index),
                    ReadSource::Write | ReadSource::Newest => None,
                };
                let tables = reader.map_or(self.committed, |index| self.readers[index]);
                let (name, table) = pick(rng, tables, AnyModel::plain)?;
                // Draws a few keys repeatedly.
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
            OperationKind::SetTypes => {
                let (name, _) = pick(rng, self.tables, Some)?;
                ModelOperation::SetTypes(name.clone(), draw_types(rng))
            }
            OperationKind::SetGeometry => {
                ModelOperation::SetGeometry(draw::geometry(rng, self.settings.page_size))
            }
            OperationKind::Compact if !self.is_writing => ModelOperation::Compact,
            OperationKind::ReadOnOtherThread => return self.draw_other_thread(rng),
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

    /// Copies to a compatible table, or creates one.
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
}

fn pick_name(rng: &mut Rng, names: &[&str]) -> String {
    names[rng.usize(0..names.len())].to_owned()
}

/// Names of types: of the usual length, of the greatest one, or none.
fn draw_types(rng: &mut Rng) -> TableTypes {
    let mut name = || match rng.u8(0..4) {
        0 => String::new(),
        1 => "t".repeat(TYPE_NAME_MAX),
        _ => format!("type {}", rng.u8(..)),
    };
    TableTypes::new(name(), name())
}
