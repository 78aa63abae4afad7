//! Invariants of every snapshot.

use super::{
    journal::Promises,
    tables::{ACCOUNTS, BALANCE, NAMES, StormTables, is_content},
};
use crate::{Result, campaign::database::records};
use std::collections::BTreeMap;
use teak::Transaction;
use xxhash_rust::xxh3::Xxh3;

/// How thoroughly a snapshot is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InvariantDepth {
    /// The promises.
    Promises,
    /// The consistency of the tables with each other.
    Tables,
    /// The content of every value too.
    Values,
}

/// Fails unless the snapshot satisfies the invariants. Returns its counter.
pub(super) fn check(
    txn: &impl Transaction,
    promises: &Promises,
    depth: InvariantDepth,
) -> Result<u64> {
    let Some(tables) = StormTables::open(txn)? else {
        return if promises.is_empty() {
            Ok(0)
        } else {
            Err(failure!(
                "there are no tables, but commits were acknowledged"
            ))
        };
    };
    let count = check_promises(txn, &tables, promises)?;
    if depth != InvariantDepth::Promises {
        check_accounts(txn, &tables)?;
        check_mirror(txn, &tables)?;
    }
    if depth == InvariantDepth::Values {
        check_values(txn, &tables)?;
    }
    Ok(count)
}

fn check_promises(
    txn: &impl Transaction,
    tables: &StormTables,
    promises: &Promises,
) -> Result<u64> {
    let count = tables.count(txn)?;
    ensure!(
        count >= promises.counter,
        "the counter is {count}, but {} was seen before",
        promises.counter
    );
    let made = tables.acknowledged.iter(txn)?;
    let made = made.collect::<teak::Result<BTreeMap<u64, u64>>>()?;
    for (writer, promised) in &promises.writers {
        let made = made.get(writer).copied().unwrap_or(0);
        if made < *promised {
            bail!("{made} commits of writer {writer} exist, but {promised} returned");
        }
    }
    let sum: u64 = made.values().sum();
    ensure!(
        sum == count,
        "the counter is {count}, but the commits of all writers are {sum}"
    );
    Ok(count)
}

fn check_accounts(txn: &impl Transaction, tables: &StormTables) -> Result {
    let (mut accounts, mut sum) = (0, 0u64);
    for record in tables.accounts.iter(txn)? {
        accounts += 1;
        sum = sum.saturating_add(record?.1);
    }
    ensure!(
        (accounts, sum) == (ACCOUNTS, ACCOUNTS * BALANCE),
        "{accounts} accounts have {sum}, but {ACCOUNTS} should have {}",
        ACCOUNTS * BALANCE
    );
    Ok(())
}

fn check_mirror(txn: &impl Transaction, tables: &StormTables) -> Result {
    for record in tables.mirror.iter(txn)? {
        let (key, value) = record?;
        let found = tables.inverse.get(txn, value)?;
        ensure!(
            found == Some(key),
            "key {key} has value {value}, but the inverse of that is {found:?}"
        );
    }
    let [mirror, inverse] = [&tables.mirror, &tables.inverse].map(|table| table.iter(txn));
    let (mirror, inverse) = (mirror?.count(), inverse?.count());
    ensure!(
        mirror == inverse,
        "the mirror has {mirror} records, but the inverse {inverse}"
    );
    let counted = tables.mirror.len(txn)?;
    ensure!(
        counted == mirror as u64,
        "the mirror has {mirror} records, but counts {counted}"
    );
    Ok(())
}

fn check_values(txn: &impl Transaction, tables: &StormTables) -> Result {
    for record in tables.large.iter(txn)? {
        let (key, value) = record?;
        ensure!(is_content(value), "large value {key} has wrong bytes");
    }
    for record in tables.bulk.iter(txn)? {
        let (key, value) = record?;
        ensure!(is_content(value), "record {key:?} has wrong bytes");
    }
    Ok(())
}

/// A hash over all records of all tables.
pub(super) fn digest(txn: &impl Transaction) -> Result<u64> {
    let mut hash = Xxh3::new();
    for name in NAMES {
        for (key, value) in records(txn, name)? {
            for part in [key, value] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(&part);
            }
        }
    }
    Ok(hash.digest())
}
