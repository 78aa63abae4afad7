//! The log of changes to the free-space map since its last checkpoint: bytes in the commit record.
//!
//! A log is a sequence of groups, one for each commit. Right after a checkpoint there is also one
//! for each transaction whose deaths the checkpoint left in the log. All numbers are varints: 7
//! bits in a byte, the lowest first, the highest bit set if more follow, at most 10 bytes.
//!
//! | field of a group | meaning |
//! |---|---|
//! | transaction | its id, minus that of the group before (minus 0 for the first); at least 1 |
//! | count of taken extents | |
//! | for each: gap, len | pages between the end of the extent before (0 for the first) and its start; pages |
//! | count of deaths | |
//! | for each: age, start, len | the group's transaction minus the birth, at least 1; first page; pages |
//!
//! Pages that became free again are in no group: they follow from the pins.

use crate::{
    page::deaths::Death,
    types::{Extent, TransactionId},
};

/// The extents that one transaction allocated, and those it no longer uses.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct LogGroup {
    pub(super) taken: Vec<Extent>,
    pub(super) deaths: Vec<Death>,
}

/// Appends a group. `previous` is the transaction of the group before.
///
/// The callers in this crate ensure that `taken` is sorted and that `transaction` is after
/// `previous`.
pub(super) fn append(
    log: &mut Vec<u8>,
    previous: TransactionId,
    transaction: TransactionId,
    taken: &[Extent],
    deaths: impl ExactSizeIterator<Item = (Extent, TransactionId)>,
) {
    assert!(
        transaction > previous,
        "groups of the space log are in the order of commits"
    );
    put(log, transaction.0 - previous.0);
    put(log, taken.len() as u64);
    let mut end = 0;
    for extent in taken {
        assert!(
            u64::from(extent.start.0) >= end,
            "taken extents are sorted and apart"
        );
        assert!(extent.len > 0, "a taken extent has pages");
        put(log, u64::from(extent.start.0) - end);
        put(log, u64::from(extent.len));
        end = extent.end();
    }
    put(log, deaths.len() as u64);
    for (extent, birth) in deaths {
        assert!(
            birth < transaction,
            "{extent:?} dies in the transaction it was born in"
        );
        assert!(extent.len > 0, "a dead extent has pages");
        put(log, transaction.0 - birth.0);
        put(log, u64::from(extent.start.0));
        put(log, u64::from(extent.len));
    }
}

/// Maximum bytes of a death, with its share of the beginning of a group.
pub(super) fn death_len_max(death: &Death) -> usize {
    let group = varint_len(death.died.0) + 2;
    group
        + varint_len(death.died.0 - death.birth.0)
        + varint_len(u64::from(death.extent.start.0))
        + varint_len(u64::from(death.extent.len))
}

/// Typical bytes of a death.
pub(super) const DEATH_LEN_TYPICAL: usize = 12;

/// Maximum bytes of an allocated extent.
pub(super) const TAKEN_LEN_MAX: usize = 10;

/// Decodes a whole log: its groups and the transaction of the last one.
pub(super) fn decode(log: &[u8]) -> Result<(Vec<LogGroup>, TransactionId), &'static str> {
    let groups = groups(log, TransactionId(0))?;
    let last = groups.last().map_or(TransactionId(0), |(last, _)| *last);
    Ok((groups.into_iter().map(|(_, group)| group).collect(), last))
}

/// Decodes a log, or the end of a log after a group of this transaction: its groups and their
/// transactions.
pub(super) fn groups(
    log: &[u8],
    previous: TransactionId,
) -> Result<Vec<(TransactionId, LogGroup)>, &'static str> {
    let mut rest = LogReader { bytes: log };
    let mut groups = Vec::new();
    let mut transaction = previous.0;
    while !rest.bytes.is_empty() {
        transaction = rest
            .positive()?
            .checked_add(transaction)
            .ok_or(IMPOSSIBLE_NUMBER)?;
        groups.push((TransactionId(transaction), rest.group(transaction)?));
    }
    Ok(groups)
}

const IMPOSSIBLE_NUMBER: &str = "the space log has an impossible number";
const SHORT: &str = "the space log ends in the middle of a group";

struct LogReader<'a> {
    bytes: &'a [u8],
}

impl LogReader<'_> {
    fn group(&mut self, transaction: u64) -> Result<LogGroup, &'static str> {
        let mut taken = Vec::new();
        let mut end = 0u64;
        for _ in 0..self.varint()? {
            let start = self.varint()?.checked_add(end).ok_or(IMPOSSIBLE_NUMBER)?;
            let extent = self.extent_at(start)?;
            end = extent.end();
            taken.push(extent);
        }
        let mut deaths = Vec::new();
        for _ in 0..self.varint()? {
            let birth = transaction
                .checked_sub(self.positive()?)
                .ok_or(IMPOSSIBLE_NUMBER)?;
            let start = self.varint()?;
            deaths.push(Death {
                extent: self.extent_at(start)?,
                birth: TransactionId(birth),
                died: TransactionId(transaction),
            });
        }
        Ok(LogGroup { taken, deaths })
    }

    fn extent_at(&mut self, start: u64) -> Result<Extent, &'static str> {
        let len = self.positive()?;
        match (u32::try_from(start), u32::try_from(len)) {
            (Ok(first), Ok(count)) if start + len <= 1 << 32 => Ok(Extent::new(first, count)),
            _ => Err(IMPOSSIBLE_NUMBER),
        }
    }

    fn positive(&mut self) -> Result<u64, &'static str> {
        self.varint().and_then(|value| {
            if value == 0 {
                Err(IMPOSSIBLE_NUMBER)
            } else {
                Ok(value)
            }
        })
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(SHORT)?;
            self.bytes = rest;
            let low = u64::from(byte & 0x7f);
            if low << shift >> shift != low {
                return Err(IMPOSSIBLE_NUMBER);
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(IMPOSSIBLE_NUMBER)
    }
}

fn put(log: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        log.push(value as u8 | 0x80);
        value >>= 7;
    }
    log.push(value as u8);
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests;
