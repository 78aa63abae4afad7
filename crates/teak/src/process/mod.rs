//! Other processes that have the database open: attaching, the writer lock between processes, and waiting for their commits.

pub(crate) mod attach;
pub(crate) mod wait_for_commits;
pub(crate) mod writer_lock;
