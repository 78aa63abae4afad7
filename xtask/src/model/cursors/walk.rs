//! Walks through one state of a table, by a cursor that borrows its transaction.

use super::{
    expected::{expected, expected_packed, expected_records},
    packed_direction,
    positions::{contains, next, prev, value_of, values},
    steps::{CursorPosition, CursorRead, CursorStep},
};
use crate::model::{
    oracle::AnyModel,
    violation::{ModelResult, expect_bytes, expect_same},
};
use teak::{Cursor, KeyStep, Transaction, codec::Raw};

/// A cursor of the engine, and its expected position.
struct Walker<'m, 't> {
    cursor: Cursor<'t>,
    model: &'m AnyModel,
    position: CursorPosition,
    /// Whether a search found nothing. Then the cursor is on no record, but not at an end either.
    is_lost: bool,
}

/// Steps through the table `name`, which holds `model`, and reads something at the last position.
pub(crate) fn perform<T: Transaction>(
    txn: &T,
    name: &[u8],
    model: &AnyModel,
    (steps, read): &(Vec<CursorStep>, CursorRead),
) -> ModelResult {
    let cursor = match model {
        AnyModel::Plain(_) => txn.open_table::<Raw, Raw>(name)?.cursor(txn)?,
        AnyModel::Multi(_) => txn.open_multi_table::<Raw, Raw>(name)?.cursor(txn)?,
    };
    let mut walker = Walker {
        cursor,
        model,
        position: CursorPosition::Nowhere,
        is_lost: false,
    };
    steps.iter().try_for_each(|step| walker.step(step))?;
    walker.read(read)
}

impl Walker<'_, '_> {
    fn step(&mut self, step: &CursorStep) -> ModelResult {
        let step = match step {
            CursorStep::Next | CursorStep::NextKey if self.is_lost => &CursorStep::First,
            CursorStep::Prev | CursorStep::PrevKey if self.is_lost => &CursorStep::Last,
            step => step,
        };
        let Some(found) = go(&mut self.cursor, step)? else {
            return Ok(());
        };
        let (is_found, to) = expected(&self.position, self.model, step);
        expect_same(&format!("{step:?} of a walk"), found, is_found)?;
        let stays = matches!(
            step,
            CursorStep::NextValue
                | CursorStep::PrevValue
                | CursorStep::FirstValue
                | CursorStep::LastValue
        );
        match to {
            Some(to) => (self.position, self.is_lost) = (to, false),
            None if stays => {}
            None => (self.position, self.is_lost) = (CursorPosition::Nowhere, true),
        }
        self.verify()
    }

    fn read(&mut self, read: &CursorRead) -> ModelResult {
        match read {
            _ if self.is_lost => {}
            CursorRead::Records { count, .. } => {
                let mut seen = Vec::new();
                let note = |key: &[u8], value: &[u8]| seen.push((key.to_vec(), value.to_vec()));
                let is_more = self.cursor.read_batch(*count, note)?;
                let to = expected_records(self.model, &self.position, false, (&seen, *count))?;
                expect_same("whether there are more", is_more, to.is_some())?;
                self.position = to.map_or(CursorPosition::AfterLast, CursorPosition::At);
            }
            CursorRead::Packed { is_back } => {
                let packed = self.cursor.read_packed(packed_direction(*is_back))?;
                if let Some(pair) = expected_packed(self.model, &self.position, *is_back, packed)? {
                    self.position = CursorPosition::At(pair);
                }
            }
        }
        self.verify()
    }

    /// Compares the position of the cursor with the model.
    fn verify(&self) -> ModelResult {
        let CursorPosition::At(pair) = &self.position else {
            return expect_same(
                "whether it is on a record",
                self.cursor.is_on_record(),
                false,
            );
        };
        let (model, key) = (self.model, self.cursor.key());
        expect_same("whether it is there", contains(model, pair), true)?;
        expect_bytes("key of a walk", Some(key), Some(&pair.0))?;
        let value = Some(self.cursor.value()?);
        expect_bytes("value of a walk", value, Some(value_of(model, pair)))?;
        let ends = [
            prev(model, Some(pair)).is_none(),
            next(model, Some(pair)).is_none(),
        ];
        let (cursor, at) = (&self.cursor, self.cursor.ends());
        let is_at_end = [at.is_first, at.is_last];
        expect_same("whether it is at an end", is_at_end, ends)?;
        let all = values(model, &pair.0);
        expect_same("count of a walk", cursor.count(), all.len() as u64)?;
        let of_key = [at.is_first_value, at.is_last_value];
        let ends = [all.first(), all.last()].map(|end| end == Some(&pair.1));
        expect_same("whether it is at an end of its key", of_key, ends)
    }
}

/// Whether a step finds its target; `None` if there is no such step.
fn go(cursor: &mut Cursor<'_>, step: &CursorStep) -> ModelResult<Option<bool>> {
    let found = match step {
        CursorStep::First => cursor.first(),
        CursorStep::Last => cursor.last(),
        CursorStep::Next => cursor.next(),
        CursorStep::Prev => cursor.prev(),
        CursorStep::Current => return Ok(None),
        CursorStep::NextKey => cursor.step(KeyStep::NextKey),
        CursorStep::PrevKey => cursor.step(KeyStep::PrevKey),
        CursorStep::NextValue => cursor.step(KeyStep::NextValue),
        CursorStep::PrevValue => cursor.step(KeyStep::PrevValue),
        CursorStep::FirstValue => cursor.step(KeyStep::FirstValue),
        CursorStep::LastValue => cursor.step(KeyStep::LastValue),
        CursorStep::Seek(op, target) => cursor.seek(*op, target.as_target()),
    };
    Ok(Some(found?))
}
