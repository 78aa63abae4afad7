//! LMDB's tables of several kinds.

use super::{
    Lmdb, PageWriteMode, ffi,
    raw::{LmdbAccess, LmdbMove, LmdbTable},
};
use crate::{
    data::{Digest, PackedSum, Record},
    engines::{
        CountMethod, Engine, FIXED_LEN, KeyRange, KindsEngine, MultiPair, Nested, NestedEnding,
        OpenSettings, PairBatch, Space, TableKind, ValueKind,
    },
};
use anyhow::Result;
use std::path::Path;

impl Lmdb {
    /// Creates the environment in `directory`, with a table of some kind. Tables are not counted.
    pub(in crate::engines) fn open_kind(
        directory: &Path,
        opening: &OpenSettings,
        writing: PageWriteMode,
        kind: TableKind,
    ) -> Result<Self> {
        let table_flags = match kind {
            TableKind::Plain | TableKind::Counted => 0,
            TableKind::Pairs(ValueKind::Fixed) => ffi::MDB_DUPSORT | ffi::MDB_DUPFIXED,
            TableKind::Pairs(ValueKind::Variable) => ffi::MDB_DUPSORT,
        };
        Self::open_with(directory, opening, writing, table_flags)
    }
}

impl KindsEngine for Lmdb {
    fn insert_pairs(&mut self, pairs: &[MultiPair]) -> Result<()> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        for pair in pairs {
            transaction.put(&pair.key, pair.value(), 0)?;
        }
        transaction.commit()
    }

    /// LMDB takes many values of a key in one call if all have one length.
    fn insert_batch(&mut self, batch: &PairBatch) -> Result<()> {
        let is_fixed = batch.packed.len() == batch.pairs.len() * FIXED_LEN;
        if batch.per_key == 1 || !is_fixed {
            return self.insert_pairs(&batch.pairs);
        }
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        let mut cursor = transaction.write_cursor()?;
        let packed = batch.packed.chunks(batch.per_key * FIXED_LEN);
        for (pairs, values) in batch.groups().zip(packed) {
            cursor.put_packed(&pairs[0].key, values, FIXED_LEN)?;
        }
        drop(cursor);
        transaction.commit()
    }

    fn first_values(&mut self, pairs: &[MultiPair]) -> Result<Digest> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut digest = Digest::default();
        for pair in pairs {
            if let Some(value) = transaction.get(&pair.key)? {
                digest.add_value(value);
            }
        }
        Ok(digest)
    }

    fn find_pairs(&mut self, pairs: &[MultiPair]) -> Result<u64> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut found = 0;
        for pair in pairs {
            found += u64::from(cursor.find_pair(&pair.key, pair.value())?);
        }
        Ok(found)
    }

    fn count_values(&mut self, pairs: &[MultiPair]) -> Result<u64> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut count = 0;
        for pair in pairs {
            if cursor.find_key(&pair.key)? {
                count += cursor.count()?;
            }
        }
        Ok(count)
    }

    fn scan(&mut self) -> Result<Digest> {
        Engine::scan(self)
    }

    fn scan_packed(&mut self) -> Result<PackedSum> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut sum = PackedSum::default();
        while let Some((_, first)) = cursor.go(LmdbMove::NextKey)? {
            sum.add(cursor.packed(first)?);
            while let Some(values) = cursor.next_packed()? {
                sum.add(values);
            }
        }
        Ok(sum)
    }

    fn load(&mut self, records: &mut dyn Iterator<Item = Record>) -> Result<()> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        for record in records {
            transaction.put(&record.key, &record.value, ffi::MDB_APPEND)?;
        }
        transaction.commit()
    }

    fn count_ranges(
        &mut self,
        counting: CountMethod,
        ranges: &[KeyRange],
    ) -> Result<Option<Vec<u64>>> {
        if counting != CountMethod::Walk {
            return Ok(None);
        }
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        let mut counts = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            let (mut found, mut count) = (cursor.seek(low)?, 0);
            while found.is_some_and(|(key, _)| key < &high[..]) {
                count += 1;
                found = cursor.go(LmdbMove::Next)?;
            }
            counts.push(count);
        }
        Ok(Some(counts))
    }

    fn remove_range(&mut self, (low, high): &KeyRange) -> Result<u64> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        let removed = transaction.write_cursor()?.remove_range(low, high)?;
        transaction.commit()?;
        Ok(removed)
    }

    fn clear(&mut self) -> Result<()> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        transaction.clear()?;
        transaction.commit()
    }

    fn run_nested(&mut self, nested: &[Nested]) -> Result<()> {
        let mut transaction = self.environment.begin(LmdbAccess::Write)?;
        for nested in nested {
            let mut inner = transaction.nested()?;
            for record in &nested.records {
                inner.put(&record.key, &record.value, 0)?;
            }
            match nested.ending {
                NestedEnding::Kept => inner.commit()?,
                NestedEnding::RolledBack => drop(inner),
            }
        }
        transaction.commit()
    }

    fn visit(&mut self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let transaction = self.environment.begin(LmdbAccess::Read)?;
        let mut cursor = transaction.cursor(LmdbTable::Records)?;
        while let Some((key, value)) = cursor.go(LmdbMove::Next)? {
            see(key, value);
        }
        Ok(())
    }

    fn len(&mut self) -> Result<u64> {
        self.environment.begin(LmdbAccess::Read)?.len()
    }

    fn space(&mut self) -> Result<Space> {
        Engine::space(self)
    }
}
