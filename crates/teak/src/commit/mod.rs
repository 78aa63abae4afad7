//! Commits: the pipeline, the commit state, group commit, flushes, failures, and the journal.
//!
//! | file | contents |
//! |---|---|
//! | `pipeline.rs`, `pipeline/` | the steps of a commit, and the parts of the write transaction that they need |
//! | `committer.rs` | the committer of a database, and which file has which part of it |
//! | `state.rs`, `state/` | what is written, deferred, flushed, durable and visible; all transitions |
//! | `state_lock.rs` | the lock of the state, and its conditions |
//! | `deferred.rs`, `flush_target.rs`, `ticket.rs`, `wakers.rs` | what the state and the committer pass on |
//! | `disk.rs` | writing pages and records, and flushing |
//! | `journal.rs`, `journal/` | entries that make small commits durable before their pages are on the disk |
//! | `written_extents.rs` | what a record lists for recovery to verify |

mod background;
mod close;
pub(crate) mod committer;
pub(crate) mod deferred;
pub(crate) mod disk;
mod failure;
mod flush;
pub(crate) mod flush_target;
mod group;
pub(crate) mod journal;
mod pins;
pub(crate) mod pipeline;
pub(crate) mod state;
pub(crate) mod state_lock;
pub(crate) mod ticket;
mod wakers;
mod write_commit;
pub(crate) mod written_extents;
