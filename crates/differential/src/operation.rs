//! What a script consists of, and what engines answer: the language that both sides are translated to.

use std::cmp::Ordering;

/// How a record is put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PutMode {
    /// Whatever is there; a pair that is there stays.
    Upsert,
    /// If there is no such key: `MDB_NOOVERWRITE`.
    NewKey,
    /// If there is no such pair: `MDB_NODUPDATA`.
    NewPair,
    /// Behind the last key: `MDB_APPEND`.
    Append,
    /// Behind the last value of the key: `MDB_APPENDDUP`.
    AppendValue,
    /// The value is written to the space that the engine gives: `MDB_RESERVE`.
    Reserve,
    /// In the place of the record that the cursor is on: `MDB_CURRENT`.
    Current,
}

/// Where a cursor goes: the operations of LMDB but for those of packed values.
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
    /// Goes nowhere, and counts the values of the key.
    Count,
}

/// Which state is read.
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

/// In which direction all records are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Back,
}

/// The index of a table in [`KINDS`](crate::kind::KINDS).
pub(crate) type TableIndex = usize;

/// One operation. A write transaction begins with the first that needs one.
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
    /// Values of one size for a key: `MDB_MULTIPLE`. Answered with the number of those that were new.
    PutMany {
        table: TableIndex,
        key: Vec<u8>,
        values: Vec<Vec<u8>>,
    },
    /// A record of a size that an engine may refuse, in a nested transaction that is undone.
    PutOdd {
        table: TableIndex,
        key: Vec<u8>,
        value: Vec<u8>,
    },
    Delete {
        table: TableIndex,
        key: Vec<u8>,
        /// This value alone, where a key has several.
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
    /// How two keys follow each other, or two values.
    Compare {
        view: ReadView,
        table: TableIndex,
        of: RecordPart,
        one: Vec<u8>,
        other: Vec<u8>,
    },
    /// A cursor that goes through a state that stands still.
    Walk {
        view: ReadView,
        table: TableIndex,
        moves: Vec<CursorMove>,
    },
    /// All values of a key by pages: `MDB_GET_MULTIPLE` and its neighbours.
    Packed {
        view: ReadView,
        table: TableIndex,
        key: Vec<u8>,
        direction: Direction,
    },
    /// Opens a cursor that stays while the transaction changes the table; it is nowhere.
    Open {
        slot: usize,
        table: TableIndex,
    },
    Move {
        slot: usize,
        to: CursorMove,
    },
    /// A cursor that is on a pair says so; LMDB's searches for it first.
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
    /// The reader goes on with the newest state: `mdb_txn_reset` and `mdb_txn_renew`.
    RenewReader(usize),
    CloseReader(usize),
    /// All records of all tables, in both directions.
    CompareAll(ReadView),
    /// Closes the database, and opens it again: the copy in its place, if one is made.
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

/// What of records is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordPart {
    Keys,
    /// Where a key has several.
    Values,
}

/// Operations that concern the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperationGroup {
    /// Tables, transactions, readers and the database.
    States,
    /// Cursors that stay while tables change.
    Cursors,
    /// What reads a table, and changes nothing.
    Reading,
    /// Changes of records.
    Changes,
}

/// What an engine answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Done,
    NotFound,
    /// What was to be new is there: the value, where both engines tell it.
    Exists(Option<Vec<u8>>),
    /// What was to be appended is not behind all others.
    NotBehind,
    Value(Vec<u8>),
    Pair(Vec<u8>, Vec<u8>),
    Number(u64),
    Order(Ordering),
    /// The cursor is on no record.
    NotPlaced,
    NoTable,
    /// A key or a value is too long, or too short.
    BadSize,
    /// Of one operation after the other.
    Several(Vec<Answer>),
    /// What no script should lead to, in the words of the engine.
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
    /// Whether it leads somewhere whatever the cursor was on.
    pub(crate) fn is_absolute(&self) -> bool {
        matches!(self, Self::First | Self::Last) || self.is_search()
    }

    /// Whether it looks for a key.
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

    /// Whether both cursors begin anew if it leads nowhere.
    pub(crate) fn loses_position(&self) -> bool {
        self.is_search() || matches!(self, Self::NextKey | Self::PrevKey)
    }

    /// Whether only tables have it in which a key has several values.
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

/// One record of that form, and what follows it.
pub(crate) fn split_record(records: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let (key, rest) = split_part(records)?;
    let (value, rest) = split_part(rest)?;
    Some(((key, value), rest))
}

fn split_part(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = records.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}
