//! Reads on another thread, with handles that own a share of the transaction, and with a detached
//! cursor.

use super::{
    key_range::borrowed,
    operation::OtherThreadRead,
    oracle::TableModel,
    reading::RawTable,
    reads::expect_record,
    shape::ModelValue,
    violation::{ModelResult, ModelViolation, expect_bytes, expect_same},
};
use std::thread;
use teak::{DetachedCursor, OwnedIter, ReadTxn, ValueGuard, codec::Raw};

/// A task for the other thread.
struct OtherThreadTask {
    values: Vec<Option<ValueGuard>>,
    range: OwnedIter<Raw, Raw>,
    txn: ReadTxn,
    cursor: DetachedCursor,
}

/// The result of a task.
type OtherThreadResult = (Vec<Option<Vec<u8>>>, Vec<(Vec<u8>, Vec<u8>)>, Vec<Vec<u8>>);

/// Reads keys, a range from both ends and the whole table backwards, on a thread that has nothing
/// else of the database.
pub(crate) fn perform(
    txn: &ReadTxn,
    table: &RawTable,
    model: &TableModel,
    description: &OtherThreadRead,
) -> ModelResult {
    let values: teak::Result<Vec<_>> = description
        .keys
        .iter()
        .map(|key| table.get_owned(txn, key))
        .collect();
    let luggage = OtherThreadTask {
        values: values?,
        range: table.range(borrowed(&description.range)).owned(txn)?,
        txn: txn.clone(),
        cursor: DetachedCursor::new(table),
    };
    let bits = description.bits;
    let thread = thread::spawn(move || luggage.read(bits));
    let (values, records, keys) = thread
        .join()
        .map_err(|_| ModelViolation::Other("a reading thread panicked".to_owned()))??;
    for (key, value) in description.keys.iter().zip(values) {
        let expected = model.get(key);
        expect_bytes(
            "get_owned",
            value.as_deref(),
            expected.map(ModelValue::bytes),
        )?;
    }
    let mut expected = model.range(&description.range);
    for (step, (key, value)) in records.iter().enumerate() {
        let record = match is_forwards(bits, step) {
            true => expected.next(),
            false => expected.next_back(),
        };
        expect_record("range_owned", Some((key, &value[..])), record)?;
    }
    expect_record::<&[u8]>("after range_owned", None, expected.next())?;
    expect_same("keys of a cursor", keys.len(), model.len())?;
    let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    for (found, (key, _)) in keys.iter().zip(model.range(&all).rev()) {
        expect_bytes("key of a cursor", Some(found), Some(&key))?;
    }
    Ok(())
}

fn is_forwards(bits: u64, step: usize) -> bool {
    bits >> (step % 64) & 1 == 0
}

impl OtherThreadTask {
    fn read(mut self, bits: u64) -> teak::Result<OtherThreadResult> {
        let values = self
            .values
            .iter()
            .map(|value| Some(value.as_ref()?.to_vec()));
        let values = values.collect();
        let mut records = Vec::new();
        loop {
            let record = match is_forwards(bits, records.len()) {
                true => self.range.next(),
                false => self.range.next_back(),
            };
            let Some(record) = record else { break };
            let (key, value) = record?;
            records.push((key, value.to_vec()));
        }
        let mut keys = Vec::new();
        while self.cursor.prev(&self.txn)? {
            keys.push(self.cursor.key().to_vec());
        }
        Ok((values, records, keys))
    }
}
