//! Several programs that commit to one database at once, and say what they were promised; and what
//! looks at what a power cut leaves of that.
//!
//! Each commit has a number in the *order*: one more than the newest number that its program read.
//! Its *mark* is its program, and the count of that program's commits before it. The database
//! stores the marks of all its commits next to the records, so its contents name the state that
//! they should be, and the state follows from the marks alone. A lost number is used again, with
//! another mark.

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

use super::{CommitScript, commit::Origin};
use crate::{Failure, campaign::child::own_task};
use std::{ffi::OsString, path::Path};

/// Which commit it is, wherever it stands in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommitMark {
    /// A number that no other program over this database has.
    pub(crate) member: u32,
    /// Of the commits that this program has begun.
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
    /// None for commits without end.
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
        let mut words = own_task("member")?;
        words.extend(["--path".into(), self.path.into()]);
        words.extend(["--seed".into(), seed.to_string().into()]);
        words.extend(["--script".into(), script.name().into()]);
        words.extend(["--member".into(), self.member.to_string().into()]);
        words.extend(["--page-size".into(), page_size.to_string().into()]);
        words.extend(["--journal-bytes".into(), journal_bytes.to_string().into()]);
        if let Some(commits) = self.commits {
            words.extend(["--commits".into(), commits.to_string().into()]);
        }
        Ok(words)
    }
}
