//! The space map: which pages are free, which are dead and may still be seen, and how that stands
//! on disk.
//!
//! # What is where
//!
//! | on disk | in memory |
//! |---|---|
//! | bitmap pages, found through an array by index ([`crate::page::bitmap`]) | [`free_map`]: bits and a tree of summaries |
//! | segments of deaths, found through an array ([`crate::page::deaths`]) | [`pending`]: buckets by the pin that holds them |
//! | the log of changes since, in the commit record ([`log`]) | the same bytes |
//!
//! A commit appends what it took and what died to the log. Only when the log has no room left (or
//! when dissolved segments pile up) is it folded into bitmaps and segments ([`checkpoint`]).
//!
//! # Invariants
//!
//! - A page is free, pending, part of the space map itself, a commit record, or in use: one of
//!   these. Pages 0 to 3 are commit records. There are four and not three: while a flush runs, the
//!   last durable record, the one being flushed, and the newest must all be spared.
//! - A page behind the end of the file is free as soon as the file grows over it; a bitmap that is
//!   absent says that all its pages are free. So growing needs no trace on disk.
//! - Where the file has holes is known in memory only, as far as it is known ([`holes`]).
//! - A page is handed out only if no pin sees it, and so is free after [`Space::reclaim`].
//! - Reclaiming leaves no trace on disk: it follows from the pins. A page that the log takes is
//!   free or pending in what stands before it.
//!
//! # Order of calls
//!
//! A write transaction: [`Space::reclaim`], then [`Space::allocate`] and [`Space::grow`] as
//! needed, [`Space::give_back`] for what is left over, and [`Space::commit`]; or `give_back` for
//! everything, if it is rolled back. `commit` either changes nothing and returns an error, or has
//! done all it does; if the record cannot be written afterwards, the database is poisoned.

mod bits;
mod change;
mod checked_pages;
mod checkpoint;
mod commit;
pub(crate) mod deaths;
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
mod slot;
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
