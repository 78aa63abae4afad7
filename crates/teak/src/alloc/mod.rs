//! The free-space map: which pages are free, which are dead and may still be seen, and how this is
//! stored on disk.
//!
//! # Layout
//!
//! | on disk | in memory |
//! |---|---|
//! | bitmap pages, found through an array by index ([`crate::page::bitmap`]) | [`free_map`]: bits and a tree of summaries |
//! | segments of deaths, found through an array ([`crate::page::deaths`]) | [`pending`]: buckets by the pin that holds them |
//! | the log of changes since, in the commit record ([`log`]) | the same bytes |
//!
//! A commit appends its allocations and deaths to the log. Only if the log has no room left (or
//! dissolved segments pile up) does a checkpoint write it to bitmaps and segments ([`checkpoint`]).
//!
//! # Invariants
//!
//! - A page is exactly one of these: free, pending, part of the free-space map itself, a commit
//!   record, or in use. Pages 0 to 3 are commit records. There are four and not three: while a
//!   flush runs, the last flushed record, the one being flushed, and the newest must all be
//!   preserved.
//! - A page past the end of the file becomes free as soon as the file grows over it; an absent
//!   bitmap means that all its pages are free. So growing needs no trace on disk.
//! - Holes in the file are known only in memory, and not all of them need to be known ([`holes`]).
//! - A page is allocated only if no pin sees it; it is free after [`Space::reclaim`].
//! - Reclaiming leaves no trace on disk: it follows from the pins. So when the log is replayed, an
//!   allocated page must be free or pending at that point.
//!
//! # Order of calls
//!
//! A write transaction calls [`Space::reclaim`], then [`Space::allocate`] and [`Space::grow`] as
//! needed, [`Space::give_back`] for unused pages, and [`Space::commit`]; or `give_back` for
//! everything, if it is rolled back. `commit` either changes nothing and returns an error, or
//! completes. If the record cannot be written afterwards, the database is poisoned.

pub(crate) mod array_entry;
mod bits;
mod change;
mod checked_pages;
mod checkpoint;
mod commit;
pub(crate) mod deaths;
mod dirty_bitmaps;
mod follow;
#[cfg(any(test, feature = "testing"))]
mod forge;
mod free_map;
mod holes;
mod load;
mod log;
mod map;
mod page_array;
mod pending;
mod pins;
mod plan;
mod segments;
mod summary;
mod tail;
mod writer;

pub(crate) use crate::page::deaths::Death;
pub(crate) use change::{SpaceChange, SpaceCommit};
pub(crate) use checked_pages::{FIRST_PAGE, SpacePages};
pub(crate) use follow::taken_since;
#[cfg(any(test, feature = "testing"))]
pub(crate) use forge::ForgedSpaceMap;
pub(crate) use free_map::PlacementPolicy;
pub(crate) use load::joined;
pub(crate) use map::{Census, Space};
pub(crate) use page_array::{ArrayRoot, SpaceRoots};
pub(crate) use pins::Pins;

#[cfg(test)]
mod tests;
