//! The guide: how to use Teak, one chapter for each topic.
//!
//! | chapter | answers |
//! |---|---|
//! | [`transactions`] | How do I read and write? How long does what I read stay valid? How do I undo a part? Why does a write wait? |
//! | [`cursors`] | How do I read ranges and prefixes, change a table while walking it, count, and compare two states? |
//! | [`multi_value`] | How do I give a key several values, and what does that cost? |
//! | [`expiry`] | How do I let records expire, and bound a cache? When is the space free? |
//! | [`asynchronous`] | What do I await in an async program? May I hold a transaction across an await? How do I stream a range? |
//! | [`durability`] | When is a commit on disk? What can a crash take? What do I do after an error? |
//! | [`operations`] | How do I back up, check, repair, measure, bound and shrink a database? |
//! | [`processes`] | How do several processes share a database, and what if one dies? |
//! | [`coming_from`] | I know redb, heed, fjall, sled or rusqlite: what is each call here? |
//!
//! The chapters show the usual way and the limits. The items that they link to have the details.
//! Promises and internals are in the repository: `docs/durability.md` and `docs/locking.md`. The
//! program `teak` does the same from a shell: `docs/program.md`.

pub mod asynchronous;
pub mod coming_from;
pub mod cursors;
pub mod durability;
pub mod expiry;
pub mod multi_value;
pub mod operations;
pub mod processes;
pub mod transactions;
