//! The commit records that are known: what each slot holds, and which record counts as newest,
//! durable, flushed, and target of a flush.
//!
//! Invariants:
//!
//! 1. flushed ≤ durable ≤ newest, and durable ≤ target. There is at most one target.
//! 2. A record is never written to the slot of the newest, the flushed or the target record. Of
//!    four slots, at least one is left.
//! 3. The reference at an index of `slots` has that index as its slot.
//!
//! Processes that share a database share these numbers. Numbers from shared memory are checked in
//! [`KnownRecords::is_consistent`] before they are adopted.

use crate::{
    TransactionId,
    planted::planted,
    record::{SLOT_COUNT, record_ref::RecordRef},
};

/// The target of a flush by this process.
#[derive(Clone, Copy, Debug)]
struct OwnTarget {
    commit: RecordRef,
    /// The journal may take it, so no flush has begun as far as is known.
    may_be_entry: bool,
}

/// The known commit records.
#[derive(Debug)]
pub(crate) struct KnownRecords {
    /// The newest commit in the file.
    pub(super) newest: RecordRef,
    /// The last durable commit, by a flush or a journal entry.
    pub(super) durable: RecordRef,
    /// The last commit whose pages are all on the disk, by a flush.
    pub(super) flushed: RecordRef,
    target: Option<OwnTarget>,
    /// The target of a flush by another process.
    foreign_target: Option<RecordRef>,
    /// The record in each slot; sequence 0 if there is none.
    pub(super) slots: [RecordRef; SLOT_COUNT as usize],
}

impl KnownRecords {
    /// Everything up to `newest` is durable.
    pub(super) fn new(
        newest: RecordRef,
        sequences: [u64; SLOT_COUNT as usize],
        flushed_slot: u8,
    ) -> Self {
        assert!(
            newest.slot < SLOT_COUNT && flushed_slot < SLOT_COUNT,
            "records that count are in slots: {newest:?}, {flushed_slot}"
        );
        let mut slots = [newest; SLOT_COUNT as usize];
        for (index, (slot, sequence)) in slots.iter_mut().zip(sequences).enumerate() {
            (slot.slot, slot.sequence) = (index as u8, sequence);
        }
        let durable = RecordRef {
            slot: flushed_slot,
            ..newest
        };
        Self {
            newest,
            durable,
            flushed: durable,
            target: None,
            foreign_target: None,
            slots,
        }
    }

    /// The slot for the next record: the oldest one that is not needed.
    pub(super) fn next_slot(&self) -> u8 {
        let oldest = self.unneeded().min_by_key(|written| written.sequence);
        oldest.expect("at most three of four slots are needed").slot
    }

    /// Two slots that are not needed. When everything is durable there are two; `None` only if
    /// another program has written to the lock file.
    pub(super) fn spare_slots(&self) -> Option<[u8; 2]> {
        let mut unneeded: Vec<_> = self.unneeded().collect();
        unneeded.sort_unstable_by_key(|written| written.sequence);
        match unneeded[..] {
            [one, other, ..] => Some([one.slot, other.slot]),
            _ => None,
        }
    }

    /// Whether the record in `slot` may be overwritten.
    pub(super) fn may_overwrite(&self, slot: u8) -> bool {
        self.unneeded().any(|written| written.slot == slot)
    }

    /// The slots that hold neither the newest commit, nor the last flushed one, nor the target.
    fn unneeded(&self) -> impl Iterator<Item = &RecordRef> {
        let target = self.target().map(|target| target.slot);
        let needed = [
            Some(self.newest.slot),
            Some(self.flushed.slot).filter(|_| !planted!(SlotOfFlushed)),
            target.filter(|_| !planted!(SlotOfTarget)),
        ];
        let is_unneeded = move |written: &&RecordRef| !needed.contains(&Some(written.slot));
        self.slots.iter().filter(is_unneeded)
    }

    /// The commits in the file that a crash may lead back to.
    pub(super) fn pins(&self) -> impl Iterator<Item = TransactionId> + use<> {
        let target = self.target().map(|target| target.transaction);
        let durable = Some(self.durable.transaction);
        let flushed = Some(self.flushed.transaction);
        [
            Some(self.newest.transaction),
            durable.filter(|_| !planted!(FreeDurable) && !planted!(FreeAcknowledged)),
            flushed.filter(|_| !planted!(FreeDurable)),
            target.filter(|_| !planted!(FreeTarget)),
        ]
        .into_iter()
        .flatten()
    }

    /// The target of the running flush, by any process.
    pub(super) fn target(&self) -> Option<RecordRef> {
        let own = self.target.map(|target| target.commit);
        own.or(self.foreign_target)
    }

    /// The target of the running flush by this process.
    pub(super) fn own_target(&self) -> Option<RecordRef> {
        self.target.map(|target| target.commit)
    }

    pub(super) fn has_own_target(&self) -> bool {
        self.target.is_some()
    }

    pub(super) fn has_foreign_target(&self) -> bool {
        self.foreign_target.is_some()
    }

    /// The newest commit for which a flush has begun. A target that the journal may take does not
    /// count.
    pub(super) fn last_target(&self) -> TransactionId {
        let may_be_entry = self.target.is_some_and(|target| target.may_be_entry);
        let flushing = self.target().filter(|_| !may_be_entry);
        flushing.unwrap_or(self.flushed).transaction
    }

    /// Notes a record that is written.
    pub(super) fn note_written(&mut self, written: RecordRef) {
        debug_assert!(written.slot < SLOT_COUNT, "there is no slot {written:?}");
        debug_assert!(
            written.sequence > self.newest.sequence,
            "{written:?} is no newer than {:?}",
            self.newest
        );
        self.slots[usize::from(written.slot)] = written;
        self.newest = written;
    }

    /// Makes `commit` the target of a flush by this process.
    pub(super) fn begin_flush(&mut self, commit: RecordRef, may_be_entry: bool) {
        assert!(self.target.is_none(), "one flush at a time");
        assert!(
            self.foreign_target.is_none(),
            "the flush lock admits one process"
        );
        self.target = Some(OwnTarget {
            commit,
            may_be_entry,
        });
    }

    /// Notes that the target is flushed and not journaled.
    pub(super) fn begin_flush_without_entry(&mut self) {
        let target = self.target.as_mut().expect("a flush has a target");
        assert!(
            target.may_be_entry,
            "a flush begins once, when the journal has not taken its target"
        );
        target.may_be_entry = false;
    }

    /// Notes that the target is durable, by a flush or by a journal entry.
    pub(super) fn complete_flush(&mut self, is_flushed: bool) {
        let target = self.target.take().expect("a flush has a target");
        self.durable = target.commit;
        planted!(DurableIsNewest => self.durable = self.newest);
        if is_flushed {
            self.flushed = self.durable;
        }
    }

    /// Notes that the target did not become durable.
    pub(super) fn fail_flush(&mut self) {
        assert!(self.target.is_some(), "a flush has a target");
        self.target = None;
    }

    /// Notes that a flush outside of the usual protocol has covered everything written: only
    /// journal entries made the newest commit durable before.
    pub(super) fn flush_journaled(&mut self) {
        self.flushed = self.newest;
    }

    /// Notes that nothing after `durable` is known to be on the disk.
    pub(super) fn distrust_after(&mut self, durable: TransactionId) {
        let durable = durable.min(self.newest.transaction);
        self.durable.transaction = durable;
        self.flushed.transaction = durable;
    }

    /// Notes that the process that flushed has died, or that its flush is over.
    pub(super) fn forget_foreign_target(&mut self) {
        self.foreign_target = None;
    }

    /// Replaces what all processes know by what another process noted.
    pub(super) fn adopt(&mut self, noted: NotedRecords) {
        debug_assert!(
            noted.is_consistent(),
            "numbers of other processes are checked before they are adopted: {noted:?}"
        );
        (self.newest, self.durable, self.flushed) = (noted.newest, noted.durable, noted.flushed);
        self.foreign_target = noted.target.filter(|_| self.target.is_none());
        self.slots = noted.slots;
    }

    /// Checks invariants 1 to 3. Only for records that no other process can have changed.
    pub(super) fn assert_invariants(&self) {
        let (flushed, durable) = (self.flushed.transaction, self.durable.transaction);
        assert!(flushed <= durable, "flushed commits are durable: {self:?}");
        assert!(
            durable <= self.newest.transaction,
            "a durable commit is in the file: {self:?}"
        );
        let is_ahead = |target: RecordRef| target.transaction >= durable;
        assert!(
            self.target().is_none_or(is_ahead),
            "a flush does not go back: {self:?}"
        );
        assert!(
            self.unneeded().next().is_some(),
            "one slot is left: {self:?}"
        );
        let is_at_index = |(index, slot): (usize, &RecordRef)| usize::from(slot.slot) == index;
        assert!(
            self.slots.iter().enumerate().all(is_at_index),
            "slots are in their order: {self:?}"
        );
    }
}

/// The records as noted in shared memory.
#[derive(Debug)]
pub(super) struct NotedRecords {
    pub(super) newest: RecordRef,
    pub(super) durable: RecordRef,
    pub(super) flushed: RecordRef,
    pub(super) target: Option<RecordRef>,
    pub(super) slots: [RecordRef; SLOT_COUNT as usize],
}

impl NotedRecords {
    /// Whether the numbers are those of `records`.
    pub(super) fn is_of(&self, records: &KnownRecords) -> bool {
        let own = (records.newest, records.durable, records.flushed);
        (self.newest, self.durable, self.flushed) == own
            && self.target == records.target()
            && self.slots == records.slots
    }

    /// Whether invariant 1 holds. If not, another program has written to the lock file.
    pub(super) fn is_consistent(&self) -> bool {
        let durable = self.durable.transaction;
        let is_ahead = |target: RecordRef| target.transaction >= durable;
        self.flushed.transaction <= durable
            && durable <= self.newest.transaction
            && self.target.is_none_or(is_ahead)
    }
}
