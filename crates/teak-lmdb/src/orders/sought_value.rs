//! Guards that set the values a call of the client passes, for the comparisons in this thread.

use super::passed::{PASSED, PassedValue, RANKS};
use crate::{border::Value, compare::ComparisonScope, handles::OpenDatabase};
use std::collections::HashMap;

/// While this guard exists, the client's comparison receives the client's value where the engine
/// compares the bytes of that value.
#[derive(Debug)]
pub(crate) struct SoughtValue {
    of: ComparisonScope,
    /// The value of the outer call, whose comparison made this call.
    before: Option<PassedValue>,
}

impl SoughtValue {
    /// `None` if the table is not in an order of the client's. `value` and `bytes` must outlive the
    /// guard.
    #[inline]
    pub(crate) fn new(
        open: &OpenDatabase,
        of: ComparisonScope,
        value: &Value,
        bytes: &[u8],
    ) -> Option<Self> {
        open.order(of)?;
        let passed = PassedValue { value, bytes };
        let before = PASSED.with(|all| all[of as usize].replace(Some(passed)));
        Some(Self { of, before })
    }
}

impl Drop for SoughtValue {
    fn drop(&mut self) {
        PASSED.with(|all| all[self.of as usize].set(self.before));
    }
}

/// While this guard exists, the values of one key are compared by their ranks. This is for clients
/// whose comparison reads the passed value instead of the bytes, and so cannot compare two stored
/// values.
#[derive(Debug)]
pub(crate) struct RankComparison {
    /// The ranks of the outer call, whose comparison made this call.
    before: Option<HashMap<Vec<u8>, usize>>,
}

impl RankComparison {
    /// Compares by the order of these values.
    pub(crate) fn new(values: Vec<Vec<u8>>) -> Self {
        let ranks = values.into_iter().enumerate();
        let ranks = ranks.map(|(rank, value)| (value, rank)).collect();
        let before = RANKS.replace(Some(ranks));
        Self { before }
    }
}

impl Drop for RankComparison {
    fn drop(&mut self) {
        RANKS.set(self.before.take());
    }
}
