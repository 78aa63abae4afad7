//! Redoes the journal. Each page is a step of its own. Then recovery decides again, because a newer
//! commit may be complete with these pages. If none is, the record is redone too.

use super::{
    actions::{Action, ProtocolViolation, Steps},
    decision::{self, Decision, Redo},
    journal::{self, JournalPages},
    rules::{Planted, Rules},
    state::{CommitIndex, EnginePhase, ProtocolState},
};

impl Redo {
    /// The pages to redo: those that the commit uses.
    fn pages(&self, state: &ProtocolState, rules: &Rules) -> JournalPages {
        let mut made = journal::made(state, &self.entries, rules);
        if !rules.has(Planted::DeadRedone) {
            let tree = state.commit(self.record.commit).tree;
            let is_used = |page| {
                tree.iter()
                    .flatten()
                    .any(|reference| reference.page == page)
            };
            made.retain(|(page, _)| is_used(*page));
        }
        made
    }

    pub(super) fn begin(&self, next: &mut ProtocolState, rules: &Rules) {
        let pages = self.pages(next, rules);
        let is_recorded = rules.has(Planted::RecordRedoneFirst);
        let whole = self.whole(next, rules);
        next.phase = EnginePhase::Redoing {
            pages: pages.iter().fold(0, |pages, (page, _)| pages | 1 << page),
            is_recorded,
            redone: self.record.commit,
            whole,
        };
        if is_recorded {
            next.write_slot(self.slot, self.content);
        }
    }

    /// The newest commit with a newer record that is complete on the disk or with the journal.
    fn whole(&self, state: &ProtocolState, rules: &Rules) -> Option<CommitIndex> {
        let made = journal::made(state, &self.entries, rules);
        let readable = decision::readable(state).into_iter();
        let newer = readable.take_while(|(_, record)| record.sequence > self.record.sequence);
        let mut commits = newer.map(|(_, record)| record.commit);
        commits.find(|&commit| {
            let mut tree = state.commit(commit).tree.into_iter().flatten();
            tree.all(|reference| {
                state.pages[usize::from(reference.page)].cache == reference.content
                    || made.contains(&(reference.page, reference.content))
            })
        })
    }
}

/// The next steps of a redo.
pub(super) fn redoing(state: &ProtocolState, rules: &Rules, steps: &mut Steps) {
    let EnginePhase::Redoing {
        pages,
        is_recorded,
        redone,
        whole,
    } = state.phase
    else {
        return;
    };
    if pages == 0 {
        let decided = decided_again(state, is_recorded, redone, whole, rules);
        steps.push(Action::DecideAgain, decided);
        return;
    }
    let readable = decision::readable(state);
    let Ok(Some(redo)) = Redo::read(state, &readable, rules) else {
        return steps.push(Action::DecideAgain, Err(ProtocolViolation::Nonsense));
    };
    for (page, content) in redo.pages(state, rules) {
        let left = pages & !(1 << page);
        if left == pages {
            continue;
        }
        let mut next = state.clone();
        next.write_page(page, content);
        next.phase = EnginePhase::Redoing {
            pages: left,
            is_recorded,
            redone,
            whole,
        };
        steps.push(Action::Redo(page), Ok(next));
    }
}

fn decided_again(
    state: &ProtocolState,
    is_recorded: bool,
    redone: CommitIndex,
    whole: Option<CommitIndex>,
    rules: &Rules,
) -> Result<ProtocolState, ProtocolViolation> {
    let mut next = state.clone();
    let is_any_redone = rules.has(Planted::AnyPagesRedone);
    let slot = match decision::decide(state, rules)? {
        Decision::Found { slot } | Decision::Clean { slot, .. } => slot,
        // The last entry may be lost, because it was not on the disk. Then other pages count.
        Decision::ToRedo(redo) if redo.record.commit != redone && !is_any_redone => {
            redo.begin(&mut next, rules);
            return Ok(next);
        }
        Decision::ToRedo(_) if is_recorded => return Err(ProtocolViolation::NothingWhole),
        Decision::ToRedo(redo) => {
            next.write_slot(redo.slot, redo.content);
            next.phase = EnginePhase::Redoing {
                pages: 0,
                is_recorded: true,
                redone,
                whole,
            };
            return Ok(next);
        }
    };
    let commit = state.cached_record(slot).map(|record| record.commit);
    let is_lost = |whole| commit.is_some_and(|commit| !state.contains(commit, whole));
    if whole.is_some_and(is_lost) {
        return Err(ProtocolViolation::WholeLost);
    }
    next.phase = EnginePhase::Decided {
        slot,
        redone: Some(redone),
        is_dropped: false,
    };
    Ok(next)
}
