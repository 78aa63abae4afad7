//! Tables whose records expire.

use super::{collector::FindingCollector, tables::all_tables};
use teak::{ExpiringTable, Expiry, Result, Transaction, WriteTxn, codec::Raw};

/// Records that are changed at most.
const CHANGES: usize = 4;

/// Reads all tables whose records expire.
pub(super) fn read<T: Transaction>(collector: &mut FindingCollector<'_>, txn: &T) {
    for info in all_tables(collector, txn) {
        if info.options.expiring {
            let opened = txn.open_expiring_table(&info.name);
            if let Some(table) = collector.note("opening an expiring table", opened) {
                let result = read_table(collector, txn, &table);
                collector.note("reading an expiring table", result);
            }
        }
    }
}

fn read_table<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &ExpiringTable<Raw, Raw>,
) -> Result<()> {
    let there = collector.exhaust("a scan of live records", table.iter(txn)?);
    let back = collector.exhaust("a scan of live records back", table.iter(txn)?.rev());
    collector.agree("a scan of live records and one back differ", &there, &back);
    collector.note("the counts of an expiring table", table.stat(txn));
    collector.note("the options of an expiring table", table.options(txn));
    collector.note("the length of an expiring table", table.len(txn));
    for record in table.iter(txn)?.take(CHANGES).flatten() {
        let found = table.get_with_expiry(txn, &record.0);
        collector.note("a lookup in an expiring table", found);
    }
    Ok(())
}

/// Changes each table whose records expire, in a transaction within this one.
pub(super) fn change(collector: &mut FindingCollector<'_>, txn: &mut WriteTxn) {
    for info in all_tables(collector, txn) {
        if info.options.expiring {
            let changed = txn.nested(|txn| change_table(collector, txn, &info.name));
            collector.note("changing an expiring table", changed);
        }
    }
}

fn change_table(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    name: &[u8],
) -> Result<()> {
    let table: ExpiringTable<Raw, Raw> = txn.open_expiring_table(name)?;
    let records = table.iter(txn)?.take(CHANGES);
    let keys: Vec<_> = records.filter_map(|record| Some(record.ok()?.0)).collect();
    for key in keys {
        match collector.rng.u8(..3) {
            0 => table.insert(txn, &key, b"another value")?,
            1 => drop(table.remove(txn, &key)?),
            _ => drop(table.set_expiry(txn, &key, Expiry::Never)?),
        }
    }
    match collector.rng.u8(..4) {
        0 => table.set_max_records(txn, Some(3))?,
        1 => table.set_max_records(txn, None)?,
        2 => drop(table.clear(txn)?),
        _ => drop(table.remove_expired(txn, u64::MAX)?),
    }
    table.insert(txn, b"a new key", b"a new value")
}
