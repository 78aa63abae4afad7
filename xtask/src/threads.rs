//! Work that several threads share.

use crate::Failure;
use std::thread;

/// How many threads the machine has a use for.
pub(crate) fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Has as many threads do `work`, each until there is none left, and waits for all of them.
pub(crate) fn share(work: impl Fn() -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count()).map(|_| scope.spawn(&work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| Failure("a thread panicked".to_owned()))?
        })
    })
}
