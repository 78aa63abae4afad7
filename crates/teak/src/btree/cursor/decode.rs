//! Decoding at a cursor. A result that is an error only rarely takes as long as the rest of a step
//! if the record is kept in memory because of it, and not in registers. So the error is in a box.

use super::TreeCursor;
use crate::{
    Result,
    btree::{PageSource, reading::unreadable},
    error::{BoxedError, boxed},
};

impl<'s, S: PageSource + ?Sized> TreeCursor<'s, S> {
    /// Applies `decode` to the value of the current record.
    #[inline(always)]
    pub(crate) fn decode<V>(
        &self,
        decode: impl FnOnce(&'s [u8]) -> Result<V, BoxedError>,
    ) -> Result<V, BoxedError> {
        let before = self.faults.count();
        let value = match self.value() {
            Ok(value) => value,
            Err(error) => return Err(self.fault_or(before, boxed(error))),
        };
        match decode(value) {
            Ok(decoded) if !self.faults.are_more_than(before) => Ok(decoded),
            Ok(_) => Err(self.fault()),
            Err(error) => Err(self.fault_or(before, error)),
        }
    }

    /// The error for a fault that there was since `before`, and otherwise `error`.
    #[cold]
    pub(in crate::btree) fn fault_or(&self, before: u64, error: BoxedError) -> BoxedError {
        match self.faults.are_more_than(before) {
            true => self.fault(),
            false => error,
        }
    }

    /// The error for data that could not be read.
    #[cold]
    pub(crate) fn fault(&self) -> BoxedError {
        boxed(unreadable(self.faults, self.source.page_size()))
    }
}
