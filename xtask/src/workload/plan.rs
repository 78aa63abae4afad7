//! The command line of the program.

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
    /// None for commits without end.
    pub(crate) commits: Option<u64>,
    pub(crate) page_size: usize,
}

impl VictimPlan<'_> {
    /// The program and its arguments.
    pub(crate) fn words(&self) -> Result<Vec<OsString>, Failure> {
        let mut words = own_task("victim")?;
        words.extend(["--path".into(), self.path.into()]);
        words.extend(["--seed".into(), self.seed.to_string().into()]);
        words.extend(["--script".into(), self.script.name().into()]);
        words.extend(["--incarnation".into(), self.incarnation.to_string().into()]);
        words.extend(["--page-size".into(), self.page_size.to_string().into()]);
        if let Some(commits) = self.commits {
            words.extend(["--commits".into(), commits.to_string().into()]);
        }
        Ok(words)
    }
}
