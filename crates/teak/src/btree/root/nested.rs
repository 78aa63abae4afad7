//! Roots of nested trees, which hold the values of a key if these do not fit into its leaf. The
//! kind of a nested tree follows from the root of the table.

use super::{RootFault, TreeKind, TreeRoot};
use crate::page::{PageDamage, key::KeyOrder, leaf::LeafFormat, value::TREE_ROOT_LEN};

/// Values that take at most this many bytes stay in the leaf, however long their key is.
const SMALL_LEN: usize = TREE_ROOT_LEN;

impl TreeRoot {
    /// Whether a key has a sorted set of values.
    #[inline]
    pub(crate) fn is_multi(&self) -> bool {
        self.kind.values.is_some()
    }

    /// The order of the values of a key.
    pub(crate) fn value_order(&self) -> KeyOrder {
        self.kind.values.unwrap_or_default()
    }

    /// Creates an empty tree for the values of a key.
    pub(crate) fn nested(&self) -> Self {
        let (order, size) = (self.value_order(), self.kind.value_size);
        let share_prefixes = self.share_prefixes && order == KeyOrder::Bytes && size == 0;
        Self {
            key_len: size,
            kind: TreeKind {
                fixed: size != 0,
                ..TreeKind::default()
            },
            ..Self::new(order, share_prefixes, self.counted, 0)
        }
    }

    /// Reads the root of a nested tree of this one.
    pub(crate) fn decode_nested(&self, bytes: &[u8]) -> Result<Self, PageDamage> {
        let mut root = Self::decode_inner(bytes)?;
        let expected = self.nested();
        if root.order.code() == expected.order.code() {
            root.order = expected.order;
        }
        let kind = |root: &Self| Self {
            order: root.order,
            share_prefixes: root.share_prefixes,
            counted: root.counted,
            value_align_log2: root.value_align_log2,
            key_len: root.key_len,
            value_pages: root.value_pages,
            sequence: root.sequence,
            kind: root.kind,
            ..expected
        };
        if kind(&root) != expected {
            return Err(PageDamage(
                "the root of a nested tree is not of the kind that its table says",
            ));
        }
        Ok(root)
    }

    /// Reads the root of a nested tree of any table.
    pub(crate) fn decode_inner(bytes: &[u8]) -> Result<Self, PageDamage> {
        let root = Self::decode_any(bytes).map_err(|fault| match fault {
            RootFault::Damaged(damage) => damage,
            RootFault::Unknown(_) => PageDamage("the root of a nested tree is of an unknown kind"),
        })?;
        match root.is_empty() || root.records == 0 {
            true => Err(PageDamage("a nested tree is empty")),
            false => Ok(root),
        }
    }

    /// Whether values that take `len` bytes together stay in the leaf of their key.
    pub(crate) fn fits_in_leaf(&self, page_size: usize, key_len: usize, len: usize) -> bool {
        let record_len = self.leaf_format().record_len(0, key_len, len);
        len <= SMALL_LEN || record_len <= LeafFormat::max_inline_record_len(page_size)
    }
}
