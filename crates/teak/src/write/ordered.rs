//! Tables in key orders that the application supplies.

use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        disorder::{has_disorder, values_have_disorder},
        reading::reading,
    },
    page::key::KeyOrder,
};
use crate::{instance::engine::Engine, read::catalog::printable};

impl Engine {
    /// Refuses a table whose order contradicts its comparison. Each table is checked once per
    /// process, when it has records.
    pub(crate) fn refuse_disorder<S: PageSource + ?Sized>(
        &self,
        source: &S,
        root: &TreeRoot,
        (handle, name): (usize, &[u8]),
    ) -> Result<()> {
        let comparison_of = |order: Option<KeyOrder>| match order {
            Some(KeyOrder::Custom(comparison)) => Some(comparison),
            _ => None,
        };
        let of_keys = comparison_of(Some(root.order));
        let of_values = comparison_of(root.kind.values);
        let is_plain = of_keys.is_none() && of_values.is_none();
        if is_plain || root.is_empty() || self.tables.is_compared(handle) {
            return Ok(());
        }
        let wrong = reading(source, || {
            if of_keys.is_some() && has_disorder(source, root)? {
                return Ok(of_keys);
            }
            if of_values.is_some() && values_have_disorder(source, root)? {
                return Ok(of_values);
            }
            Ok(None)
        });
        match wrong {
            Ok(None) => {
                self.tables.note_compared(handle);
                Ok(())
            }
            Ok(Some(comparison)) => Err(Error::ComparisonMismatch {
                table: printable(name),
                comparison: comparison.name().to_owned(),
            }),
            // Damage is reported when the damaged page is read.
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
