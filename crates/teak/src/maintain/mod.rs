//! Keeping the file short. `policy.rs` decides what happens with commits and on closing,
//! `compaction_plan.rs` what a compaction moves; the other files carry it out.
//!
//! Pages that were in use recently are soon needed again: commits reuse no page of the last flushed
//! state, so half of the file may be free directly after a flush. Only what is free beyond the
//! high-water mark (`instance/high_water.rs`) is free for long. In the rows below, *peak* is that
//! mark; *threshold* is the user's `shrink_threshold_bytes`, or 256 pages. The user's
//! `lower_limit_bytes` holds for all rows.
//!
//! | what | when | how much | file |
//! |---|---|---|---|
//! | the free end is cut off | with a commit that did not grow the file: if the user's threshold is free there; without one, if an eighth of the file, 1.5 growth steps and 1 MiB are free there beyond the peak | half of that stays | `truncate.rs` |
//! | the file follows | at the beginning of a later write transaction, when two flushed records fit the shorter file | | `truncate.rs` |
//! | pages move from the end | with a commit, if the file needs more than the peak, and more than 4/3 of what is in use, plus the threshold; or if leaves of a large table are thin | `move_percent` of what the commit writes, at least 2 to 8 pages (for a merge of small commits, for each of up to 32); a pause after a round that moves less than 1/64 | `empty_tail.rs` |
//! | holes are punched | at the beginning of a write transaction, if twice as much is free as is kept | peak, threshold and 1/16 of what is in use are kept; 32 MiB at once | `holes.rs` |
//! | everything moves | by request, or when a database is closed of which more than 8 percent and 256 pages are free | `compaction_plan.rs` chooses; 4,096 pages with each commit, at most 10 s when closing | `compact.rs` |
//! | expired records are removed | with each commit that changes something, in up to 8 tables | 64 records, and 2 for each that was written to such a table | `expired.rs` |
//! | dropped trees are released | with each commit, the first 65,536 pages by the transaction that drops the tree | 4 times the pages that the commit takes, 64 to 512, or as many as it takes | `dropped.rs` |
//!
//! Small commits are merged into the trees in eights while the file is being made shorter
//! (`policy::note_shrinking`), so that this proceeds with them.
//!
//! None of this makes a commit fail for lack of space, grows the file (except for a compaction that
//! lifts large values), or touches a page that a pin sees. A failure is undone, and a pause
//! follows. The state between transactions is in `instance/shrink_state.rs`.

pub(crate) mod compact;
pub(crate) mod compact_options;
pub(crate) mod compaction_plan;
pub(crate) mod dropped;
pub(crate) mod empty_tail;
pub(crate) mod expired;
pub(crate) mod holes;
pub(crate) mod policy;
#[cfg(feature = "encryption")]
pub(crate) mod rewrite_records;
pub(crate) mod truncate;
