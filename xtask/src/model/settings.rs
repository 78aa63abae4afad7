//! The random options of an episode.

use super::shape::{SWAPPED, ValueSizes};
use crate::campaign::{CampaignClock, Encoding, draw};
use fastrand::Rng;
use std::{fmt, path::Path};
use teak::{Database, Durability, Geometry, Options};

/// Declares the kinds of operations, and how often each is drawn, before an episode's preferences.
macro_rules! operation_kinds {
    ($($kind:ident: $weight:literal,)+) => {
        /// The kinds of operations. Each episode prefers some and leaves out others.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum OperationKind {
            $($kind,)+
        }

        const WEIGHTS: &[(OperationKind, u32)] = &[$((OperationKind::$kind, $weight),)+];
    };
}

operation_kinds! {
    Get: 18_000,
    GetMany: 1_000,
    Ends: 2_000,
    Walk: 1_500,
    Scan: 1_000,
    Prefix: 300,
    Count: 300,
    Insert: 36_000,
    InsertNew: 9_000,
    Point: 9_000,
    InsertTooLong: 100,
    InsertMany: 200,
    Remove: 18_000,
    RemoveMany: 200,
    RemoveRange: 300,
    Clear: 8,
    BulkLoad: 60,
    BulkLoadUnsorted: 20,
    BulkLoadWrong: 20,
    Nested: 200,
    ReadMulti: 12_000,
    ChangeMulti: 30_000,
    OpenCursor: 1_000,
    MoveCursor: 20_000,
    ChangeByCursor: 6_000,
    CreateTable: 100,
    DropTable: 20,
    RenameTable: 40,
    ListTables: 100,
    GetCached: 4_000,
    SetMarks: 200,
    WarmUp: 10,
    Savepoint: 500,
    RollBack: 150,
    Release: 200,
    Checkpoint: 100,
    OpenReader: 200,
    CloneReader: 20,
    VerifyReader: 40,
    CloseReader: 150,
    RefreshReader: 60,
    ParkReader: 20,
    BeginAt: 60,
    CommitAndRead: 60,
    CopyRange: 60,
    DrawSequence: 200,
    SetTypes: 100,
    SetGeometry: 20,
    Compact: 10,
    ReadOnOtherThread: 60,
    CreateSnapshot: 120,
    DropSnapshot: 80,
    RollBackToSnapshot: 60,
    VerifySnapshots: 20,
    Compare: 60,
    Sync: 40,
    Check: 50,
    OpenCopy: 10,
    Reopen: 20,
}

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
    pub(crate) encoding: Encoding,
    /// The clock, if it is not that of the system.
    pub(crate) clock: Option<CampaignClock>,
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
            encoding: Encoding::Off,
            clock: None,
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
        let options = (self.encoding).apply(options.journal_bytes(self.journal_bytes));
        let options = match &self.clock {
            Some(clock) => clock.apply(options),
            None => options,
        };
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
