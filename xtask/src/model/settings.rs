//! The random options of an episode.

use super::shape::{SWAPPED, ValueSizes};
use crate::campaign::draw;
use fastrand::Rng;
use std::{fmt, path::Path};
use teak::{Database, Durability, Geometry, Options};

/// The kinds of operations. Each episode prefers some and leaves out others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OperationKind {
    Get,
    GetMany,
    Ends,
    Walk,
    Scan,
    Prefix,
    Count,
    Insert,
    InsertNew,
    Point,
    InsertTooLong,
    InsertMany,
    Remove,
    RemoveMany,
    RemoveRange,
    Clear,
    BulkLoad,
    BulkLoadUnsorted,
    BulkLoadWrong,
    Nested,
    ReadMulti,
    ChangeMulti,
    OpenCursor,
    MoveCursor,
    ChangeByCursor,
    CreateTable,
    DropTable,
    RenameTable,
    ListTables,
    GetCached,
    SetMarks,
    WarmUp,
    Savepoint,
    RollBack,
    Release,
    Checkpoint,
    OpenReader,
    CloneReader,
    VerifyReader,
    CloseReader,
    RefreshReader,
    ParkReader,
    BeginAt,
    CommitAndRead,
    CopyRange,
    DrawSequence,
    SetGeometry,
    Compact,
    ReadOnOtherThread,
    CreateSnapshot,
    DropSnapshot,
    RollBackToSnapshot,
    VerifySnapshots,
    Compare,
    Sync,
    Check,
    OpenCopy,
    Reopen,
}

/// How often each kind is drawn, before an episode's preferences.
const WEIGHTS: [(OperationKind, u32); 58] = [
    (OperationKind::Get, 18_000),
    (OperationKind::GetMany, 1_000),
    (OperationKind::Ends, 2_000),
    (OperationKind::Walk, 1_500),
    (OperationKind::Scan, 1_000),
    (OperationKind::Prefix, 300),
    (OperationKind::Count, 300),
    (OperationKind::Insert, 36_000),
    (OperationKind::InsertNew, 9_000),
    (OperationKind::Point, 9_000),
    (OperationKind::InsertTooLong, 100),
    (OperationKind::InsertMany, 200),
    (OperationKind::Remove, 18_000),
    (OperationKind::RemoveMany, 200),
    (OperationKind::RemoveRange, 300),
    (OperationKind::Clear, 8),
    (OperationKind::BulkLoad, 60),
    (OperationKind::BulkLoadUnsorted, 20),
    (OperationKind::BulkLoadWrong, 20),
    (OperationKind::Nested, 200),
    (OperationKind::ReadMulti, 12_000),
    (OperationKind::ChangeMulti, 30_000),
    (OperationKind::OpenCursor, 1_000),
    (OperationKind::MoveCursor, 20_000),
    (OperationKind::ChangeByCursor, 6_000),
    (OperationKind::CreateTable, 100),
    (OperationKind::DropTable, 20),
    (OperationKind::RenameTable, 40),
    (OperationKind::ListTables, 100),
    (OperationKind::GetCached, 4_000),
    (OperationKind::SetMarks, 200),
    (OperationKind::WarmUp, 10),
    (OperationKind::Savepoint, 500),
    (OperationKind::RollBack, 150),
    (OperationKind::Release, 200),
    (OperationKind::Checkpoint, 100),
    (OperationKind::OpenReader, 200),
    (OperationKind::CloneReader, 20),
    (OperationKind::VerifyReader, 40),
    (OperationKind::CloseReader, 150),
    (OperationKind::RefreshReader, 60),
    (OperationKind::ParkReader, 20),
    (OperationKind::BeginAt, 60),
    (OperationKind::CommitAndRead, 60),
    (OperationKind::CopyRange, 60),
    (OperationKind::DrawSequence, 200),
    (OperationKind::SetGeometry, 20),
    (OperationKind::Compact, 10),
    (OperationKind::ReadOnOtherThread, 60),
    (OperationKind::CreateSnapshot, 120),
    (OperationKind::DropSnapshot, 80),
    (OperationKind::RollBackToSnapshot, 60),
    (OperationKind::VerifySnapshots, 20),
    (OperationKind::Compare, 60),
    (OperationKind::Sync, 40),
    (OperationKind::Check, 50),
    (OperationKind::OpenCopy, 10),
    (OperationKind::Reopen, 20),
];

/// The settings of an episode.
#[derive(Clone)]
pub(crate) struct ModelSettings {
    pub(crate) page_size: usize,
    pub(crate) durability: Durability,
    pub(crate) write_memory_bytes: Option<usize>,
    pub(crate) size_limit_bytes: Option<u64>,
    geometry: Geometry,
    /// Keys are made from numbers below this.
    pub(crate) domain: u64,
    pub(crate) value_sizes: ValueSizes,
    /// The average number of operations of a transaction.
    pub(crate) operations_per_commit: u32,
    pub(crate) operations_max: u64,
    weights: Vec<(OperationKind, u32)>,
    /// Tables with more pages are released in parts. `None` leaves this choice to the engine.
    release_at_once: Option<u64>,
    /// Size of the journal; 0 for none.
    journal_bytes: u64,
}

impl fmt::Debug for ModelSettings {
    /// Without the preferences, which the last operations show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pages of {} bytes, {:?}, {:?} bytes of memory for writes, {:?} bytes of file, {:?}, \
             keys from {} numbers, values {:?}, {} operations per commit, {:?} pages released at once",
            self.page_size,
            self.durability,
            self.write_memory_bytes,
            self.size_limit_bytes,
            self.geometry,
            self.domain,
            self.value_sizes,
            self.operations_per_commit,
            self.release_at_once
        )
    }
}

impl ModelSettings {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let pages_max = [100, 1000][rng.usize(0..2)];
        let page_size = [4096, 4096, 4096, 4096, 8192, 16384, 32768, 65536][rng.usize(0..8)];
        let weights: Vec<_> = WEIGHTS
            .iter()
            .map(|&(kind, weight)| (kind, weight * [0, 1, 1, 1, 3][rng.usize(0..5)]))
            .collect();
        // Operations that every episode needs.
        let weights: Vec<_> = weights
            .into_iter()
            .chain([
                (OperationKind::Insert, 2_000),
                (OperationKind::Get, 1_000),
                (OperationKind::CreateTable, 30),
            ])
            .collect();
        // Keeps the other draws the same for each seed.
        let mut other = rng.clone();
        Self {
            release_at_once: other.bool().then(|| 1 << other.u32(0..6)),
            journal_bytes: page_size as u64 * [0, 0, 3, 16, 64][other.usize(0..5)],
            page_size,
            durability: match rng.bool() {
                true if other.bool() => Durability::Async,
                true => Durability::Durable,
                false => Durability::Lazy,
            },
            write_memory_bytes: (rng.u8(0..2) == 0).then(|| 1 << rng.u32(10..22)),
            size_limit_bytes: (rng.u8(0..6) == 0)
                .then(|| page_size as u64 * rng.u64(20..pages_max)),
            geometry: draw::geometry(rng, page_size),
            domain: 1 << rng.u32(4..15),
            value_sizes: ValueSizes::draw(rng, page_size),
            operations_per_commit: [3, 20, 100, 1_000][rng.usize(0..4)],
            operations_max: 1 << rng.u32(8..14),
            weights,
        }
    }

    /// A random kind of operation.
    pub(crate) fn kind(&self, rng: &mut Rng) -> OperationKind {
        draw::weighted(rng, &self.weights).unwrap_or(OperationKind::Get)
    }

    /// Opens the database of the episode, or creates it.
    pub(crate) fn open(&self, path: &Path) -> teak::Result<Database> {
        let options = Options::new()
            .page_size(self.page_size)
            .geometry(self.geometry)
            .size_limit_bytes(self.size_limit_bytes)
            .durability(self.durability)
            .comparison(&SWAPPED);
        let options = options.journal_bytes(self.journal_bytes);
        let options = match self.release_at_once {
            Some(pages) => options.release_at_once(pages),
            None => options,
        };
        match self.write_memory_bytes {
            Some(bytes) => options.write_memory_bytes(bytes).open(path),
            None => options.open(path),
        }
    }
}
