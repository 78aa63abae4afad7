//! Campaigns of the library with LevelDB's interface.
//!
//! | file | contents |
//! |---|---|
//! | `account` | reports of programs that write, and the batches that may be found after a crash |
//! | `differential` | the same steps on LevelDB, answers compared |
//! | `interrupted` | conversions, removals and repairs that are killed |
//! | `kill` | programs that write, and are killed |
//! | `library` | the library, and programs that use it |
//! | `written` | the records that batches have made |

mod account;
pub(crate) mod differential;
mod interrupted;
pub(crate) mod kill;
mod library;
mod written;

pub(crate) use account::WriterAccount;
pub(crate) use library::{LevelDbLibrary, LibraryProgram};
pub(crate) use written::{FoundRecords, WrittenState, found_records};
