//! Teak's tables of several kinds.

use super::{FILE_NAME, TABLE_NAME};
use crate::{
    data::{Digest, PackedSum, Record},
    engines::{
        CountMethod, FIXED_LEN, KeyRange, KindsEngine, MultiPair, Nested, NestedEnding, PairBatch,
        Space, TableKind, ValueKind,
    },
};
use anyhow::{Result, bail};
use std::{ops::ControlFlow, path::Path};
use teak::{
    Cursor, Database, Direction, Durability, MultiTable, MultiTableDef, Options, ReadTxn, SeekOp,
    Table, TableDef, TableOptions, ValueSize, codec::Bytes,
};

/// An open database with a table of some kind.
pub(in crate::engines) struct TeakKinds {
    database: Database,
    table: OpenTable,
}

enum OpenTable {
    Plain(Table<Bytes, Bytes>),
    Pairs(MultiTable<Bytes, Bytes>),
}

impl OpenTable {
    fn cursor<'t>(&self, txn: &'t ReadTxn) -> teak::Result<Cursor<'t>> {
        match self {
            Self::Plain(table) => table.cursor(txn),
            Self::Pairs(table) => table.cursor(txn),
        }
    }
}

impl TeakKinds {
    /// Creates the database in `directory`, with the table.
    pub(in crate::engines) fn open(
        directory: &Path,
        kind: TableKind,
        options: Options,
    ) -> Result<Self> {
        let options = options.durability(Durability::Lazy);
        let database = options.open(directory.join(FILE_NAME))?;
        let mut txn = database.begin_write()?;
        let options = TableOptions::new();
        let table = match kind {
            TableKind::Plain => OpenTable::Plain(txn.create_table(TABLE_NAME)?),
            TableKind::Counted => OpenTable::Plain(
                TableDef::new(TABLE_NAME)
                    .options(options.counted(true))
                    .create(&mut txn)?,
            ),
            TableKind::Pairs(values) => {
                let size = match values {
                    ValueKind::Fixed => ValueSize::Bytes(FIXED_LEN as u16),
                    ValueKind::Variable => ValueSize::Any,
                };
                let options = options.value_size(size);
                OpenTable::Pairs(
                    MultiTableDef::new(TABLE_NAME)
                        .options(options)
                        .create(&mut txn)?,
                )
            }
        };
        txn.commit()?;
        Ok(Self { database, table })
    }

    fn plain(&self) -> Result<&Table<Bytes, Bytes>> {
        match &self.table {
            OpenTable::Plain(table) => Ok(table),
            OpenTable::Pairs(_) => bail!("in this table a key has several values"),
        }
    }

    fn pairs(&self) -> Result<&MultiTable<Bytes, Bytes>> {
        match &self.table {
            OpenTable::Pairs(table) => Ok(table),
            OpenTable::Plain(_) => bail!("in this table a key has one value"),
        }
    }
}

impl KindsEngine for TeakKinds {
    fn insert_pairs(&mut self, pairs: &[MultiPair]) -> Result<()> {
        let (mut txn, table) = (self.database.begin_write()?, self.pairs()?);
        for pair in pairs {
            table.insert(&mut txn, &pair.key[..], pair.value())?;
        }
        txn.commit()?;
        Ok(())
    }

    fn insert_batch(&mut self, batch: &PairBatch) -> Result<()> {
        let (mut txn, table) = (self.database.begin_write()?, self.pairs()?);
        let is_fixed = table.options(&txn)?.value_size != Some(ValueSize::Any);
        match batch.pairs.first() {
            Some(first) if batch.per_key >= batch.pairs.len() && is_fixed => {
                table.insert_packed(&mut txn, &first.key[..], &batch.packed)?;
            }
            Some(first) if batch.per_key >= batch.pairs.len() => {
                let values: Vec<&[u8]> = batch.pairs.iter().map(MultiPair::value).collect();
                table.insert_values(&mut txn, &first.key[..], &values)?;
            }
            _ => {
                let pairs = batch.pairs.iter();
                let pairs: Vec<_> = pairs.map(|pair| (&pair.key[..], pair.value())).collect();
                table.insert_many(&mut txn, &pairs)?;
            }
        }
        txn.commit()?;
        Ok(())
    }

    fn first_values(&mut self, pairs: &[MultiPair]) -> Result<Digest> {
        let (txn, table) = (self.database.begin_read()?, self.pairs()?);
        let mut digest = Digest::default();
        for pair in pairs {
            if let Some(value) = table.first_value(&txn, &pair.key[..])? {
                digest.add_value(&value);
            }
        }
        Ok(digest)
    }

    fn find_pairs(&mut self, pairs: &[MultiPair]) -> Result<u64> {
        let (txn, table) = (self.database.begin_read()?, self.pairs()?);
        let mut found = 0;
        for pair in pairs {
            found += u64::from(table.contains(&txn, &pair.key[..], pair.value())?);
        }
        Ok(found)
    }

    fn count_values(&mut self, pairs: &[MultiPair]) -> Result<u64> {
        let (txn, table) = (self.database.begin_read()?, self.pairs()?);
        let mut count = 0;
        for pair in pairs {
            count += table.count(&txn, &pair.key[..])?;
        }
        Ok(count)
    }

    fn scan(&mut self) -> Result<Digest> {
        let txn = self.database.begin_read()?;
        let mut digest = Digest::default();
        let mut cursor = self.table.cursor(&txn)?;
        while cursor.next()? {
            digest.add_record(cursor.key(), cursor.value()?);
        }
        Ok(digest)
    }

    /// The values of one key come from one call, those of several keys from a cursor.
    fn scan_packed(&mut self) -> Result<PackedSum> {
        let (txn, table) = (self.database.begin_read()?, self.pairs()?);
        let mut sum = PackedSum::default();
        let mut cursor = table.cursor(&txn)?;
        if cursor.next()? && cursor.count() == table.len(&txn)? {
            table.for_each_packed(&txn, cursor.key(), |values| {
                sum.add(values);
                ControlFlow::Continue(())
            })?;
            return Ok(sum);
        }
        while let Some(values) = cursor.read_packed(Direction::Forward)? {
            sum.add(values);
            cursor.next()?;
        }
        Ok(sum)
    }

    fn load(&mut self, records: &mut dyn Iterator<Item = Record>) -> Result<()> {
        let mut txn = self.database.begin_write()?;
        let records = records.map(|record| (record.key, record.value));
        self.plain()?.bulk_load(&mut txn, records)?;
        txn.commit()?;
        Ok(())
    }

    fn count_ranges(
        &mut self,
        counting: CountMethod,
        ranges: &[KeyRange],
    ) -> Result<Option<Vec<u64>>> {
        let (txn, table) = (self.database.begin_read()?, self.plain()?);
        let count = |(low, high): &KeyRange| match counting {
            CountMethod::Exact => Ok(table.range(&low[..]..&high[..]).count(&txn)?),
            CountMethod::About => Ok(table.range(&low[..]..&high[..]).estimate(&txn)?.records),
            CountMethod::Walk => {
                let mut cursor = table.cursor(&txn)?;
                let mut is_on_record = cursor.seek(SeekOp::GreaterOrEqual, low)?;
                let mut count = 0;
                while is_on_record && cursor.key() < &high[..] {
                    count += 1;
                    is_on_record = cursor.next()?;
                }
                Ok(count)
            }
        };
        ranges.iter().map(count).collect::<Result<_>>().map(Some)
    }

    fn remove_range(&mut self, (low, high): &KeyRange) -> Result<u64> {
        let mut txn = self.database.begin_write()?;
        let removed = self.plain()?.range(&low[..]..&high[..]).remove(&mut txn)?;
        txn.commit()?;
        Ok(removed)
    }

    fn clear(&mut self) -> Result<()> {
        let mut txn = self.database.begin_write()?;
        self.plain()?.clear(&mut txn)?;
        txn.commit()?;
        Ok(())
    }

    fn run_nested(&mut self, nested: &[Nested]) -> Result<()> {
        let (mut txn, table) = (self.database.begin_write()?, self.plain()?);
        for nested in nested {
            let savepoint = txn.savepoint()?;
            for record in &nested.records {
                table.insert(&mut txn, &record.key[..], &record.value[..])?;
            }
            if nested.ending == NestedEnding::RolledBack {
                txn.rollback_to(&savepoint)?;
            }
            txn.release(savepoint)?;
        }
        txn.commit()?;
        Ok(())
    }

    fn visit(&mut self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let txn = self.database.begin_read()?;
        let mut cursor = self.table.cursor(&txn)?;
        while cursor.next()? {
            see(cursor.key(), cursor.value()?);
        }
        Ok(())
    }

    fn len(&mut self) -> Result<u64> {
        let txn = self.database.begin_read()?;
        Ok(match &self.table {
            OpenTable::Plain(table) => table.len(&txn)?,
            OpenTable::Pairs(table) => table.len(&txn)?,
        })
    }

    fn space(&mut self) -> Result<Space> {
        let stat = self.database.stat()?;
        let used_bytes = stat.used_pages * stat.page_size as u64;
        Space::of_file(self.database.path(), used_bytes)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.database.sync()?)
    }
}
