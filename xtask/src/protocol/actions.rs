//! Steps of the model, and violations, with their descriptions.

use super::state::{Durability, EnginePhase, ProtocolState};
use std::fmt;

/// One step. Slots and pages are counted from 0; commits are named in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Commit {
        durability: Durability,
        name: u8,
        root: u8,
        leaf: Option<u8>,
        slot: u8,
    },
    KillInCommit(u8),
    FailRecord {
        slot: u8,
        is_whole: bool,
    },
    BeginReader(u8),
    EndReader(u8),
    BeginFlush(u8),
    CompleteFlush(u8),
    FailFlush(u8),
    BeginEntry(u8),
    CompleteEntry(u8),
    FailEntry(u8),
    WriteVisibleAgain(u8),
    EraseHidden(u8),
    WriteClose(u8),
    CompleteClose,
    FailClose,
    /// A step of a poisoned engine, poisoned by an error or on purpose.
    End,
    Kill,
    PowerCut,
    Drop,
    Open,
    Redo(u8),
    DecideAgain,
    Settle,
    EraseLoser(u8),
    CompleteRecovery,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Commit {
                durability,
                name,
                root,
                leaf,
                slot,
            } => write_commit(f, durability, name, (root, leaf, slot)),
            Self::KillInCommit(slot) => write!(
                f,
                "the process is killed while it writes a commit to free pages and slot {slot}"
            ),
            Self::FailRecord { slot, is_whole } => {
                let state = if is_whole { "whole" } else { "torn" };
                write!(f, "a commit fails with its record in slot {slot} {state}")
            }
            Self::BeginReader(name) => write!(f, "a reader begins at {name}"),
            Self::EndReader(name) => write!(f, "the reader at {name} ends"),
            Self::BeginFlush(name) => write!(f, "a flush of {name} begins"),
            Self::CompleteFlush(name) => write!(f, "the flush of {name} completes"),
            Self::FailFlush(name) => write!(
                f,
                "the flush of {name} fails; the system counts everything as written"
            ),
            Self::BeginEntry(name) => write!(f, "an entry that makes {name} durable is written"),
            Self::CompleteEntry(name) => {
                write!(f, "the entry of {name} is on the disk")
            }
            Self::FailEntry(name) => write!(
                f,
                "the write of the entry of {name} fails; the system counts it as written"
            ),
            Self::WriteVisibleAgain(slot) => {
                write!(f, "the visible record goes to slot {slot} again")
            }
            Self::EraseHidden(slot) => write!(f, "an invisible record in slot {slot} is erased"),
            Self::WriteClose(slot) => write!(f, "the mark of a clean close goes to slot {slot}"),
            Self::CompleteClose => write!(f, "the mark is flushed: the database is closed"),
            Self::FailClose => write!(
                f,
                "the flush of the mark fails; it is erased, the process ends"
            ),
            Self::End => write!(f, "the process ends"),
            Self::Kill => write!(
                f,
                "the process is killed; running writeback fails without an error"
            ),
            Self::PowerCut => write!(f, "power fails"),
            Self::Drop => write!(
                f,
                "the system drops from its cache what a failed flush left there"
            ),
            Self::Open => write!(f, "the database is opened"),
            Self::Redo(page) => write!(f, "recovery redoes page {page}"),
            Self::DecideAgain => write!(f, "recovery decides again, or redoes the record"),
            Self::Settle => write!(f, "recovery rewrites the chosen commit"),
            Self::EraseLoser(slot) => write!(f, "recovery erases slot {slot}"),
            Self::CompleteRecovery => write!(f, "recovery flushes, the database is open"),
        }
    }
}

fn write_commit(
    f: &mut fmt::Formatter<'_>,
    durability: Durability,
    name: u8,
    (root, leaf, slot): (u8, Option<u8>, u8),
) -> fmt::Result {
    let durability = match durability {
        Durability::Durable => "durable",
        Durability::Weak => "weak",
    };
    write!(f, "commit {name} ({durability}): root to page {root}")?;
    if let Some(leaf) = leaf {
        write!(f, ", leaf to page {leaf}")?;
    }
    write!(f, ", record to slot {slot}")
}

/// The violation of a promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProtocolViolation {
    NothingReadable,
    NothingWhole,
    /// Recovery reports corruption without damage to the disk.
    FalseCorruption,
    /// Recovery misses a durable commit without damage to the disk.
    DurableGone,
    /// Recovery misses a commit that the records call acknowledged.
    AcknowledgedGone,
    /// The journal is inconsistent without damage to the disk.
    Nonsense,
    CameBack,
    /// All of a commit was on the disk or in the journal, but an older one was chosen.
    WholeLost,
    PromisedLost,
    LostWithoutPowerCut,
    WrongPage(u8),
    PageNotOnDisk(u8),
    RecordNotOnDisk(u8),
    /// The commit with this name was lost.
    SeenPageWrong(u8),
    FailedIsVisible,
}

impl fmt::Display for ProtocolViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingReadable => write!(f, "no record can be read"),
            Self::NothingWhole => write!(f, "no commit is complete"),
            Self::FalseCorruption => write!(
                f,
                "a commit that the records call durable is incomplete: corruption without damage"
            ),
            Self::DurableGone => write!(
                f,
                "the record of a commit that the records call durable is missed: corruption without damage"
            ),
            Self::AcknowledgedGone => write!(
                f,
                "a commit that the records call acknowledged is missed: corruption without damage"
            ),
            Self::Nonsense => write!(f, "the journal is inconsistent: corruption without damage"),
            Self::WholeLost => write!(f, "a completely written commit is lost"),
            Self::CameBack => write!(f, "a commit that was rolled back has reappeared"),
            Self::PromisedLost => write!(f, "a commit that was acknowledged as durable is lost"),
            Self::LostWithoutPowerCut => {
                write!(f, "a visible commit is lost without a power cut")
            }
            Self::WrongPage(page) => {
                write!(f, "page {page} of the chosen commit is wrong")
            }
            Self::PageNotOnDisk(page) => write!(
                f,
                "page {page} of the commit that counts as durable may be missing on the disk"
            ),
            Self::RecordNotOnDisk(slot) => write!(
                f,
                "the record in slot {slot} that counts as durable may be missing on the disk"
            ),
            Self::SeenPageWrong(name) => {
                write!(f, "commit {name} is visible with a wrong page")
            }
            Self::FailedIsVisible => {
                write!(f, "a durable commit is visible although its flush failed")
            }
        }
    }
}

/// The possible next steps of a state.
#[derive(Default)]
pub(super) struct Steps(Vec<(Action, Result<ProtocolState, ProtocolViolation>)>);

impl Steps {
    /// Adds a step, and checks the states that are visible after it.
    pub(super) fn push(
        &mut self,
        action: Action,
        result: Result<ProtocolState, ProtocolViolation>,
    ) {
        let result = result.and_then(|next| match seen_wrong(&next) {
            Some(name) => Err(ProtocolViolation::SeenPageWrong(name)),
            None => Ok(next),
        });
        self.0.push((action, result));
    }

    pub(super) fn into_inner(self) -> Vec<(Action, Result<ProtocolState, ProtocolViolation>)> {
        self.0
    }

    pub(super) fn drain(
        &mut self,
    ) -> impl Iterator<Item = (Action, Result<ProtocolState, ProtocolViolation>)> {
        self.0.drain(..)
    }
}

/// A commit with a wrong page that readers or the next writer would see.
fn seen_wrong(state: &ProtocolState) -> Option<u8> {
    let engine = state.phase.engine()?;
    let seen = engine.readers.iter().chain([&engine.published]);
    let built_upon = match state.phase {
        EnginePhase::Running(_) => Some(&engine.newest),
        _ => None,
    };
    seen.chain(built_upon)
        .find(|&&commit| state.wrong_page(commit).is_some())
        .map(|&commit| state.name(commit))
}
