//! Panics of the engine, which are violations and are told as such.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe, catch_unwind},
};

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what a panic says for the report of the violation, and prints nothing else about it.
pub(crate) fn keep() {
    panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
}

/// What `work` returns, or what the panic said that ended it.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| PANIC.take())
}
