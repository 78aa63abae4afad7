//! Leaf pages: the records of a tree.
//!
//! ```text
//! header | prefix | heads: u32 x count | offsets: u16 x count | gap | nodes ...
//! ```
//!
//! The heads are contiguous, so that a search touches three or four cache lines, and only the node
//! of an equal head. Nodes grow from the end of the page downwards; offsets count from the start of
//! the page. The shared prefix of all keys follows the header, where a search begins; it is padded
//! with zeros to a multiple of four bytes.
//!
//! A node is
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | length of the key's rest after the prefix (15 bits), low bit of the value's kind (bit 15) |
//! | 2 | 2 | length of the value bytes (15 bits), high bit of the value's kind (bit 15) |
//! | 4 | s | the rest's bytes beyond its head; on a page with full keys the full key |
//! | 4 + s | pad | up to the alignment of values |
//! | ... | v | value bytes |
//!
//! Invariants: keys ascend strictly; the head is that of the key's rest; every node lies inside the
//! heap. The last one is checked at each access, the others by the check of the database.
//!
//! If all keys have one length and there are no values, pages are fixed leaves (`fixed.rs`). A
//! [`Leaf`] is a view on them too: one without heads and offsets, whose nodes are located
//! differently.

mod change;
mod find;
mod format;
mod layout;
mod local_change;
mod view;

pub(crate) use change::{
    ContiguousRecord, compact, fill, init, insert, insert_many, remove, remove_range, set_value,
    value_mut,
};
pub(crate) use find::LeafMatch;
#[cfg(test)]
pub(crate) use format::WHOLE_KEYS;
pub(crate) use format::{HAS_REFERENCES, LeafFormat};
pub(crate) use layout::{gap, is_laid_out_well, used_len};
pub(crate) use local_change::{LeafEnd, LocalChange};
pub(crate) use view::{CursorKey, KeyBuffer, Leaf, Node};
