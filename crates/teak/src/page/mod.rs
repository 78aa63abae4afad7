//! Layouts of pages, as functions over bytes: no I/O, no state, no allocation of pages.
//!
//! Every function here takes bytes that may come from a damaged or hostile file. Numbers read
//! from a page are checked where they are used; what does not fit is an [`Error::Corrupted`].
//!
//! [`Error::Corrupted`]: crate::Error::Corrupted

pub(crate) mod array;
pub(crate) mod bitmap;
pub(crate) mod deaths;
pub(crate) mod header;
