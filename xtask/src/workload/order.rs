//! The order of all commits of several programs, as far as their output shows it.

use super::{
    CommitMark, MemberAccount, SharedPlan,
    commit::{TableState, WorkloadCommit, apply},
};
use crate::{Context, Result};
use std::{collections::BTreeMap, ops::RangeInclusive};

/// The part that crashes: the programs, or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CrashScope {
    Process,
    Machine,
}

/// The claims about a number of the order.
#[derive(Clone, Default, Debug)]
struct NumberClaims {
    /// The commits that were begun with this number.
    begun: Vec<CommitMark>,
    /// The commit that got the number and returned.
    returned: Option<CommitMark>,
}

/// All commits of a database that may count.
#[derive(Clone, Debug)]
pub(crate) struct CommitOrder {
    pub(crate) common: SharedPlan,
    pub(super) crash: CrashScope,
    last_member: u32,
    /// The claims by number, after the settled ones.
    claims: BTreeMap<u64, NumberClaims>,
    /// The newest commit that no crash can lose.
    durable: u64,
    /// Whether there must be a database.
    is_file_promised: bool,
    /// The states in which the database may have been closed.
    closed: Vec<RangeInclusive<u64>>,
    /// The commits that were found durable, oldest first, and the resulting state.
    settled: Vec<CommitMark>,
    state: TableState,
}

impl CommitOrder {
    /// There is no database.
    pub(crate) fn nothing(common: SharedPlan, crash: CrashScope) -> Self {
        Self {
            common,
            crash,
            last_member: 0,
            claims: BTreeMap::new(),
            durable: 0,
            is_file_promised: false,
            closed: vec![0..=0],
            settled: Vec::new(),
            state: TableState::new(),
        }
    }

    /// A number for the next program.
    pub(crate) fn next_member(&mut self) -> u32 {
        self.last_member += 1;
        self.last_member
    }

    /// The newest commit that was begun.
    pub(super) fn newest(&self) -> u64 {
        let settled = self.settled.len() as u64;
        self.claims.keys().next_back().map_or(settled, |last| *last)
    }

    /// The newest commit that returned.
    pub(crate) fn seen(&self) -> u64 {
        let mut claims = self.claims.iter().rev();
        let seen = claims.find(|(_, claims)| claims.returned.is_some());
        seen.map_or(self.settled.len() as u64, |(number, _)| *number)
    }

    /// A description of the commits that a crash may leave as the newest.
    pub(crate) fn possible(&self) -> String {
        format!("one of commits {} to {}", self.durable, self.newest())
    }

    pub(crate) fn is_file_promised(&self) -> bool {
        self.is_file_promised
    }

    /// Whether the database may have been closed in this state, without a later commit.
    pub(super) fn may_be_closed(&self, number: u64) -> bool {
        self.closed.iter().any(|closed| closed.contains(&number))
    }

    /// Adds the output of the programs of one more boot, or that of one program until its kill.
    ///
    /// # Errors
    ///
    /// If the programs found or made an impossible state.
    pub(crate) fn live(&mut self, accounts: &[MemberAccount]) -> Result {
        let found = accounts.iter().flat_map(|account| {
            let begun = account.begun.iter().map(|(number, _)| number - 1);
            begun.chain(account.found.iter().copied())
        });
        // Without it, no program has had the database open.
        let Some(found) = found.min() else {
            return Ok(());
        };
        self.expect_possible(found)?;
        self.claims.retain(|number, _| *number <= found);
        self.closed = match self.may_be_closed(found) {
            true => vec![found..=found],
            false => Vec::new(),
        };
        self.is_file_promised = true;
        let kept = accounts.iter().map(|account| match self.crash {
            CrashScope::Machine => account.durable,
            CrashScope::Process => account.seen.last().copied().unwrap_or(0),
        });
        // A found state is flushed before a commit is based on it.
        self.durable = kept.max().unwrap_or(0).max(found);
        for account in accounts {
            self.claim(account, found)?;
        }
        self.expect_no_gap(found)?;
        let closes = accounts.iter().flat_map(|account| &account.closes);
        match (accounts, closes.min()) {
            ([only], _) => self
                .closed
                .extend(only.closes.iter().map(|number| *number..=*number)),
            (_, Some(first)) => self.closed.push(*first..=self.newest()),
            (_, None) => {}
        }
        Ok(())
    }

    fn claim(&mut self, account: &MemberAccount, found: u64) -> Result {
        for (number, mark) in &account.begun {
            self.claims.entry(*number).or_default().begun.push(*mark);
        }
        for seen in &account.seen {
            let mark = account.begun.iter().find(|(number, _)| number == seen);
            let (_, mark) = mark.context(format_args!(
                "commit {seen} of member {} returned without a begin",
                account.member
            ))?;
            let claims = self.claims.entry(*seen).or_default();
            if *seen <= found || claims.returned.is_some_and(|other| other != *mark) {
                bail!(
                    "commit {seen} of {mark:?} returned, but the number was taken: {claims:?}, {found} found"
                );
            }
            claims.returned = Some(*mark);
        }
        Ok(())
    }

    /// A program that begins a number has read the one before it.
    fn expect_no_gap(&self, found: u64) -> Result {
        let mut numbers = self.claims.range(found + 1..).map(|(number, _)| *number);
        let gap = numbers
            .by_ref()
            .zip(found + 1..)
            .find(|(is, should_be)| is != should_be);
        gap.map_or(Ok(()), |(is, should_be)| {
            Err(failure!("commit {is} was begun, but {should_be} was not"))
        })
    }

    /// Fails unless `number` may be the newest commit.
    pub(super) fn expect_possible(&self, number: u64) -> Result {
        if (self.durable..=self.newest()).contains(&number) {
            return Ok(());
        }
        let possible = self.possible();
        Err(failure!(
            "commit {number} is the newest; allowed is {possible}"
        ))
    }

    /// Fails unless these may be the commits of the database, in order. Returns the resulting
    /// state.
    pub(super) fn state_after(&self, marks: &[CommitMark]) -> Result<TableState> {
        let settled = self.settled.len();
        if marks.len() < settled || marks[..settled] != self.settled {
            bail!("the first {settled} commits have changed");
        }
        let mut state = self.state.clone();
        for (number, mark) in (1..).zip(marks).skip(settled) {
            let claims = self.claims.get(&number).cloned().unwrap_or_default();
            let fits = match claims.returned {
                Some(returned) => returned == *mark,
                None => claims.begun.contains(mark),
            };
            ensure!(
                fits,
                "commit {number} is {mark:?}, but there was {claims:?}"
            );
            self.add(&mut state, *mark);
        }
        Ok(state)
    }

    fn add(&self, state: &mut TableState, mark: CommitMark) {
        for change in self.commit(mark).changes {
            apply(state, change);
        }
    }

    pub(super) fn commit(&self, mark: CommitMark) -> WorkloadCommit {
        WorkloadCommit::draw(self.common.seed, mark, self.common.script)
    }

    /// Records that the database was closed with exactly these commits and this state.
    pub(super) fn settle(&mut self, marks: Vec<CommitMark>, state: TableState) {
        let number = marks.len() as u64;
        self.claims.clear();
        (self.settled, self.state) = (marks, state);
        (self.durable, self.closed) = (number, vec![number..=number]);
        self.is_file_promised = true;
    }

    /// The state after these commits and `mark`.
    pub(super) fn state_with(&self, mut state: TableState, mark: CommitMark) -> TableState {
        self.add(&mut state, mark);
        state
    }
}
