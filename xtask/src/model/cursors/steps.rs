//! Operations on cursors, and how they are drawn.

use crate::model::{
    multi::oracle::Pair,
    oracle::AnyModel,
    reading::ReadSource,
    shape::{KeyShape, ModelKey, ModelValue},
};
use fastrand::Rng;
use std::cmp::Ordering::{self, Equal, Greater, Less};
use teak::{DeleteScope, SeekOp, SeekTarget};

/// The number of records in a table above which cursors insert no more.
pub(in crate::model) const RECORDS_MAX: usize = 20_000;

/// The maximum number of open cursors of an episode.
pub(crate) const CURSORS_MAX: usize = 8;

/// The target of a cursor step.
#[derive(Clone, Debug)]
pub(crate) enum CursorStep {
    First,
    Last,
    Next,
    Prev,
    Current,
    NextKey,
    PrevKey,
    NextValue,
    PrevValue,
    FirstValue,
    LastValue,
    Seek(SeekOp, ModelTarget),
}

/// The target of a seek.
#[derive(Clone, Debug)]
pub(crate) enum ModelTarget {
    Key(ModelKey),
    /// In a table in which a key has several values.
    Pair(Pair),
    /// Among the values of the key.
    Value(Pair),
}

impl ModelTarget {
    pub(super) fn as_target(&self) -> SeekTarget<'_> {
        match self {
            Self::Key(key) => SeekTarget::Key(key),
            Self::Pair((key, value)) => SeekTarget::Pair(key, value),
            Self::Value((key, value)) => SeekTarget::Value(key, value),
        }
    }
}

/// Reads that take several records at a cursor. The cursor continues after them.
#[derive(Clone, Debug)]
pub(crate) enum CursorRead {
    /// This many records.
    Records { count: usize, mode: ReadMethod },
    /// Values of one size that are stored together.
    Packed { is_back: bool },
}

/// How several records are read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ReadMethod {
    Batch,
    Scan,
    ScanBack,
}

/// Changes through a cursor.
#[derive(Clone, Debug)]
pub(crate) enum CursorChange {
    Insert(Pair, ModelValue),
    InsertNew(Pair, ModelValue),
    Append(Pair, ModelValue),
    /// In a table in which a key has several values.
    AppendValue(Pair, ModelValue),
    Remove,
    RemoveAllValues,
    RemoveScope(DeleteScope),
    Update(ModelKey, ModelValue),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum CursorPosition {
    Nowhere,
    BeforeFirst,
    At(Pair),
    AfterLast,
}

/// The shapes of the keys and values of a table, which decide their order.
pub(super) fn shapes(model: &AnyModel) -> (KeyShape, Option<KeyShape>) {
    match model {
        AnyModel::Plain(table) => (table.kind.shape.clone(), None),
        AnyModel::Multi(table) => {
            let kind = &table.kind;
            (kind.shape.clone(), Some(kind.value_shape.clone()))
        }
    }
}

/// The scopes of removal at a cursor: those of the table, then those of its key. With each, where
/// its records are relative to the cursor.
pub(super) const DELETE_SCOPES: [(DeleteScope, &[Ordering]); 10] = [
    (DeleteScope::Before, &[Less]),
    (DeleteScope::UpToCurrent, &[Less, Equal]),
    (DeleteScope::FromCurrent, &[Equal, Greater]),
    (DeleteScope::After, &[Greater]),
    (DeleteScope::All, &[Less, Equal, Greater]),
    (DeleteScope::ValuesBefore, &[Less]),
    (DeleteScope::ValuesUpToCurrent, &[Less, Equal]),
    (DeleteScope::ValuesFromCurrent, &[Equal, Greater]),
    (DeleteScope::ValuesAfter, &[Greater]),
    (DeleteScope::AllValues, &[Less, Equal, Greater]),
];

impl CursorRead {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..5) {
            0 | 1 => Self::Packed {
                is_back: rng.bool(),
            },
            _ => Self::Records {
                count: rng.usize(0..20),
                mode: [ReadMethod::Batch, ReadMethod::Scan, ReadMethod::ScanBack][rng.usize(0..3)],
            },
        }
    }
}

impl CursorChange {
    /// A change of a table, with a pair that it may use.
    pub(crate) fn draw(rng: &mut Rng, model: &AnyModel, pair: Pair, value: ModelValue) -> Self {
        let is_full = model.len() > RECORDS_MAX;
        match rng.u8(0..20) {
            0..8 if !is_full => Self::Insert(pair, value),
            8 if !is_full => Self::InsertNew(pair, value),
            9 if !is_full => Self::Append(pair, value),
            10 if !is_full && model.multi().is_some() => Self::AppendValue(pair, value),
            11..14 => Self::Update(pair.1, value),
            14 if rng.u8(0..4) == 0 => Self::RemoveAllValues,
            // The scope of a key is more frequent than that of the table, which removes almost
            // everything.
            15 if is_full || rng.u8(0..8) == 0 => {
                Self::RemoveScope(DELETE_SCOPES[rng.usize(..5)].0)
            }
            16 => Self::RemoveScope(DELETE_SCOPES[rng.usize(5..10)].0),
            _ => Self::Remove,
        }
    }
}

impl CursorStep {
    pub(crate) fn draw(rng: &mut Rng, model: &AnyModel, domain: u64) -> Self {
        let is_multi = model.multi().is_some();
        let pair = draw_pair(rng, model, domain);
        let by_key = |op| Self::Seek(op, ModelTarget::Key(pair.0.clone()));
        let by_pair = |op| Self::Seek(op, ModelTarget::Pair(pair.clone()));
        let by_value = |op| Self::Seek(op, ModelTarget::Value(pair.clone()));
        match rng.u8(0..43) {
            0 => Self::First,
            1 => Self::Last,
            2..8 => Self::Next,
            8..13 => Self::Prev,
            13 => Self::Current,
            14 => Self::NextKey,
            15 => Self::PrevKey,
            16..19 => Self::NextValue,
            19..21 => Self::PrevValue,
            21 => Self::FirstValue,
            22 => Self::LastValue,
            23 | 24 if is_multi => by_pair(SeekOp::GreaterOrEqual),
            25 if is_multi => by_pair(SeekOp::Less),
            26 | 27 if is_multi => by_value(SeekOp::GreaterOrEqual),
            28 => by_key(SeekOp::Less),
            29..32 => by_key(SeekOp::GreaterOrEqual),
            32 if is_multi => by_pair(SeekOp::Equal),
            33 if is_multi => by_pair(SeekOp::Greater),
            34 if is_multi => by_pair(SeekOp::LessOrEqual),
            35 if is_multi => by_value(SeekOp::Equal),
            36 if is_multi => by_value(SeekOp::Greater),
            37 if is_multi => by_value(SeekOp::Less),
            38 if is_multi => by_value(SeekOp::LessOrEqual),
            39 | 40 => by_key(SeekOp::Equal),
            41 => by_key(SeekOp::Greater),
            _ => by_key(SeekOp::LessOrEqual),
        }
    }
}

/// A key of a table and, if its keys have several values, a value.
pub(crate) fn draw_pair(rng: &mut Rng, model: &AnyModel, domain: u64) -> Pair {
    let (keys, values) = shapes(model);
    let key_domain = model.multi().map_or(domain, |table| table.kind.key_domain);
    let value = values.map(|values| values.key(rng.u64(0..domain)));
    let nothing = || ModelKey::from(Vec::new());
    (
        keys.key(rng.u64(0..key_domain)),
        value.unwrap_or_else(nothing),
    )
}

/// Operations on a cursor.
#[derive(Clone, Debug)]
pub(crate) enum CursorOperation {
    /// Opens a cursor, which replaces the oldest one if there are too many.
    Open(ReadSource, Vec<u8>),
    Copy(usize),
    /// Unsets its position.
    Reset(usize),
    Step(usize, ReadSource, CursorStep),
    Read(usize, ReadSource, CursorRead),
    Compare(usize, usize, ReadSource),
    Change(usize, CursorChange),
}
