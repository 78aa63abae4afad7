//! Teak for C: what `include/teak.h` declares, which is generated from here. `docs/c-interface.md` of the repository says how it is made.
//!
//! Names are those of the header. Handles are numbers, and checked: whatever C gives for one is refused or is one. Pointers are
//! trusted, and that is the safety of every function here: each leads to what its type says, of the length that is given with it, for as long as the
//! function runs; a null pointer is refused where something is needed. A panic does not cross the border: it becomes
//! [`teak_code::TEAK_PANIC`].

// The names are C's.
#![allow(non_camel_case_types)]
// All have the same, which stands above.
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
