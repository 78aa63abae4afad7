//! Panics of the engine, which are reported as violations.

use crate::Result;
use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, catch_unwind},
};

thread_local! {
    /// The message and location of the last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Records the messages of panics for the report of a violation, and prints nothing.
pub(crate) fn record() {
    panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
}

/// The result of `work`. A panic that ends it is a failure, too.
pub(crate) fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(failure!("the engine panicked: {}", PANIC.take())))
}
