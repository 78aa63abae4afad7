//! Teak for C: the functions that `include/teak.h` declares. The header is generated from this
//! crate; `docs/c-interface.md` of the repository says how.
//!
//! Names are those of the header. Handles are numbers and are checked: an invalid handle is
//! refused. Pointers are trusted, and every function here has the same safety contract: each
//! pointer is valid for its type, with the length that is passed along, while the function runs. A
//! null pointer is refused where a value is needed. A panic does not cross the border: it becomes
//! [`teak_code::TEAK_PANIC`].

// The names are C's.
#![allow(non_camel_case_types)]
// All functions have the same safety contract, which is stated above.
#![allow(clippy::missing_safety_doc)]

mod batches;
mod callbacks;
mod changes;
mod codes;
mod cursors;
mod database;
mod encryption;
mod error;
mod events;
mod expiring;
mod expiry;
mod failure;
mod ffi;
mod flat;
mod handles;
mod keys;
mod loading;
mod maintenance;
mod metrics;
mod names;
mod options;
mod pairs;
mod parked;
mod prepared;
mod ranges;
mod records;
mod restore_salvage;
mod snapshots;
mod tables;
mod tickets;
mod transactions;

pub use batches::*;
pub use changes::*;
pub use codes::{teak_code, teak_code_text};
pub use cursors::*;
pub use database::*;
pub use encryption::{TEAK_KEY_LEN, teak_cipher, teak_encryption, teak_key_function};
pub use error::{TEAK_MESSAGE_LEN, teak_error, teak_remedy};
pub use events::*;
pub use expiring::*;
pub use expiry::*;
pub use ffi::teak_slice;
pub use flat::*;
pub use keys::*;
pub use loading::*;
pub use maintenance::*;
pub use metrics::*;
pub use options::*;
pub use pairs::*;
pub use parked::*;
pub use prepared::*;
pub use ranges::*;
pub use records::*;
pub use restore_salvage::*;
pub use snapshots::*;
pub use tables::*;
pub use tickets::*;
pub use transactions::*;
