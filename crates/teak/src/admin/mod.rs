//! Checking, copying and observing a database.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod check_audit;
pub(crate) mod check_report;
pub(crate) mod copy_length;
pub(crate) mod delta;
mod expiry_check;
mod named_state_audit;
pub(crate) mod page_usage;
pub(crate) mod page_walk;
pub(crate) mod salvage;
pub(crate) mod verified_copy;
pub(crate) mod warm_up;
