//! Several programs that commit to one database at the same time and report their promises, and the
//! inspection after a power cut.
//!
//! Each commit has a number in the *order*: one more than the newest number that its program read.
//! Its *mark* is its program, and the count of that program's commits before it. The database
//! stores the marks of all its commits next to the records. So its contents identify the expected
//! state, which depends only on the marks. A lost number is used again with another mark.

mod account;
mod inspect;
mod member;
mod order;

#[cfg(test)]
mod tests;

pub(crate) use account::MemberAccount;
pub(crate) use inspect::inspect;
pub(crate) use member::{MemberArguments, run};
pub(crate) use order::{BootAccounts, CommitOrder};

use super::{CommitScript, commit::Origin, plan::words};
use crate::Failure;
use std::{ffi::OsString, path::Path};

/// The identity of a commit, independent of its position in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommitMark {
    /// A number that no other program on this database has.
    pub(crate) member: u32,
    /// The count of the commits that this program has begun.
    pub(crate) count: u64,
}

impl CommitMark {
    fn origin(self, seed: u64) -> Origin {
        Origin {
            seed,
            incarnation: self.member,
            number: self.count,
        }
    }

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
    pub(crate) page_size: usize,
    pub(crate) journal_bytes: u64,
    /// Whether lazy commits have limits.
    pub(crate) script: CommitScript,
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
    pub(crate) fn words(&self) -> Result<Vec<OsString>, Failure> {
        let SharedPlan {
            seed,
            page_size,
            journal_bytes,
            script,
        } = self.common;
        let flags = [
            ("--seed", seed.to_string()),
            ("--script", script.name()),
            ("--member", self.member.to_string()),
            ("--page-size", page_size.to_string()),
            ("--journal-bytes", journal_bytes.to_string()),
        ];
        words("member", self.path, &flags, self.commits)
    }
}
