//! Explores every interleaving of the code by which Teak's processes and threads share memory, with
//! `loom`.
//!
//! The code is that of the engine, file by file. Only the shared words are replaced, by a few words
//! whose accesses `loom` observes. `cargo test --release --package interleavings` runs everything.

#![cfg(test)]
// A feature of the engine is not one of this crate.
#![allow(dead_code, unexpected_cfgs)]

#[path = "../../teak/src/io/frames/frame_table.rs"]
mod frame_table;
mod frames_tests;
#[path = "../../teak/src/share/lock.rs"]
mod lock;
mod lock_tests;
#[path = "../../teak/src/share/notify.rs"]
mod notifier;
mod notify_tests;
#[path = "../../teak/src/share/readers.rs"]
mod readers;
mod readers_tests;
mod words;
