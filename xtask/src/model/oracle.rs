//! The expected contents of a database: ordered maps, cheap to clone, so that each snapshot has its
//! own copy.

use super::{
    key_range::{KeyRange, is_inverted},
    multi::oracle::{MultiKind, MultiModel},
    shape::{KeyShape, ModelKey, ModelRecord, ModelValue, sort_form},
};
use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::Arc,
};
use teak::{KeyOrder, Marks, TableOptions, TableTypes};

/// The tables of a snapshot by name, and the marks of the application.
#[derive(Clone, Default, Debug)]
pub(crate) struct OracleTables {
    by_name: BTreeMap<Vec<u8>, Arc<AnyModel>>,
    pub(crate) marks: Marks,
}

impl Deref for OracleTables {
    type Target = BTreeMap<Vec<u8>, Arc<AnyModel>>;

    fn deref(&self) -> &Self::Target {
        &self.by_name
    }
}

impl DerefMut for OracleTables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.by_name
    }
}

/// The options for creating a table, whether a key has one value or several.
#[derive(Clone, Debug)]
pub(crate) enum AnyTableKind {
    Plain(TableKind),
    Multi(MultiKind),
}

/// A table of either kind.
#[derive(Clone, Debug)]
pub(crate) enum AnyModel {
    Plain(TableModel),
    Multi(MultiModel),
}

impl AnyModel {
    pub(crate) fn new(kind: &AnyTableKind) -> Self {
        match kind {
            AnyTableKind::Plain(kind) => Self::Plain(TableModel::new(kind.clone())),
            AnyTableKind::Multi(kind) => Self::Multi(MultiModel::new(kind.clone())),
        }
    }

    pub(crate) fn kind(&self) -> AnyTableKind {
        match self {
            Self::Plain(table) => AnyTableKind::Plain(table.kind.clone()),
            Self::Multi(table) => AnyTableKind::Multi(table.kind.clone()),
        }
    }

    pub(crate) fn options(&self) -> TableOptions {
        match self {
            Self::Plain(table) => table.kind.options(),
            Self::Multi(table) => table.kind.options(),
        }
    }

    /// Records, or pairs.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(table) => table.len(),
            Self::Multi(table) => table.len(),
        }
    }

    /// The next number of the table's sequence.
    pub(crate) fn sequence_mut(&mut self) -> &mut u64 {
        match self {
            Self::Plain(table) => &mut table.sequence,
            Self::Multi(table) => &mut table.sequence,
        }
    }

    /// The recorded names of the table's types.
    pub(crate) fn types(&self) -> &TableTypes {
        match self {
            Self::Plain(table) => &table.types,
            Self::Multi(table) => &table.types,
        }
    }

    pub(crate) fn types_mut(&mut self) -> &mut TableTypes {
        match self {
            Self::Plain(table) => &mut table.types,
            Self::Multi(table) => &mut table.types,
        }
    }

    /// Whether any range of this table can be copied to the other one.
    pub(crate) fn fits_into(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(one), Self::Plain(other)) => {
                let orders = [one.kind.order, other.kind.order];
                !orders.contains(&KeyOrder::Integer) || one.kind.shape == other.kind.shape
            }
            (Self::Multi(one), Self::Multi(other)) => one.kind == other.kind,
            _ => false,
        }
    }

    pub(crate) fn plain(&self) -> Option<&TableModel> {
        match self {
            Self::Plain(table) => Some(table),
            Self::Multi(_) => None,
        }
    }

    pub(crate) fn multi(&self) -> Option<&MultiModel> {
        match self {
            Self::Plain(_) => None,
            Self::Multi(table) => Some(table),
        }
    }
}

/// The options for creating a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableKind {
    pub(crate) order: KeyOrder,
    pub(crate) share_prefixes: bool,
    pub(crate) counted: bool,
    pub(crate) value_align: usize,
    pub(crate) shape: KeyShape,
}

impl TableKind {
    pub(crate) fn options(&self) -> TableOptions {
        TableOptions::new()
            .order(self.order)
            .share_prefixes(self.share_prefixes)
            .counted(self.counted)
            .value_align(self.value_align)
    }
}

/// A table and its records.
#[derive(Clone, Debug)]
pub(crate) struct TableModel {
    pub(crate) kind: TableKind,
    /// By the sort form of the key.
    records: BTreeMap<ModelKey, ModelValue>,
    /// Bytes of all values.
    value_bytes: usize,
    pub(super) sequence: u64,
    types: TableTypes,
}

impl TableModel {
    pub(crate) fn new(kind: TableKind) -> Self {
        Self {
            kind,
            records: BTreeMap::new(),
            value_bytes: 0,
            sequence: 0,
            types: TableTypes::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Bytes of all values.
    pub(crate) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<ModelValue> {
        self.records.get(&self.form(key)).copied()
    }

    pub(crate) fn insert(&mut self, key: &[u8], value: ModelValue) -> Option<ModelValue> {
        let before = self.records.insert(self.form(key), value);
        self.value_bytes += value.len();
        self.value_bytes -= before.map_or(0, ModelValue::len);
        before
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        let before = self.records.remove(&self.form(key));
        self.value_bytes -= before.map_or(0, ModelValue::len);
        before.is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.value_bytes = 0;
    }

    /// Removes the records in the range; returns their number.
    pub(crate) fn remove_range(&mut self, range: &KeyRange) -> u64 {
        let keys: Vec<_> = self.range(range).map(|(key, _)| key).collect();
        for key in &keys {
            self.remove(key);
        }
        keys.len() as u64
    }

    pub(crate) fn first(&self) -> Option<ModelRecord> {
        self.records
            .first_key_value()
            .map(|record| self.record(record))
    }

    pub(crate) fn last(&self) -> Option<ModelRecord> {
        self.records
            .last_key_value()
            .map(|record| self.record(record))
    }

    /// The records of a range, with keys in their inserted form.
    pub(crate) fn range(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = ModelRecord> {
        self.forms(range).map(|record| self.record(record))
    }

    /// Whether `left` sorts before `right` in this table.
    pub(crate) fn sorts_before(&self, left: &[u8], right: &[u8]) -> bool {
        self.form(left) < self.form(right)
    }

    /// Sorts records in table order. Of records with equal keys, the last one is kept.
    pub(crate) fn sorted(&self, records: &[ModelRecord]) -> Vec<ModelRecord> {
        let sorted: BTreeMap<_, _> = records
            .iter()
            .map(|(key, value)| (self.form(key), *value))
            .collect();
        sorted.iter().map(|record| self.record(record)).collect()
    }

    fn form(&self, key: &[u8]) -> ModelKey {
        sort_form(self.kind.order, key)
    }

    fn record(&self, (form, value): (&ModelKey, &ModelValue)) -> ModelRecord {
        (sort_form(self.kind.order, form), *value)
    }

    fn forms(
        &self,
        (start, end): &KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&ModelKey, &ModelValue)> {
        let start = start.as_ref().map(|key| self.form(key));
        let end = end.as_ref().map(|key| self.form(key));
        // The standard library's map panics if a range ends before it starts. An engine must find
        // nothing there.
        let range = if is_inverted(&start, &end) {
            None
        } else {
            Some(self.records.range((start, end)))
        };
        range.into_iter().flatten()
    }
}
