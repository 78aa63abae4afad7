//! Shrinks a script that shows a difference.

use anyhow::Result;

/// The maximum number of attempts.
const TRIES_MAX: usize = 3000;

/// A script that still shows the difference, with operations removed: first half of them at once,
/// then fewer and fewer.
///
/// # Errors
///
/// Those of `shows`, which says whether a script shows a difference.
pub fn smallest<T: Clone>(
    operations: &[T],
    mut shows: impl FnMut(&[T]) -> Result<bool>,
) -> Result<Vec<T>> {
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
        let operations: Vec<_> = (0..100).collect();
        let needed = [17, 71];
        let smallest = smallest(&operations, |operations| {
            Ok(needed.iter().all(|needed| operations.contains(needed)))
        })?;
        assert_eq!(smallest, needed);
        Ok(())
    }
}
