//! Write batches, which are the records of a log.

use super::{entry::EntryVersion, parser::Parser};

/// Sequence numbers have 56 bits.
const SEQUENCE_MAX: u64 = (1 << 56) - 1;
const PUT: u8 = 1;
const DELETE: u8 = 0;

/// Calls `each` with the key, the version and the value of each entry of a batch.
///
/// # Errors
///
/// A description of the damage, if the batch is malformed, or the error of `each`.
pub(super) fn for_each<E: From<&'static str>>(
    batch: &[u8],
    mut each: impl FnMut(&[u8], EntryVersion, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = Parser(batch);
    let (Some(first), Some(count)) = (rest.u64(), rest.u32()) else {
        return Err("a batch is shorter than its header".into());
    };
    for index in 0..u64::from(count) {
        let sequence = first.checked_add(index);
        let sequence = sequence.filter(|sequence| *sequence <= SEQUENCE_MAX);
        let sequence = sequence.ok_or("a batch has an impossible sequence number")?;
        let kind = rest.u8().ok_or("a batch has fewer entries than it says")?;
        let key = match kind {
            PUT | DELETE => rest.string(),
            _ => return Err("a batch has an entry of an unknown kind".into()),
        };
        let value = match kind {
            PUT => rest.string(),
            _ => Some(&[][..]),
        };
        let (Some(key), Some(value)) = (key, value) else {
            return Err("an entry of a batch is longer than the batch".into());
        };
        let version =
            EntryVersion::new(sequence, kind).ok_or("a batch has an entry of an unknown kind")?;
        each(key, version, value)?;
    }
    match rest.is_empty() {
        true => Ok(()),
        false => Err("a batch has more entries than it says".into()),
    }
}
