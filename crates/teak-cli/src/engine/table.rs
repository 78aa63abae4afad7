//! Tables of all kinds: with one value per key, with several, and with records that expire.

use super::records::{Direction, KeyBound, RecordChange};
use crate::failure::Failure;
use crate::text::{Order, TableKind, ValueKind};
use teak::codec::{EncodeAs, Raw};
use teak::{
    BulkOptions, Difference, Error, ExpiringDifference, ExpiringTable, Expiry, KeyOrder,
    MultiTable, MultiTableDef, ReadTxn, Table, TableDef, TableOptions, Transaction, ValueSize,
    WriteTxn,
};

/// Pairs per insertion if a table cannot be built bottom-up.
const BATCH_PAIRS: usize = 10_000;

type RawTable = Table<Raw, Raw>;
type RawMultiTable = MultiTable<Raw, Raw>;
type RawExpiringTable = ExpiringTable<Raw, Raw>;

/// Bytes of any type that holds them.
struct Piece<T>(T);

impl<T: AsRef<[u8]>> EncodeAs<Raw> for Piece<T> {
    fn encode_as(&self) -> teak::Result<impl AsRef<[u8]>> {
        Ok(self.0.as_ref())
    }
}

/// A table of raw bytes for keys and values.
pub(crate) enum AnyTable {
    /// Keys have one value.
    One(RawTable),
    /// Keys have several values.
    Several(RawMultiTable),
    /// Records expire. Those that have expired are not shown.
    Expiring(RawExpiringTable),
}

impl AnyTable {
    /// Opens a table of any kind.
    pub(crate) fn open<T: Transaction>(txn: &T, name: &[u8]) -> teak::Result<Self> {
        match txn.open_table(name) {
            Err(Error::TableMismatch { .. }) => {}
            opened => return opened.map(Self::One),
        }
        match txn.open_multi_table(name) {
            Err(Error::TableMismatch { .. }) => txn.open_expiring_table(name).map(Self::Expiring),
            opened => opened.map(Self::Several),
        }
    }

    /// Creates a table of that kind.
    pub(super) fn create(txn: &mut WriteTxn, name: &[u8], kind: TableKind) -> teak::Result<Self> {
        let options = TableOptions::new().order(key_order(kind.order));
        let Some(values) = kind.values else {
            return TableDef::from_bytes(name)
                .options(options)
                .create(txn)
                .map(Self::One);
        };
        let size = match values.is_fixed {
            true => ValueSize::AsFirst,
            false => ValueSize::Any,
        };
        let options = options
            .value_order(key_order(values.order))
            .value_size(size);
        MultiTableDef::from_bytes(name)
            .options(options)
            .create(txn)
            .map(Self::Several)
    }

    /// The number of records, or of pairs if keys have several values.
    pub(crate) fn len<T: Transaction>(&self, txn: &T) -> teak::Result<u64> {
        match self {
            Self::One(table) => table.len(txn),
            Self::Several(table) => table.len(txn),
            Self::Expiring(table) => table.len(txn),
        }
    }

    /// Draws numbers from the table's sequence.
    pub(crate) fn draw_sequence(&self, txn: &mut WriteTxn, count: u64) -> teak::Result<u64> {
        match self {
            Self::One(table) => table.draw_sequence(txn, count),
            Self::Several(table) => table.draw_sequence(txn, count),
            Self::Expiring(_) => {
                let text = "a table whose records expire has no sequence to draw from";
                Err(Error::InvalidArgument(text.into()))
            }
        }
    }

    pub(crate) fn clear(&self, txn: &mut WriteTxn) -> teak::Result<()> {
        match self {
            Self::One(table) => table.clear(txn),
            Self::Several(table) => table.clear(txn),
            Self::Expiring(table) => table.clear(txn).map(drop),
        }
    }

    /// The values of a key.
    pub(crate) fn values(&self, txn: &ReadTxn, key: &[u8]) -> teak::Result<Vec<Vec<u8>>> {
        match self {
            Self::One(table) => Ok(table
                .get(txn, key)?
                .map(<[u8]>::to_vec)
                .into_iter()
                .collect()),
            Self::Several(table) => table.values(txn, key)?.collect(),
            Self::Expiring(table) => {
                let value = table.get(txn, key)?.map(<[u8]>::to_vec);
                Ok(value.into_iter().collect())
            }
        }
    }

    /// Removes a key with all its values, or only this value. Returns whether it existed.
    pub(crate) fn remove(
        &self,
        txn: &mut WriteTxn,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> teak::Result<bool> {
        match (self, value) {
            (Self::One(table), Some(value)) => {
                Ok(table.get(&*txn, key)? == Some(value) && table.remove(txn, key)?)
            }
            (Self::One(table), None) => table.remove(txn, key),
            (Self::Several(table), Some(value)) => table.remove(txn, key, value),
            (Self::Several(table), None) => Ok(table.remove_key(txn, key)? > 0),
            (Self::Expiring(table), Some(value)) => {
                Ok(table.get(&*txn, key)? == Some(value) && table.remove(txn, key)?)
            }
            (Self::Expiring(table), None) => table.remove(txn, key),
        }
    }

    /// Inserts a record, and returns the value that it replaces. A pair that exists already
    /// replaces itself.
    pub(crate) fn insert(
        &self,
        txn: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
    ) -> teak::Result<Option<Vec<u8>>> {
        match self {
            Self::One(table) if table.insert_new(txn, key, value)? => Ok(None),
            Self::One(table) => {
                let old = table.get(&*txn, key)?.map(<[u8]>::to_vec);
                if old.as_deref() != Some(value) {
                    table.insert(txn, key, value)?;
                }
                Ok(old)
            }
            Self::Several(table) => {
                let is_new = table.insert(txn, key, value)?;
                Ok((!is_new).then(|| value.to_vec()))
            }
            Self::Expiring(table) => {
                let old = table.get(&*txn, key)?.map(<[u8]>::to_vec);
                table.insert_with_expiry(txn, key, value, Expiry::Default)?;
                Ok(old)
            }
        }
    }

    /// Builds an empty table from records in its order.
    pub(crate) fn load_sorted(
        &self,
        txn: &mut WriteTxn,
        records: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> teak::Result<u64> {
        if let Self::Expiring(table) = self {
            return load_expiring(table, txn, records);
        }
        let records = records.map(|(key, value)| (Piece(key), Piece(value)));
        match self {
            Self::One(table) => table.bulk_load(txn, records),
            Self::Several(table) => table.bulk_load(txn, records),
            Self::Expiring(_) => Ok(0),
        }
    }

    /// Fills an empty table with records in any order; of equal keys the last one counts.
    pub(crate) fn load_unsorted(
        &self,
        txn: &mut WriteTxn,
        records: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> teak::Result<u64> {
        let table = match self {
            Self::One(table) => {
                let options = BulkOptions::default();
                let records = records.map(|(key, value)| (Piece(key), Piece(value)));
                return table.bulk_load_unsorted(txn, records, options, &mut |_progress| {});
            }
            Self::Several(table) => table,
            Self::Expiring(table) => return load_expiring(table, txn, records),
        };
        let (mut loaded, mut records) = (0, records.fuse());
        loop {
            let batch: Vec<_> = records.by_ref().take(BATCH_PAIRS).collect();
            if batch.is_empty() {
                return Ok(loaded);
            }
            let pairs: Vec<(&[u8], &[u8])> = (batch.iter())
                .map(|(key, value)| (key.as_ref(), value.as_ref()))
                .collect();
            loaded += table.insert_many(txn, &pairs)?;
        }
    }

    /// Shows every record to `visit`, in order.
    pub(crate) fn for_each(
        &self,
        txn: &ReadTxn,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut cursor = match self {
            Self::One(table) => table.cursor(txn)?,
            Self::Several(table) => table.cursor(txn)?,
            Self::Expiring(table) => {
                for record in table.iter(txn)? {
                    let (key, value) = record?;
                    visit(&key, value)?;
                }
                return Ok(());
            }
        };
        while cursor.next()? {
            visit(cursor.key(), cursor.value()?)?;
        }
        Ok(())
    }

    /// Shows up to `limit` records of a range of keys to `visit`.
    pub(crate) fn for_each_in_range(
        &self,
        txn: &ReadTxn,
        (from, to): (&KeyBound, &KeyBound),
        direction: Direction,
        limit: usize,
        visit: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let bounds = (
            from.as_ref().map(Vec::as_slice),
            to.as_ref().map(Vec::as_slice),
        );
        match self {
            Self::One(table) => {
                let records = table.range(bounds).iter(txn)?;
                show_records(records, direction, limit, visit)
            }
            Self::Several(table) => {
                let records = table.range(bounds).iter(txn)?;
                show_records(records, direction, limit, visit)
            }
            Self::Expiring(table) => {
                show_records(table.range(txn, bounds)?, direction, limit, visit)
            }
        }
    }

    /// Shows the records that differ between two states to `visit`, in the order of keys.
    pub(crate) fn for_each_change(
        &self,
        (older, newer): (&ReadTxn, &ReadTxn),
        visit: impl FnMut(RecordChange<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::One(table) => show_changes(table.differences(older, newer)?, visit),
            Self::Several(table) => show_changes(table.differences(older, newer)?, visit),
            Self::Expiring(table) => {
                let differences = table.differences(older, newer)?;
                show_changes(differences.map(|found| found.map(plain_difference)), visit)
            }
        }
    }
}

/// A difference without its expiry.
fn plain_difference<K, V>(difference: ExpiringDifference<K, V>) -> Difference<K, V> {
    match difference {
        ExpiringDifference::Inserted { key, value, .. } => Difference::Inserted { key, value },
        ExpiringDifference::Changed { key, old, new, .. } => Difference::Changed { key, old, new },
        ExpiringDifference::Removed { key, value }
        | ExpiringDifference::Expired { key, value, .. } => Difference::Removed { key, value },
    }
}

/// Fills a table with records, which expire after its time to live.
fn load_expiring(
    table: &RawExpiringTable,
    txn: &mut WriteTxn,
    records: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> teak::Result<u64> {
    let mut loaded = 0;
    for (key, value) in records {
        table.insert(txn, Piece(key), Piece(value))?;
        loaded += 1;
    }
    Ok(loaded)
}

fn show_records<V: AsRef<[u8]>>(
    mut records: impl DoubleEndedIterator<Item = teak::Result<(Vec<u8>, V)>>,
    direction: Direction,
    limit: usize,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for _ in 0..limit {
        let Some(record) = direction.next(&mut records) else {
            break;
        };
        let (key, value) = record?;
        visit(&key, value.as_ref())?;
    }
    Ok(())
}

fn show_changes<V: AsRef<[u8]>>(
    differences: impl Iterator<Item = teak::Result<Difference<Vec<u8>, V>>>,
    mut visit: impl FnMut(RecordChange<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for difference in differences {
        let difference = difference?;
        visit(RecordChange {
            key: difference.key(),
            old: difference.old_value().map(AsRef::as_ref),
            new: difference.new_value().map(AsRef::as_ref),
        })?;
    }
    Ok(())
}

fn key_order(order: Order) -> KeyOrder {
    match order {
        Order::Bytes => KeyOrder::Bytes,
        Order::ReverseBytes => KeyOrder::ReverseBytes,
        Order::Integer => KeyOrder::Integer,
    }
}

/// The order for text formats.
pub(super) fn order(order: KeyOrder) -> Order {
    match order {
        KeyOrder::ReverseBytes => Order::ReverseBytes,
        KeyOrder::Integer => Order::Integer,
        _ => Order::Bytes,
    }
}

/// The kind of a table with these options, for text formats.
pub(super) fn kind(options: &TableOptions) -> TableKind {
    TableKind {
        order: order(options.order),
        values: options.value_order.map(|values| ValueKind {
            order: order(values),
            is_fixed: options.value_size != Some(ValueSize::Any),
        }),
    }
}
