//! The subcommands, one file each: its arguments, and `run`.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod del;
pub(crate) mod diff;
pub(crate) mod dump;
mod expiry;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod key;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod page;
pub(crate) mod prepared;
pub(crate) mod put;
pub(crate) mod readers;
pub(crate) mod restore;
pub(crate) mod salvage;
pub(crate) mod scan;
pub(crate) mod snapshot;
mod staging;
pub(crate) mod stat;
pub(crate) mod table;
pub(crate) mod tables;
