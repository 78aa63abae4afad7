//! The operations of a script and their results, in a form that both engines are translated to.

use std::cmp::Ordering;

/// The mode of putting a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PutMode {
    /// Always. An existing pair stays.
    Upsert,
    /// If the key is new: `MDB_NOOVERWRITE`.
    NewKey,
    /// If the pair is new: `MDB_NODUPDATA`.
    NewPair,
    /// After the last key: `MDB_APPEND`.
    Append,
    /// After the last value of the key: `MDB_APPENDDUP`.
    AppendValue,
    /// The value is written to the space that the engine returns: `MDB_RESERVE`.
    Reserve,
    /// Replaces the record that the cursor is on: `MDB_CURRENT`.
    Current,
}

/// A movement of a cursor: the operations of LMDB except those on packed values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CursorMove {
    First,
    Last,
    Next,
    Prev,
    NextKey,
    PrevKey,
    NextValue,
    PrevValue,
    FirstValue,
    LastValue,
    Set(Vec<u8>),
    SetKey(Vec<u8>),
    SetRange(Vec<u8>),
    GetBoth(Vec<u8>, Vec<u8>),
    GetBothRange(Vec<u8>, Vec<u8>),
    Current,
    /// Counts the values of the key, without moving.
    Count,
}

/// The state that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadView {
    Writer,
    /// The snapshot of the reader with this number.
    Reader(usize),
}

/// How a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransactionEnd {
    Commit,
    Abort,
}

/// The direction in which all records are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Back,
}

/// The index of a table in [`KINDS`](crate::kind::KINDS).
pub(crate) type TableIndex = usize;

/// One operation. The first one that needs a write transaction begins it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Create {
        table: TableIndex,
    },
    Drop {
        table: TableIndex,
    },
    Clear {
        table: TableIndex,
    },
    Put {
        table: TableIndex,
        key: Vec<u8>,
        value: Vec<u8>,
        mode: PutMode,
    },
    /// Values of one size for a key: `MDB_MULTIPLE`. The result is the number of new ones.
    PutMany {
        table: TableIndex,
        key: Vec<u8>,
        values: Vec<Vec<u8>>,
    },
    /// Puts a record of a size that an engine may refuse, in a nested transaction that is rolled
    /// back.
    PutOdd {
        table: TableIndex,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        table: TableIndex,
        key: Vec<u8>,
        /// Only this value, if a key has several.
        value: Option<Vec<u8>>,
    },
    Get {
        view: ReadView,
        table: TableIndex,
        key: Vec<u8>,
    },
    Stat {
        view: ReadView,
        table: TableIndex,
    },
    /// Compares two keys, or two values.
    Compare {
        view: ReadView,
        table: TableIndex,
        of: RecordPart,
        one: Vec<u8>,
        other: Vec<u8>,
    },
    /// Moves a cursor over an unchanging state.
    Walk {
        view: ReadView,
        table: TableIndex,
        moves: Vec<CursorMove>,
    },
    /// All values of a key, page by page: `MDB_GET_MULTIPLE` and its variants.
    Packed {
        view: ReadView,
        table: TableIndex,
        key: Vec<u8>,
        direction: Direction,
    },
    /// Opens a cursor without a position, which stays open while the transaction changes the table.
    Open {
        slot: usize,
        table: TableIndex,
    },
    Move {
        slot: usize,
        to: CursorMove,
    },
    /// Returns the current pair; LMDB's cursor searches for it first.
    Refresh {
        slot: usize,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    PutAt {
        slot: usize,
        key: Vec<u8>,
        value: Vec<u8>,
        mode: PutMode,
    },
    DeleteAt {
        slot: usize,
        /// All values of the key: `MDB_NODUPDATA`.
        is_whole_key: bool,
    },
    BeginNested,
    EndNested(TransactionEnd),
    End(TransactionEnd),
    OpenReader(usize),
    /// Moves the reader to the newest state: `mdb_txn_reset` and `mdb_txn_renew`.
    RenewReader(usize),
    CloseReader(usize),
    /// All records of all tables, in both directions.
    CompareAll(ReadView),
    /// Closes the database and opens it again, after replacing it by a copy if one is made.
    Reopen {
        copied: Option<CopyMode>,
    },
}

/// How a database is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyMode {
    Whole,
    Dense,
}

/// The part of records that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordPart {
    Keys,
    /// A key with several values.
    Values,
}

/// A group of related operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperationGroup {
    /// Tables, transactions, readers and the database.
    States,
    /// Cursors that stay open while tables change.
    Cursors,
    /// Operations that read a table without changing it.
    Reading,
    /// Changes of records.
    Changes,
}

/// The result of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Done,
    NotFound,
    /// The record exists already: its value, where both engines return it.
    Exists(Option<Vec<u8>>),
    /// An appended record does not come after all others.
    NotLast,
    Value(Vec<u8>),
    Pair(Vec<u8>, Vec<u8>),
    Number(u64),
    Order(Ordering),
    /// The cursor is on no record.
    NotPlaced,
    NoTable,
    /// A key or a value is too long, or too short.
    BadSize,
    /// The results of consecutive operations.
    Several(Vec<Answer>),
    /// An unexpected error, as the engine reports it.
    Unexpected(String),
}

impl Operation {
    pub(crate) fn group(&self) -> OperationGroup {
        match self {
            Self::Create { .. }
            | Self::Drop { .. }
            | Self::BeginNested
            | Self::EndNested(_)
            | Self::End(_)
            | Self::OpenReader(_)
            | Self::RenewReader(_)
            | Self::CloseReader(_)
            | Self::CompareAll(_)
            | Self::Reopen { .. } => OperationGroup::States,
            Self::Open { .. }
            | Self::Move { .. }
            | Self::Refresh { .. }
            | Self::PutAt { .. }
            | Self::DeleteAt { .. } => OperationGroup::Cursors,
            Self::Get { .. }
            | Self::Stat { .. }
            | Self::Compare { .. }
            | Self::Walk { .. }
            | Self::Packed { .. } => OperationGroup::Reading,
            Self::Clear { .. }
            | Self::Put { .. }
            | Self::PutMany { .. }
            | Self::PutOdd { .. }
            | Self::Delete { .. } => OperationGroup::Changes,
        }
    }
}

impl CursorMove {
    /// Whether the destination does not depend on the current position.
    pub(crate) fn is_absolute(&self) -> bool {
        matches!(self, Self::First | Self::Last) || self.is_search()
    }

    /// Whether it searches for a key.
    pub(crate) fn is_search(&self) -> bool {
        matches!(
            self,
            Self::Set(_)
                | Self::SetKey(_)
                | Self::SetRange(_)
                | Self::GetBoth(..)
                | Self::GetBothRange(..)
        )
    }

    /// Whether both cursors are reopened if it finds nothing.
    pub(crate) fn loses_position(&self) -> bool {
        self.is_search() || matches!(self, Self::NextKey | Self::PrevKey)
    }

    /// Whether it is only valid in tables in which a key has several values.
    pub(crate) fn is_of_values(&self) -> bool {
        matches!(
            self,
            Self::NextValue
                | Self::PrevValue
                | Self::FirstValue
                | Self::LastValue
                | Self::GetBoth(..)
                | Self::GetBothRange(..)
                | Self::Count
        )
    }
}

/// Appends a record in a form that can be compared byte by byte.
pub(crate) fn append_record(records: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    for part in [key, value] {
        records.extend_from_slice(&(part.len() as u64).to_le_bytes());
        records.extend_from_slice(part);
    }
}

/// Key and value.
pub(crate) type Record<'r> = (&'r [u8], &'r [u8]);

/// The first record in that form, and the rest.
pub(crate) fn split_record(records: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let (key, rest) = split_part(records)?;
    let (value, rest) = split_part(rest)?;
    Some(((key, value), rest))
}

fn split_part(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = records.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}
