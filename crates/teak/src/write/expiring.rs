//! Tables whose records expire.
//!
//! Such a table is two trees of the catalog. One, under the name of the table, has the records,
//! whose values begin with a [`Stamp`]. The other, the *index*, has an entry for each record that
//! expires, by time, and, if the table limits its size, one for each record, by age. It also has
//! the settings of the table. `page/stamp.rs` has the layouts.
//!
//! Invariants, which `admin/expiry_check.rs` verifies:
//!
//! 1. The index has exactly the entries that follow from the stamps of the records.
//! 2. No two records have the same number, and the sequence of the records' tree is greater than
//!    all of them.
//! 3. The sequence of the index is the number of bytes of all keys and values, without stamps.
//!
//! Each change keeps both trees in agreement. One that fails after its first step leaves only a
//! rollback possible.

mod removal;
mod settings;

use crate::{
    Error, Result,
    btree::{TableClass, TreeRoot, insert::Existing, lookup, reading::reading_twice},
    instance::engine::Engine,
    page::{
        PageDamage,
        stamp::{NEVER, Stamp},
        value::StoredValue,
    },
    read::{catalog, located::located},
    write::transaction::{WriteTransaction, not_found},
};
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// The operation that errors of this module name.
const OPERATION: &str = "expire";
/// The greatest number that a copy of a record keeps. Numbers from a damaged file may be greater,
/// and would leave none for later records.
const NUMBER_MAX: u64 = u64::MAX / 4;
/// An entry of the index that a record requires is missing.
const NO_ENTRY: PageDamage =
    PageDamage("the index of an expiring table lacks the entry of a record; salvage the database");

/// The two trees of an expiring table, by their handles and names.
#[derive(Clone, Debug)]
pub(crate) struct ExpiringNames {
    pub(crate) records: (usize, Arc<[u8]>),
    pub(crate) index: (usize, Arc<[u8]>),
}

impl ExpiringNames {
    pub(crate) fn new(engine: &Engine, name: &[u8]) -> Self {
        let index = catalog::expiry_index_of(name);
        debug_assert_ne!(name, index, "a table and its index are two trees");
        Self {
            records: (engine.handle(name), name.into()),
            index: (engine.handle(&index), index.into()),
        }
    }

    /// The handle and the name of the tree of records.
    pub(super) fn records(&self) -> (usize, &[u8]) {
        (self.records.0, &self.records.1)
    }

    /// The handle and the name of the index.
    pub(super) fn index(&self) -> (usize, &[u8]) {
        (self.index.0, &self.index.1)
    }
}

/// The condition for a record to be written, and when it expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Put {
    pub(crate) condition: PutCondition,
    pub(crate) expires: PutExpiry,
}

/// Whether a record is written at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PutCondition {
    Always,
    /// Only if there is no record with the key, or an expired one.
    IfAbsent,
    /// Only if there is a record with the key that has not expired.
    IfPresent,
}

/// When a record that is written expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PutExpiry {
    /// After the time to live of the table.
    Default,
    /// When the record expires that it replaces; like `Default` if it replaces none.
    Kept,
    /// At this time, in milliseconds since 1970.
    At(u64),
    /// Exactly with this stamp, if its number is free. For copies of tables.
    Stamped(Stamp),
}

/// A record that is there: its stamp, and the length of its value without the stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    stamp: Stamp,
    len: usize,
}

impl WriteTransaction {
    /// The moment at which this transaction looks for expired records.
    pub(crate) fn now_ms(&self) -> u64 {
        let clock = &self.engine.expiry;
        clock.writer.of(self.tables.unique_id, || clock.take())
    }

    /// Writes a record. Returns whether there was one with its key that had not expired.
    pub(crate) fn put_expiring(
        &mut self,
        table: &ExpiringNames,
        (key, value): (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        self.refuse_broken()?;
        let now_ms = self.now_ms();
        let old = self.found(table, key)?;
        let live = old.filter(|old| !old.stamp.is_expired(now_ms));
        match put.condition {
            PutCondition::IfAbsent if live.is_some() => return Ok(true),
            PutCondition::IfPresent if live.is_none() => return Ok(false),
            _ => {}
        }
        let settings = self.expiry_settings(table)?;
        let by_default = || match settings.ttl_ms {
            NEVER => NEVER,
            ttl_ms => crate::clock::later_ms(now_ms, ttl_ms),
        };
        let expires_ms = match (put.expires, live) {
            (PutExpiry::Kept, Some(live)) => live.stamp.expires_ms,
            (PutExpiry::Default | PutExpiry::Kept, _) => by_default(),
            (PutExpiry::At(expires_ms), _) => expires_ms,
            (PutExpiry::Stamped(stamp), _) => stamp.expires_ms,
        };
        let number = self.number_for(table, put.expires)?;
        let stamp = Stamp { expires_ms, number };
        debug_assert!(
            number < self.expiring_root(table.records())?.sequence,
            "each number was drawn"
        );
        self.all_or_broken(|txn| {
            txn.replace(table, (key, value), stamp, old, settings.has_limits())?;
            txn.enforce_limits(table, &settings)
        })?;
        self.engine.expiry.written.fetch_add(1, Relaxed);
        Ok(live.is_some())
    }

    /// The number of the next record.
    fn number_for(&mut self, table: &ExpiringNames, expires: PutExpiry) -> Result<u64> {
        let (handle, name) = table.records();
        match expires {
            PutExpiry::Stamped(stamp) if self.is_free(table, stamp)? => {
                let next = self.expiring_root(table.records())?.sequence;
                let drawn = (stamp.number + 1).saturating_sub(next);
                self.draw_sequence(handle, name, drawn)?;
                Ok(stamp.number)
            }
            _ => self.draw_sequence(handle, name, 1),
        }
    }

    /// Whether a number can be that of a new record, as far as the index knows.
    fn is_free(&self, table: &ExpiringNames, stamp: Stamp) -> Result<bool> {
        if stamp.number > NUMBER_MAX {
            return Ok(false);
        }
        let root = self.expiring_root(table.index())?;
        let by_time = stamp.time_key().map(|key| key.to_vec());
        for key in by_time.into_iter().chain([stamp.age_key().to_vec()]) {
            let pages = &self.pages;
            let found = reading_twice(pages, || Ok(lookup::get(pages, &root, &key)?.is_some()));
            if self.engine.named(found)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes a record. Returns whether there was one that had not expired; an expired one stays
    /// until it is removed as such.
    pub(crate) fn remove_expiring(&mut self, table: &ExpiringNames, key: &[u8]) -> Result<bool> {
        self.refuse_broken()?;
        let now_ms = self.now_ms();
        let found = self.found(table, key)?;
        let Some(live) = found.filter(|found| !found.stamp.is_expired(now_ms)) else {
            return Ok(false);
        };
        let has_limits = self.expiry_settings(table)?.has_limits();
        self.all_or_broken(|txn| {
            txn.remove(table.records(), refuse_other_class, key)?;
            txn.remove_entries(table, live.stamp, has_limits)?;
            txn.add_bytes(table, -signed(key.len() + live.len))
        })?;
        Ok(true)
    }

    /// Changes when a record expires. Returns whether there is one that had not expired. Its age
    /// stays.
    pub(crate) fn set_expiry(
        &mut self,
        table: &ExpiringNames,
        key: &[u8],
        expires: PutExpiry,
    ) -> Result<bool> {
        self.refuse_broken()?;
        let now_ms = self.now_ms();
        let root = self.expiring_root(table.records())?;
        let Some((before, value)) = self.stamped(table, &root, key)? else {
            return Ok(false);
        };
        if before.is_expired(now_ms) {
            return Ok(false);
        }
        let value = value.to_vec();
        let settings = self.expiry_settings(table)?;
        let expires_ms = match expires {
            PutExpiry::At(expires_ms) => expires_ms,
            PutExpiry::Stamped(stamp) => stamp.expires_ms,
            PutExpiry::Kept => before.expires_ms,
            PutExpiry::Default => match settings.ttl_ms {
                NEVER => NEVER,
                ttl_ms => crate::clock::later_ms(now_ms, ttl_ms),
            },
        };
        let stamp = Stamp {
            expires_ms,
            ..before
        };
        debug_assert_eq!(stamp.number, before.number, "the age stays");
        if stamp != before {
            let old = Found {
                stamp: before,
                len: value.len(),
            };
            self.all_or_broken(|txn| {
                let has_limits = settings.has_limits();
                txn.replace(table, (key, &value), stamp, Some(old), has_limits)
            })?;
        }
        Ok(true)
    }

    /// Writes a record in place of an old one or none, and its entries in place of the old ones.
    fn replace(
        &mut self,
        table: &ExpiringNames,
        (key, value): (&[u8], &[u8]),
        stamp: Stamp,
        old: Option<Found>,
        has_limits: bool,
    ) -> Result<()> {
        let stored = stamp.join(value);
        let record = (key, StoredValue::inline(&stored));
        self.insert(
            table.records(),
            refuse_other_class,
            record,
            Existing::Replace,
        )?;
        let mut len = signed(value.len());
        match old {
            Some(old) if old.stamp == stamp => len -= signed(old.len),
            Some(old) => {
                self.remove_entries(table, old.stamp, has_limits)?;
                self.insert_entries(table, key, stamp, has_limits)?;
                len -= signed(old.len);
            }
            None => {
                self.insert_entries(table, key, stamp, has_limits)?;
                len += signed(key.len());
            }
        }
        self.add_bytes(table, len)
    }

    /// Inserts the entries of a record.
    fn insert_entries(
        &mut self,
        table: &ExpiringNames,
        key: &[u8],
        stamp: Stamp,
        has_limits: bool,
    ) -> Result<()> {
        let value = StoredValue::inline(key);
        if let Some(entry) = stamp.time_key() {
            let record = (&entry[..], value);
            self.insert(table.index(), refuse_other_class, record, Existing::Replace)?;
        }
        if has_limits {
            let record = (&stamp.age_key()[..], value);
            self.insert(table.index(), refuse_other_class, record, Existing::Replace)?;
        }
        Ok(())
    }

    /// Removes the entries of a record, which must be there.
    fn remove_entries(
        &mut self,
        table: &ExpiringNames,
        stamp: Stamp,
        has_limits: bool,
    ) -> Result<()> {
        let mut is_there = true;
        if let Some(entry) = stamp.time_key() {
            is_there &= self.remove(table.index(), refuse_other_class, &entry)?;
        }
        if has_limits {
            is_there &= self.remove(table.index(), refuse_other_class, &stamp.age_key())?;
        }
        match is_there {
            true => Ok(()),
            false => Err(self.index_error(table, NO_ENTRY)),
        }
    }

    /// Adds to the number of bytes that the table has.
    fn add_bytes(&mut self, table: &ExpiringNames, bytes: i64) -> Result<()> {
        let (handle, name) = table.index();
        let index = self.open(handle, name)?;
        let root = index.root.as_mut().ok_or_else(|| not_found(name))?;
        debug_assert_eq!(
            root.kind.class,
            TableClass::Expiring,
            "only an index counts bytes by its sequence"
        );
        root.sequence = root.sequence.saturating_add_signed(bytes);
        index.is_changed |= bytes != 0;
        Ok(())
    }

    /// The stamp of a record, and the length of its value.
    pub(super) fn found(&self, table: &ExpiringNames, key: &[u8]) -> Result<Option<Found>> {
        let root = self.expiring_root(table.records())?;
        let found = self.stamped(table, &root, key)?;
        Ok(found.map(|(stamp, value)| Found {
            stamp,
            len: value.len(),
        }))
    }

    /// The stamp and the value of a record.
    fn stamped<'t>(
        &'t self,
        table: &ExpiringNames,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<Option<(Stamp, &'t [u8])>> {
        let pages = &self.pages;
        let found = reading_twice(pages, || match lookup::get(pages, root, key)? {
            Some(value) => {
                let stored = lookup::load(pages, root.page, value)?;
                let found = Stamp::split(stored).map_err(|damage| damage.at(root.page, OPERATION));
                found.map(Some)
            }
            None => Ok(None),
        });
        found.map_err(|error| {
            located(error, pages, root, &table.records.1, Some(key)).at(&self.engine.file.path)
        })
    }

    /// The root of one of the trees of an expiring table.
    pub(super) fn expiring_root(&self, (handle, name): (usize, &[u8])) -> Result<TreeRoot> {
        match self.root_of(handle, name)? {
            Some(root) if root.kind.class == TableClass::Expiring => Ok(*root),
            Some(root) => Err(PageDamage("a tree of an expiring table is of another kind")
                .at(root.page, OPERATION)),
            None => Err(not_found(name)),
        }
    }

    /// The error for an index that does not agree with the records.
    #[cold]
    fn index_error(&self, table: &ExpiringNames, damage: PageDamage) -> Error {
        match self.expiring_root(table.index()) {
            Ok(root) => located(
                damage.at(root.page, OPERATION),
                &self.pages,
                &root,
                &table.records.1,
                None,
            )
            .at(&self.engine.file.path),
            Err(error) => error,
        }
    }

    /// Makes several changes. If one fails, only a rollback is possible.
    pub(super) fn all_or_broken<R>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let changed = change(self);
        if changed.is_err() {
            self.set_broken();
        }
        debug_assert!(
            changed.is_ok() || self.status.is_broken,
            "half a change is never committed"
        );
        changed
    }
}

/// Refuses a tree that is of no expiring table.
fn refuse_other_class(root: Option<&TreeRoot>) -> Result<()> {
    match root {
        Some(root) if root.kind.class != TableClass::Expiring => {
            Err(PageDamage("a tree of an expiring table is of another kind")
                .at(root.page, OPERATION))
        }
        _ => Ok(()),
    }
}

/// A length as a difference. No value is longer than the file.
fn signed(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}
