//! Steps of the memtable's model, and violations, with their descriptions.

use super::state::{CommitSet, LogModel};
use std::fmt;

/// How a commit is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommitKind {
    Lazy,
    Durable,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogAction {
    AddCommit(CommitKind, CommitSet),
    CommitToTrees(CommitKind, CommitSet),
    BeginReader(CommitSet),
    BeginLogFlush,
    CompleteLogFlush,
    FailLogFlush,
    BeginMerge(CommitSet),
    WritePart(CommitSet),
    CompleteMerge(CommitSet),
    FailMerge,
    BeginTreeFlush(CommitSet),
    CompleteTreeFlush,
    FailTreeFlush,
    Attach,
    OtherLeaves,
    OwnerDies,
    Close,
    LeaveLazy,
    End,
    Kill,
    PowerCut,
    Open,
    MergeLeft(CommitSet),
    FlushLeft,
    RemoveLeft,
}

/// The commits of a set, by their numbers.
struct Numbered(CommitSet);

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for commit in (0..CommitSet::BITS).filter(|bit| self.0 >> bit & 1 == 1) {
            write!(f, "{separator}{}", commit + 1)?;
            separator = ", ";
        }
        match self.0 {
            0 => write!(f, "none"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for CommitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lazy => "lazy",
            Self::Durable => "durable",
        })
    }
}

impl fmt::Display for LogAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AddCommit(kind, commit) => {
                write!(
                    f,
                    "commit {} ({kind}) is added to the log",
                    Numbered(commit)
                )
            }
            Self::CommitToTrees(kind, commit) => {
                write!(f, "commit {} ({kind}) goes to the trees", Numbered(commit))
            }
            Self::BeginReader(state) => write!(f, "a reader begins with {}", Numbered(state)),
            Self::BeginLogFlush => write!(f, "a flush of the log begins"),
            Self::CompleteLogFlush => write!(f, "the flush of the log completes"),
            Self::FailLogFlush => write!(
                f,
                "the flush of the log fails; what readers do not see is erased there"
            ),
            Self::BeginMerge(state) => write!(f, "a merge begins with {}", Numbered(state)),
            Self::WritePart(state) => write!(
                f,
                "the merge writes a record of {}, the state of the reader",
                Numbered(state)
            ),
            Self::CompleteMerge(state) => {
                write!(f, "the merge writes a record of {}", Numbered(state))
            }
            Self::FailMerge => write!(f, "the merge fails, for example without space"),
            Self::BeginTreeFlush(state) => {
                write!(f, "a flush of the trees with {} begins", Numbered(state))
            }
            Self::CompleteTreeFlush => write!(f, "the flush of the trees completes"),
            Self::FailTreeFlush => write!(f, "the flush of the trees fails"),
            Self::Attach => write!(f, "another process attaches"),
            Self::OtherLeaves => write!(f, "the other process leaves"),
            Self::OwnerDies => write!(f, "the process with the log is killed, the other goes on"),
            Self::Close => write!(f, "the database is closed, and its log removed"),
            Self::LeaveLazy => write!(
                f,
                "the process closes without a flush of lazy commits, and removes its log"
            ),
            Self::End => write!(f, "the process ends"),
            Self::Kill => write!(f, "the process is killed"),
            Self::PowerCut => write!(f, "power fails"),
            Self::Open => write!(f, "the database is opened, and its log read"),
            Self::MergeLeft(state) => {
                write!(
                    f,
                    "recovery merges the log: a record of {}",
                    Numbered(state)
                )
            }
            Self::FlushLeft => write!(f, "recovery flushes the trees"),
            Self::RemoveLeft => write!(f, "recovery removes the log"),
        }
    }
}

/// A description of a step, and what the disk has after a power cut.
pub(super) fn line(action: LogAction, next: &LogModel) -> String {
    match action {
        LogAction::PowerCut => {
            let log = match &next.log {
                None => ", no log".to_owned(),
                Some(log) => {
                    let halves = log.halves.iter().map(|half| {
                        let readable = half.iter().map(|position| match position.cache {
                            0 => '-',
                            _ => '+',
                        });
                        readable.collect::<String>()
                    });
                    format!(", log {}", halves.collect::<Vec<_>>().join(" "))
                }
            };
            format!(
                "{action}: trees with {}{log}",
                Numbered(next.newest().state)
            )
        }
        _ => action.to_string(),
    }
}

/// The violation of a promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogViolation {
    /// An entry was added to another state than the one that recovery applies it to.
    WrongState {
        commit: CommitSet,
        state: CommitSet,
    },
    PromisedLost(CommitSet),
    KeptLost(CommitSet),
    CameBack(CommitSet),
    FailedIsThere(CommitSet),
}

impl fmt::Display for LogViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongState { commit, state } => write!(
                f,
                "recovery applies commit {} to a state of which it is not the next: {}",
                Numbered(commit),
                Numbered(state)
            ),
            Self::PromisedLost(lost) => {
                write!(
                    f,
                    "commits that count as durable are lost: {}",
                    Numbered(lost)
                )
            }
            Self::KeptLost(lost) => write!(
                f,
                "commits that were acknowledged or seen are lost without a power cut: {}",
                Numbered(lost)
            ),
            Self::CameBack(commits) => write!(
                f,
                "commits that an opened database did not have are there again: {}",
                Numbered(commits)
            ),
            Self::FailedIsThere(commits) => write!(
                f,
                "commits that failed are there although power did not fail: {}",
                Numbered(commits)
            ),
        }
    }
}

/// The possible next steps of a state.
pub(super) type LogSteps = Vec<(LogAction, Result<LogModel, LogViolation>)>;
