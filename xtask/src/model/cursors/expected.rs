//! The positions and records that the model expects of a cursor.

use super::{
    positions::{
        self, at_or_after, at_or_after_key, contains, first_after, here_or_before, last_before,
        last_of_key_or_before, next, prev, value_of, values,
    },
    steps::{CursorPosition, CursorStep, ModelTarget},
};
use crate::model::{
    multi::oracle::Pair,
    oracle::AnyModel,
    shape::ModelKey,
    violation::{ModelResult, expect_bytes, expect_same},
};
use teak::SeekOp;

/// A key and its value, as returned by the engine.
pub(super) type OwnedRecord = (Vec<u8>, Vec<u8>);

/// Compares `seen` with the next `count` records from a position, forwards or backwards. Returns
/// the record after them.
pub(super) fn expected_records(
    model: &AnyModel,
    position: &CursorPosition,
    is_back: bool,
    (seen, count): (&[OwnedRecord], usize),
) -> ModelResult<Option<Pair>> {
    let from = match (position, is_back) {
        (CursorPosition::At(pair), false) => at_or_after(model, pair),
        (CursorPosition::At(pair), true) => here_or_before(model, pair),
        (CursorPosition::AfterLast, false) | (CursorPosition::BeforeFirst, true) => None,
        (_, false) => next(model, None),
        (_, true) => prev(model, None),
    };
    let mut walk = positions::walk(model, from, is_back);
    let expected: Vec<_> = walk.by_ref().take(count).collect();
    expect_same("records that were read", seen.len(), expected.len())?;
    for ((key, value), pair) in seen.iter().zip(&expected) {
        expect_bytes("a key that was read", Some(key), Some(&pair.0))?;
        let expected = Some(value_of(model, pair));
        expect_bytes("a value that was read", Some(value), expected)?;
    }
    Ok(walk.next())
}

/// Compares packed values of one size with those from a position, or up to it. Returns the last
/// one.
pub(super) fn expected_packed(
    model: &AnyModel,
    position: &CursorPosition,
    is_back: bool,
    packed: Option<&[u8]>,
) -> ModelResult<Option<Pair>> {
    let here = match position {
        CursorPosition::At(pair) if contains(model, pair) => Some(pair),
        _ => None,
    };
    let is_packed = model.multi().is_some_and(|table| table.kind.is_packed());
    let is_expected = is_packed && here.is_some();
    expect_same(
        "whether there are packed values",
        packed.is_some(),
        is_expected,
    )?;
    let (Some(packed), Some((key, value))) = (packed, here) else {
        return Ok(None);
    };
    let all = values(model, key);
    let at = all.iter().position(|other| other == value);
    let (at, count) = (at.unwrap_or_default(), packed.len() / value.len());
    let of_key = match is_back {
        true => all.get((at + 1).saturating_sub(count)..=at),
        false => all.get(at..at + count),
    };
    let expected = of_key.unwrap_or_default();
    let bytes: Vec<u8> = expected.iter().flat_map(|value| value.to_vec()).collect();
    expect_bytes("packed values", Some(packed), Some(&bytes))?;
    let last = match is_back {
        true => expected.first(),
        false => expected.last(),
    };
    expect_same("whether there are some", last.is_some(), true)?;
    Ok(last.map(|last| (key.clone(), last.clone())))
}

/// Whether a step finds a record, and the next position. If it finds none, the cursor stays.
pub(super) type ExpectedStep = (bool, Option<CursorPosition>);

/// The expected result of a step.
pub(super) fn expected(
    position: &CursorPosition,
    model: &AnyModel,
    step: &CursorStep,
) -> ExpectedStep {
    if let CursorStep::Seek(op, target) = step {
        return expected_seek(model, *op, target);
    }
    let at = match position {
        CursorPosition::At(pair) => Some(pair),
        _ => None,
    };
    let forward = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (position, at) {
        (_, Some(pair)) => of(model, pair),
        (CursorPosition::AfterLast, _) => None,
        _ => next(model, None),
    };
    let back = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (position, at) {
        (_, Some(pair)) => of(model, pair),
        (CursorPosition::BeforeFirst, _) => None,
        _ => prev(model, None),
    };
    match (step, at) {
        (CursorStep::First, _) => to_or_after(next(model, None)),
        (CursorStep::Last, _) => to_or_before(prev(model, None)),
        (CursorStep::Next, _) => to_or_after(forward(|model, pair| next(model, Some(pair)))),
        (CursorStep::Prev, _) => to_or_before(back(|model, pair| prev(model, Some(pair)))),
        (CursorStep::NextKey, _) => to_or_after(forward(first_after)),
        (CursorStep::PrevKey, _) => to_or_before(back(last_before)),
        (CursorStep::Current, Some(pair)) => to_or_after(at_or_after(model, pair)),
        (CursorStep::NextValue, Some(pair)) => to_or_stay(of_key(next(model, Some(pair)), &pair.0)),
        (CursorStep::PrevValue, Some(pair)) => to_or_stay(of_key(prev(model, Some(pair)), &pair.0)),
        (CursorStep::FirstValue, Some((key, _))) => {
            let first = values(model, key).into_iter().next();
            to_or_stay(first.map(|value| (key.clone(), value)))
        }
        (CursorStep::LastValue, Some((key, _))) => {
            let last = values(model, key).pop();
            to_or_stay(last.map(|value| (key.clone(), value)))
        }
        _ => (false, None),
    }
}

/// The expected result of a seek, which does not depend on the position.
fn expected_seek(model: &AnyModel, op: SeekOp, target: &ModelTarget) -> ExpectedStep {
    let before_all_of = |key: &ModelKey| (key.clone(), Vec::new().into());
    let (to, is_equal) = match (op, target) {
        (SeekOp::Equal | SeekOp::GreaterOrEqual, ModelTarget::Key(key)) => {
            let to = at_or_after_key(model, key);
            let is_equal = to.as_ref().is_some_and(|to| to.0 == *key);
            (to, is_equal)
        }
        (SeekOp::Greater, ModelTarget::Key(key)) => {
            (first_after(model, &before_all_of(key)), false)
        }
        (SeekOp::LessOrEqual, ModelTarget::Key(key)) => (last_of_key_or_before(model, key), false),
        (SeekOp::Less, ModelTarget::Key(key)) => (last_before(model, &before_all_of(key)), false),
        (op, ModelTarget::Pair(pair) | ModelTarget::Value(pair)) => {
            let to = match op {
                SeekOp::Equal | SeekOp::GreaterOrEqual => at_or_after(model, pair),
                SeekOp::Greater => next(model, Some(pair)),
                SeekOp::LessOrEqual => here_or_before(model, pair),
                SeekOp::Less => prev(model, Some(pair)),
            };
            (to, contains(model, pair))
        }
    };
    match (op, target) {
        (SeekOp::Equal, ModelTarget::Value(pair)) => to_or_stay(is_equal.then(|| pair.clone())),
        (_, ModelTarget::Value(pair)) => to_or_stay(of_key(to, &pair.0)),
        (SeekOp::Equal, _) => (is_equal, to_or_after(to).1),
        (SeekOp::GreaterOrEqual | SeekOp::Greater, _) => to_or_after(to),
        (SeekOp::LessOrEqual | SeekOp::Less, _) => to_or_before(to),
    }
}

fn of_key(other: Option<Pair>, key: &ModelKey) -> Option<Pair> {
    other.filter(|other| other.0 == *key)
}

fn to_or_stay(to: Option<Pair>) -> ExpectedStep {
    (to.is_some(), to.map(CursorPosition::At))
}

fn to_or_after(to: Option<Pair>) -> ExpectedStep {
    to_or(to, CursorPosition::AfterLast)
}

fn to_or_before(to: Option<Pair>) -> ExpectedStep {
    to_or(to, CursorPosition::BeforeFirst)
}

/// The position after a step that finds something or leaves the table.
fn to_or(found: Option<Pair>, otherwise: CursorPosition) -> ExpectedStep {
    (
        found.is_some(),
        Some(found.map_or(otherwise, CursorPosition::At)),
    )
}
