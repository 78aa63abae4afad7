//! Creating, dropping and reading named snapshots, and writing their list. See
//! [`named_list`](crate::read::named_list) for its stored form.

use crate::{
    Error, Result, TransactionId,
    btree::{insert::Existing, mutable_tree::Tree, reading::reading_twice, seal},
    page::value::{StoredValue, ValueKind},
};
use crate::{
    clock::now_ms,
    instance::engine::Engine,
    read::{
        catalog::printable,
        named_list::{
            DroppedPin, NamedChange, NamedPins, NamedSnapshot, SnapshotSource, dropped_key,
            encode_prepared, find,
        },
        reader::Reader,
        snapshot::PinnedSnapshot,
        state_key::StateKey,
        verified_bitmap::Trust,
    },
    write::transaction::{WriteTransaction, changing},
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Readers of named snapshots and of the prepared transaction, with the names.
pub(crate) type NamedReaders = Vec<(StateKey, Reader)>;

/// A named snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// The name.
    pub name: Vec<u8>,
    /// The commit whose state has the name.
    pub transaction: TransactionId,
    /// The time of that commit.
    pub time: SystemTime,
    /// Number of pages that would be free if nothing kept this state. Readers of this state and
    /// other names for it keep the same pages.
    pub kept_pages: u64,
    /// The size of these pages in bytes.
    pub kept_bytes: u64,
}

impl Engine {
    /// Begins to read the newest state and all named snapshots that it lists, and the state of a
    /// prepared transaction.
    pub(crate) fn begin_read_all(self: &Arc<Self>) -> Result<(Reader, NamedReaders)> {
        self.begin_read_named(&mut Err)
    }

    /// Like [`Self::begin_read_all`], but skips named snapshots that cannot be read, or all of them
    /// if their list cannot be read. Returns the faults.
    pub(crate) fn begin_read_sound(self: &Arc<Self>) -> Result<(Reader, NamedReaders, Vec<Error>)> {
        let mut faults = Vec::new();
        let (newest, named) = self.begin_read_named(&mut |fault| {
            faults.push(fault);
            Ok(())
        })?;
        Ok((newest, named, faults))
    }

    fn begin_read_named(
        self: &Arc<Self>,
        fault: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<(Reader, NamedReaders)> {
        loop {
            let newest = self.begin_read()?;
            match self.hold_each_named(&newest, fault) {
                // A snapshot was dropped meanwhile, or a prepared transaction decided, so there
                // is a newer state.
                Err(Error::SnapshotNotFound(_) | Error::PreparedNotFound(_)) => {}
                named => return Ok((newest, named?)),
            }
        }
    }

    /// Begins to read all named snapshots that a state lists, if they still exist.
    pub(crate) fn hold_named(self: &Arc<Self>, state: &PinnedSnapshot) -> Result<NamedReaders> {
        self.hold_each_named(state, &mut Err)
    }

    /// Like [`Self::hold_named`]. Skips damaged snapshots if `fault` returns `Ok`.
    fn hold_each_named(
        self: &Arc<Self>,
        state: &PinnedSnapshot,
        fault: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<NamedReaders> {
        let mut readers = Vec::new();
        // Names of one state share a reader.
        let mut held = BTreeMap::<(TransactionId, [u8; 64]), Reader>::new();
        let all = match state.all_named() {
            Err(error @ Error::Corrupted { .. }) => fault(error).map(|()| Vec::new())?,
            all => all?,
        };
        for (key, named) in all {
            let reader = match held.entry((named.transaction, named.catalog)) {
                Entry::Occupied(reader) => Ok(reader.get().clone()),
                Entry::Vacant(slot) => (self.hold_one_named(state, &key, &named))
                    .map(|reader| slot.insert(reader).clone()),
            };
            match reader {
                Err(error @ Error::Corrupted { .. }) => fault(error)?,
                reader => readers.push((key, reader?)),
            }
        }
        Ok(readers)
    }

    fn hold_one_named(
        self: &Arc<Self>,
        state: &PinnedSnapshot,
        key: &StateKey,
        named: &NamedSnapshot,
    ) -> Result<Reader> {
        state.refuse_unfindable(key, named)?;
        // Callers that want all pages verify their checksums themselves, and there may be many such
        // states.
        let reader = Reader::begin_at(self, key, Trust::Newest)?;
        match reader.transaction() == named.transaction {
            true => Ok(reader),
            false => Err(key.not_found()),
        }
    }

    /// All named snapshots in the order of their names, with the number of pages that each keeps.
    pub(crate) fn snapshots(self: &Arc<Self>) -> Result<Vec<SnapshotInfo>> {
        let newest = self.begin_read()?;
        let all = newest.all_named()?;
        // Writers use cached pins of readers; here they are read again.
        let mut pins = self.committer.own_pins();
        self.committer.published.add_pinned(&mut pins)?;
        pins.extend(all.iter().map(|(_, named)| named.transaction));
        pins.sort_unstable();
        pins.dedup();
        let kept = match all.is_empty() {
            true => Vec::new(),
            false => newest.space(&pins[..].into())?.kept_alone(&pins),
        };
        let info = |(key, named): (StateKey, NamedSnapshot)| {
            let slot = pins.binary_search(&named.transaction);
            let is_newest = named.transaction == newest.transaction();
            let kept_pages = slot
                .ok()
                .filter(|_| !is_newest)
                .map_or(0, |index| kept[index]);
            SnapshotInfo {
                name: key.name().to_vec(),
                transaction: named.transaction,
                time: UNIX_EPOCH + Duration::from_millis(named.time_ms),
                kept_pages,
                kept_bytes: kept_pages * self.file.page_size as u64,
            }
        };
        let snapshots = all.into_iter().filter(|(key, _)| !key.is_prepared());
        Ok(snapshots.map(info).collect())
    }
}

impl WriteTransaction {
    /// The named state as this transaction sees it; `None` for a snapshot that this transaction
    /// creates.
    fn find_named(&self, key: &StateKey) -> Result<Option<NamedSnapshot>> {
        for change in self.named.changes.iter().rev() {
            match change {
                NamedChange::Create(created, _) if created == key => return Ok(None),
                NamedChange::Drop(dropped, _) if dropped == key => return Err(key.not_found()),
                _ => {}
            }
        }
        self.find_listed(key).map(Some)
    }

    /// The state that the list has when this transaction begins.
    pub(crate) fn find_listed(&self, key: &StateKey) -> Result<NamedSnapshot> {
        let found = reading_twice(&self.pages, || find(&self.pages, &self.named.list, key))?;
        found.ok_or_else(|| key.not_found())
    }

    /// Creates a snapshot of the state that this transaction commits.
    pub(crate) fn create_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        debug_assert!(
            self.named.pins.is_none(),
            "names change before their list is written"
        );
        let key = StateKey::snapshot(name);
        match self.find_named(&key) {
            Err(Error::SnapshotNotFound(_)) => {
                let change = NamedChange::Create(key, SnapshotSource::ThisCommit);
                self.named.changes.push(change);
                Ok(())
            }
            Ok(_) => Err(Error::SnapshotExists(printable(name))),
            Err(error) => Err(error),
        }
    }

    /// Drops a named snapshot.
    pub(crate) fn drop_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        debug_assert!(
            self.named.pins.is_none(),
            "names change before their list is written"
        );
        let key = StateKey::snapshot(name);
        match self.find_named(&key)? {
            Some(named) => self.named.changes.push(NamedChange::Drop(key, named)),
            None => self.named.changes.retain(
                |change| !matches!(change, NamedChange::Create(created, _) if *created == key),
            ),
        }
        Ok(())
    }

    /// The state of a named snapshot that existed before this transaction.
    pub(crate) fn committed_named(&self, name: &[u8]) -> Result<NamedSnapshot> {
        self.find_named(&StateKey::snapshot(name))?.ok_or_else(|| {
            let text = "this transaction created the snapshot; commit it first";
            Error::InvalidArgument(text.into())
        })
    }

    /// Makes the snapshots created so far name the state that the transaction began with. That
    /// state is the newest one and pinned by this writer. If it is deferred, it is written before a
    /// commit that changes the list.
    pub(crate) fn name_base(&mut self) {
        for change in &mut self.named.changes {
            if let NamedChange::Create(_, source) = change {
                *source = SnapshotSource::Base;
            }
        }
    }

    /// Writes and seals the list. The catalog is sealed already.
    pub(crate) fn write_named(&mut self) -> Result<()> {
        if self.named.changes.is_empty() {
            return seal::seal(&mut self.pages, &mut self.named.list);
        }
        assert!(
            self.named.pins.is_none(),
            "the list is written once, as the last step before the commit"
        );
        let oldest = self.engine.committer.own_pins().into_iter().min();
        let before = &self.pages.writer.named;
        let mut over = before.dropped.clone();
        over.retain(|pin| !pin.counts_for(oldest));
        let transaction = self.id();
        let made = NamedSnapshot {
            transaction,
            time_ms: now_ms(),
            catalog: self.catalog.encode(),
            marks: self.marks,
        };
        let base = NamedSnapshot {
            transaction: self.base.transaction(),
            time_ms: self.base.record.time_ms,
            catalog: self.base.record.catalog_root,
            marks: self.base.record.marks,
        };
        let changes = std::mem::take(&mut self.named.changes);
        let prepared = prepared_after(before, &changes);
        let list = &mut self.named.list;
        let (mut live, mut dropped) = (Vec::new(), Vec::new());
        let kept = changing(&mut self.pages, |pages| {
            let mut tree = Tree::new(pages, list);
            for pin in &over {
                tree.remove(&dropped_key(pin))?;
            }
            for change in &changes {
                match change {
                    NamedChange::Create(key, source) => {
                        let named = match source {
                            SnapshotSource::ThisCommit => &made,
                            SnapshotSource::Base => &base,
                        };
                        put(&mut tree, key.bytes(), &named.encode())?;
                        live.push(named.transaction);
                    }
                    NamedChange::Prepare(key, state, taken) => {
                        put(&mut tree, key.bytes(), &encode_prepared(state, *taken))?;
                        live.push(state.transaction);
                    }
                    NamedChange::Drop(key, named) => {
                        tree.remove(key.bytes())?;
                        let pin = DroppedPin {
                            state: named.transaction,
                            dropped: transaction,
                        };
                        put(&mut tree, &dropped_key(&pin), &[])?;
                        dropped.push(pin);
                    }
                }
            }
            Ok((pages.writer.named).changed(live.into_iter(), dropped, &over, prepared))
        })?;
        self.named.pins = Some(kept);
        seal::seal(&mut self.pages, &mut self.named.list)
    }
}

/// The prepared transactions after some changes of the list.
fn prepared_after(before: &NamedPins, changes: &[NamedChange]) -> Vec<StateKey> {
    let mut prepared = before.prepared.clone();
    for change in changes {
        match change {
            NamedChange::Prepare(key, ..) => prepared.push(key.clone()),
            NamedChange::Drop(key, _) => prepared.retain(|other| other != key),
            NamedChange::Create(..) => {}
        }
    }
    prepared
}

fn put<S: crate::btree::PageSink>(tree: &mut Tree<'_, S>, key: &[u8], bytes: &[u8]) -> Result<()> {
    let value = StoredValue {
        kind: ValueKind::Inline,
        bytes,
    };
    tree.insert(key, value, Existing::Replace).map(drop)
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
