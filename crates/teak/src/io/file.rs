//! The real file.
//!
//! Invariants:
//!
//! 1. The handle holds the lock on the file, exclusive unless it only reads. The length kept here
//!    is therefore the file's length, except for bytes that were allocated [`ahead`] or that other
//!    processes added for aborted transactions. Mappings hold the lock too, and may outlive the
//!    storage.
//! 2. The length is published to mappings after the file grew and before it shrinks.
//! 3. Locks are taken in the order `growth`, `views`.

mod access;
mod ahead;
mod blocks;
mod copied_up;
mod creation;
mod ephemeral;
mod file_storage;
mod folios;
mod name;
mod opening;
mod vectored;

pub use access::Create;
pub(crate) use access::{Created, FILE_MODE};
pub(super) use creation::Unnamed;
pub(crate) use creation::{
    directory_of, flush_directory, needs_temporary_names, rename_new, temporary_file,
};
pub(crate) use file_storage::FileStorage;
pub(crate) use name::LostName;
pub(crate) use opening::{is_on_network, lock_exclusively, read_head};
