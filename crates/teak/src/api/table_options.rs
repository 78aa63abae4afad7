//! Options for creating a table.

use crate::{
    Error, Result,
    btree::{TreeKind, TreeRoot},
    page::key::KeyOrder,
};

/// What a table is created with. It stays so.
///
/// ```
/// use teak::{Database, KeyOrder, TableOptions, codec::Bytes};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let options = TableOptions::new().order(KeyOrder::Integer).value_align(8);
/// let table = txn.create_table_with::<Bytes, Bytes>("heights", options)?;
/// table.insert(&mut txn, &700_000u64.to_le_bytes(), b"value")?;
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[must_use]
pub struct TableOptions {
    order: KeyOrder,
    shares_prefixes: bool,
    is_counted: bool,
    value_align: usize,
    /// Of tables in which a key has several values.
    values: Option<(KeyOrder, ValueSize)>,
}

/// How long the values of a [`MultiTable`](crate::MultiTable) are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum ValueSize {
    /// Of any length, from nothing to that of the longest key.
    #[default]
    Any,
    /// All of this many bytes. They take these bytes and no more, where a key has many.
    Bytes(u16),
    /// All as long as the first that comes to the empty table.
    AsFirst,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl TableOptions {
    /// Keys in the order of their bytes, prefixes shared, not counted, values not aligned.
    pub fn new() -> Self {
        Self {
            order: KeyOrder::Bytes,
            shares_prefixes: true,
            is_counted: false,
            value_align: 1,
            values: None,
        }
    }

    /// How keys are ordered. The comparison of [`KeyOrder::Custom`] has to be one that the database was opened with.
    pub fn order(mut self, order: KeyOrder) -> Self {
        self.order = order;
        self
    }

    /// Whether the keys of a page share their prefix, which saves space. Without it each key stands
    /// whole in its page.
    pub fn share_prefixes(mut self, shares: bool) -> Self {
        self.shares_prefixes = shares;
        self
    }

    /// Whether inner pages keep the number of records below each child: for [`Table::rank`](crate::Table::rank),
    /// [`Table::nth`](crate::Table::nth), and counts of ranges that take two descents. It costs 8 bytes for each leaf.
    pub fn counted(mut self, is_counted: bool) -> Self {
        self.is_counted = is_counted;
        self
    }

    /// To how many bytes the values are aligned in memory: 1, 2, 4, 8 or 16.
    pub fn value_align(mut self, bytes: usize) -> Self {
        self.value_align = bytes;
        self
    }

    /// In which order a key has its values: for a [`MultiTable`](crate::MultiTable) alone. That of their bytes if this is not called.
    pub fn value_order(mut self, order: KeyOrder) -> Self {
        let (_, size) = self.values.unwrap_or_default();
        self.values = Some((order, size));
        self
    }

    /// How long the values are: for a [`MultiTable`](crate::MultiTable) alone. Of any length if this is not called, and in the order
    /// [`KeyOrder::Integer`] as long as the first.
    pub fn value_size(mut self, size: ValueSize) -> Self {
        let (order, _) = self.values.unwrap_or_default();
        self.values = Some((order, size));
        self
    }

    /// Options of a table in which a key has several values.
    pub(super) fn multi(mut self) -> Self {
        let (order, size) = self.values.unwrap_or_default();
        let size = match (order, size) {
            (KeyOrder::Integer, ValueSize::Any) => ValueSize::AsFirst,
            (_, size) => size,
        };
        self.values = Some((order, size));
        self
    }

    /// Whether a key has several values.
    #[must_use]
    pub fn is_multi(&self) -> bool {
        self.values.is_some()
    }

    /// The order of the values of a key, in a table in which a key has several.
    #[must_use]
    pub fn order_of_values(&self) -> Option<KeyOrder> {
        self.values.map(|(order, _)| order)
    }

    /// How long the values are, in a table in which a key has several.
    #[must_use]
    pub fn size_of_values(&self) -> Option<ValueSize> {
        self.values.map(|(_, size)| size)
    }

    /// The order of keys.
    #[must_use]
    pub fn key_order(&self) -> KeyOrder {
        self.order
    }

    /// Whether the keys of a page share their prefix.
    #[must_use]
    pub fn shares_prefixes(&self) -> bool {
        self.shares_prefixes
    }

    /// Whether the table counts.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// The alignment of values in bytes.
    #[must_use]
    pub fn value_alignment(&self) -> usize {
        self.value_align
    }

    pub(super) fn to_root(self) -> Result<TreeRoot> {
        if !self.value_align.is_power_of_two() || self.value_align > 16 {
            let text = format!(
                "values cannot be aligned to {} bytes; choose 1, 2, 4, 8 or 16",
                self.value_align
            );
            return Err(Error::InvalidArgument(text));
        }
        let align_log2 = self.value_align.trailing_zeros() as u8;
        let mut root = TreeRoot::new(
            self.order,
            self.shares_prefixes,
            self.is_counted,
            align_log2,
        );
        if let Some((order, size)) = self.values {
            self.refuse_impossible_values(order, size)?;
            root.kind = TreeKind {
                values: Some(order),
                value_size: match size {
                    ValueSize::Bytes(size) => size,
                    _ => 0,
                },
                first_decides: size == ValueSize::AsFirst,
                ..TreeKind::default()
            };
        }
        Ok(root)
    }

    fn refuse_impossible_values(&self, order: KeyOrder, size: ValueSize) -> Result<()> {
        let text = match size {
            _ if self.value_align != 1 => {
                "the values of a table in which a key has several cannot be aligned".to_owned()
            }
            ValueSize::Bytes(0) => {
                "values of no bytes are no values; choose a size of 1 byte at least, or any".into()
            }
            ValueSize::Bytes(size) if order == KeyOrder::Integer && !matches!(size, 4 | 8) => {
                format!("integers have 4 or 8 bytes, and not {size}")
            }
            _ => return Ok(()),
        };
        Err(Error::InvalidArgument(text))
    }

    pub(super) fn of_root(root: &TreeRoot) -> Self {
        Self {
            order: root.order,
            shares_prefixes: root.share_prefixes,
            is_counted: root.counted,
            value_align: 1 << root.value_align_log2,
            values: root.kind.values.map(|order| {
                let size = match root.kind.value_size {
                    _ if root.kind.first_decides => ValueSize::AsFirst,
                    0 => ValueSize::Any,
                    size => ValueSize::Bytes(size),
                };
                (order, size)
            }),
        }
    }
}
