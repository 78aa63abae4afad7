//! Opening existing tables.

use super::{
    Table,
    codec::Codec,
    kind::Kind,
    order_check::refuse_orders,
    sealed::Sealed,
    table_types::{CodecNames, refuse_other_types},
};
use crate::{Result, btree::TableClass, read::catalog, write::transaction::not_found};

/// A number that no table has and that has no root.
const NO_NUMBER: usize = usize::MAX;

/// Opens a table of this kind. Its types must be those that are recorded, and its keys in the order
/// of its comparison.
pub(super) fn open_table<K: Codec, V: Codec, M: Kind>(
    txn: &(impl Sealed + ?Sized),
    name: &[u8],
) -> Result<Table<K, V, M>> {
    let table = open_unordered(txn, name)?;
    let (engine, root) = (txn.engine(), table.root(txn)?);
    engine.refuse_disorder(txn.source(), &root, (table.handle(txn), name))?;
    Ok(table)
}

/// Opens a table of this kind, whose keys may be in another order than that of its comparison.
pub(super) fn open_unordered<K: Codec, V: Codec, M: Kind>(
    txn: &(impl Sealed + ?Sized),
    name: &[u8],
) -> Result<Table<K, V, M>> {
    let engine = txn.engine();
    if engine.named(number_of(txn, name))?.is_none() {
        return Err(not_found(name));
    }
    let table = Table::new(engine, name);
    let root = table.root(txn)?;
    refuse_orders::<K, V>(name, root.order, root.kind.values)?;
    refuse_other_types(txn, &root, name, CodecNames::of::<K, V>().names())?;
    Ok(table)
}

/// Returns the number of an existing table. The name of a missing table gets no number, because a
/// number takes memory until the database is closed.
pub(super) fn number_of<T: Sealed + ?Sized>(txn: &T, name: &[u8]) -> Result<Option<usize>> {
    let engine = txn.engine();
    if name.starts_with(catalog::EXPIRY_INDEX_START)
        && let Some(root) = txn.root_of(NO_NUMBER, name)?
        && root.kind.class == TableClass::Expiring
    {
        // The index of a table is none.
        return Ok(None);
    }
    if let Some(known) = engine.known_handle(name) {
        return Ok(Some(known));
    }
    match txn.root_of(NO_NUMBER, name) {
        Ok(None) => Ok(None),
        // The table exists, in an order that cannot be searched.
        Ok(Some(_)) | Err(crate::Error::ComparisonMissing { .. }) => Ok(Some(engine.handle(name))),
        Err(error) => Err(error),
    }
}
