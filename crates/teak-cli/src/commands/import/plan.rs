//! Which tables of the source become which tables.

use super::arguments::ImportArguments;
use super::source::ForeignSource;
use crate::failure::Failure;
use crate::text::{Order, TableKind, ValueKind, printable};
use std::collections::BTreeSet;
use std::ffi::OsString;
use teak_foreign::Table;

/// A table of the source, and the table that is made of it.
pub(super) struct PlannedTable {
    pub(super) table: Table,
    /// Its new name.
    pub(super) name: Vec<u8>,
    /// Its name on the command line.
    pub(super) old_name: Vec<u8>,
    pub(super) kind: TableKind,
    pub(super) is_sorted: bool,
}

/// All tables of an import, in the order in which they are copied.
pub(super) struct ImportPlan {
    pub(super) items: Vec<PlannedTable>,
}

impl ImportPlan {
    pub(super) fn new(
        source: &ForeignSource,
        arguments: &ImportArguments,
    ) -> Result<Self, Failure> {
        let tables = source.environment.tables();
        let tables = tables.map_err(|error| source.failure(error))?;
        let is_alone = tables.len() == 1;
        let mut chosen = TableChoice::new(arguments)?;
        let mut items = Vec::new();
        for table in tables {
            let is_worth = table.name.is_some() || is_alone || has_something(&table);
            let old_name = match &table.name {
                Some(name) => name.clone(),
                None => arguments.main.as_encoded_bytes().to_vec(),
            };
            if is_worth && chosen.takes(&old_name) {
                items.push(chosen.item(table, old_name));
            }
        }
        chosen.refuse_unmet()?;
        let mut names = BTreeSet::new();
        for item in &items {
            if !names.insert(&item.name) {
                return Err(Failure::Usage(format!(
                    "two tables would be named \"{}\"; give one of them another name, the main one with --main NAME, others with --rename OLD=NEW",
                    printable(&item.name)
                )));
            }
        }
        Ok(Self { items })
    }

    /// The number of records to copy, according to the source.
    pub(super) fn records(&self) -> u64 {
        let records = self.items.iter().map(|item| item.table.records);
        records.fold(0, u64::saturating_add)
    }
}

/// Whether a main table has records of its own.
fn has_something(main: &Table) -> bool {
    main.records > 0 || main.sequence > 0
}

/// The tables named on the command line, and which of them were found.
struct TableChoice<'a> {
    tables: BTreeSet<&'a [u8]>,
    renamed: Vec<(&'a [u8], &'a [u8])>,
    unordered: BTreeSet<&'a [u8]>,
    met: BTreeSet<Vec<u8>>,
}

impl<'a> TableChoice<'a> {
    fn new(arguments: &'a ImportArguments) -> Result<Self, Failure> {
        let mut renamed = Vec::new();
        for argument in &arguments.rename {
            let bytes = argument.as_encoded_bytes();
            let Some(equals) = bytes.iter().position(|byte| *byte == b'=') else {
                return Err(Failure::Usage(format!(
                    "--rename {argument:?} has no new name; write OLD=NEW"
                )));
            };
            renamed.push((&bytes[..equals], &bytes[equals + 1..]));
        }
        let names = |arguments: &'a [OsString]| {
            let names = arguments.iter().map(|name| name.as_encoded_bytes());
            names.collect::<BTreeSet<_>>()
        };
        Ok(Self {
            tables: names(&arguments.table),
            renamed,
            unordered: names(&arguments.unordered),
            met: BTreeSet::new(),
        })
    }

    fn takes(&mut self, name: &[u8]) -> bool {
        self.tables.is_empty() || self.tables.contains(name)
    }

    fn item(&mut self, table: Table, old_name: Vec<u8>) -> PlannedTable {
        let renamed = self.renamed.iter().find(|(old, _)| *old == old_name);
        let name = renamed.map_or_else(|| old_name.clone(), |(_, new)| new.to_vec());
        let is_sorted = !self.unordered.contains(&old_name[..]);
        let kind = kind(&table, is_sorted);
        self.met.insert(old_name.clone());
        PlannedTable {
            table,
            name,
            old_name,
            kind,
            is_sorted,
        }
    }

    /// Refuses names that no table has.
    fn refuse_unmet(&self) -> Result<(), Failure> {
        let renamed = self.renamed.iter().map(|(old, _)| *old);
        let named = (self.tables.iter().copied())
            .chain(renamed)
            .chain(self.unordered.iter().copied());
        for name in named {
            if !self.met.contains(name) {
                return Err(Failure::NotFound(format!(
                    "there is no table \"{}\" among the imported tables; use the names of the source",
                    printable(name)
                )));
            }
        }
        Ok(())
    }
}

fn kind(table: &Table, is_sorted: bool) -> TableKind {
    if !is_sorted {
        return TableKind {
            order: Order::Bytes,
            values: table.values.map(|_| ValueKind::default()),
        };
    }
    TableKind {
        order: order(table.order),
        values: table.values.map(|values| ValueKind {
            order: order(values.order),
            is_fixed: values.is_fixed,
        }),
    }
}

fn order(order: teak_foreign::Order) -> Order {
    match order {
        teak_foreign::Order::Bytes => Order::Bytes,
        teak_foreign::Order::ReverseBytes => Order::ReverseBytes,
        teak_foreign::Order::Integer => Order::Integer,
    }
}
