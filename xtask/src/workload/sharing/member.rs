//! One of the programs that commit to a database at the same time: `cargo xtask member`.
//!
//! It reports on its standard output, each line by one system call: `found N` when the database is
//! open, `begin N` before a commit, `seen N` when it has returned, `durable N` when all commits up
//! to N are reported as durable, `closing N` before the database is closed. All numbers are those
//! of the order.

use super::{
    super::{
        CommitScript,
        commit::{AfterCommit, WorkloadCommit},
        victim::{PendingTickets, change, close, commit_with, open_options, say},
    },
    CommitMark,
};
use crate::Failure;
use std::path::PathBuf;
use teak::{
    Database, Durability, Table, Transaction, WriteTxn,
    codec::{Str, U64},
};

/// The mark of each commit, by its number in the order.
pub(super) const ORDER: &str = "order";

/// Commits to a database that others commit to as well, and prints the promises that it received
#[derive(clap::Args)]
pub(crate) struct MemberArguments {
    #[arg(long)]
    path: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long, value_enum)]
    script: CommitScript,
    /// A number that no other program on this database has
    #[arg(long)]
    member: u32,
    /// Number of commits to make; endless if it is not given
    #[arg(long)]
    commits: Option<u64>,
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    #[arg(long, default_value_t = 0)]
    journal_bytes: u64,
}

/// The kinds of commits of a program: all kinds, or mostly one.
#[derive(Clone, Copy, Debug)]
enum CommitHabit {
    Mixed,
    Mostly(Durability),
}

/// Commits until it is killed, or has made the requested number of commits.
pub(crate) fn run(arguments: &MemberArguments) -> Result<(), Failure> {
    let mut member = Member::open(arguments, 0)?;
    let last = arguments.commits.unwrap_or(u64::MAX);
    while member.count < last {
        member = member.step()?;
    }
    close(member.database, member.number)
}

struct Member<'a> {
    arguments: &'a MemberArguments,
    habit: CommitHabit,
    database: Database,
    /// The number of commits that it has begun.
    count: u64,
    /// The number of its newest commit, or of the one that it found.
    number: u64,
    tickets: PendingTickets,
}

impl<'a> Member<'a> {
    fn open(arguments: &'a MemberArguments, count: u64) -> Result<Self, Failure> {
        let options = open_options(arguments.script, arguments.page_size);
        let options = options.journal_bytes(arguments.journal_bytes);
        let database = options.open(&arguments.path)?;
        let number = newest(&database.begin_read()?)?;
        say("found", number)?;
        Ok(Self {
            habit: CommitHabit::of(arguments),
            arguments,
            database,
            count,
            number,
            tickets: PendingTickets::default(),
        })
    }

    fn step(mut self) -> Result<Self, Failure> {
        self.count += 1;
        let mark = CommitMark {
            member: self.arguments.member,
            count: self.count,
        };
        let commit = WorkloadCommit::draw(mark.origin(self.arguments.seed), self.arguments.script);
        let mut txn = self.database.begin_write()?;
        self.number = newest(&txn)? + 1;
        say("begin", self.number)?;
        make(&mut txn, self.number, mark, &commit)?;
        let durability = self.habit.durability(commit.durability, self.count);
        let ticket = commit_with(&self.database, txn, durability)?;
        say("seen", self.number)?;
        if durability == Durability::Durable {
            say("durable", self.number)?;
        } else {
            self.tickets.push(self.number, ticket);
        }
        if commit.then == AfterCommit::Reopen {
            let (arguments, count) = (self.arguments, self.count);
            close(self.database, self.number)?;
            return Self::open(arguments, count);
        }
        self.follow(commit.then)?;
        Ok(self)
    }

    fn follow(&mut self, then: AfterCommit) -> Result<(), Failure> {
        match then {
            AfterCommit::Sync => {
                // Commits of other programs that this one sees are flushed too.
                let seen = newest(&self.database.begin_read()?)?;
                self.database.sync()?;
                say("durable", seen)?;
            }
            AfterCommit::Wait => {
                if let Some(number) = self.tickets.wait()? {
                    say("durable", number)?;
                }
            }
            AfterCommit::Nothing | AfterCommit::Reopen => {}
        }
        match self.tickets.take_durable()?.last() {
            Some(number) => say("durable", *number),
            None => Ok(()),
        }
    }
}

impl CommitHabit {
    /// Depends on the seed and the number of the program.
    fn of(arguments: &MemberArguments) -> Self {
        let seed = arguments.seed ^ u64::from(arguments.member).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match fastrand::Rng::with_seed(seed).u8(0..6) {
            0 => Self::Mostly(Durability::Durable),
            1 => Self::Mostly(Durability::Async),
            2 => Self::Mostly(Durability::Lazy),
            _ => Self::Mixed,
        }
    }

    fn durability(self, drawn: Durability, count: u64) -> Durability {
        match self {
            Self::Mostly(durability) if !count.is_multiple_of(8) => durability,
            _ => drawn,
        }
    }
}

/// Makes the changes of a commit, and stores its mark.
pub(super) fn make(
    txn: &mut WriteTxn,
    number: u64,
    mark: CommitMark,
    commit: &WorkloadCommit,
) -> Result<(), Failure> {
    change(txn, commit)?;
    let order = txn.create_table::<U64, Str>(ORDER)?;
    order.insert(txn, number, &mark.text())?;
    Ok(())
}

/// The number of the newest commit; 0 if there is none.
pub(super) fn newest(txn: &impl Transaction) -> Result<u64, Failure> {
    let order: Table<U64, Str> = match txn.open_table(ORDER) {
        Ok(order) => order,
        Err(teak::Error::TableNotFound(_)) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    Ok(order.last(txn)?.map_or(0, |(number, _)| number))
}
