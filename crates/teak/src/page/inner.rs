//! Inner pages: separators and children of a tree.
//!
//! ```text
//! header | prefix | heads: u32 x count | children: u32 x count | checksums: u64 x count
//!        | record counts: u64 x count, in counted trees | offsets: u16 x count
//!        | gap | separators ...
//! ```
//!
//! Child `i` holds the keys from separator `i` (included) to separator `i + 1` (excluded). The
//! first separator counts as smaller than every key; its head and offset are zero. Separators are
//! cut to the shortest bytes that separate their neighbours, so most consist only of a head. The
//! offset field then holds the length of the separator after the prefix, 0 to 4. Otherwise a node
//! at the offset holds
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | length of the separator after the prefix |
//! | 2 | n | its bytes beyond the head; on a page with full keys the full separator |

mod change;
mod format;
mod view;

pub(crate) use change::{add_records, set_checksum, set_child, splice};
#[cfg(any(test, feature = "testing"))]
pub(crate) use format::COUNTED;
pub(crate) use format::InnerFormat;
#[cfg(test)]
pub(crate) use format::WHOLE_KEYS;
pub(crate) use view::{Inner, child_of, children_of, used_len};
