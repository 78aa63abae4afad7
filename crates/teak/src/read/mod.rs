//! Read transactions: snapshots, readers, and the bitmap of verified pages.

mod cached_slots;
pub(crate) mod catalog;
pub(crate) mod frame_eviction;
pub(crate) mod located;
pub(crate) mod named_list;
pub(crate) mod prefault;
pub(crate) mod published;
pub(crate) mod reader;
mod reader_hold;
pub(crate) mod readers;
pub(crate) mod roots;
pub(crate) mod slow_readers;
pub(crate) mod snapshot;
pub(crate) mod snapshot_space;
pub(crate) mod state_key;
pub(crate) mod verified_bitmap;
