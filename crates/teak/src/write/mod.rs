//! The write transaction: its pages, savepoints, catalog and named snapshots.

pub(crate) mod begin;
pub(crate) mod commit_and_continue;
pub(crate) mod event_delivery;
pub(crate) mod expiring;
pub(crate) mod marks;
pub(crate) mod merge;
pub(crate) mod named;
pub(crate) mod named_edits;
pub(crate) mod open_table;
pub(crate) mod ordered;
pub(crate) mod pages;
pub(crate) mod prepared;
pub(crate) mod rollback;
pub(crate) mod savepoint;
pub(crate) mod savepoint_state;
pub(crate) mod small;
pub(crate) mod small_commit;
mod tables;
pub(crate) mod transaction;
pub(crate) mod transaction_status;
pub(crate) mod transaction_timing;
