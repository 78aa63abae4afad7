//! Guards that set the values a call of the client passes, for the comparisons in this thread.

use super::passed::{PASSED, PassedValue, RANKS};
use crate::{
    border::Value, codes::CallResult, compare::ComparisonScope, handles::OpenDatabase,
    untracked_cursor::UntrackedCursor,
};
use std::collections::HashMap;

/// As long as this lives, the client's comparison is given the client's value where the engine compares certain bytes.
#[derive(Debug)]
pub(crate) struct SoughtValue {
    of: ComparisonScope,
    /// The values of the outer call, whose comparison made this call.
    before: Option<PassedValue>,
}

impl SoughtValue {
    /// `None` where the table is not in an order of the client's. `value` and `bytes` have to
    /// outlive the guard.
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

/// While this lives, the values of one key are compared by their ranks. This is for clients whose
/// comparison looks at the passed value instead of the bytes, and so cannot compare two stored
/// values.
#[derive(Debug)]
pub(crate) struct RankComparison {
    /// The ranks of the outer call, whose comparison made this call.
    before: Option<HashMap<Vec<u8>, usize>>,
}

impl RankComparison {
    /// The values of the key that a walk is on.
    pub(crate) fn of(mut walk: UntrackedCursor) -> CallResult<Self> {
        let mut ranks = HashMap::new();
        walk.first_value()?;
        loop {
            ranks.insert(walk.value()?.to_vec(), ranks.len());
            if !walk.next_value()? {
                break;
            }
        }
        let before = RANKS.replace(Some(ranks));
        Ok(Self { before })
    }
}

impl Drop for RankComparison {
    fn drop(&mut self) {
        RANKS.set(self.before.take());
    }
}
