//! Shrinks a script that shows a difference.

use crate::operation::Operation;
use anyhow::Result;

/// The maximum number of attempts.
const TRIES_MAX: usize = 3000;

/// A script that still shows the difference, with operations removed: first half of them at once,
/// then fewer and fewer.
pub(crate) fn smallest(
    operations: &[Operation],
    mut shows: impl FnMut(&[Operation]) -> Result<bool>,
) -> Result<Vec<Operation>> {
    let mut best = operations.to_vec();
    let mut tries = 0;
    let mut step = best.len().div_ceil(2);
    while step > 0 {
        let mut begin = 0;
        let mut is_smaller = false;
        while begin < best.len() && tries < TRIES_MAX {
            let end = (begin + step).min(best.len());
            let without = [&best[..begin], &best[end..]].concat();
            tries += 1;
            match shows(&without)? {
                true => (best, is_smaller) = (without, true),
                false => begin = end,
            }
        }
        if step > 1 || !is_smaller || tries >= TRIES_MAX {
            step /= 2;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unneeded_operations_are_removed() -> Result<()> {
        let operations: Vec<_> = (0..100).map(Operation::OpenReader).collect();
        let needed = [Operation::OpenReader(17), Operation::OpenReader(71)];
        let smallest = smallest(&operations, |operations| {
            Ok(needed.iter().all(|needed| operations.contains(needed)))
        })?;
        assert_eq!(smallest, needed);
        Ok(())
    }
}
