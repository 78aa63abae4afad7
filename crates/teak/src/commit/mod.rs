//! Commits: pipeline, commit state, flushes, deferred commits, and the journal.

pub(crate) mod deferred;
pub(crate) mod flush;
pub(crate) mod flush_target;
pub(crate) mod journal;
pub(crate) mod page_writes;
pub(crate) mod pipeline;
pub(crate) mod state;
pub(crate) mod ticket;
pub(crate) mod written_extents;
