//! A table of a foreign file: its orders, and the kind of its values.

use crate::{Error, Result, format::Tree};

/// The bits of a table's flags, which are equal in all formats.
mod flag {
    pub(super) const REVERSE_KEY: u16 = 0x02;
    pub(super) const SEVERAL: u16 = 0x04;
    pub(super) const INTEGER_KEY: u16 = 0x08;
    pub(super) const FIXED: u16 = 0x10;
    pub(super) const INTEGER_VALUE: u16 = 0x20;
    pub(super) const REVERSE_VALUE: u16 = 0x40;
    pub(super) const ALL: u16 =
        REVERSE_KEY | SEVERAL | INTEGER_KEY | FIXED | INTEGER_VALUE | REVERSE_VALUE;
}

/// An order of keys or values, according to a table's flags. The application may have used another
/// one; files do not record that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By bytes.
    Bytes,
    /// By bytes, from the last to the first.
    ReverseBytes,
    /// As native integers.
    Integer,
}

/// The kind of values if keys may have several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueKind {
    /// Their order.
    pub order: Order,
    /// Whether all have one size.
    pub is_fixed: bool,
}

/// A table of the file: a named database, or the main one.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name. `None` for the main table, whose records exclude the named databases.
    pub name: Option<Vec<u8>>,
    /// The order of its keys.
    pub order: Order,
    /// The kind of the values, if keys may have several.
    pub values: Option<ValueKind>,
    /// The number of records according to its description, or of values if keys have several.
    pub records: u64,
    /// The next number of its sequence.
    pub sequence: u64,
    pub(crate) tree: Tree,
}

impl Table {
    pub(crate) fn new(name: Option<Vec<u8>>, page: u64, tree: Tree) -> Result<Self> {
        let has = |bit| tree.flags & bit != 0;
        if tree.flags & !flag::ALL != 0 {
            let detail = format!("a table has flags {:#06x}, not all known", tree.flags);
            return Err(Error::damaged(page, detail));
        }
        let order = match (has(flag::REVERSE_KEY), has(flag::INTEGER_KEY)) {
            (true, _) => Order::ReverseBytes,
            (false, true) => Order::Integer,
            (false, false) => Order::Bytes,
        };
        let value_order = match (has(flag::INTEGER_VALUE), has(flag::REVERSE_VALUE)) {
            (true, _) => Order::Integer,
            (false, true) => Order::ReverseBytes,
            (false, false) => Order::Bytes,
        };
        let values = has(flag::SEVERAL).then_some(ValueKind {
            order: value_order,
            // Integers have one size even without the flag.
            is_fixed: has(flag::FIXED | flag::INTEGER_VALUE),
        });
        Ok(Self {
            name,
            order,
            values,
            records: tree.records,
            sequence: tree.sequence,
            tree,
        })
    }
}
