//! Programs that commit to one database and report their promises, to be killed or cut off from
//! their disk, and the inspection of the database.
//!
//! Each commit has a number in the *order*: one more than the newest number that its program read.
//! Its *mark* is its program, and the count of that program's commits before it. The database
//! stores the marks of all its commits next to the records. So its contents identify the expected
//! state, which depends only on the seed and the marks. A lost number is used again with another
//! mark, so a state that mixes lost commits with their successors matches no valid state.

mod account;
mod commit;
mod inspect;
mod member;
mod order;
#[cfg(test)]
mod tests;

pub(crate) use account::MemberAccount;
pub(crate) use inspect::inspect;
pub(crate) use member::{MemberArguments, run};
pub(crate) use order::{CommitOrder, CrashScope};

use crate::{Result, campaign::child::own_task, names::Named};
use clap::ValueEnum;
use fastrand::Rng;
use std::{ffi::OsString, path::Path};

/// The kinds of commits of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CommitScript {
    /// Durable and lazy commits; one thread makes all system calls, always in the same order
    Plain,
    /// Also asynchronous commits, and limits for lazy ones: the database's background thread
    /// flushes
    Flusher,
    /// Few durable commits and no limits: a power cut loses much
    Lazy,
    /// Small commits, which go to the write-ahead log: for a while all are durable, then few are
    Small,
}

/// The identity of a commit, independent of its position in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommitMark {
    /// A number that no other program on this database has.
    pub(crate) member: u32,
    /// The count of the commits that this program has begun.
    pub(crate) count: u64,
}

impl CommitMark {
    fn text(self) -> String {
        format!("{} of member {}", self.count, self.member)
    }

    fn parse(text: &str) -> Option<Self> {
        let (count, member) = text.split_once(" of member ")?;
        Some(Self {
            member: member.parse().ok()?,
            count: count.parse().ok()?,
        })
    }
}

/// The parameters that the programs on a database share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedPlan {
    pub(crate) seed: u64,
    pub(crate) script: CommitScript,
    pub(crate) page_size: usize,
    pub(crate) journal_bytes: u64,
    /// Whether each program has a habit: most of its commits may be of one kind.
    pub(crate) has_habits: bool,
}

impl SharedPlan {
    /// A random plan. `journals` are the lengths of the journal in pages to choose from.
    pub(crate) fn draw(rng: &mut Rng, journals: &[u64]) -> Self {
        let page_size = [4096, 4096, 16384][rng.usize(0..3)];
        Self {
            seed: rng.u64(..),
            script: CommitScript::value_variants()[rng.usize(0..4)],
            page_size,
            journal_bytes: page_size as u64 * journals[rng.usize(0..journals.len())],
            has_habits: true,
        }
    }
}

/// The parameters of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberPlan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) common: SharedPlan,
    pub(crate) member: u32,
    /// `None` for commits without end.
    pub(crate) commits: Option<u64>,
}

impl MemberPlan<'_> {
    /// The program and its arguments.
    pub(crate) fn words(&self) -> Result<Vec<OsString>> {
        let common = self.common;
        let mut words = own_task("member")?;
        words.extend(["--path".into(), self.path.into()]);
        let flags = [
            ("--seed", common.seed.to_string()),
            ("--script", common.script.name()),
            ("--member", self.member.to_string()),
            ("--page-size", common.page_size.to_string()),
            ("--journal-bytes", common.journal_bytes.to_string()),
        ];
        let commits = self
            .commits
            .map(|commits| ("--commits", commits.to_string()));
        for (flag, value) in flags.into_iter().chain(commits) {
            words.extend([flag.into(), value.into()]);
        }
        if common.has_habits {
            words.push("--habits".into());
        }
        Ok(words)
    }
}
