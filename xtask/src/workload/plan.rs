//! The command line of the victim program.

use super::CommitScript;
use crate::{Failure, campaign::child::own_task};
use std::{ffi::OsString, path::Path};

/// The parameters of a run of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VictimPlan<'a> {
    pub(crate) path: &'a Path,
    pub(crate) seed: u64,
    pub(crate) script: CommitScript,
    pub(crate) incarnation: u32,
    /// `None` for commits without end.
    pub(crate) commits: Option<u64>,
    pub(crate) page_size: usize,
}

impl VictimPlan<'_> {
    /// The program and its arguments.
    pub(crate) fn words(&self) -> Result<Vec<OsString>, Failure> {
        let flags = [
            ("--seed", self.seed.to_string()),
            ("--script", self.script.name()),
            ("--incarnation", self.incarnation.to_string()),
            ("--page-size", self.page_size.to_string()),
        ];
        words("victim", self.path, &flags, self.commits)
    }
}

/// The command line of a program that commits to the database at `path`.
pub(super) fn words(
    task: &str,
    path: &Path,
    flags: &[(&str, String)],
    commits: Option<u64>,
) -> Result<Vec<OsString>, Failure> {
    let mut words = own_task(task)?;
    words.extend(["--path".into(), path.into()]);
    let commits = commits.map(|commits| ("--commits", commits.to_string()));
    for (flag, value) in flags.iter().chain(&commits) {
        words.extend([flag.into(), value.into()]);
    }
    Ok(words)
}
