//! Coordination with other processes that have the database open: attaching, the cross-process
//! writer lock, and waiting for their commits.

pub(crate) mod attach;
pub(crate) mod commit_future;
pub(crate) mod wait_for_commits;
pub(crate) mod writer_lock;
