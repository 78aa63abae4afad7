//! The operations of an episode, with all details needed to describe them.

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
use teak::{Durability, Geometry, TableTypes, WarmUp};

/// How a database is closed before it is opened again.
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
    /// A conditional change of one record.
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
    /// Unsorted records where they must be sorted: refused, and rolled back.
    BulkLoadWrong(Vec<ModelRecord>),
    /// Inserts within nested transactions. Each of them is kept or fails.
    Nested(Vec<NestedTransaction>),
}

/// One operation of an episode.
#[derive(Clone, Debug)]
pub(crate) enum ModelOperation {
    Read(ReadSource, Vec<u8>, TableRead),
    /// Reads by an existing or new reader, on another thread, with handles that own their
    /// transaction.
    ReadOnOtherThread(Option<usize>, Vec<u8>, OtherThreadRead),
    Change(Vec<u8>, ModelChange),
    /// A read or a change of a table in which a key has several values.
    ReadMulti(ReadSource, Vec<u8>, MultiRead),
    ChangeMulti(Vec<u8>, MultiChange),
    /// Steps through a table with a cursor that borrows the transaction, and reads something at the
    /// last position.
    Walk(ReadSource, Vec<u8>, (Vec<CursorStep>, CursorRead)),
    /// An operation on a detached cursor.
    Cursor(CursorOperation),
    CreateTable(Vec<u8>, AnyTableKind),
    DropTable(Vec<u8>),
    RenameTable(Vec<u8>, Vec<u8>),
    ListTables(ReadSource),
    /// A lookup by an existing or new reader, with a cached lookup of the record.
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
    /// Prepares the transaction, perhaps closes and opens the database, and decides.
    Prepare {
        is_commit: bool,
        reopen: Option<ReopenMode>,
    },
    /// Breaks the transaction, so that it can only be rolled back, and commits.
    BreakOff,
    OpenReader,
    CloneReader(usize),
    VerifyReader(usize),
    CloseReader(usize),
    RefreshReader(usize),
    ParkReader(usize),
    /// Begins a write transaction on the state of a reader.
    BeginAt(usize),
    CommitAndRead,
    /// Copies or moves a range of one table to another one.
    CopyRange {
        from: Vec<u8>,
        to: Vec<u8>,
        range: KeyRange,
        moves: bool,
    },
    DrawSequence(Vec<u8>, u64),
    /// Records other names of a table's types.
    SetTypes(Vec<u8>, TableTypes),
    SetGeometry(Geometry),
    Compact,
    /// Names the state of the open transaction.
    CreateSnapshot(String),
    DropSnapshot(String),
    /// A transaction that begins with the state of a named snapshot.
    RollBackToSnapshot(String),
    /// Compares all named snapshots with their models.
    VerifySnapshots,
    /// Compares the states of two readers, or of the first and the newest one.
    Compare(usize, Option<usize>),
    Sync,
    Check,
    /// Opens a copy of the file, such as a killed process would leave.
    OpenCopy,
    Reopen(ReopenMode),
}

impl fmt::Display for ModelOperation {
    /// On one line, truncated if it is long.
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
