//! Pages that died in a transaction, as sorted runs.

use crate::{PageNumber, Run, TransactionId};

/// Deaths, sorted and with neighbours of the same birth as one.
pub(super) fn joined(deaths: &[(Run, TransactionId)]) -> Vec<(Run, TransactionId)> {
    let mut sorted = deaths.to_vec();
    sorted.sort_unstable_by_key(|(run, _)| run.start);
    let mut joined: Vec<(Run, TransactionId)> = Vec::with_capacity(sorted.len());
    for (run, birth) in sorted {
        match joined.last_mut() {
            Some((last, same)) if *same == birth && last.end() == u64::from(run.start.0) => {
                last.len += run.len;
            }
            _ => joined.push((run, birth)),
        }
    }
    joined
}

/// Whether a page is in one of the runs, which are sorted.
pub(super) fn contains(deaths: &[(Run, TransactionId)], number: PageNumber) -> bool {
    let behind = deaths.partition_point(|(run, _)| run.start <= number);
    deaths[..behind]
        .last()
        .is_some_and(|(run, _)| u64::from(number.0) < run.end())
}
