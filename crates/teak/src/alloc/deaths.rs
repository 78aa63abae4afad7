//! Pages that died in a transaction, as sorted extents.

use crate::{Extent, PageNumber, TransactionId};

/// Sorts deaths, and joins neighbours of the same birth.
pub(crate) fn joined(deaths: &[(Extent, TransactionId)]) -> Vec<(Extent, TransactionId)> {
    let mut sorted = deaths.to_vec();
    sorted.sort_unstable_by_key(|(extent, _)| extent.start);
    let mut joined: Vec<(Extent, TransactionId)> = Vec::with_capacity(sorted.len());
    for (extent, birth) in sorted {
        match joined.last_mut() {
            Some((last, same)) if *same == birth && last.end() == u64::from(extent.start.0) => {
                last.len += extent.len;
            }
            _ => joined.push((extent, birth)),
        }
    }
    joined
}

/// Whether a page is in one of the extents, which are sorted.
pub(crate) fn contains(deaths: &[(Extent, TransactionId)], number: PageNumber) -> bool {
    let later = deaths.partition_point(|(extent, _)| extent.start <= number);
    deaths[..later]
        .last()
        .is_some_and(|(extent, _)| u64::from(number.0) < extent.end())
}
