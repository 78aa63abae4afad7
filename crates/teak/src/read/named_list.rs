//! The list of named snapshots.
//!
//! Named snapshots are states that stay until they are dropped. Their list is a tree separate from
//! the catalog, so that a rollback does not undo it. Each commit record has its root.
//!
//! | key | value |
//! |---|---|
//! | 0, then the name | the state: transaction (8), time of the commit in milliseconds since 1970 (8), root of the catalog (64); and, if marks were ever set, these (24) and the transaction that set them (8) |
//! | 1, then the transaction of the state, big-endian (8), then the transaction that dropped it, big-endian (8) | nothing |
//! | 2, then the name of a prepared transaction | the pages that it took (8), then the state that it makes, as above |
//!
//! Dropped snapshots are noted for the next writer, in any process: their pages must stay as long
//! as a crash could lead back to a state in which the snapshot was not dropped yet. A later change
//! of the list removes these notes.
//!
//! A prepared transaction is a state that readers do not see yet. The state that they see was
//! written by the same commit, and is the one before. See [`prepare`](crate::write::prepare).
//!
//! Invariants: the state of every entry is a pin of each writer. A record whose list has a prepared
//! transaction has the feature `PREPARED_TRANSACTION`.

use crate::{
    Checksum, Error, Result, TransactionId,
    btree::{
        PageSource, TreeRoot,
        cursor::TreeCursor,
        reading::{reading, reading_twice},
    },
    page::value::{StoredValue, ValueKind},
    record::{NAMED_SNAPSHOTS, PREPARED_TRANSACTION, Record, RecordMarks},
};
use crate::{
    read::{
        prefault::Prefault,
        roots::KnownRoots,
        snapshot::{PinnedSnapshot, Snapshot},
        state_key::{LIVE, PREPARED, StateKey},
        verified_bitmap::Trust,
    },
    record::record_ref::slot_page,
};
use std::sync::Arc;

pub(crate) const DROPPED: u8 = 1;

/// Length of the number of pages before the state of a prepared transaction.
const PAGES_LEN: usize = 8;

pub(crate) const STATE_LEN: usize = 80;

/// Length of the value of an entry with marks.
pub(crate) const MARKED_LEN: usize = 112;

pub(crate) const READING_LIST: &str = "reading the list of named snapshots";

/// A named state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NamedSnapshot {
    pub(crate) transaction: TransactionId,
    pub(crate) time_ms: u64,
    pub(crate) catalog: [u8; 64],
    pub(crate) marks: RecordMarks,
}

/// The states whose pages must stay, according to the list.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct NamedPins {
    /// The named states in ascending order, once for each name. Replaced by a new slice at each
    /// change of the list.
    pub(crate) live: Arc<[TransactionId]>,
    pub(crate) dropped: Vec<DroppedPin>,
    /// The prepared transactions, whose states are live. There is at most one, unless a file is
    /// forged.
    pub(crate) prepared: Vec<StateKey>,
}

/// A state that had a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DroppedPin {
    pub(crate) state: TransactionId,
    /// The transaction that dropped it. The state must stay until no crash leads back before that
    /// transaction.
    pub(crate) dropped: TransactionId,
}

impl DroppedPin {
    /// Whether the state must stay if `oldest` is the oldest state that a crash may lead back to.
    pub(crate) fn counts_for(&self, oldest: Option<TransactionId>) -> bool {
        Some(self.dropped) > oldest
    }
}

impl NamedPins {
    /// The named states.
    pub(crate) fn live(&self) -> &Arc<[TransactionId]> {
        &self.live
    }

    /// The dropped states that must still stay if `oldest` is the oldest state that a crash may
    /// lead back to.
    pub(crate) fn dropped(
        &self,
        oldest: Option<TransactionId>,
    ) -> impl Iterator<Item = TransactionId> {
        let counting = self
            .dropped
            .iter()
            .filter(move |pin| pin.counts_for(oldest));
        counting.map(|pin| pin.state)
    }

    /// All states that must stay.
    pub(crate) fn counting(
        &self,
        oldest: Option<TransactionId>,
    ) -> impl Iterator<Item = TransactionId> {
        self.live.iter().copied().chain(self.dropped(oldest))
    }

    /// The pins after adding the states `named`, dropping the states `dropped`, and removing the
    /// notes `over`. `prepared` are the prepared transactions that there are then.
    pub(crate) fn changed(
        &self,
        named: impl Iterator<Item = TransactionId>,
        dropped: Vec<DroppedPin>,
        over: &[DroppedPin],
        prepared: Vec<StateKey>,
    ) -> Self {
        let mut live = self.live.to_vec();
        for state in named {
            live.insert(live.partition_point(|other| *other <= state), state);
        }
        for pin in &dropped {
            if let Ok(index) = live.binary_search(&pin.state) {
                live.remove(index);
            }
        }
        let left = self.dropped.iter().filter(|pin| !over.contains(pin));
        let mut dropped: Vec<_> = left.copied().chain(dropped).collect();
        // Two names of one state share one note.
        dropped.sort_unstable();
        dropped.dedup();
        Self {
            live: live.into(),
            dropped,
            prepared,
        }
    }
}

/// A change to the list by a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NamedChange {
    /// Creates the name of a snapshot.
    Create(StateKey, SnapshotSource),
    /// Creates the name of a prepared transaction, with the number of pages that it took.
    Prepare(StateKey, NamedSnapshot, u64),
    Drop(StateKey, NamedSnapshot),
}

/// The state that gets a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SnapshotSource {
    /// The state that the transaction commits.
    ThisCommit,
    /// The state that the transaction began with, because the transaction was rolled back after the
    /// name was created.
    Base,
}

impl NamedSnapshot {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MARKED_LEN);
        bytes.extend(self.transaction.0.to_le_bytes());
        bytes.extend(self.time_ms.to_le_bytes());
        bytes.extend(self.catalog);
        if self.marks != RecordMarks::default() {
            let marks = self.marks.values.iter().chain([&self.marks.transaction.0]);
            bytes.extend(marks.flat_map(|number| number.to_le_bytes()));
        }
        bytes
    }

    /// The checksum of the catalog's root page.
    pub(crate) fn catalog_checksum(&self) -> Checksum {
        TreeRoot::decode_of_names(&self.catalog).map_or(Checksum(0), |catalog| catalog.checksum)
    }

    pub(crate) fn decode(root: &TreeRoot, value: StoredValue<'_>) -> Result<Self> {
        let bytes = value.bytes;
        if !matches!(bytes.len(), STATE_LEN | MARKED_LEN) || value.kind != ValueKind::Inline {
            return Err(damaged(
                root,
                "a named snapshot is not described as it should be",
            ));
        }
        let u64_at =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let marks = match bytes.len() {
            STATE_LEN => RecordMarks::default(),
            _ => RecordMarks {
                values: [80, 88, 96].map(u64_at),
                transaction: TransactionId(u64_at(104)),
            },
        };
        Ok(Self {
            transaction: TransactionId(u64_at(0)),
            time_ms: u64_at(8),
            catalog: bytes[16..STATE_LEN]
                .try_into()
                .expect("what is left of them"),
            marks,
        })
    }
}

pub(crate) fn damaged(root: &TreeRoot, detail: &'static str) -> Error {
    Error::corrupted(root.page, READING_LIST, detail)
}

/// The bytes of the entry of a prepared transaction that took `pages` pages.
pub(crate) fn encode_prepared(state: &NamedSnapshot, pages: u64) -> Vec<u8> {
    [&pages.to_le_bytes(), &state.encode()[..]].concat()
}

/// Decodes the entry of a state. The second number is that of the pages that a prepared transaction
/// took, and otherwise 0.
fn decode_entry(
    root: &TreeRoot,
    key: &StateKey,
    value: StoredValue<'_>,
) -> Result<(NamedSnapshot, u64)> {
    if !key.is_prepared() {
        return Ok((NamedSnapshot::decode(root, value)?, 0));
    }
    let Some((pages, bytes)) = value.bytes.split_first_chunk::<PAGES_LEN>() else {
        let detail = "a prepared transaction is not described as it should be";
        return Err(damaged(root, detail));
    };
    let state = NamedSnapshot::decode(root, StoredValue { bytes, ..value })?;
    Ok((state, u64::from_le_bytes(*pages)))
}

/// The root of the list in a record.
pub(crate) fn root(record: &Record) -> Result<TreeRoot> {
    TreeRoot::decode_of_names(&record.snapshots_root).map_err(|fault| {
        fault.at(
            slot_page(record.slot),
            "open",
            "the tree of named snapshots",
        )
    })
}

/// Calls `visit` with each state: first the named snapshots in the order of their names, then the
/// prepared transaction, with the number of pages that it took.
pub(crate) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    mut visit: impl FnMut(StateKey, NamedSnapshot, u64) -> Result<()>,
) -> Result<()> {
    let mut cursor = TreeCursor::new(source, *root);
    while cursor.next()? {
        if let Some(key) = StateKey::of(cursor.key()) {
            let (state, pages) = decode_entry(root, &key, cursor.stored_value())?;
            visit(key, state, pages)?;
        }
    }
    Ok(())
}

/// All states that must stay according to the list.
pub(crate) fn pins<S: PageSource + ?Sized>(source: &S, root: &TreeRoot) -> Result<NamedPins> {
    let (mut live, mut dropped, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
    let mut cursor = TreeCursor::new(source, *root);
    while cursor.next()? {
        match cursor.key() {
            [LIVE | PREPARED, ..] => {
                let key = StateKey::of(cursor.key()).expect("it is the key of a state");
                let (state, _) = decode_entry(root, &key, cursor.stored_value())?;
                live.push(state.transaction);
                prepared.extend(Some(key).filter(StateKey::is_prepared));
            }
            [DROPPED, states @ ..] => {
                dropped.push(dropped_pin(states).ok_or_else(|| {
                    damaged(root, "what was dropped is not noted as it should be")
                })?)
            }
            _ => {
                return Err(damaged(
                    root,
                    "there is an entry of a kind that is not known",
                ));
            }
        }
    }
    live.sort_unstable();
    Ok(NamedPins {
        live: live.into(),
        dropped,
        prepared,
    })
}

pub(crate) fn dropped_pin(states: &[u8]) -> Option<DroppedPin> {
    let (state, dropped) = states.split_first_chunk()?;
    Some(DroppedPin {
        state: TransactionId(u64::from_be_bytes(*state)),
        dropped: TransactionId(u64::from_be_bytes(dropped.try_into().ok()?)),
    })
}

pub(crate) fn dropped_key(pin: &DroppedPin) -> Vec<u8> {
    let (state, dropped) = (pin.state.0.to_be_bytes(), pin.dropped.0.to_be_bytes());
    [&[DROPPED], &state[..], &dropped[..]].concat()
}

pub(crate) fn find<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &StateKey,
) -> Result<Option<NamedSnapshot>> {
    let mut cursor = TreeCursor::new(source, *root);
    match cursor.seek(key.bytes())? {
        Some(true) => decode_entry(root, key, cursor.stored_value()).map(|(state, _)| Some(state)),
        _ => Ok(None),
    }
}

impl PinnedSnapshot {
    /// The state that this one lists with this key.
    pub(crate) fn named(&self, key: &StateKey) -> Result<NamedSnapshot> {
        let root = root(&self.record)?;
        reading_twice(self, || find(self, &root, key))?.ok_or_else(|| key.not_found())
    }

    /// Refuses a name that this state lists but a search of the same state does not find: the list
    /// is damaged. After this check, a name that is missing in a later state is known to be
    /// dropped.
    pub(crate) fn refuse_unfindable(&self, key: &StateKey, named: &NamedSnapshot) -> Result<()> {
        match self.named(key) {
            Ok(found) if found == *named => Ok(()),
            Ok(_) | Err(Error::SnapshotNotFound(_) | Error::PreparedNotFound(_)) => {
                let detail = format!("the list has {key}, and a search does not find it there");
                Err(Error::corrupted(
                    self.named_list()?.page,
                    READING_LIST,
                    detail,
                ))
            }
            Err(error) => Err(error),
        }
    }

    /// The root of the list.
    pub(crate) fn named_list(&self) -> Result<TreeRoot> {
        root(&self.record)
    }

    /// All states that this one lists: named snapshots in the order of their names, and then the
    /// prepared transaction.
    pub(crate) fn all_named(&self) -> Result<Vec<(StateKey, NamedSnapshot)>> {
        let root = root(&self.record)?;
        reading(self, || {
            let mut all = Vec::new();
            for_each(&Prefault(self), &root, |key, named, _| {
                all.push((key, named));
                Ok(())
            })?;
            Ok(all)
        })
    }

    /// The prepared transactions, with the number of pages that each took.
    pub(crate) fn all_prepared(&self) -> Result<Vec<(StateKey, NamedSnapshot, u64)>> {
        let root = root(&self.record)?;
        reading(self, || {
            let mut all = Vec::new();
            for_each(&Prefault(self), &root, |key, state, pages| {
                all.extend(key.is_prepared().then_some((key, state, pages)));
                Ok(())
            })?;
            Ok(all)
        })
    }

    /// The states that must stay because of names.
    pub(crate) fn named_pins(&self) -> Result<NamedPins> {
        let root = root(&self.record)?;
        match root.is_empty() {
            true => Ok(NamedPins::default()),
            false => {
                let pins = reading(self, || pins(&Prefault(self), &root))?;
                let newest = pins.counting(None).max();
                if newest > Some(self.transaction()) {
                    return Err(damaged(&root, "there is one of a transaction to come"));
                }
                if !pins.prepared.is_empty() && !self.record.has_prepared() {
                    let detail =
                        "there is a prepared transaction that the commit record does not note";
                    return Err(damaged(&root, detail));
                }
                Ok(pins)
            }
        }
    }

    /// A named state, opened through this state, which is the newest.
    pub(crate) fn past(&self, named: &NamedSnapshot, trust: Trust) -> Result<Snapshot> {
        let record = Record {
            transaction: named.transaction,
            time_ms: named.time_ms,
            catalog_root: named.catalog,
            marks: named.marks,
            // The pin does not keep the list of that state.
            snapshots_root: crate::read::catalog::empty().encode(),
            ..self.record.clone()
        };
        let verified = match trust {
            Trust::Own => self.verified.apart(),
            Trust::Newest => self.verified.clone(),
        };
        let mut past = Snapshot::new(
            record,
            Arc::clone(&self.mapping),
            verified,
            self.comparisons.clone(),
            KnownRoots::default(),
        )?;
        past.is_past = true;
        Ok(past)
    }
}

/// Stores the root of the list in a record, and sets or clears the feature bits that keep versions
/// without named snapshots from writing, and versions without prepared transactions from opening
/// it.
pub(crate) fn note(record: &mut Record, root: &TreeRoot, pins: &NamedPins) {
    record.snapshots_root = root.encode();
    record.features.read_only_compatible &= !NAMED_SNAPSHOTS;
    if !root.is_empty() {
        record.features.read_only_compatible |= NAMED_SNAPSHOTS;
    }
    record.features.incompatible &= !PREPARED_TRANSACTION;
    if !pins.prepared.is_empty() {
        record.features.incompatible |= PREPARED_TRANSACTION;
    }
}
