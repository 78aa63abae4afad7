//! The flags and operations of `lmdb.h`, by the numbers that programs were compiled with.

use std::ffi::{c_int, c_uint};

/// Map at a fixed address.
pub const FIXEDMAP: c_uint = 0x01;
/// The path names the data file, not a directory.
pub const NOSUBDIR: c_uint = 0x4000;
/// Do not flush after commits.
pub const NOSYNC: c_uint = 0x1_0000;
/// Read only; of environments and of transactions.
pub const RDONLY: c_uint = 0x2_0000;
/// Do not flush the meta page after commits.
pub const NOMETASYNC: c_uint = 0x4_0000;
/// Write through the map.
pub const WRITEMAP: c_uint = 0x8_0000;
/// Flush the map later.
pub const MAPASYNC: c_uint = 0x10_0000;
/// Readers belong to transactions and not to threads.
pub const NOTLS: c_uint = 0x20_0000;
/// No locks.
pub const NOLOCK: c_uint = 0x40_0000;
/// No read-ahead.
pub const NORDAHEAD: c_uint = 0x80_0000;
/// Do not clear memory that is written.
pub const NOMEMINIT: c_uint = 0x100_0000;

/// The flags of an environment that can be changed while it is open.
pub(crate) const CHANGEABLE: c_uint = NOSYNC | NOMETASYNC | MAPASYNC | NOMEMINIT;
/// Flags of [`mdb_env_open`](crate::environments::mdb_env_open) that cannot be changed later.
pub(crate) const CHANGELESS: c_uint =
    FIXEDMAP | NOSUBDIR | RDONLY | WRITEMAP | NOTLS | NOLOCK | NORDAHEAD;

/// Keys are compared from their ends.
pub const REVERSEKEY: c_uint = 0x02;
/// A key has several values.
pub const DUPSORT: c_uint = 0x04;
/// Keys are integers.
pub const INTEGERKEY: c_uint = 0x08;
/// Values of [`DUPSORT`] have one size.
pub const DUPFIXED: c_uint = 0x10;
/// Values of [`DUPSORT`] are integers.
pub const INTEGERDUP: c_uint = 0x20;
/// Values of [`DUPSORT`] are compared from their ends.
pub const REVERSEDUP: c_uint = 0x40;
/// Create the database if it does not exist.
pub const CREATE: c_uint = 0x4_0000;

/// The flags of a database that are kept with it.
pub(crate) const PERSISTENT: c_uint =
    REVERSEKEY | DUPSORT | INTEGERKEY | DUPFIXED | INTEGERDUP | REVERSEDUP;

/// Fail if the key exists.
pub const NOOVERWRITE: c_uint = 0x10;
/// Fail if the pair exists. For deletions: delete all values of the key.
pub const NODUPDATA: c_uint = 0x20;
/// Replace the record that the cursor is on.
pub const CURRENT: c_uint = 0x40;
/// Only reserve memory for the value.
pub const RESERVE: c_uint = 0x1_0000;
/// Put after the last key.
pub const APPEND: c_uint = 0x2_0000;
/// Put after the last value of the key.
pub const APPENDDUP: c_uint = 0x4_0000;
/// Several values of one size.
pub const MULTIPLE: c_uint = 0x8_0000;

/// Copy without free pages.
pub const CP_COMPACT: c_uint = 0x01;

/// The operations of [`mdb_cursor_get`](crate::cursors::mdb_cursor_get).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// To the first record.
    First,
    /// To the first value of the key.
    FirstDup,
    /// To a pair.
    GetBoth,
    /// To the first value of a key that is not smaller.
    GetBothRange,
    /// Stay on the record.
    GetCurrent,
    /// Values of the page.
    GetMultiple,
    /// To the last record.
    Last,
    /// To the last value of the key.
    LastDup,
    /// To the next record.
    Next,
    /// To the next value of the key.
    NextDup,
    /// To the next values.
    NextMultiple,
    /// To the next key.
    NextNodup,
    /// To the previous record.
    Prev,
    /// To the previous value of the key.
    PrevDup,
    /// To the previous key.
    PrevNodup,
    /// To a key.
    Set,
    /// To a key, which is also returned.
    SetKey,
    /// To the first key that is not smaller.
    SetRange,
    /// To the previous values.
    PrevMultiple,
}

impl Operation {
    /// All operations, in the order of their numbers.
    const ALL: [Self; 19] = [
        Self::First,
        Self::FirstDup,
        Self::GetBoth,
        Self::GetBothRange,
        Self::GetCurrent,
        Self::GetMultiple,
        Self::Last,
        Self::LastDup,
        Self::Next,
        Self::NextDup,
        Self::NextMultiple,
        Self::NextNodup,
        Self::Prev,
        Self::PrevDup,
        Self::PrevNodup,
        Self::Set,
        Self::SetKey,
        Self::SetRange,
        Self::PrevMultiple,
    ];

    /// The operation of a number.
    #[must_use]
    pub fn from_number(number: c_int) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}
