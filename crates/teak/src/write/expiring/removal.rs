//! Removing expired records, and the oldest ones of a table that is above its limits.

use super::{ExpiringNames, Found, NO_ENTRY, OPERATION, signed};
use crate::{
    Result,
    btree::{cursor::TreeCursor, reading::reading},
    page::{
        PageDamage,
        stamp::{BY_AGE, BY_TIME, ExpirySettings, Stamp},
    },
    write::transaction::WriteTransaction,
};

/// Records that are removed at once, so that their keys need little memory.
const AT_ONCE: u64 = 256;

/// Why records are removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RemovalCause {
    Expired,
    /// They are the oldest, and the table is above its limits.
    Oldest,
}

/// A record as the index knows it: the number in its entry, and its key.
type IndexedRecord = (u64, Vec<u8>);

impl WriteTransaction {
    /// Removes up to `limit` expired records, those that expired first. Returns how many.
    pub(crate) fn remove_expired(&mut self, table: &ExpiringNames, limit: u64) -> Result<u64> {
        self.refuse_broken()?;
        let mut removed = 0;
        while removed < limit {
            let entries = self.expired(table, AT_ONCE.min(limit - removed))?;
            if entries.is_empty() {
                break;
            }
            debug_assert!(
                entries.len() as u64 <= limit - removed,
                "no more records are removed than were asked for"
            );
            removed += entries.len() as u64;
            self.all_or_broken(|txn| txn.remove_known(table, &entries, RemovalCause::Expired))?;
        }
        Ok(removed)
    }

    /// Whether a table has records that have expired.
    pub(crate) fn has_expired(&self, table: &ExpiringNames) -> Result<bool> {
        Ok(!self.expired(table, 1)?.is_empty())
    }

    /// Removes the oldest records of a table that is above its limits. Expired ones go first.
    pub(super) fn enforce_limits(
        &mut self,
        table: &ExpiringNames,
        settings: &ExpirySettings,
    ) -> Result<()> {
        if !settings.has_limits() {
            return Ok(());
        }
        loop {
            debug_assert!(
                settings.has_limits(),
                "a table without limits is not above them"
            );
            let records = self.expiring_root(table.records())?.records;
            let bytes = self.expiring_root(table.index())?.sequence;
            let above = records.saturating_sub(settings.max_records);
            let bytes_above = bytes.saturating_sub(settings.max_bytes);
            if records == 0 || above == 0 && bytes_above == 0 {
                return Ok(());
            }
            let mean_len = (bytes / records).max(1);
            let wanted = above.max(bytes_above.div_ceil(mean_len));
            let wanted = wanted.clamp(1, AT_ONCE);
            let expired = self.expired(table, wanted)?;
            if !expired.is_empty() {
                self.remove_known(table, &expired, RemovalCause::Expired)?;
                continue;
            }
            let mut oldest = self.oldest(table, wanted)?;
            if oldest.is_empty() {
                return Err(self.index_error(table, NO_ENTRY));
            }
            self.truncate_to_needed(table, &mut oldest, (above, bytes_above))?;
            self.remove_known(table, &oldest, RemovalCause::Oldest)?;
        }
    }

    /// Leaves in `oldest` only the first ones that have to be removed: `above` records, and as many
    /// as have `bytes_above` bytes.
    fn truncate_to_needed(
        &self,
        table: &ExpiringNames,
        oldest: &mut Vec<IndexedRecord>,
        (above, bytes_above): (u64, u64),
    ) -> Result<()> {
        if bytes_above == 0 || oldest.len() == 1 {
            return Ok(());
        }
        let mut bytes = 0_u64;
        for (count, (_, key)) in (1..).zip(oldest.iter()) {
            let value_len = self.found(table, key)?.map_or(0, |found| found.len);
            bytes = bytes.saturating_add((key.len() + value_len) as u64);
            if count as u64 >= above && bytes >= bytes_above {
                oldest.truncate(count);
                break;
            }
        }
        Ok(())
    }

    /// The first records that have expired, up to `limit`.
    fn expired(&self, table: &ExpiringNames, limit: u64) -> Result<Vec<IndexedRecord>> {
        let now_ms = self.now_ms();
        self.entries(table, BY_TIME, limit, |key| {
            let stamp = Stamp::of_time_key(key)?;
            Ok(stamp.is_expired(now_ms).then_some(stamp.number))
        })
    }

    /// The oldest records, up to `limit`.
    fn oldest(&self, table: &ExpiringNames, limit: u64) -> Result<Vec<IndexedRecord>> {
        self.entries(table, BY_AGE, limit, |key| match key {
            [_, number @ ..] => match number.try_into() {
                Ok(number) => Ok(Some(u64::from_be_bytes(number))),
                Err(_) => Err(PageDamage("an entry of an index by age is damaged")),
            },
            [] => Ok(None),
        })
    }

    /// The first entries of one part of the index, until `number_of` finds that one does not belong
    /// to the result.
    fn entries(
        &self,
        table: &ExpiringNames,
        start: &[u8],
        limit: u64,
        number_of: impl Fn(&[u8]) -> Result<Option<u64>, PageDamage>,
    ) -> Result<Vec<IndexedRecord>> {
        debug_assert!(limit > 0, "nobody asks for no entries");
        let root = self.expiring_root(table.index())?;
        let pages = &self.pages;
        let read = reading(pages, || {
            let mut entries = Vec::new();
            let mut cursor = TreeCursor::new(pages, root);
            let mut is_there = cursor.seek(start)?.is_some();
            while is_there && (entries.len() as u64) < limit && cursor.key().starts_with(start) {
                let number = number_of(cursor.key());
                let number = number.map_err(|damage| damage.at(root.page, OPERATION))?;
                let Some(number) = number else {
                    break;
                };
                entries.push((number, cursor.value()?.to_vec()));
                is_there = cursor.next()?;
            }
            Ok(entries)
        });
        self.engine.named(read)
    }

    /// Removes records that the index knows, and their entries.
    fn remove_known(
        &mut self,
        table: &ExpiringNames,
        entries: &[IndexedRecord],
        cause: RemovalCause,
    ) -> Result<()> {
        debug_assert!(!entries.is_empty(), "a removal removes something");
        debug_assert!(
            entries.len() as u64 <= AT_ONCE,
            "the keys of a removal need little memory"
        );
        let mut settings = self.expiry_settings(table)?;
        let (mut in_index, mut bytes) = (Vec::with_capacity(2 * entries.len()), 0_i64);
        for (number, key) in entries {
            let found = self.found(table, key)?;
            let Some(Found { stamp, len }) = found.filter(|found| found.stamp.number == *number)
            else {
                let text = "the index of an expiring table has an entry without a record";
                return Err(self.index_error(table, PageDamage(text)));
            };
            in_index.extend(stamp.time_key().map(|key| key.to_vec()));
            if settings.has_limits() {
                in_index.push(stamp.age_key().to_vec());
            }
            bytes = bytes.saturating_add(signed(key.len() + len));
        }
        let keys: Vec<&[u8]> = entries.iter().map(|(_, key)| &key[..]).collect();
        let ((handle, name), (index, index_name)) = (table.records(), table.index());
        let removed = self.change(handle, name, |tree| tree.remove_many(&keys))?;
        let of_index = self.change(index, index_name, |tree| tree.remove_many(&in_index))?;
        if removed != entries.len() as u64 || of_index != in_index.len() as u64 {
            return Err(self.index_error(table, NO_ENTRY));
        }
        self.add_bytes(table, -bytes)?;
        let work = &mut self.pages.work;
        let (total, of_transaction) = match cause {
            RemovalCause::Expired => (&mut settings.removed_expired, &mut work.expired_records),
            RemovalCause::Oldest => (&mut settings.removed_oldest, &mut work.evicted_records),
        };
        *total = total.saturating_add(removed);
        *of_transaction += removed;
        if cause == RemovalCause::Expired {
            settings.expired_until_ms = settings.expired_until_ms.max(self.now_ms());
        }
        self.write_settings(table, &settings)
    }
}
