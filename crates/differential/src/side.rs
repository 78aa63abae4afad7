//! An engine as the runner sees it.

use crate::operation::{Answer, Direction, Operation, ReadView, TableIndex};

/// An engine that performs scripts. The runner asks only for what can be done in the state that both are in.
pub(crate) trait TestedEngine {
    /// Performs an operation.
    fn perform(&mut self, operation: &Operation) -> Answer;

    /// All records of a table, one behind the other in the form of [`append_record`](crate::operation::append_record).
    fn records(
        &mut self,
        view: ReadView,
        table: TableIndex,
        direction: Direction,
        records: &mut Vec<u8>,
    ) -> Answer;
}
