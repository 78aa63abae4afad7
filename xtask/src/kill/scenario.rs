//! A database on which programs are killed, one after the other.

use crate::{
    Result,
    campaign::{child::ChildEnd, database::copy_with_log, violations},
    workload::{CommitOrder, CrashScope, MemberAccount, MemberPlan, SharedPlan, inspect},
};
use std::{ffi::OsString, path::Path, path::PathBuf};
use tempfile::TempDir;

/// The counts of kills.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct KillCount {
    pub(super) kills: u64,
    pub(super) violations: u64,
}

pub(super) struct KillScenario {
    pub(super) directory: TempDir,
    order: CommitOrder,
    /// The number of the last program, and a description of its run.
    member: u32,
    pub(super) description: String,
}

impl KillScenario {
    /// Begins without a database, in a new directory below `scratch`.
    pub(super) fn new(scratch: &Path, common: SharedPlan) -> Result<Self> {
        Ok(Self {
            directory: tempfile::tempdir_in(scratch)?,
            order: CommitOrder::nothing(common, CrashScope::Process),
            member: 0,
            description: String::new(),
        })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("kill.teak")
    }

    fn copy(&self) -> PathBuf {
        self.directory.path().join("copy")
    }

    /// The command line of the next program, with this number of commits or without end.
    pub(super) fn next(&mut self, commits: Option<u64>) -> Result<Vec<OsString>> {
        self.member = self.order.next_member();
        let plan = MemberPlan {
            path: &self.path(),
            common: self.order.common,
            member: self.member,
            commits,
        };
        self.description = format!("{plan:?}");
        plan.words()
    }

    /// Adds the output of that program.
    pub(super) fn take(&mut self, ended: &ChildEnd) -> Result {
        let account = MemberAccount::read(self.member, &ended.output)?;
        self.order.live(&[account])
    }

    /// Inspects the database. Returns its newest commit; `None` if there is no database.
    pub(super) fn inspect(&mut self) -> Result<Option<u64>> {
        let path = self.path();
        copy_with_log(&path, &self.copy())?;
        Ok(inspect(&path, &mut self.order)?.number)
    }

    /// Saves the database from before the last inspection.
    pub(super) fn save(&self, name: &str) -> Result {
        violations::save_database(&self.copy(), name)
    }
}
