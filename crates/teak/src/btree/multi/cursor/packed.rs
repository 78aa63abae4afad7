//! Reading values that are stored one after the other, many at a time.

use super::{PairCursor, ValueCursor};
use crate::{
    Result,
    btree::{
        PageSource,
        cursor::TreeCursor,
        multi::WRONG_LEN,
        reading::{fault_in, reading_from},
    },
};

/// The smallest unit that the disk either delivers or fails to deliver.
const SYSTEM_PAGE: usize = 4096;

impl<'s, S: PageSource + ?Sized> PairCursor<'s, S> {
    /// The values from here to the end of their set or page, concatenated, if they have one size.
    pub(crate) fn packed(&self) -> Result<Option<&'s [u8]>> {
        let pack = |values: &'s [u8], at: usize| values.get(at..);
        self.pack(pack, |cursor| cursor.packed_keys())
    }

    /// The values from the beginning of their set or page to here, concatenated, if they have one
    /// size.
    pub(crate) fn packed_back(&self) -> Result<Option<&'s [u8]>> {
        let size = usize::from(self.root().kind.value_size);
        let pack = |values: &'s [u8], at: usize| values.get(..at + size);
        self.pack(pack, |cursor| cursor.packed_keys_back())
    }

    fn pack(
        &self,
        of_set: impl FnOnce(&'s [u8], usize) -> Option<&'s [u8]>,
        of_tree: impl FnOnce(&TreeCursor<'s, S>) -> Option<&'s [u8]>,
    ) -> Result<Option<&'s [u8]>> {
        let size = usize::from(self.root().kind.value_size);
        let values = match &self.inner {
            _ if size == 0 => None,
            ValueCursor::Nowhere => None,
            ValueCursor::One(value) => Some(*value),
            ValueCursor::Set(set, index) => {
                set.packed().and_then(|values| of_set(values, index * size))
            }
            ValueCursor::Tree(cursor) => match of_tree(cursor) {
                Some(values) if cursor.key().len() == size => Some(values),
                _ => {
                    let record = cursor.position().record();
                    let page = record.map_or(cursor.root().page, |(page, _)| page);
                    return Err(WRONG_LEN.at(page, "scan"));
                }
            },
        };
        let (faults, page_size) = (self.source().faults(), self.source().page_size());
        reading_from(faults, page_size, || {
            values
                .unwrap_or_default()
                .chunks(SYSTEM_PAGE)
                .for_each(fault_in);
            Ok(values)
        })
    }

    /// Moves to the last of the values that [`PairCursor::packed`] returned.
    pub(crate) fn skip_packed(&mut self, values: Option<&[u8]>) -> Result<()> {
        let steps = self.step_count(values);
        match &mut self.inner {
            ValueCursor::Set(_, index) => *index += steps,
            ValueCursor::Tree(cursor) => drop(cursor.skip(steps as i64)?),
            ValueCursor::Nowhere | ValueCursor::One(_) => {}
        }
        Ok(())
    }

    /// Moves to the first of the values that [`PairCursor::packed_back`] returned.
    pub(crate) fn skip_packed_back(&mut self, values: Option<&[u8]>) -> Result<()> {
        let steps = self.step_count(values);
        match &mut self.inner {
            ValueCursor::Set(_, index) => *index -= steps,
            ValueCursor::Tree(cursor) => drop(cursor.skip(-(steps as i64))?),
            ValueCursor::Nowhere | ValueCursor::One(_) => {}
        }
        Ok(())
    }

    /// The number of steps from one end of packed values to the other.
    fn step_count(&self, values: Option<&[u8]>) -> usize {
        let size = usize::from(self.root().kind.value_size).max(1);
        values.map_or(0, |values| (values.len() / size).saturating_sub(1))
    }
}
