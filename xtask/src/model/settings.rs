//! The random options of an episode.

use super::shape::{SWAPPED, ValueSizes};
use crate::geometry;
use fastrand::Rng;
use std::{fmt, path::Path};
use teak::{Database, Durability, Geometry, Options};

/// The kinds of operation; each episode prefers some and leaves out others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
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
    ReadElsewhere,
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
const WEIGHTS: [(Kind, u32); 58] = [
    (Kind::Get, 18_000),
    (Kind::GetMany, 1_000),
    (Kind::Ends, 2_000),
    (Kind::Walk, 1_500),
    (Kind::Scan, 1_000),
    (Kind::Prefix, 300),
    (Kind::Count, 300),
    (Kind::Insert, 36_000),
    (Kind::InsertNew, 9_000),
    (Kind::Point, 9_000),
    (Kind::InsertTooLong, 100),
    (Kind::InsertMany, 200),
    (Kind::Remove, 18_000),
    (Kind::RemoveMany, 200),
    (Kind::RemoveRange, 300),
    (Kind::Clear, 8),
    (Kind::BulkLoad, 60),
    (Kind::BulkLoadUnsorted, 20),
    (Kind::BulkLoadWrong, 20),
    (Kind::Nested, 200),
    (Kind::ReadMulti, 12_000),
    (Kind::ChangeMulti, 30_000),
    (Kind::OpenCursor, 1_000),
    (Kind::MoveCursor, 20_000),
    (Kind::ChangeByCursor, 6_000),
    (Kind::CreateTable, 100),
    (Kind::DropTable, 20),
    (Kind::RenameTable, 40),
    (Kind::ListTables, 100),
    (Kind::GetCached, 4_000),
    (Kind::SetMarks, 200),
    (Kind::WarmUp, 10),
    (Kind::Savepoint, 500),
    (Kind::RollBack, 150),
    (Kind::Release, 200),
    (Kind::Checkpoint, 100),
    (Kind::OpenReader, 200),
    (Kind::CloneReader, 20),
    (Kind::VerifyReader, 40),
    (Kind::CloseReader, 150),
    (Kind::RefreshReader, 60),
    (Kind::ParkReader, 20),
    (Kind::BeginAt, 60),
    (Kind::CommitAndRead, 60),
    (Kind::CopyRange, 60),
    (Kind::DrawSequence, 200),
    (Kind::SetGeometry, 20),
    (Kind::Compact, 10),
    (Kind::ReadElsewhere, 60),
    (Kind::CreateSnapshot, 120),
    (Kind::DropSnapshot, 80),
    (Kind::RollBackToSnapshot, 60),
    (Kind::VerifySnapshots, 20),
    (Kind::Compare, 60),
    (Kind::Sync, 40),
    (Kind::Check, 50),
    (Kind::OpenCopy, 10),
    (Kind::Reopen, 20),
];

/// What an episode is played with.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) page_size: usize,
    pub(crate) durability: Durability,
    pub(crate) write_memory_bytes: Option<usize>,
    pub(crate) size_limit_bytes: Option<u64>,
    geometry: Geometry,
    /// Keys are made from numbers below this.
    pub(crate) domain: u64,
    pub(crate) value_sizes: ValueSizes,
    /// A transaction ends after this many of its operations, on average.
    pub(crate) operations_per_commit: u32,
    pub(crate) operations_max: u64,
    weights: Vec<(Kind, u32)>,
    weight_sum: u32,
    /// Tables of more pages are released in parts, if that is not the engine's choice.
    release_at_once: Option<u64>,
    /// Of the journal; 0 for none.
    journal_bytes: u64,
}

impl fmt::Debug for Settings {
    /// Without the preferences, which the last operations show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pages of {} bytes, {:?}, {:?} bytes of memory for writes, {:?} bytes of file, {:?}, keys from {} numbers, values {:?}, \
             {} operations a commit, {:?} pages released at once",
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

impl Settings {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let pages_max = [100, 1000][rng.usize(0..2)];
        let page_size = [4096, 4096, 4096, 4096, 8192, 16384, 32768, 65536][rng.usize(0..8)];
        let weights: Vec<_> = WEIGHTS
            .iter()
            .map(|&(kind, weight)| (kind, weight * [0, 1, 1, 1, 3][rng.usize(0..5)]))
            .collect();
        // What an episode cannot do without.
        let weights: Vec<_> = weights
            .into_iter()
            .chain([
                (Kind::Insert, 2_000),
                (Kind::Get, 1_000),
                (Kind::CreateTable, 30),
            ])
            .collect();
        // What is drawn otherwise stays what it is for each seed.
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
            geometry: geometry::draw(rng, page_size),
            domain: 1 << rng.u32(4..15),
            value_sizes: ValueSizes::draw(rng, page_size),
            operations_per_commit: [3, 20, 100, 1_000][rng.usize(0..4)],
            operations_max: 1 << rng.u32(8..14),
            weight_sum: weights.iter().map(|(_, weight)| weight).sum(),
            weights,
        }
    }

    /// A random kind of operation.
    pub(crate) fn kind(&self, rng: &mut Rng) -> Kind {
        let mut rest = rng.u32(0..self.weight_sum);
        for &(kind, weight) in &self.weights {
            if rest < weight {
                return kind;
            }
            rest -= weight;
        }
        Kind::Get
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
