//! The memory of a running engine: the pages and slots that it may use, and the commits that it
//! knows to be durable.

use super::{
    rules::{Planted, Rules},
    state::{
        CommitIndex, EngineMemory, EnginePhase, PageUse, ProtocolState, SLOT_COUNT, SyncMethod,
    },
};
use arrayvec::ArrayVec;

impl EngineMemory {
    /// The memory of an engine that has just opened a database. All pages that its commit does not
    /// use are free.
    pub(super) fn opened(
        state: &ProtocolState,
        commit: CommitIndex,
        slot: u8,
        flushed_slot: u8,
    ) -> Self {
        let mut uses: ArrayVec<PageUse, _> = state.pages.iter().map(|_| PageUse::Free).collect();
        for reference in state.commit(commit).tree.iter().flatten() {
            uses[usize::from(reference.page)] = PageUse::Live {
                birth: reference.birth,
            };
        }
        Self {
            newest: commit,
            newest_slot: slot,
            durable: commit,
            flushed: commit,
            flushed_slot,
            // Entries follow the newest record, or there are none.
            chain: (flushed_slot == slot && !state.journal.is_empty()).then_some(0),
            target: None,
            published: commit,
            readers: ArrayVec::new(),
            uses,
        }
    }

    /// Frees pages that no pin needs. This happens at once, though the engine does it only when it
    /// needs pages, because that is the harder case.
    fn reclaim(&mut self, state: &ProtocolState, rules: &Rules) {
        let mut pins = vec![self.newest];
        if !rules.has(Planted::DurableNotPinned) && !rules.has(Planted::AcknowledgedNotPinned) {
            pins.push(self.durable);
        }
        if !rules.has(Planted::DurableNotPinned) && !rules.has(Planted::FlushedNotPinned) {
            pins.push(self.flushed);
        }
        if !rules.has(Planted::PublishedNotPinned) {
            pins.push(self.published);
        }
        if !rules.has(Planted::TargetNotPinned) {
            pins.extend(self.target.map(|target| target.commit));
        }
        if !rules.has(Planted::ReadersNotPinned) {
            pins.extend(&self.readers);
        }
        let newest = state.transaction(self.newest);
        let is_early = rules.has(Planted::DeathsFreeEarly);
        for page in &mut self.uses {
            let PageUse::Dead { birth, death } = *page else {
                continue;
            };
            let is_pinned = pins
                .iter()
                .any(|&pin| (birth..death).contains(&state.transaction(pin)));
            if !is_pinned || (is_early && death == newest) {
                *page = PageUse::Free;
            }
        }
    }

    /// The slots that the next record may use: the oldest of those that are not needed. Records
    /// before the flushed one count as equally old. An erased slot counts as old, but not as older
    /// than others. The protocol must be correct for every choice among them.
    pub(super) fn next_slots(
        &self,
        state: &ProtocolState,
        rules: &Rules,
    ) -> ArrayVec<u8, SLOT_COUNT> {
        let target_slot = self.target.map(|target| target.slot);
        let is_needed = |slot: &u8| {
            (*slot == self.newest_slot && !rules.has(Planted::NewestSlotTaken))
                || (*slot == self.flushed_slot && !rules.has(Planted::FlushedSlotTaken))
                || (Some(*slot) == target_slot && !rules.has(Planted::TargetSlotTaken))
        };
        let flushed = state.cached_record(self.flushed_slot);
        let sequence = |slot: &u8| {
            let sequence = state.cached_record(*slot)?.sequence;
            let is_stale = flushed.is_some_and(|flushed| sequence < flushed.sequence);
            Some(if is_stale { 0 } else { sequence })
        };
        let spare = (0..SLOT_COUNT as u8).filter(|slot| !is_needed(slot));
        let oldest = spare.clone().filter_map(|slot| sequence(&slot)).min();
        spare
            .filter(|slot| sequence(slot).is_none() || sequence(slot) == oldest)
            .collect()
    }

    pub(super) fn free_pages(&self) -> impl Iterator<Item = u8> + Clone {
        let pages = self.uses.iter().zip(0..);
        pages.filter_map(|(use_, page)| (*use_ == PageUse::Free).then_some(page))
    }
}

/// Changes the engine of a copied state, and reclaims pages.
pub(super) fn after(
    state: &ProtocolState,
    rules: &Rules,
    change: impl FnOnce(&mut ProtocolState, &mut EngineMemory),
) -> ProtocolState {
    let mut next = state.clone();
    let EnginePhase::Running(engine) = &state.phase else {
        return next;
    };
    let mut engine = engine.clone();
    change(&mut next, &mut engine);
    engine.reclaim(&next, rules);
    next.phase = EnginePhase::Running(engine);
    next
}

/// Marks the target of the completed flush or entry as durable.
pub(super) fn note_durable(next: &mut ProtocolState, engine: &mut EngineMemory, rules: &Rules) {
    let Some(mut target) = engine.target.take() else {
        return;
    };
    if rules.has(Planted::WritesAfterStartCount) {
        (target.commit, target.slot) = (engine.newest, engine.newest_slot);
    }
    engine.durable = target.commit;
    match target.means {
        SyncMethod::Flush => {
            engine.flushed = target.commit;
            engine.flushed_slot = target.slot;
            if !next.journal.is_empty() && !rules.has(Planted::ChainGoesOn) {
                engine.chain = Some(0);
            }
        }
        SyncMethod::Entry(index) => engine.chain = Some(index + 1),
    }
    if next.transaction(engine.published) < next.transaction(target.commit) {
        engine.published = target.commit;
    }
    next.promised = target.commit;
}
