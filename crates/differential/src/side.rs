//! An engine as the runner sees it.

use crate::operation::{Answer, Direction, Operation, ReadView, TableIndex};

/// An engine that performs scripts. The runner only requests operations that are valid in the
/// present state.
pub(crate) trait TestedEngine {
    /// Performs an operation.
    fn perform(&mut self, operation: &Operation) -> Answer;

    /// All records of a table, concatenated in the form of
    /// [`append_record`](crate::operation::append_record).
    fn records(
        &mut self,
        view: ReadView,
        table: TableIndex,
        direction: Direction,
        records: &mut Vec<u8>,
    ) -> Answer;
}
