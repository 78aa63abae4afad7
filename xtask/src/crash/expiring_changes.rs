//! Changes of the table whose records expire.

use super::{
    expiring::{self, EXPIRING, NEVER_MS, TIME_LEN},
    records::HistoryChange,
};
use crate::campaign::ms_of;
use std::sync::Arc;

impl HistoryChange<'_> {
    /// Inserts `count` records, some of which have expired already.
    pub(super) fn put_expiring(&mut self, count: usize) -> teak::Result<()> {
        let now_ms = ms_of(expiring::open(self.txn)?.now(self.txn)?);
        let draw = |rng: &mut fastrand::Rng| {
            let expires_ms = match rng.u8(..8) {
                0 => NEVER_MS,
                1 => now_ms,
                _ => now_ms + rng.u64(1..400),
            };
            let mut value = expires_ms.to_le_bytes().to_vec();
            value.resize(TIME_LEN + rng.usize(..200), rng.u8(..));
            Arc::from(value)
        };
        let values = (0..count).map(|_| draw(self.rng)).collect();
        self.insert_values(EXPIRING, values)
    }

    /// Removes some records that have expired.
    pub(super) fn remove_expired(&mut self) -> teak::Result<()> {
        let limit = self.rng.u64(..40);
        let table = expiring::open(self.txn)?;
        self.tables.entry(EXPIRING).or_default();
        table.remove_expired(self.txn, limit).map(drop)
    }
}
