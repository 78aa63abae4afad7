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
mod border;
mod callbacks;
mod cause;
mod codes;
mod cursors;
mod database;
mod events;
mod failure;
mod following;
mod handles;
mod loading;
mod measures;
mod names;
mod options;
mod pairs;
mod parking;
mod ranges;
mod records;
mod rescue;
mod snapshots;
mod tables;
mod tickets;
mod transactions;
mod upkeep;

pub use batches::*;
pub use border::teak_slice;
pub use codes::{teak_code, teak_code_text};
pub use cursors::*;
pub use database::*;
pub use events::*;
pub use failure::{TEAK_MESSAGE_LEN, teak_error, teak_remedy};
pub use following::*;
pub use loading::*;
pub use measures::*;
pub use options::*;
pub use pairs::*;
pub use parking::*;
pub use ranges::*;
pub use records::*;
pub use rescue::*;
pub use snapshots::*;
pub use tables::*;
pub use tickets::*;
pub use transactions::*;
pub use upkeep::*;
