//! The reader of databases for WebAssembly: functions with numbers as arguments, which
//! `web/teak.mjs` wraps.
//!
//! A module has one database open at a time. Each function returns 0 and leaves its answer, JSON,
//! where `teak_answer` finds it; after an error it returns 1, and the answer is the text of the
//! error.

mod answers;
#[cfg(target_family = "wasm")]
#[allow(unreachable_pub)] // The host of the module calls them.
mod exports;

pub use answers::{Answers, RecordsFrom};
