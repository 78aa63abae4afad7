//! Changes of an expiring table and of its model.

use super::{operation::ExpiringChange, oracle::ExpiringOracle, state::RawExpiringTable};
use crate::{
    campaign::ms_of,
    model::violation::{ModelResult, expect_same},
};
use std::time::Duration;
use teak::WriteTxn;

/// Makes a change in the table and in the model.
pub(super) fn perform(
    txn: &mut WriteTxn,
    table: &RawExpiringTable,
    model: &mut ExpiringOracle,
    change: &ExpiringChange,
) -> ModelResult {
    let now_ms = ms_of(table.now(txn)?);
    match change {
        ExpiringChange::RemoveExpired(limit) => {
            let removed = table.remove_expired(txn, *limit)?;
            expect_same("removed, at most the limit", removed <= *limit, true)?;
            if removed < *limit {
                model.remove_expired(now_ms);
                expect_same("expired records", table.stat(txn)?.expired, 0)?;
            }
        }
        ExpiringChange::Clear => {
            table.clear(txn)?;
            model.clear();
        }
        ExpiringChange::SetTtl(_)
        | ExpiringChange::SetMaxRecords(_)
        | ExpiringChange::SetMaxBytes(_) => set_limit(txn, table, model, change)?,
        _ => change_record(txn, table, model, change, now_ms)?,
    }
    // Which expired records are left decides which ones make room.
    if model.is_limited() {
        table.remove_expired(txn, u64::MAX)?;
        model.remove_expired(now_ms);
    }
    model.enforce_limits(now_ms);
    Ok(())
}

fn change_record(
    txn: &mut WriteTxn,
    table: &RawExpiringTable,
    model: &mut ExpiringOracle,
    change: &ExpiringChange,
    now_ms: u64,
) -> ModelResult {
    match change {
        ExpiringChange::Insert(key, value, expiry) => {
            let value = value.bytes();
            table.insert_with_expiry(txn, key, &value, *expiry)?;
            model.insert(key, value, model.expires_ms(*expiry, now_ms));
        }
        ExpiringChange::InsertNew(key, value, expiry) => {
            let (value, is_live) = (value.bytes(), model.live_record(key, now_ms).is_some());
            let inserted = table.insert_new(txn, key, &value, *expiry)?;
            expect_same("inserted as new", inserted, !is_live)?;
            if inserted {
                model.insert(key, value, model.expires_ms(*expiry, now_ms));
            }
        }
        ExpiringChange::Update(key, value) => {
            let (value, record) = (value.bytes(), model.live_record(key, now_ms));
            let expires_ms = record.map(|record| record.expires_ms);
            let updated = table.update(txn, key, &value)?;
            expect_same("updated", updated, expires_ms.is_some())?;
            if let Some(expires_ms) = expires_ms {
                model.insert(key, value, expires_ms);
            }
        }
        ExpiringChange::SetExpiry(key, expiry) => {
            let is_live = model.live_record(key, now_ms).is_some();
            expect_same(
                "has an expiry set",
                table.set_expiry(txn, key, *expiry)?,
                is_live,
            )?;
            if is_live {
                model.set_expiry(key, model.expires_ms(*expiry, now_ms));
            }
        }
        ExpiringChange::Remove(key) => {
            let is_live = model.live_record(key, now_ms).is_some();
            expect_same("removed", table.remove(txn, key)?, is_live)?;
            if is_live {
                model.remove(key);
            }
        }
        _ => {}
    }
    Ok(())
}

fn set_limit(
    txn: &mut WriteTxn,
    table: &RawExpiringTable,
    model: &mut ExpiringOracle,
    change: &ExpiringChange,
) -> ModelResult {
    match change {
        ExpiringChange::SetTtl(ttl_ms) => {
            table.set_ttl(txn, ttl_ms.map(Duration::from_millis))?;
            model.limits.ttl_ms = *ttl_ms;
            return Ok(());
        }
        _ => {
            table.remove_expired(txn, u64::MAX)?;
            model.remove_expired(ms_of(table.now(txn)?));
        }
    }
    match change {
        ExpiringChange::SetMaxRecords(max_records) => {
            table.set_max_records(txn, *max_records)?;
            model.limits.max_records = *max_records;
        }
        ExpiringChange::SetMaxBytes(max_bytes) => {
            table.set_max_bytes(txn, *max_bytes)?;
            model.limits.max_bytes = *max_bytes;
        }
        _ => {}
    }
    Ok(())
}
