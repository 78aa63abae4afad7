//! The layout of pages. All three formats are related, and differ in widths and offsets:
//!
//! | | LMDB 0.9 | LMDB 1.0 | libmdbx |
//! |---|---|---|---|
//! | page number | 0, 8 bytes | 0, 8 bytes | 16, 4 bytes |
//! | transaction that wrote the page | | 8, 8 bytes | 0, 8 bytes |
//! | length of packed values, 2 bytes | 8 | 16 | 8 |
//! | kind, 2 bytes | 10 | 18 | 10 |
//! | end of the pointers, begin of the nodes, 2 bytes each; or pages of a run, 4 bytes | 12 | 20 | 12 |
//! | pointers to nodes, 2 bytes each | 16 | 24 | 20 |
//! | pointers count from | the page | its pointers | its pointers |
//! | a node: length of its value or child, flags, length of its key | 4, 2, 2 bytes | 4, 2, 2 bytes | 4, 1 (and 1), 2 bytes |
//! | flags of a branch node belong to the child's number | yes | yes | no |
//! | keys take an even number of bytes | no | yes | no |
//!
//! A run is a value on pages of its own, of which only the first has a header.

use crate::bytes::{u16_at, u32_at, u64_at};

/// The bits of a page's kind.
pub(crate) mod kind {
    pub(crate) const BRANCH: u16 = 0x01;
    pub(crate) const LEAF: u16 = 0x02;
    pub(crate) const RUN: u16 = 0x04;
    pub(crate) const META: u16 = 0x08;
    /// Values of one length, adjacent in memory.
    pub(crate) const PACKED: u16 = 0x20;
    /// A page within a node.
    pub(crate) const WITHIN: u16 = 0x40;
    /// All known bits. Writers use the others for notes.
    pub(crate) const ALL: u16 = BRANCH | LEAF | RUN | META | PACKED | WITHIN;
}

/// The flags of a node's value.
pub(crate) mod node {
    /// The number of a run.
    pub(crate) const RUN: u16 = 1;
    /// The description of a tree.
    pub(crate) const TREE: u16 = 2;
    /// Values of the key: a page, or the tree.
    pub(crate) const VALUES: u16 = 4;
}

/// Bytes of a node before its key.
pub(crate) const NODE_LEN: usize = 8;
/// Bytes of the description of a tree.
pub(crate) const TREE_LEN: usize = 48;

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Lmdb09,
    Lmdb10,
    Mdbx,
}

/// The header of a page, undecoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) number: u64,
    /// The transaction that wrote it, in formats where pages record it.
    pub(crate) transaction: u64,
    pub(crate) value_len: u16,
    pub(crate) kind: u16,
    pub(crate) lower: u16,
    pub(crate) upper: u16,
}

impl Header {
    /// The pages of a run.
    pub(crate) fn overflow_page_count(&self) -> u64 {
        u64::from(self.lower) | u64::from(self.upper) << 16
    }
}

/// A node, undecoded. Its first number is a length or a child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) value_len: u32,
    pub(crate) flags: u16,
    pub(crate) key_len: usize,
}

/// The description of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) flags: u16,
    pub(crate) depth: u16,
    /// `None` for an empty tree.
    pub(crate) root: Option<u64>,
    /// The number of records, or of values if keys have several.
    pub(crate) records: u64,
    pub(crate) sequence: u64,
}

impl Format {
    /// The bytes of a page before its pointers, values, or the bytes of a run.
    pub(crate) fn header_len(self) -> usize {
        match self {
            Self::Lmdb09 => 16,
            Self::Lmdb10 => 24,
            Self::Mdbx => 20,
        }
    }

    /// Reads the header of a page. `None` if there are too few bytes.
    pub(crate) fn header(self, page: &[u8]) -> Option<Header> {
        let (number, transaction, rest) = match self {
            Self::Lmdb09 => (u64_at(page, 0)?, 0, 8),
            Self::Lmdb10 => (u64_at(page, 0)?, u64_at(page, 8)?, 16),
            Self::Mdbx => (u64::from(u32_at(page, 16)?), u64_at(page, 0)?, 8),
        };
        Some(Header {
            number,
            transaction,
            value_len: u16_at(page, rest)?,
            kind: u16_at(page, rest + 2)? & kind::ALL,
            lower: u16_at(page, rest + 4)?,
            upper: u16_at(page, rest + 6)?,
        })
    }

    /// The offset from which pointers to nodes count.
    pub(crate) fn pointer_base(self) -> usize {
        match self {
            Self::Lmdb09 => 0,
            Self::Lmdb10 | Self::Mdbx => self.header_len(),
        }
    }

    /// The number of entries of a page. `None` if its pointers end before they begin.
    pub(crate) fn entry_count(self, header: &Header) -> Option<usize> {
        let of_pointers = usize::from(header.lower) + self.pointer_base();
        Some(of_pointers.checked_sub(self.header_len())? / 2)
    }

    /// Reads the node at `at`.
    pub(crate) fn node(self, page: &[u8], at: usize) -> Option<Node> {
        let flags = u16_at(page, at + 4)?;
        Some(Node {
            value_len: u32_at(page, at)?,
            flags: match self {
                Self::Lmdb09 | Self::Lmdb10 => flags,
                Self::Mdbx => flags & 0xff,
            },
            key_len: usize::from(u16_at(page, at + 6)?),
        })
    }

    /// The child of a branch node.
    pub(crate) fn child(self, node: &Node) -> u64 {
        match self {
            Self::Lmdb09 | Self::Lmdb10 => u64::from(node.value_len) | u64::from(node.flags) << 32,
            Self::Mdbx => u64::from(node.value_len),
        }
    }

    /// The bytes that a key takes in its node.
    pub(crate) fn key_room(self, key_len: usize) -> usize {
        match self {
            Self::Lmdb10 => key_len.next_multiple_of(2),
            Self::Lmdb09 | Self::Mdbx => key_len,
        }
    }

    /// The bytes of a node's reference to a run.
    pub(crate) fn overflow_reference_len(self) -> usize {
        match self {
            Self::Lmdb09 => 8,
            Self::Lmdb10 => 24,
            Self::Mdbx => 4,
        }
    }

    /// The number of the first page of a run, from its node.
    pub(crate) fn overflow_page_number(self, note: &[u8]) -> Option<u64> {
        match self {
            Self::Lmdb09 | Self::Lmdb10 => u64_at(note, 0),
            Self::Mdbx => u32_at(note, 0).map(u64::from),
        }
    }

    /// Reads the description of a tree.
    pub(crate) fn tree(self, bytes: &[u8]) -> Option<Tree> {
        Some(match self {
            Self::Lmdb09 | Self::Lmdb10 => Tree {
                flags: u16_at(bytes, 4)?,
                depth: u16_at(bytes, 6)?,
                records: u64_at(bytes, 32)?,
                root: Some(u64_at(bytes, 40)?).filter(|root| *root != u64::MAX),
                sequence: 0,
            },
            Self::Mdbx => Tree {
                flags: u16_at(bytes, 0)?,
                depth: u16_at(bytes, 2)?,
                root: Some(u32_at(bytes, 8)?)
                    .filter(|root| *root != u32::MAX)
                    .map(u64::from),
                sequence: u64_at(bytes, 24)?,
                records: u64_at(bytes, 32)?,
            },
        })
    }

    /// Its name, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lmdb09 => "LMDB 0.9",
            Self::Lmdb10 => "LMDB 1.0",
            Self::Mdbx => "libmdbx",
        }
    }
}
