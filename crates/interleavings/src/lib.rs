//! Every interleaving of the code by which Teak's processes share memory, explored with `loom`.
//!
//! The code is that of the engine, file by file; only the words that it is built on are others here: few of
//! them, and such that `loom` sees each access. `cargo test --release --package interleavings` runs all.

#![cfg(test)]
#![allow(dead_code)]

#[path = "../../teak/src/share/notify.rs"]
mod notifier;
mod notify_tests;
#[path = "../../teak/src/share/readers.rs"]
mod readers;
mod readers_tests;
mod words;
