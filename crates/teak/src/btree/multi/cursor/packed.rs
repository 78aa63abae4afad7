//! Reading values that are stored one after the other, many at a time.

use super::{PairCursor, ValueCursor};
use crate::{
    Result,
    btree::{
        PageSource,
        multi::WRONG_LEN,
        position::Direction,
        reading::{fault_in, reading_from},
    },
};

/// The smallest unit that the disk either delivers or fails to deliver.
const SYSTEM_PAGE: usize = 4096;

impl<'s, S: PageSource + ?Sized> PairCursor<'s, S> {
    /// Returns the values from here to the end of their set or page in a direction, concatenated in
    /// their order, and moves to the farthest. `None` if the cursor is not on a pair, or if the
    /// values have no fixed size.
    pub(crate) fn read_packed(&mut self, direction: Direction) -> Result<Option<&'s [u8]>> {
        let values = self.packed(direction)?;
        self.skip_packed(values, direction)?;
        Ok(values)
    }

    /// The values from here to the end of their set or page in a direction, concatenated in their
    /// order, if they have one size.
    pub(crate) fn packed(&self, direction: Direction) -> Result<Option<&'s [u8]>> {
        let size = usize::from(self.root().kind.value_size);
        let values = match &self.inner {
            _ if size == 0 => None,
            ValueCursor::Only | ValueCursor::Nowhere => None,
            ValueCursor::One(value) => Some(*value),
            ValueCursor::Set(set, index) => {
                let at = index * size;
                set.packed().and_then(|values| match direction {
                    Direction::Forward => values.get(at..),
                    Direction::Backward => values.get(..at + size),
                })
            }
            ValueCursor::Tree(cursor) => match cursor.packed_keys(direction) {
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

    /// Moves to the farthest of the values that [`PairCursor::packed`] returned.
    pub(crate) fn skip_packed(
        &mut self,
        values: Option<&[u8]>,
        direction: Direction,
    ) -> Result<()> {
        let size = usize::from(self.root().kind.value_size).max(1);
        let steps = values.map_or(0, |values| (values.len() / size).saturating_sub(1));
        match (&mut self.inner, direction) {
            (ValueCursor::Set(_, index), Direction::Forward) => *index += steps,
            (ValueCursor::Set(_, index), Direction::Backward) => *index -= steps,
            (ValueCursor::Tree(cursor), Direction::Forward) => drop(cursor.skip(steps as i64)?),
            (ValueCursor::Tree(cursor), Direction::Backward) => drop(cursor.skip(-(steps as i64))?),
            _ => {}
        }
        Ok(())
    }
}
