//! The states that are allowed after a crash, updated from one run of the program to the next.

use super::{CommitHistory, VictimAccount};
use crate::Failure;

/// The part that crashed: the program, or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CrashScope {
    Process,
    Machine,
}

#[derive(Clone, Debug)]
pub(crate) struct ExpectedCommits {
    pub(crate) crash: CrashScope,
    pub(crate) oldest: u64,
    pub(crate) newest: u64,
    /// The newest commit that returned. A crash of the machine may lose it.
    pub(crate) seen: u64,
    /// Whether there must be a database.
    pub(crate) is_file_promised: bool,
    /// Commits at which the database was closed or created, or may have been.
    pub(crate) closes: Vec<u64>,
}

impl ExpectedCommits {
    /// There is no database.
    pub(crate) fn nothing(crash: CrashScope) -> Self {
        Self {
            crash,
            oldest: 0,
            newest: 0,
            seen: 0,
            is_file_promised: false,
            closes: vec![0],
        }
    }

    /// A database that was not closed after commit `number`.
    pub(crate) fn left(crash: CrashScope, number: u64) -> Self {
        Self {
            oldest: number,
            newest: number,
            seen: number,
            is_file_promised: true,
            closes: Vec::new(),
            ..Self::nothing(crash)
        }
    }

    /// A database that was closed after commit `number`.
    pub(crate) fn closed(crash: CrashScope, number: u64) -> Self {
        Self {
            closes: vec![number],
            ..Self::left(crash, number)
        }
    }

    /// Adds the output of one more run of the program.
    ///
    /// # Errors
    ///
    /// If the output contradicts the allowed states.
    pub(crate) fn live(
        &mut self,
        account: &VictimAccount,
        history: &mut CommitHistory,
        incarnation: u32,
    ) -> Result<(), Failure> {
        // It may have opened the database without reporting it. This does not change the allowed
        // states.
        let Some(found) = account.found else {
            return Ok(());
        };
        self.check(found)?;
        history.continue_from(found, incarnation);
        self.oldest = match self.crash {
            CrashScope::Process => account.seen,
            CrashScope::Machine => account.durable,
        };
        self.newest = account.begun;
        self.seen = account.seen;
        self.is_file_promised = true;
        self.closes.extend(&account.closes);
        Ok(())
    }

    /// Fails unless commit `number` may be the newest one.
    pub(crate) fn check(&self, number: u64) -> Result<(), Failure> {
        let Self { oldest, newest, .. } = *self;
        if (oldest..=newest).contains(&number) {
            return Ok(());
        }
        Err(failure!(
            "commit {number} is the newest; allowed are {oldest} to {newest}"
        ))
    }
}
