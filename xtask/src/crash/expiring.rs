//! A table whose records expire, and comparisons with its model.
//!
//! A value begins with the time at which its record expires. The model has expired records too:
//! the table may have removed them or not, and shows none of them.

use crate::{
    Context, Result,
    campaign::{ms_of, time_of},
};
use std::{collections::BTreeMap, sync::Arc};
use teak::{ExpiringTable, Expiry, ExpiryOptions, Transaction, WriteTxn, codec::Raw};

/// A table whose records expire.
pub(super) const EXPIRING: &str = "epsilon";

/// The time of records that never expire.
pub(super) const NEVER_MS: u64 = u64::MAX;
/// Length of the time in a value.
pub(super) const TIME_LEN: usize = 8;

pub(super) fn open(txn: &mut WriteTxn) -> teak::Result<ExpiringTable<Raw, Raw>> {
    txn.create_expiring_table(EXPIRING, &ExpiryOptions::new())
}

/// The time at which the record with this value expires.
fn expires_ms(value: &[u8]) -> u64 {
    value
        .first_chunk()
        .map_or(0, |time| u64::from_le_bytes(*time))
}

pub(super) fn expiry(value: &[u8]) -> Expiry {
    match expires_ms(value) {
        NEVER_MS => Expiry::Never,
        ms => Expiry::At(time_of(ms)),
    }
}

/// Whether a record with this value is visible.
pub(super) fn is_live(value: &[u8], now_ms: u64) -> bool {
    now_ms < expires_ms(value)
}

/// Fails with a description unless the table shows exactly the records that have not expired.
pub(super) fn compare_expiring(
    txn: &impl Transaction,
    name: &str,
    records: &BTreeMap<Vec<u8>, Arc<[u8]>>,
) -> Result {
    let failed = format_args!("reading table {name}");
    let table = txn.open_expiring_table::<Raw, Raw>(name).context(failed)?;
    let now_ms = ms_of(table.now(txn).context(failed)?);
    let live: BTreeMap<_, _> = (records.iter())
        .filter(|(_, value)| is_live(value, now_ms))
        .collect();
    let count = table.len(txn).context(failed)?;
    let mut found = table.iter(txn).context(failed)?;
    for (key, value) in &live {
        let record = found.next().transpose().context(failed)?;
        let is_same = record.is_some_and(|record| record.0 == **key && *record.1 == ***value);
        ensure!(
            is_same,
            "table {name}: another record where \"{}\" should be",
            key.escape_ascii()
        );
        let expires = table.get_with_expiry(txn, *key).context(failed)?;
        let expires = expires.map(|(_, at)| at.map_or(NEVER_MS, ms_of));
        let expected = expires_ms(value);
        ensure!(
            expires == Some(expected),
            "table {name}: \"{}\" expires at {expires:?}, not at {expected}",
            key.escape_ascii()
        );
    }
    let expected = live.len();
    ensure!(
        count == expected as u64 && found.next().is_none(),
        "table {name} has {count} records or more, not {expected}"
    );
    Ok(())
}
