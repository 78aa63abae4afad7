//! Named snapshots: states that stay until they are dropped. Their list is a tree of its own beside the catalog, so that
//! no rollback takes it back, and each commit record has its root.
//!
//! | key | value |
//! |---|---|
//! | 0, then the name | the state: transaction (8), time of the commit in milliseconds since 1970 (8), root of the catalog (64); and, if marks were ever set, these (24) and the transaction that set them (8) |
//! | 1, then the transaction of the state, big-endian (8), then the transaction that dropped it, big-endian (8) | nothing |
//!
//! What is dropped is noted so that whoever writes next, in whichever process, knows that its pages must stay as long as a crash
//! could lead back to where it was not dropped yet. The notes go with a later change of the list.
//!
//! Invariant: the state of every entry is a pin of each writer.

use super::{
    demanded::Demanded,
    engine::{Engine, slot_page},
    open::now_ms,
    reader::{Reader, Trust},
    roots::KnownRoots,
    snapshot::Snapshot,
    write::{WriteTransaction, changing, printable},
};
use crate::{
    Error, Result, Tag, TransactionId,
    commit::record::{Marks, NAMED_SNAPSHOTS, Record},
    page::value::{StoredValue, ValueKind},
    tree::{
        PageSource, TreeRoot,
        cursor::Cursor,
        insert::Existing,
        mutable_tree::Tree,
        reading::{reading, reading_twice},
        seal,
    },
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const LIVE: u8 = 0;
const DROPPED: u8 = 1;
const STATE_LEN: usize = 80;
/// The same with marks.
const MARKED_LEN: usize = 112;

const READING_LIST: &str = "reading the list of named snapshots";

/// A state that has a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named {
    pub(super) transaction: TransactionId,
    pub(super) time_ms: u64,
    pub(super) catalog: [u8; 64],
    pub(super) marks: Marks,
}

/// The states whose pages must stay, as the list has them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct NamedPins {
    /// Those that have a name, each as often as it has one, ascending. Another slice after each change of the list.
    live: Arc<[TransactionId]>,
    dropped: Vec<DroppedPin>,
}

/// A state that had a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct DroppedPin {
    state: TransactionId,
    /// Where it was dropped: it must stay until nothing leads back behind that.
    dropped: TransactionId,
}

impl DroppedPin {
    /// Whether the state must stay where `oldest` is the oldest state that something leads back to.
    fn counts_for(&self, oldest: Option<TransactionId>) -> bool {
        Some(self.dropped) > oldest
    }
}

impl NamedPins {
    /// Those that have a name.
    pub(super) fn live(&self) -> &Arc<[TransactionId]> {
        &self.live
    }

    /// Those that were dropped and must stay yet, where `oldest` is the oldest state that something leads back to.
    pub(super) fn dropped(
        &self,
        oldest: Option<TransactionId>,
    ) -> impl Iterator<Item = TransactionId> {
        let counting = self
            .dropped
            .iter()
            .filter(move |pin| pin.counts_for(oldest));
        counting.map(|pin| pin.state)
    }

    /// All that must stay.
    pub(super) fn counting(
        &self,
        oldest: Option<TransactionId>,
    ) -> impl Iterator<Item = TransactionId> {
        self.live.iter().copied().chain(self.dropped(oldest))
    }

    /// What is left when these are named and those dropped, and some notes are taken away.
    fn changed(
        &self,
        named: impl Iterator<Item = TransactionId>,
        dropped: Vec<DroppedPin>,
        over: &[DroppedPin],
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
        // Of two names of one state there is one note.
        dropped.sort_unstable();
        dropped.dedup();
        Self {
            live: live.into(),
            dropped,
        }
    }
}

/// What a transaction does to the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NamedChange {
    /// A state gets this name.
    Create(Vec<u8>, Which),
    Drop(Vec<u8>, Named),
}

/// Which state gets a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// The one that the transaction makes.
    Made,
    /// The one that it began with: it has been rolled back since it gave the name.
    Base,
}

impl Named {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MARKED_LEN);
        bytes.extend(self.transaction.0.to_le_bytes());
        bytes.extend(self.time_ms.to_le_bytes());
        bytes.extend(self.catalog);
        if self.marks != Marks::default() {
            let marks = self.marks.values.iter().chain([&self.marks.transaction.0]);
            bytes.extend(marks.flat_map(|number| number.to_le_bytes()));
        }
        bytes
    }

    /// The tag of the catalog's root page.
    pub(super) fn catalog_tag(&self) -> Tag {
        TreeRoot::decode_of_names(&self.catalog).map_or(Tag(0), |catalog| catalog.tag)
    }

    fn decode(root: &TreeRoot, value: StoredValue<'_>) -> Result<Self> {
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
            STATE_LEN => Marks::default(),
            _ => Marks {
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

fn damaged(root: &TreeRoot, detail: &'static str) -> Error {
    Error::corrupted(root.page, READING_LIST, detail)
}

/// The key of a name.
fn live_key(name: &[u8]) -> Vec<u8> {
    [&[LIVE], name].concat()
}

/// The name that a key of the list stands for, if it stands for one.
pub(super) fn name_in(key: &[u8]) -> Option<&[u8]> {
    match key {
        [LIVE, name @ ..] => Some(name),
        _ => None,
    }
}

/// The root of the list, as a record has it.
pub(super) fn root(record: &Record) -> Result<TreeRoot> {
    TreeRoot::decode_of_names(&record.snapshots_root).map_err(|fault| {
        fault.at(
            slot_page(record.slot),
            "open",
            "the tree of named snapshots",
        )
    })
}

/// Calls `visit` with the name of each named snapshot, in the order of names.
pub(super) fn for_each<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    mut visit: impl FnMut(&[u8], Named) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(source, *root);
    while cursor.next()? {
        if let Some(name) = name_in(cursor.key()) {
            visit(name, Named::decode(root, cursor.stored_value())?)?;
        }
    }
    Ok(())
}

/// All states that must stay, whose notes are in the list.
fn pins<S: PageSource + ?Sized>(source: &S, root: &TreeRoot) -> Result<NamedPins> {
    let (mut live, mut dropped) = (Vec::new(), Vec::new());
    let mut cursor = Cursor::new(source, *root);
    while cursor.next()? {
        match cursor.key() {
            [LIVE, ..] => live.push(Named::decode(root, cursor.stored_value())?.transaction),
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
    })
}

fn dropped_pin(states: &[u8]) -> Option<DroppedPin> {
    let (state, dropped) = states.split_first_chunk()?;
    Some(DroppedPin {
        state: TransactionId(u64::from_be_bytes(*state)),
        dropped: TransactionId(u64::from_be_bytes(dropped.try_into().ok()?)),
    })
}

fn dropped_key(pin: &DroppedPin) -> Vec<u8> {
    let (state, dropped) = (pin.state.0.to_be_bytes(), pin.dropped.0.to_be_bytes());
    [&[DROPPED], &state[..], &dropped[..]].concat()
}

fn find<S: PageSource + ?Sized>(source: &S, root: &TreeRoot, name: &[u8]) -> Result<Option<Named>> {
    let mut cursor = Cursor::new(source, *root);
    match cursor.seek(&live_key(name))? {
        Some(true) => Named::decode(root, cursor.stored_value()).map(Some),
        _ => Ok(None),
    }
}

impl Snapshot {
    /// The named snapshot of that name, as this state has it.
    pub(super) fn named(&self, name: &[u8]) -> Result<Named> {
        let root = root(&self.record)?;
        reading_twice(self, || find(self, &root, name))?.ok_or_else(|| not_found(name))
    }

    /// Refuses a name that this state lists and a search of the same state does not find: its list is damaged. So whoever does
    /// not find such a name in a later state knows that it was dropped.
    fn refuse_unfindable(&self, name: &[u8], named: &Named) -> Result<()> {
        match self.named(name) {
            Ok(found) if found == *named => Ok(()),
            Ok(_) | Err(Error::SnapshotNotFound(_)) => {
                let detail = format!(
                    "the list has the snapshot {:?}, and a search does not find it there",
                    printable(name)
                );
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
    pub(super) fn named_list(&self) -> Result<TreeRoot> {
        root(&self.record)
    }

    /// All named snapshots, in the order of names.
    pub(super) fn all_named(&self) -> Result<Vec<(Vec<u8>, Named)>> {
        let root = root(&self.record)?;
        reading(self, || {
            let mut all = Vec::new();
            for_each(&Demanded(self), &root, |name, named| {
                all.push((name.to_vec(), named));
                Ok(())
            })?;
            Ok(all)
        })
    }

    /// The states that must stay for names.
    pub(super) fn named_pins(&self) -> Result<NamedPins> {
        let root = root(&self.record)?;
        match root.is_empty() {
            true => Ok(NamedPins::default()),
            false => {
                let pins = reading(self, || pins(&Demanded(self), &root))?;
                let newest = pins.counting(None).max();
                match newest <= Some(self.transaction()) {
                    true => Ok(pins),
                    false => Err(damaged(&root, "there is one of a transaction to come")),
                }
            }
        }
    }

    /// A state that has a name, by this one, which is the newest. Whoever wants to read it pins it.
    pub(super) fn past(&self, named: &Named, trust: Trust) -> Result<Self> {
        let record = Record {
            transaction: named.transaction,
            time_ms: named.time_ms,
            catalog_root: named.catalog,
            marks: named.marks,
            // The list is not held with it.
            snapshots_root: super::catalog::empty().encode(),
            ..self.record.clone()
        };
        let checked = match trust {
            Trust::Own => self.checked.apart(),
            Trust::Newest => self.checked.clone(),
        };
        let mut past = Self::new(
            record,
            Arc::clone(&self.mapping),
            checked,
            self.comparisons.clone(),
            KnownRoots::default(),
        )?;
        past.is_past = true;
        Ok(past)
    }
}

fn not_found(name: &[u8]) -> Error {
    Error::SnapshotNotFound(printable(name))
}

/// Readers of named snapshots, with the names.
pub(crate) type NamedReaders = Vec<(Vec<u8>, Reader)>;

/// A named snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SnapshotInfo {
    /// Its name.
    pub name: Vec<u8>,
    /// The commit whose state it is.
    pub transaction: TransactionId,
    /// When that was made.
    pub time: SystemTime,
    /// Pages that would be free if nothing kept this state. Readers of it and other names for it keep the same ones.
    pub kept_pages: u64,
    /// The bytes of these pages.
    pub kept_bytes: u64,
}

impl Engine {
    /// Begins to read the newest state, and all named ones that it lists.
    pub(crate) fn begin_read_all(self: &Arc<Self>) -> Result<(Reader, NamedReaders)> {
        self.begin_read_named(&mut Err)
    }

    /// The same, but passes over named snapshots that cannot be read, or all where their list cannot be. Returns what is wrong with them.
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
                // One was dropped meanwhile: there is a newer state.
                Err(Error::SnapshotNotFound(_)) => {}
                named => return Ok((newest, named?)),
            }
        }
    }

    /// Begins to read all named snapshots that a state lists, if they are still there.
    pub(crate) fn hold_named(self: &Arc<Self>, state: &Snapshot) -> Result<NamedReaders> {
        self.hold_each_named(state, &mut Err)
    }

    /// The same. What is damaged is passed over if `fault` does not fail.
    fn hold_each_named(
        self: &Arc<Self>,
        state: &Snapshot,
        fault: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<NamedReaders> {
        let mut readers = Vec::new();
        // Names of one state share a reader.
        let mut held = BTreeMap::<(TransactionId, [u8; 64]), Reader>::new();
        let all = match state.all_named() {
            Err(error @ Error::Corrupted { .. }) => fault(error).map(|()| Vec::new())?,
            all => all?,
        };
        for (name, named) in all {
            let reader = match held.entry((named.transaction, named.catalog)) {
                Entry::Occupied(reader) => Ok(reader.get().clone()),
                Entry::Vacant(place) => (self.hold_one_named(state, &name, &named))
                    .map(|reader| place.insert(reader).clone()),
            };
            match reader {
                Err(error @ Error::Corrupted { .. }) => fault(error)?,
                reader => readers.push((name, reader?)),
            }
        }
        Ok(readers)
    }

    fn hold_one_named(
        self: &Arc<Self>,
        state: &Snapshot,
        name: &[u8],
        named: &Named,
    ) -> Result<Reader> {
        state.refuse_unfindable(name, named)?;
        // Its pages are compared by whoever wants all of them, and there may be many such states.
        let reader = Reader::begin_at(self, name, Trust::Newest)?;
        match reader.transaction() == named.transaction {
            true => Ok(reader),
            false => Err(not_found(name)),
        }
    }

    /// All named snapshots, in the order of names, with what they keep.
    pub(crate) fn snapshots(self: &Arc<Self>) -> Result<Vec<SnapshotInfo>> {
        let newest = self.begin_read()?;
        let all = newest.all_named()?;
        // Not as writers do it, who remember what they saw.
        let mut pins = self.flusher.own_pins();
        self.flusher.published.add_pinned(&mut pins)?;
        pins.extend(all.iter().map(|(_, named)| named.transaction));
        pins.sort_unstable();
        pins.dedup();
        let kept = match all.is_empty() {
            true => Vec::new(),
            false => newest.space(&pins[..].into())?.kept_alone(&pins),
        };
        let info = |(name, named): (Vec<u8>, Named)| {
            let place = pins.binary_search(&named.transaction);
            let is_newest = named.transaction == newest.transaction();
            let kept_pages = place
                .ok()
                .filter(|_| !is_newest)
                .map_or(0, |index| kept[index]);
            SnapshotInfo {
                name,
                transaction: named.transaction,
                time: UNIX_EPOCH + Duration::from_millis(named.time_ms),
                kept_pages,
                kept_bytes: kept_pages * self.page_size as u64,
            }
        };
        Ok(all.into_iter().map(info).collect())
    }
}

impl WriteTransaction {
    /// The state of that name as this transaction sees it; `None` for one that it makes itself.
    fn find_named(&self, name: &[u8]) -> Result<Option<Named>> {
        for change in self.named.iter().rev() {
            match change {
                NamedChange::Create(created, _) if created == name => return Ok(None),
                NamedChange::Drop(dropped, _) if dropped == name => return Err(not_found(name)),
                _ => {}
            }
        }
        let found = reading_twice(&self.pages, || find(&self.pages, &self.snapshots, name))?;
        found.map(Some).ok_or_else(|| not_found(name))
    }

    /// Gives the state that this transaction makes a name.
    pub(crate) fn create_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        match self.find_named(name) {
            Err(Error::SnapshotNotFound(_)) => {
                self.named
                    .push(NamedChange::Create(name.to_vec(), Which::Made));
                Ok(())
            }
            Ok(_) => Err(Error::SnapshotExists(printable(name))),
            Err(error) => Err(error),
        }
    }

    /// Drops a named snapshot.
    pub(crate) fn drop_snapshot(&mut self, name: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        match self.find_named(name)? {
            Some(named) => self.named.push(NamedChange::Drop(name.to_vec(), named)),
            None => self.named.retain(
                |change| !matches!(change, NamedChange::Create(created, _) if created == name),
            ),
        }
        Ok(())
    }

    /// The state of a named snapshot that was there before this transaction.
    pub(super) fn committed_named(&self, name: &[u8]) -> Result<Named> {
        self.find_named(name)?.ok_or_else(|| {
            let text = "this transaction has only just created the snapshot; commit it first";
            Error::InvalidArgument(text.into())
        })
    }

    /// Names that were given so far are for the state that the transaction began with. That is a pin of this writer, as the newest
    /// state, and what is deferred of it is written before a commit that changes the list.
    pub(super) fn name_base(&mut self) {
        for change in &mut self.named {
            if let NamedChange::Create(_, which) = change {
                *which = Which::Base;
            }
        }
    }

    /// Writes and seals the list. The catalog is sealed.
    pub(super) fn write_named(&mut self) -> Result<()> {
        if self.named.is_empty() {
            return seal::seal(&mut self.pages, &mut self.snapshots);
        }
        let oldest = self.engine.flusher.own_pins().into_iter().min();
        let before = &self.pages.writer.named;
        let mut over = before.dropped.clone();
        over.retain(|pin| !pin.counts_for(oldest));
        let transaction = self.id();
        let made = Named {
            transaction,
            time_ms: now_ms(),
            catalog: self.catalog.encode(),
            marks: self.marks,
        };
        let base = Named {
            transaction: self.base.transaction(),
            time_ms: self.base.record.time_ms,
            catalog: self.base.record.catalog_root,
            marks: self.base.record.marks,
        };
        let changes = std::mem::take(&mut self.named);
        let list = &mut self.snapshots;
        let (mut live, mut dropped) = (Vec::new(), Vec::new());
        let kept = changing(&mut self.pages, |pages| {
            let mut tree = Tree::new(pages, list);
            for pin in &over {
                tree.remove(&dropped_key(pin))?;
            }
            for change in &changes {
                match change {
                    NamedChange::Create(name, which) => {
                        let named = match which {
                            Which::Made => &made,
                            Which::Base => &base,
                        };
                        put(&mut tree, &live_key(name), &named.encode())?;
                        live.push(named.transaction);
                    }
                    NamedChange::Drop(name, named) => {
                        tree.remove(&live_key(name))?;
                        let pin = DroppedPin {
                            state: named.transaction,
                            dropped: transaction,
                        };
                        put(&mut tree, &dropped_key(&pin), &[])?;
                        dropped.push(pin);
                    }
                }
            }
            Ok((pages.writer.named).changed(live.into_iter(), dropped, &over))
        })?;
        self.named_pins = Some(kept);
        seal::seal(&mut self.pages, &mut self.snapshots)
    }
}

fn put<S: crate::tree::PageSink>(tree: &mut Tree<'_, S>, key: &[u8], bytes: &[u8]) -> Result<()> {
    let value = StoredValue {
        kind: ValueKind::Inline,
        bytes,
    };
    tree.insert(key, value, Existing::Replace).map(drop)
}

/// Notes the root of the list in a record, and whether those who do not know such lists may write.
pub(super) fn note(record: &mut Record, root: &TreeRoot) {
    record.snapshots_root = root.encode();
    record.features.read_only_compatible &= !NAMED_SNAPSHOTS;
    if !root.is_empty() {
        record.features.read_only_compatible |= NAMED_SNAPSHOTS;
    }
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
