//! Commits: the pipeline of one commit, what is written, flushed and visible, the flushes that threads share, the
//! journal of small commits, and tickets.

pub(crate) mod deferred;
pub(crate) mod flush;
pub(crate) mod flush_target;
pub(crate) mod journal;
pub(crate) mod page_writes;
pub(crate) mod pipeline;
pub(crate) mod state;
pub(crate) mod ticket;
pub(crate) mod written_extents;
