//! A program that commits to a database, alone or with others: `cargo xtask member`.
//!
//! It reports on its standard output, each line by one system call: `opening 0` and `found N`
//! before and after it opens the database, `begin N` before a commit, `seen N` when it has
//! returned, `durable N` when all commits up to N are reported as durable, `closing N` before the
//! database is closed. All numbers are those of the order.

use super::{
    CommitMark, CommitScript,
    commit::{AfterCommit, RecordChange, WorkloadCommit, key_bytes},
};
use crate::{Result, campaign::database::existing};
use std::{
    collections::VecDeque,
    io::{self, Write},
    path::PathBuf,
    process,
    time::Duration,
};
use teak::{
    Database, Durability, Geometry, Options, Ticket, Transaction, WriteTxn,
    codec::{Bytes, Str},
};

/// The records.
pub(super) const TABLE: &str = "records";
/// The mark of each commit, by its number in the order.
pub(super) const ORDER: &str = "order";
/// The number of the newest commit.
pub(super) const NEWEST: &str = "newest";

/// Commits to a database, and prints the promises that it received
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
    /// Make mostly commits of one kind, depending on the seed and the number of the program
    #[arg(long)]
    habits: bool,
    /// End without closing the database
    #[arg(long)]
    leave: bool,
}

/// Commits until it is killed, or has made the requested number of commits.
pub(crate) fn run(arguments: &MemberArguments) -> Result {
    let mut member = Member::open(arguments, 0)?;
    let last = arguments.commits.unwrap_or(u64::MAX);
    while member.count < last {
        member = member.step()?;
    }
    if arguments.leave {
        process::exit(0);
    }
    close(member.database, member.number)
}

struct Member<'a> {
    arguments: &'a MemberArguments,
    /// The kind of most commits; `None` for a mix of all.
    habit: Option<Durability>,
    database: Database,
    /// The number of commits that it has begun.
    count: u64,
    /// The number of its newest commit, or of the one that it found.
    number: u64,
    /// Tickets of commits that may become durable, oldest first, with their numbers.
    tickets: VecDeque<(u64, Ticket)>,
}

impl<'a> Member<'a> {
    fn open(arguments: &'a MemberArguments, count: u64) -> Result<Self> {
        say("opening", 0)?;
        let options = open_options(arguments.script, arguments.page_size);
        let options = options.journal_bytes(arguments.journal_bytes);
        let database = options.open(&arguments.path)?;
        let number = newest(&database.begin_read()?, arguments.script)?;
        say("found", number)?;
        Ok(Self {
            habit: arguments.habit(),
            arguments,
            database,
            count,
            number,
            tickets: VecDeque::new(),
        })
    }

    fn step(mut self) -> Result<Self> {
        self.count += 1;
        let arguments = self.arguments;
        let mark = CommitMark {
            member: arguments.member,
            count: self.count,
        };
        let commit = WorkloadCommit::draw(arguments.seed, mark, arguments.script);
        let mut txn = self.database.begin_write()?;
        self.number = newest(&txn, arguments.script)? + 1;
        say("begin", self.number)?;
        make(&mut txn, self.number, mark, &commit)?;
        let habit = self.habit.filter(|_| !self.count.is_multiple_of(8));
        let durability = habit.unwrap_or(commit.durability);
        let ticket = commit_with(&self.database, txn, durability)?;
        say("seen", self.number)?;
        if durability == Durability::Durable {
            say("durable", self.number)?;
        } else {
            self.tickets.push_back((self.number, ticket));
        }
        if commit.then == AfterCommit::Reopen {
            close(self.database, self.number)?;
            return Self::open(arguments, self.count);
        }
        self.follow(commit.then)?;
        Ok(self)
    }

    fn follow(&mut self, then: AfterCommit) -> Result {
        match then {
            AfterCommit::Sync => {
                // Commits of other programs that this one sees are flushed too.
                let seen = newest(&self.database.begin_read()?, self.arguments.script)?;
                self.database.sync()?;
                say("durable", seen)?;
            }
            AfterCommit::Wait => {
                // A lazy commit may not be flushed for a long time.
                let limit = Duration::from_millis(2);
                if let Some((number, ticket)) = self.tickets.back()
                    && ticket.wait_timeout(limit)?
                {
                    say("durable", *number)?;
                }
            }
            AfterCommit::Nothing | AfterCommit::Reopen => {}
        }
        let mut durable = None;
        while let Some((number, ticket)) = self.tickets.front()
            && ticket.is_durable()?
        {
            durable = Some(*number);
            self.tickets.pop_front();
        }
        durable.map_or(Ok(()), |number| say("durable", number))
    }
}

impl MemberArguments {
    fn habit(&self) -> Option<Durability> {
        let seed = self.seed ^ u64::from(self.member).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match fastrand::Rng::with_seed(seed).u8(0..6) {
            _ if !self.habits || self.script == CommitScript::Small => None,
            0 => Some(Durability::Durable),
            1 => Some(Durability::Async),
            2 => Some(Durability::Lazy),
            _ => None,
        }
    }
}

/// Commits in this mode. Returns the ticket of the commit.
fn commit_with(database: &Database, mut txn: WriteTxn, durability: Durability) -> Result<Ticket> {
    if durability == Durability::Async {
        return Ok(txn.commit_async()?);
    }
    txn.set_durability(durability);
    let transaction = txn.commit()?;
    Ok(database.ticket(transaction)?)
}

/// Closes a database whose newest commit has this number.
fn close(database: Database, number: u64) -> Result {
    say("closing", number)?;
    database.close()?;
    say("durable", number)
}

pub(super) fn open_options(script: CommitScript, page_size: usize) -> Options {
    // Almost every commit truncates the file or moves pages.
    let geometry = Geometry::new()
        .growth_step_bytes(2 * page_size as u64)
        .shrink_threshold_bytes(2 * page_size as u64);
    let options = Options::new().page_size(page_size).geometry(geometry);
    match script {
        CommitScript::Plain | CommitScript::Lazy | CommitScript::Small => options
            .flush_after(Duration::MAX)
            .flush_after_bytes(u64::MAX),
        CommitScript::Flusher => options
            .flush_after(Duration::from_millis(3))
            .flush_after_bytes(256 << 10),
    }
}

/// Makes the changes of a commit, and stores its mark.
pub(super) fn make(
    txn: &mut WriteTxn,
    number: u64,
    mark: CommitMark,
    commit: &WorkloadCommit,
) -> Result {
    let table = txn.create_table::<Bytes, Bytes>(TABLE)?;
    for change in &commit.changes {
        match *change {
            RecordChange::Insert { key, content } => {
                table.insert(txn, key_bytes(key), content.bytes())?;
            }
            RecordChange::Remove { key } => {
                table.remove(txn, key_bytes(key))?;
            }
            RecordChange::RemoveRange { first, after } => {
                let (first, after) = (key_bytes(first), key_bytes(after));
                table
                    .range(first.as_slice()..after.as_slice())
                    .remove(txn)?;
            }
        }
    }
    let order = txn.create_table::<u64, Str>(ORDER)?;
    order.insert(txn, number, mark.text())?;
    let newest = txn.create_table::<u64, u64>(NEWEST)?;
    newest.insert(txn, 0, number)?;
    Ok(())
}

/// The number of the newest commit; 0 if there is none. Looking it up leaves a transaction small.
pub(super) fn newest(txn: &impl Transaction, script: CommitScript) -> Result<u64> {
    if script == CommitScript::Small {
        let newest = existing(txn.open_table::<u64, u64>(NEWEST))?;
        let number = newest.map(|newest| newest.get(txn, 0)).transpose()?;
        return Ok(number.flatten().unwrap_or(0));
    }
    match existing(txn.open_table::<u64, Str>(ORDER))? {
        Some(order) => Ok(order.last(txn)?.map_or(0, |(number, _)| number)),
        None => Ok(0),
    }
}

fn say(word: &str, number: u64) -> Result {
    let line = format!("{word} {number}\n");
    Ok(io::stdout().write_all(line.as_bytes())?)
}
