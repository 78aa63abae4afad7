//! Options for creating a table.

use crate::{
    Error, Result,
    btree::{TableClass, TreeKind, TreeRoot},
    page::key::KeyOrder,
    read::catalog,
};

/// The options a table is created with. They cannot be changed later.
///
/// ```
/// use teak::{Database, KeyOrder, TableDef, TableOptions, codec::Bytes};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let options = TableOptions::new().order(KeyOrder::Integer).value_align(8);
/// let table = TableDef::<Bytes, Bytes>::new("heights").options(options).create(&mut txn)?;
/// table.insert(&mut txn, &700_000u64.to_le_bytes(), b"value")?;
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[must_use]
#[non_exhaustive]
pub struct TableOptions {
    /// The order of keys.
    pub order: KeyOrder,
    /// Whether the keys of a page share their prefix.
    pub share_prefixes: bool,
    /// Whether inner pages store the number of records below each child.
    pub counted: bool,
    /// The alignment of values in bytes.
    pub value_align: usize,
    /// The order of the values of a key, in a table in which a key has several.
    pub value_order: Option<KeyOrder>,
    /// The length of the values, in a table in which a key has several.
    pub value_size: Option<ValueSize>,
    /// Whether records expire: only in an [`ExpiringTable`](crate::ExpiringTable).
    pub expiring: bool,
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
            share_prefixes: true,
            counted: false,
            value_align: 1,
            value_order: None,
            value_size: None,
            expiring: false,
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
        self.share_prefixes = shares;
        self
    }

    /// Sets whether inner pages store the number of records below each child. This enables
    /// [`Table::rank`](crate::Table::rank), [`Table::nth`](crate::Table::nth), and range counts in
    /// two descents. It costs 8 bytes per leaf.
    pub const fn counted(mut self, is_counted: bool) -> Self {
        self.counted = is_counted;
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
        self.value_order = Some(order);
        if self.value_size.is_none() {
            self.value_size = Some(ValueSize::Any);
        }
        self
    }

    /// Sets the length of the values; only for a [`MultiTable`](crate::MultiTable). The default is
    /// any length; in the order [`KeyOrder::Integer`] it is the length of the first value.
    pub const fn value_size(mut self, size: ValueSize) -> Self {
        self.value_size = Some(size);
        if self.value_order.is_none() {
            self.value_order = Some(KeyOrder::Bytes);
        }
        self
    }

    /// Options of a multi-value table.
    pub(super) fn multi(mut self) -> Self {
        let order = self.value_order.unwrap_or_default();
        let size = match (order, self.value_size.unwrap_or_default()) {
            (KeyOrder::Integer, ValueSize::Any) => ValueSize::AsFirst,
            (_, size) => size,
        };
        (self.value_order, self.value_size) = (Some(order), Some(size));
        self
    }

    /// Whether a key has several values.
    #[must_use]
    pub fn is_multi(&self) -> bool {
        self.value_order.is_some() || self.value_size.is_some()
    }

    pub(super) fn class(&self) -> TableClass {
        match (self.is_multi(), self.expiring) {
            (true, _) => TableClass::Multi,
            (false, true) => TableClass::Expiring,
            (false, false) => TableClass::Single,
        }
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
        let mut root = TreeRoot::new(self.order, self.share_prefixes, self.counted, align_log2);
        if let (Some(order), Some(size)) = (self.value_order, self.value_size) {
            self.refuse_impossible_values(order, size)?;
            root.kind = TreeKind {
                class: TableClass::Multi,
                values: Some(order),
                value_size: match size {
                    ValueSize::Bytes(size) => size,
                    _ => 0,
                },
                first_decides: size == ValueSize::AsFirst,
                ..TreeKind::default()
            };
        }
        if self.expiring {
            root.kind.class = TableClass::Expiring;
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
        [
            class_text(self.class()).to_owned(),
            format!("keys in the order {:?}", self.order),
            match self.share_prefixes {
                true => "shared prefixes".to_owned(),
                false => "keys stored in full".to_owned(),
            },
            match self.counted {
                true => "counts of records".to_owned(),
                false => "no counts of records".to_owned(),
            },
            format!("values aligned to {} bytes", self.value_align),
            match (self.value_order, self.value_size) {
                (Some(order), Some(size)) => {
                    format!("values in the order {order:?} of size {size:?}")
                }
                _ => String::new(),
            },
        ]
    }

    pub(super) fn of_root(root: &TreeRoot) -> Self {
        Self {
            order: root.order,
            share_prefixes: root.share_prefixes,
            counted: root.counted,
            value_align: 1 << root.value_align_log2,
            value_order: root.kind.values,
            value_size: root.kind.values.map(|_| match root.kind.value_size {
                _ if root.kind.first_decides => ValueSize::AsFirst,
                0 => ValueSize::Any,
                size => ValueSize::Bytes(size),
            }),
            expiring: root.kind.class == TableClass::Expiring,
        }
    }
}

/// How errors name a kind of tables.
pub(super) fn class_text(class: TableClass) -> &'static str {
    match class {
        TableClass::Single => "one value per key (`Table`)",
        TableClass::Multi => "several values per key (`MultiTable`)",
        TableClass::Expiring => "records that expire (`ExpiringTable`)",
    }
}
