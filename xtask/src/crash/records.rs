//! Changes that workloads make to tables and to their model.

use super::{
    expiring::{self, EXPIRING},
    history::{HistoryTables, MULTI, MULTI_KEY_LEN, TableRecords},
};
use crate::campaign::ms_of;
use fastrand::Rng;
use std::{ops::Range, sync::Arc};
use teak::{
    Error, ExpiringTable, MultiTable, Table, TableDef, TableOptions, TableTypes, WriteTxn,
    codec::Raw,
};

/// Keys are made from numbers below this.
const DOMAIN: u64 = 600;

const NAMES: [&str; 4] = ["alpha", "beta", MULTI, "gamma"];

/// The names of snapshots.
const SNAPSHOTS: [&str; 3] = ["one", "three", "two"];

/// This many keys have most of the values: some stored as sets, some as nested trees.
const MULTI_KEYS: u64 = 5;

fn options(name: &str) -> TableOptions {
    match name {
        "beta" => TableOptions::new().counted(true).share_prefixes(false),
        "gamma" => TableOptions::new().value_align(8),
        _ => TableOptions::new(),
    }
}

/// Keys of 4 to 40 bytes.
fn key(number: u64) -> Vec<u8> {
    let mut key = (number as u32).to_be_bytes().to_vec();
    key.resize(4 + (number % 37) as usize, b'k');
    key
}

fn value(rng: &mut Rng, len: usize) -> Arc<[u8]> {
    let mut value = vec![0; len];
    rng.fill(&mut value);
    value.into()
}

/// A pair: the key followed by the value. Some keys have a single value, one has every fourth.
fn pair(number: u64) -> Vec<u8> {
    let of = match number % 8 {
        0 | 1 => 0,
        2..7 => number % MULTI_KEYS,
        _ => number,
    };
    [&(of as u32).to_be_bytes()[..], &key(number)].concat()
}

/// A table to change, usually an existing one.
enum AnyTable {
    Plain(Table<Raw, Raw>),
    Multi(MultiTable<Raw, Raw>),
    Expiring(ExpiringTable<Raw, Raw>),
}

impl AnyTable {
    fn open(txn: &mut WriteTxn, name: &'static str) -> teak::Result<Self> {
        Ok(match name {
            MULTI => Self::Multi(txn.create_multi_table(name)?),
            EXPIRING => Self::Expiring(expiring::open(txn)?),
            _ => Self::Plain(TableDef::new(name).options(options(name)).create(txn)?),
        })
    }

    fn insert(&self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> teak::Result<()> {
        match self {
            Self::Plain(table) => table.insert(txn, key, value),
            Self::Multi(table) => {
                let (key, value) = key.split_at(MULTI_KEY_LEN);
                if !table.insert(txn, key, value)? {
                    // A transaction without changes makes no commit.
                    table.remove(txn, key, value)?;
                    table.insert(txn, key, value)?;
                }
                Ok(())
            }
            Self::Expiring(table) => {
                table.insert_with_expiry(txn, key, value, expiring::expiry(value))
            }
        }
    }

    fn remove(&self, txn: &mut WriteTxn, key: &[u8]) -> teak::Result<bool> {
        match self {
            Self::Plain(table) => table.remove(txn, key),
            Self::Multi(table) => {
                let (key, value) = key.split_at(MULTI_KEY_LEN);
                table.remove(txn, key, value)
            }
            Self::Expiring(table) => table.remove(txn, key),
        }
    }

    /// The time at which a transaction looks for expired records; any for other tables.
    fn now_ms(&self, txn: &WriteTxn) -> teak::Result<u64> {
        match self {
            Self::Expiring(table) => table.now(txn).map(ms_of),
            Self::Plain(_) | Self::Multi(_) => Ok(0),
        }
    }
}

/// A change of the tables in a transaction and of their model.
pub(super) struct HistoryChange<'c> {
    pub(super) txn: &'c mut WriteTxn,
    pub(super) tables: &'c mut HistoryTables,
    pub(super) rng: &'c mut Rng,
}

impl<'c> HistoryChange<'c> {
    pub(super) fn new(
        txn: &'c mut WriteTxn,
        tables: &'c mut HistoryTables,
        rng: &'c mut Rng,
    ) -> Self {
        Self { txn, tables, rng }
    }

    fn insert(&mut self, lens: impl Iterator<Item = usize>) -> teak::Result<()> {
        let Self { txn, tables, rng } = self;
        let name = NAMES[rng.usize(0..NAMES.len())];
        let table = AnyTable::open(txn, name)?;
        let records = Arc::make_mut(tables.entry(name).or_default());
        for len in lens {
            let number = rng.u64(0..DOMAIN);
            let (key, value) = match table {
                AnyTable::Plain(_) | AnyTable::Expiring(_) => (key(number), value(rng, len)),
                AnyTable::Multi(_) => (pair(number), value(rng, 0)),
            };
            table.insert(txn, &key, &value)?;
            records.insert(key, value);
        }
        if rng.u8(0..6) == 0 {
            let types = TableTypes::new("keys", format!("type {}", rng.u8(..)));
            txn.set_table_types(name, &types)?;
            tables.types.insert(name, types);
        }
        Ok(())
    }

    /// Inserts records with these values and random keys into a table.
    pub(super) fn insert_values(
        &mut self,
        name: &'static str,
        values: Vec<Arc<[u8]>>,
    ) -> teak::Result<()> {
        let Self { txn, tables, rng } = self;
        let table = AnyTable::open(txn, name)?;
        let records = Arc::make_mut(tables.entry(name).or_default());
        for value in values {
            let key = key(rng.u64(0..DOMAIN));
            table.insert(txn, &key, &value)?;
            records.insert(key, value);
        }
        Ok(())
    }

    /// Inserts `count` small records.
    pub(super) fn put(&mut self, count: usize) -> teak::Result<()> {
        let len_max = [20, 100, 300][self.rng.usize(0..3)];
        let lens: Vec<usize> = (0..count).map(|_| self.rng.usize(0..len_max)).collect();
        self.insert(lens.into_iter())
    }

    /// Inserts or removes a few records, in a way that keeps the transaction small; one in 32
    /// changes more records of two tables, some of them several times.
    pub(super) fn put_small(&mut self) -> teak::Result<()> {
        match self.rng.u8(0..32) {
            0 => {
                self.put_some(1..30, "beta")?;
                self.put_some(1..30, "alpha")
            }
            1..4 => self.put_some(1..4, "beta"),
            _ => self.put_some(1..4, "alpha"),
        }
    }

    fn put_some(&mut self, count: Range<usize>, name: &'static str) -> teak::Result<()> {
        let Self { txn, tables, rng } = self;
        let table = AnyTable::open(txn, name)?;
        let records = Arc::make_mut(tables.entry(name).or_default());
        for _ in 0..rng.usize(count) {
            let (key, len) = (key(rng.u64(0..DOMAIN)), rng.usize(0..300));
            let value = value(rng, len);
            if rng.u8(0..4) == 0 && records.remove(&key).is_some() {
                table.remove(txn, &key)?;
            } else {
                table.insert(txn, &key, &value)?;
                records.insert(key, value);
            }
        }
        Ok(())
    }

    /// Inserts a value that has pages of its own.
    pub(super) fn put_large(&mut self, page_size: usize) -> teak::Result<()> {
        let len = self.rng.usize(page_size / 2..page_size * 3);
        self.insert([len].into_iter())
    }

    /// Removes about this share of the records of a table, in percent.
    pub(super) fn remove(&mut self, percent: u32) -> teak::Result<()> {
        let Some(name) = self.existing() else {
            return Ok(());
        };
        let Self { txn, tables, rng } = self;
        let table = AnyTable::open(txn, name)?;
        let records: &mut TableRecords = Arc::make_mut(tables.entry(name).or_default());
        let is_removed = |_: &&Vec<u8>| rng.u32(0..100) < percent;
        let keys: Vec<Vec<u8>> = records.keys().filter(is_removed).cloned().collect();
        let now_ms = table.now_ms(txn)?;
        for key in keys {
            // A record that has expired is not seen any more.
            let is_seen = name != EXPIRING || expiring::is_live(&records[&key], now_ms);
            if table.remove(txn, &key)? != is_seen {
                let text = "an existing record could not be removed";
                return Err(Error::InvalidArgument(text.to_owned()));
            }
            records.remove(&key);
        }
        Ok(())
    }

    pub(super) fn drop_table(&mut self) -> teak::Result<()> {
        if let Some(name) = self.existing() {
            self.txn.drop_table(name)?;
            self.tables.remove(name);
            self.tables.types.remove(name);
        }
        Ok(())
    }

    fn existing(&mut self) -> Option<&'static str> {
        let index = self.rng.usize(0..self.tables.len().max(1));
        self.tables.keys().nth(index).copied()
    }

    /// Makes changes within a nested transaction that is rolled back.
    pub(super) fn nested(&mut self, page_size: usize) -> teak::Result<()> {
        const ROLLED_BACK: &str = "rolled back on purpose";
        let mut scratch = self.tables.clone();
        let result: teak::Result<()> = self.txn.nested(|txn| {
            let mut change = HistoryChange::new(txn, &mut scratch, self.rng);
            change.put(10)?;
            change.put_large(page_size)?;
            change.remove(30)?;
            Err(Error::InvalidArgument(ROLLED_BACK.to_owned()))
        });
        match result {
            Err(Error::InvalidArgument(text)) if text == ROLLED_BACK => Ok(()),
            other => other,
        }
    }

    /// Makes nested savepoints, and rolls back to one of them.
    pub(super) fn savepoints(&mut self, page_size: usize) -> teak::Result<()> {
        let outer = self.txn.savepoint()?;
        let before = self.tables.clone();
        self.put(8)?;
        let inner = self.txn.savepoint()?;
        let between = self.tables.clone();
        self.remove(50)?;
        self.put_large(page_size)?;
        match self.rng.u8(0..4) {
            0 => {
                self.txn.rollback_to(&outer)?;
                *self.tables = before;
            }
            1 => {
                self.txn.rollback_to(&inner)?;
                *self.tables = between;
                self.put(3)?;
                self.txn.release(inner)?;
            }
            2 => self.txn.release(inner)?,
            _ => {
                self.drop_table()?;
                self.txn.rollback_to(&inner)?;
                *self.tables = between;
            }
        }
        self.txn.release(outer)
    }

    /// Names the state that the transaction commits.
    pub(super) fn name(&mut self) -> teak::Result<()> {
        let name = SNAPSHOTS[self.rng.usize(0..SNAPSHOTS.len())];
        if !self.tables.is_named(name) {
            self.txn.create_snapshot(name)?;
            self.tables.name(name);
        }
        Ok(())
    }

    /// An existing snapshot.
    fn named(&mut self) -> Option<&'static str> {
        let count = self.tables.named.len();
        let name = (self.tables.named.keys()).nth(self.rng.usize(0..count.max(1)));
        name.copied()
    }

    /// Drops a named snapshot, if there is one.
    pub(super) fn drop_snapshot(&mut self) -> teak::Result<()> {
        if let Some(name) = self.named() {
            self.txn.drop_snapshot(name)?;
            self.tables.named.remove(name);
        }
        Ok(())
    }

    /// Rolls back to a named snapshot, if there is one. The transaction has not changed anything
    /// yet.
    pub(super) fn roll_back_to_snapshot(&mut self) -> teak::Result<()> {
        if let Some(name) = self.named() {
            self.txn.roll_back_to_snapshot(name)?;
            self.tables.roll_back_to_snapshot(name);
        }
        Ok(())
    }
}
