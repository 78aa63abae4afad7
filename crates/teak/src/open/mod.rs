//! Opening, creating, recovering, closing, inspecting and deleting databases.

pub(crate) mod close;
pub(crate) mod codecs;
pub(crate) mod delete;
#[cfg(feature = "encryption")]
pub(crate) mod encryption;
#[cfg(not(feature = "encryption"))]
#[path = "encryption_not_built.rs"]
pub(crate) mod encryption;
pub(crate) mod inspect;
pub(crate) mod limits;
pub(crate) mod open_database;
pub(crate) mod open_file;
pub(crate) mod recover;
pub(crate) mod recovery_audit;
pub(crate) mod settle;
pub(crate) mod shorten;
pub(crate) mod slots;
pub(crate) mod unlocked;
