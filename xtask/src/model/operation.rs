//! The operations of an episode, with all that is needed to say what was done.

use super::{
    counting::KeyCounting,
    cursors::steps::{CursorOperation, CursorRead, CursorStep},
    key_range::KeyRange,
    multi::{changes::MultiChange, reads::MultiRead},
    oracle::AnyTableKind,
    points::PointChange,
    reading::{Direction, ReadSource},
    shape::{ModelKey, ModelRecord, ModelValue},
};
use std::fmt;
use teak::{Durability, Geometry, WarmUp};

/// How a database is left before it is opened again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReopenMode {
    Close,
    Drop,
    /// Closed, then opened once for reading only.
    CloseThenReadOnly,
}

/// A read of one table.
#[derive(Clone, Debug)]
pub(crate) enum TableRead {
    Get(ModelKey),
    GetMany(Vec<ModelKey>),
    Ends,
    Scan {
        range: KeyRange,
        direction: Direction,
        records_max: usize,
    },
    Prefix(ModelKey),
    Count(KeyCounting),
}

/// A read on another thread.
#[derive(Clone, Debug)]
pub(crate) struct OtherThreadRead {
    pub(crate) keys: Vec<ModelKey>,
    pub(crate) range: KeyRange,
    pub(crate) bits: u64,
}

/// The records that a nested transaction inserts, and whether it is kept.
#[derive(Clone, Debug)]
pub(crate) struct NestedTransaction {
    pub(crate) records: Vec<ModelRecord>,
    pub(crate) keep: bool,
}

/// A change of one table.
#[derive(Clone, Debug)]
pub(crate) enum ModelChange {
    Insert(ModelKey, ModelValue),
    InsertNew(ModelKey, ModelValue),
    InsertTooLong,
    /// A change of one record by what is there.
    Point(PointChange),
    InsertMany(Vec<ModelRecord>),
    Remove(ModelKey),
    RemoveMany(Vec<ModelKey>),
    RemoveRange(KeyRange),
    Clear,
    BulkLoad(Vec<ModelRecord>),
    BulkLoadUnsorted {
        records: Vec<ModelRecord>,
        memory_bytes: usize,
    },
    /// Records that are not sorted where they have to be: refused, and undone.
    BulkLoadWrong(Vec<ModelRecord>),
    /// Inserts within nested transactions, each in the one before it; each is kept or fails.
    Nested(Vec<NestedTransaction>),
}

/// One operation of an episode.
#[derive(Clone, Debug)]
pub(crate) enum ModelOperation {
    Read(ReadSource, Vec<u8>, TableRead),
    /// Reads by a reader, or by a new one, with what keeps its transaction, on another thread.
    ReadOnOtherThread(Option<usize>, Vec<u8>, OtherThreadRead),
    Change(Vec<u8>, ModelChange),
    /// A read or a change of a table in which a key has several values.
    ReadMulti(ReadSource, Vec<u8>, MultiRead),
    ChangeMulti(Vec<u8>, MultiChange),
    /// Goes through a table by steps of a cursor that borrows the transaction, and reads something
    /// at the end.
    Walk(ReadSource, Vec<u8>, (Vec<CursorStep>, CursorRead)),
    /// Something is done with a cursor that no transaction holds.
    Cursor(CursorOperation),
    CreateTable(Vec<u8>, AnyTableKind),
    DropTable(Vec<u8>),
    RenameTable(Vec<u8>, Vec<u8>),
    ListTables(ReadSource),
    /// A lookup by a reader, or by a new one, with a cached lookup of the record.
    GetCached(Option<usize>, Vec<u8>, ModelKey),
    SetMarks([u64; 3]),
    WarmUp(WarmUp),
    Savepoint,
    RollBack(usize),
    Release(usize),
    Commit(Option<Durability>),
    /// A commit after which the transaction continues.
    Checkpoint,
    Abort,
    /// Leaves nothing to do but to roll back, and commits.
    BreakOff,
    OpenReader,
    CloneReader(usize),
    VerifyReader(usize),
    CloseReader(usize),
    RefreshReader(usize),
    ParkReader(usize),
    /// Begins to write on the state of a reader.
    BeginAt(usize),
    CommitAndRead,
    /// Copies a range of one table to another, or moves it.
    CopyRange {
        from: Vec<u8>,
        to: Vec<u8>,
        range: KeyRange,
        moves: bool,
    },
    DrawSequence(Vec<u8>, u64),
    SetGeometry(Geometry),
    Compact,
    /// The state that the open transaction makes gets this name.
    CreateSnapshot(String),
    DropSnapshot(String),
    /// A transaction that begins with the state of a named snapshot.
    RollBackToSnapshot(String),
    /// All named snapshots against what they are to hold.
    VerifySnapshots,
    /// Compares the states of two readers, or of the first and the newest one.
    Compare(usize, Option<usize>),
    Sync,
    Check,
    /// Opens a copy of the file, which is what a killed process would leave.
    OpenCopy,
    Reopen(ReopenMode),
}

impl fmt::Display for ModelOperation {
    /// On one line, cut where it gets long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Read(source, table, read) => {
                format!("read {source:?} {} {read:?}", table.escape_ascii())
            }
            Self::Change(table, change) => format!("change {} {change:?}", table.escape_ascii()),
            Self::ReadMulti(source, table, read) => {
                format!("read {source:?} {} {read:?}", table.escape_ascii())
            }
            Self::ChangeMulti(table, change) => {
                format!("change {} {change:?}", table.escape_ascii())
            }
            Self::CreateTable(table, kind) => {
                format!("create table {} {kind:?}", table.escape_ascii())
            }
            other => format!("{other:?}"),
        };
        match text.char_indices().nth(400) {
            Some((end, _)) => write!(f, "{} ... ({} bytes)", &text[..end], text.len()),
            None => f.write_str(&text),
        }
    }
}
