//! Options for creating a table.

use crate::{
    Error, Result,
    btree::{TreeKind, TreeRoot},
    page::key::KeyOrder,
    read::catalog,
};

/// The options a table is created with. They cannot be changed later.
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
    /// Only for multi-value tables.
    values: Option<(KeyOrder, ValueSize)>,
}

/// The length of the values of a [`MultiTable`](crate::MultiTable).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum ValueSize {
    /// Any length, from zero to that of the longest key.
    #[default]
    Any,
    /// All values have this many bytes. If a key has many values, each takes exactly these bytes.
    Bytes(u16),
    /// All values are as long as the first one that is inserted into the empty table.
    AsFirst,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl TableOptions {
    /// Defaults: keys in byte order, shared prefixes, not counted, values not aligned.
    pub const fn new() -> Self {
        Self {
            order: KeyOrder::Bytes,
            shares_prefixes: true,
            is_counted: false,
            value_align: 1,
            values: None,
        }
    }

    /// Sets the order of keys. The comparison of a [`KeyOrder::Custom`] must be one that the
    /// database was opened with.
    pub const fn order(mut self, order: KeyOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets whether the keys of a page share their prefix, which saves space. Without it each key
    /// is stored in full.
    pub const fn share_prefixes(mut self, shares: bool) -> Self {
        self.shares_prefixes = shares;
        self
    }

    /// Sets whether inner pages store the number of records below each child. This enables
    /// [`Table::rank`](crate::Table::rank), [`Table::nth`](crate::Table::nth), and range counts in
    /// two descents. It costs 8 bytes per leaf.
    pub const fn counted(mut self, is_counted: bool) -> Self {
        self.is_counted = is_counted;
        self
    }

    /// Sets the alignment of values in memory, in bytes: 1, 2, 4, 8 or 16.
    pub const fn value_align(mut self, bytes: usize) -> Self {
        self.value_align = bytes;
        self
    }

    /// Sets the order of the values of a key; only for a [`MultiTable`](crate::MultiTable). The
    /// default is byte order.
    pub const fn value_order(mut self, order: KeyOrder) -> Self {
        let size = match self.values {
            Some((_, size)) => size,
            None => ValueSize::Any,
        };
        self.values = Some((order, size));
        self
    }

    /// Sets the length of the values; only for a [`MultiTable`](crate::MultiTable). The default is
    /// any length; in the order [`KeyOrder::Integer`] it is the length of the first value.
    pub const fn value_size(mut self, size: ValueSize) -> Self {
        let order = match self.values {
            Some((order, _)) => order,
            None => KeyOrder::Bytes,
        };
        self.values = Some((order, size));
        self
    }

    /// Options of a multi-value table.
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

    /// The order of the values of a key, in a multi-value table.
    #[must_use]
    pub fn order_of_values(&self) -> Option<KeyOrder> {
        self.values.map(|(order, _)| order)
    }

    /// The length of the values, in a multi-value table.
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

    /// Whether the table is counted.
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
                "values of a multi-value table cannot be aligned".to_owned()
            }
            ValueSize::Bytes(0) => {
                "the value size cannot be 0; choose at least 1 byte, or any size".into()
            }
            ValueSize::Bytes(size) if order == KeyOrder::Integer && !matches!(size, 4 | 8) => {
                format!("integers have 4 or 8 bytes, not {size}")
            }
            _ => return Ok(()),
        };
        Err(Error::InvalidArgument(text))
    }

    /// Refuses a table that was created with other options; `stored` are those that it has.
    pub(super) fn refuse_others(self, name: &[u8], stored: Self) -> Result<()> {
        if stored == self {
            return Ok(());
        }
        let texts = [stored, self].map(Self::attributes);
        let (stored, asked): (Vec<_>, Vec<_>) = std::iter::zip(&texts[0], &texts[1])
            .filter(|(stored, asked)| stored != asked)
            .map(|(stored, asked)| (stored.as_str(), asked.as_str()))
            .unzip();
        Err(Error::TableMismatch {
            name: catalog::printable(name),
            stored: stored.join(", "),
            asked: asked.join(", "),
        })
    }

    /// The options as texts, each of which says one of them.
    fn attributes(self) -> [String; 6] {
        let values = self.values;
        [
            match values.is_some() {
                true => "several values per key (`MultiTable`)".to_owned(),
                false => "one value per key (`Table`)".to_owned(),
            },
            format!("keys in the order {:?}", self.order),
            match self.shares_prefixes {
                true => "shared prefixes".to_owned(),
                false => "keys stored in full".to_owned(),
            },
            match self.is_counted {
                true => "counts of records".to_owned(),
                false => "no counts of records".to_owned(),
            },
            format!("values aligned to {} bytes", self.value_align),
            match values {
                Some((order, size)) => format!("values in the order {order:?} of size {size:?}"),
                None => String::new(),
            },
        ]
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
