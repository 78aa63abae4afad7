//! Tables in orders that the application brings.

use super::{engine::Engine, lock, write::printable};
use crate::{
    Error, Result,
    page::key::KeyOrder,
    tree::{PageSource, TreeRoot, disorder::has_disorder, reading::reading},
};

impl Engine {
    /// Refuses a table that is in another order than its comparison says. Each table is looked at once in a process,
    /// when it has records.
    pub(crate) fn refuse_disorder<S: PageSource + ?Sized>(
        &self,
        source: &S,
        root: &TreeRoot,
        (handle, name): (usize, &[u8]),
    ) -> Result<()> {
        let KeyOrder::Custom(comparison) = root.order else {
            return Ok(());
        };
        if root.is_empty() || lock(&self.compared).contains(&handle) {
            return Ok(());
        }
        match reading(source, || has_disorder(source, root)) {
            Ok(false) => {
                lock(&self.compared).insert(handle);
                Ok(())
            }
            Ok(true) => Err(Error::ComparisonMismatch {
                table: printable(name),
                comparison: comparison.name().to_owned(),
            }),
            // What is damaged is told to whoever reads it.
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
