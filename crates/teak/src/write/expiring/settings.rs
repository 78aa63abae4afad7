//! The settings of an expiring table, and tables that are created, emptied, dropped or renamed.

use super::{ExpiringNames, refuse_other_class};
use crate::{
    Result,
    btree::{
        TableClass, TreeRoot,
        cursor::TreeCursor,
        insert::Existing,
        lookup,
        reading::{reading, reading_twice},
    },
    page::{
        PageDamage,
        key::KeyOrder,
        stamp::{AFTER_BY_AGE, BY_AGE, BY_TIME, ExpirySettings, SETTINGS_KEY, Stamp},
        value::StoredValue,
    },
    types::TypeNames,
    write::transaction::{WriteTransaction, not_found},
};
use std::ops::Bound;

/// Entries that are made at once when a table gets limits.
const ENTRIES_AT_ONCE: usize = 4096;

impl WriteTransaction {
    /// Creates an expiring table, which must not exist.
    pub(crate) fn create_expiring(
        &mut self,
        table: &ExpiringNames,
        root: TreeRoot,
        types: TypeNames<'_>,
        settings: &ExpirySettings,
    ) -> Result<()> {
        assert_eq!(
            root.kind.class,
            TableClass::Expiring,
            "the root of an expiring table says so"
        );
        let mut index = TreeRoot::new(KeyOrder::Bytes, true, true, 0);
        index.kind.class = TableClass::Expiring;
        let (records_handle, records_name) = table.records();
        let (handle, name) = table.index();
        self.create_table(records_handle, records_name, root, types)?;
        self.all_or_broken(|txn| {
            txn.create_table(handle, name, index, TypeNames::default())?;
            txn.note_expiring();
            txn.write_settings(table, settings)
        })
    }

    /// Notes that there may be an expiring table, so that commits look for expired records.
    pub(super) fn note_expiring(&mut self) {
        self.pages.writer.dropped.none_in = None;
    }

    /// The settings of a table.
    pub(crate) fn expiry_settings(&self, table: &ExpiringNames) -> Result<ExpirySettings> {
        let root = self.expiring_root(table.index())?;
        let pages = &self.pages;
        let read = reading_twice(pages, || {
            let damaged = |damage: PageDamage| damage.at(root.page, super::OPERATION);
            let value = lookup::get(pages, &root, SETTINGS_KEY)?
                .ok_or_else(|| damaged(PageDamage("an expiring table has no settings")))?;
            let bytes = lookup::load(pages, root.page, value)?;
            ExpirySettings::decode(bytes).map_err(damaged)
        });
        self.engine.named(read)
    }

    /// Changes the settings of a table, and removes what its new limits exclude. The first limits
    /// of a table need entries for all its records.
    pub(crate) fn set_expiry_settings(
        &mut self,
        table: &ExpiringNames,
        settings: &ExpirySettings,
    ) -> Result<()> {
        self.refuse_broken()?;
        let before = self.expiry_settings(table)?;
        if before == *settings {
            return Ok(());
        }
        self.all_or_broken(|txn| {
            match (before.has_limits(), settings.has_limits()) {
                (false, true) => txn.add_ages(table)?,
                (true, false) => {
                    let (handle, name) = table.index();
                    let (low, high) = (Bound::Included(BY_AGE), Bound::Excluded(AFTER_BY_AGE));
                    txn.change(handle, name, |tree| tree.remove_range(low, high))?;
                }
                _ => {}
            }
            txn.write_settings(table, settings)?;
            txn.enforce_limits(table, settings)
        })
    }

    pub(super) fn write_settings(
        &mut self,
        table: &ExpiringNames,
        settings: &ExpirySettings,
    ) -> Result<()> {
        let bytes = settings.encode();
        debug_assert_eq!(
            ExpirySettings::decode(&bytes).as_ref(),
            Ok(settings),
            "settings are read as they were written"
        );
        let record = (SETTINGS_KEY, StoredValue::inline(&bytes));
        self.insert(table.index(), refuse_other_class, record, Existing::Replace)?;
        Ok(())
    }

    /// Makes the entries by age of all records.
    fn add_ages(&mut self, table: &ExpiringNames) -> Result<()> {
        let mut after = None;
        loop {
            let entries = self.ages_after(table, after.as_deref())?;
            let Some((_, last)) = entries.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            let (handle, name) = table.index();
            let added = self.change(handle, name, |tree| tree.insert_many(&entries))?;
            if added != entries.len() as u64 {
                let text = "two records of an expiring table have one number; salvage the database";
                return Err(self.index_error(table, PageDamage(text)));
            }
        }
    }

    /// The entries by age of some records after a key.
    fn ages_after(
        &self,
        table: &ExpiringNames,
        after: Option<&[u8]>,
    ) -> Result<Vec<([u8; 9], Vec<u8>)>> {
        let root = self.expiring_root(table.records())?;
        let pages = &self.pages;
        let read = reading(pages, || {
            let mut cursor = TreeCursor::new(pages, root);
            let mut is_there = match after {
                None => cursor.first()?,
                Some(key) => match cursor.seek(key)? {
                    Some(true) => cursor.next()?,
                    found => found.is_some(),
                },
            };
            let mut entries = Vec::new();
            while is_there && entries.len() < ENTRIES_AT_ONCE {
                let (stamp, _) = Stamp::split(cursor.value()?)
                    .map_err(|damage| damage.at(root.page, super::OPERATION))?;
                entries.push((stamp.age_key(), cursor.key().to_vec()));
                is_there = cursor.next()?;
            }
            debug_assert!(
                entries.len() <= ENTRIES_AT_ONCE,
                "the keys of a part need little memory"
            );
            Ok(entries)
        });
        self.engine.named(read)
    }

    /// Removes all records. Returns how many there were, expired ones included.
    pub(crate) fn clear_expiring(&mut self, table: &ExpiringNames) -> Result<u64> {
        self.refuse_broken()?;
        let ((records, records_name), (handle, name)) = (table.records(), table.index());
        self.expiring_root(table.records())?;
        self.all_or_broken(|txn| {
            let removed = txn.change(records, records_name, |tree| tree.clear())?;
            txn.change(handle, name, |tree| {
                tree.remove_range(Bound::Included(BY_TIME), Bound::Unbounded)
            })?;
            let index = txn.open(handle, name)?;
            let root = index.root.as_mut().ok_or_else(|| not_found(name))?;
            index.is_changed |= root.sequence != 0;
            root.sequence = 0;
            debug_assert_eq!(
                root.kind.class,
                TableClass::Expiring,
                "an index stays one when it is emptied"
            );
            Ok(removed)
        })
    }
}
