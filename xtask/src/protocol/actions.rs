//! Steps of the model, and violations, with their descriptions.

use super::state::{Durability, EnginePhase, ProtocolState};
use std::fmt;

/// One step. Slots and pages are counted from 0, commits go by the order in which they are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Commit {
        durability: Durability,
        name: u8,
        root: u8,
        leaf: Option<u8>,
        slot: u8,
    },
    KillInCommit {
        slot: u8,
    },
    FailRecord {
        slot: u8,
        is_whole: bool,
    },
    BeginReader {
        name: u8,
    },
    EndReader {
        name: u8,
    },
    BeginFlush {
        name: u8,
    },
    CompleteFlush {
        name: u8,
    },
    FailFlush {
        name: u8,
    },
    BeginEntry {
        name: u8,
    },
    CompleteEntry {
        name: u8,
    },
    FailEntry {
        name: u8,
    },
    WriteVisibleAgain {
        slot: u8,
    },
    EraseHidden {
        slot: u8,
    },
    WriteClose {
        slot: u8,
    },
    CompleteClose,
    FailClose,
    /// Of a poisoned engine, by its own will or not.
    End,
    Kill,
    PowerCut,
    Drop,
    Open,
    Redo {
        page: u8,
    },
    DecideAgain,
    Settle,
    EraseLoser {
        slot: u8,
    },
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
            Self::KillInCommit { slot } => write!(
                f,
                "the process is killed while it writes a commit to free pages and slot {slot}"
            ),
            Self::FailRecord { slot, is_whole } => {
                let state = if is_whole { "whole" } else { "torn" };
                write!(
                    f,
                    "a commit fails, and its record in slot {slot} is {state}"
                )
            }
            Self::BeginReader { name } => write!(f, "a reader begins at {name}"),
            Self::EndReader { name } => write!(f, "the reader at {name} ends"),
            Self::BeginFlush { name } => write!(f, "a flush of {name} begins"),
            Self::CompleteFlush { name } => write!(f, "the flush of {name} is done"),
            Self::FailFlush { name } => write!(
                f,
                "the flush of {name} fails; the system counts all as written"
            ),
            Self::BeginEntry { name } => write!(f, "an entry that makes {name} durable is written"),
            Self::CompleteEntry { name } => {
                write!(f, "the entry of {name} is on the disk")
            }
            Self::FailEntry { name } => write!(
                f,
                "the write of the entry of {name} fails; the system counts it as written"
            ),
            Self::WriteVisibleAgain { slot } => {
                write!(f, "the visible record goes to slot {slot} again")
            }
            Self::EraseHidden { slot } => write!(f, "an invisible record in slot {slot} is erased"),
            Self::WriteClose { slot } => write!(f, "the mark of a clean close goes to slot {slot}"),
            Self::CompleteClose => write!(f, "the mark is flushed: the database is closed"),
            Self::FailClose => write!(
                f,
                "the flush of the mark fails; it is erased, the process ends"
            ),
            Self::End => write!(f, "the process ends"),
            Self::Kill => write!(
                f,
                "the process is killed; what was being written back fails unseen"
            ),
            Self::PowerCut => write!(f, "power fails"),
            Self::Drop => write!(
                f,
                "the system drops from its cache what a flush that failed left there"
            ),
            Self::Open => write!(f, "the database is opened"),
            Self::Redo { page } => write!(f, "recovery puts page {page} where it belongs"),
            Self::DecideAgain => write!(f, "recovery decides again, or redoes the record"),
            Self::Settle => write!(f, "recovery writes again what counts"),
            Self::EraseLoser { slot } => write!(f, "recovery erases slot {slot}"),
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

/// A violation of a promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProtocolViolation {
    NothingReadable,
    NothingWhole,
    /// Recovery speaks of rot, and there was none.
    FalseCorruption,
    /// Recovery misses a durable commit, and none was lost.
    DurableGone,
    /// Recovery misses a commit that the records call acknowledged.
    AcknowledgedGone,
    /// The journal makes no sense, and nothing has rotted.
    Nonsense,
    CameBack,
    /// All of a commit was on the disk or in the journal, and an older one was chosen.
    WholeLost,
    PromisedLost,
    LostWithoutPowerCut,
    WrongPage(u8),
    PageNotOnDisk(u8),
    RecordNotOnDisk(u8),
    /// Of the commit with this name.
    SeenPageWrong(u8),
    FailedIsVisible,
}

impl fmt::Display for ProtocolViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingReadable => write!(f, "no record can be read"),
            Self::NothingWhole => write!(f, "no commit is whole"),
            Self::FalseCorruption => write!(
                f,
                "a commit is not whole that the records call durable: corruption without rot"
            ),
            Self::DurableGone => write!(
                f,
                "the record of a commit is missed that the records call durable: corruption without rot"
            ),
            Self::AcknowledgedGone => write!(
                f,
                "a commit is missed that the records call acknowledged: corruption without rot"
            ),
            Self::Nonsense => write!(
                f,
                "what the journal says makes no sense: corruption without rot"
            ),
            Self::WholeLost => write!(f, "a commit is lost of which all was written"),
            Self::CameBack => write!(f, "a commit that was rolled back has come to life again"),
            Self::PromisedLost => write!(f, "a commit is lost that was acknowledged as durable"),
            Self::LostWithoutPowerCut => {
                write!(
                    f,
                    "a commit that was visible is lost, and power did not fail"
                )
            }
            Self::WrongPage(page) => {
                write!(f, "page {page} of the commit that was chosen is wrong")
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
                write!(f, "commit {name} can be seen, and a page of it is wrong")
            }
            Self::FailedIsVisible => write!(f, "a durable commit is visible whose flush failed"),
        }
    }
}

/// The steps that may follow a state.
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

    pub(super) fn drain(
        &mut self,
    ) -> impl Iterator<Item = (Action, Result<ProtocolState, ProtocolViolation>)> {
        self.0.drain(..)
    }
}

/// A commit of which readers, or the next writer, would see a wrong page.
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
