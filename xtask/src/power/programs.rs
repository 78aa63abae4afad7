//! The programs of one boot of the machine.

use crate::{Failure, Result, campaign::child::ChildProgram, workload::MemberAccount};
use std::{collections::BTreeMap, mem};

/// A running program.
pub(super) struct RunningProgram {
    pub(super) member: u32,
    pub(super) child: ChildProgram,
    /// Whether it ends by itself.
    pub(super) is_to_end: bool,
}

#[derive(Default)]
pub(super) struct ProgramPool {
    pub(super) running: Vec<RunningProgram>,
    /// The output of programs that have ended.
    pub(super) accounts: Vec<MemberAccount>,
    /// The programs that failed before the power cut.
    pub(super) failure: Option<String>,
}

impl RunningProgram {
    /// The output so far. A wrong line is reported at the end of the program.
    fn account(&self) -> MemberAccount {
        MemberAccount::read(self.member, &self.child.output()).unwrap_or_default()
    }
}

impl ProgramPool {
    /// Notes a failure. The finding of one program may explain the failure of the others.
    fn fail(&mut self, text: String) {
        self.failure = Some(match self.failure.take() {
            Some(before) => format!("{before}; {text}"),
            None => text,
        });
    }

    /// Adds the output of a program.
    fn add(&mut self, member: u32, output: &str) {
        match MemberAccount::read(member, output) {
            Ok(account) => self.accounts.push(account),
            Err(Failure(text)) => self.fail(format!("member {member}: {text}")),
        }
    }

    pub(super) fn kill(&mut self, index: usize) -> Result {
        let RunningProgram { member, child, .. } = self.running.swap_remove(index);
        self.add(member, &child.kill()?.output);
        Ok(())
    }

    /// Removes the programs that have ended. Notes those that should not have ended.
    pub(super) fn reap(&mut self) -> Result {
        for index in (0..self.running.len()).rev() {
            let Some(status) = self.running[index].child.status()? else {
                continue;
            };
            let program = self.running.swap_remove(index);
            let (member, ended) = (program.member, program.child.wait()?);
            if !(program.is_to_end && status.success()) {
                let errors = ended.errors;
                self.fail(format!(
                    "member {member} failed before the power did: {errors}"
                ));
            }
            self.add(member, &ended.output);
        }
        Ok(())
    }

    /// The promises to the running programs so far.
    pub(super) fn promised(&self) -> BTreeMap<u32, u64> {
        let promised = |running: &RunningProgram| (running.member, running.account().durable);
        self.running.iter().map(promised).collect()
    }

    /// Whether a program is known to have had the database open.
    pub(super) fn has_been_open(&self) -> bool {
        let mut running = self.running.iter().map(RunningProgram::account);
        self.accounts
            .iter()
            .any(|account| !account.found.is_empty())
            || running.any(|account| !account.found.is_empty())
    }

    pub(super) fn stop(&self) -> Result {
        let mut running = self.running.iter();
        running.try_for_each(|running| running.child.stop())
    }

    /// Ends all programs. `promised` has the promises by then, if later output does not count.
    pub(super) fn end(&mut self, promised: Option<&BTreeMap<u32, u64>>) -> Result {
        let ended = self.accounts.len();
        for RunningProgram { member, child, .. } in mem::take(&mut self.running) {
            self.add(member, &child.kill()?.output);
        }
        if let Some(promised) = promised {
            for account in &mut self.accounts[ended..] {
                account.durable = promised.get(&account.member).copied().unwrap_or(0);
            }
        }
        Ok(())
    }
}
