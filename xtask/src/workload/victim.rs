//! The program that is killed or cut off: `cargo xtask victim`.
//!
//! It reports on its standard output, each line by one system call: `found N` when the database is
//! open, `begin N` before a commit, `seen N` when it has returned, `durable N` when it is reported
//! as durable, `closing N` before the database is closed.

use super::{
    CommitScript,
    commit::{AfterCommit, Origin, RecordChange, WorkloadCommit, key_bytes},
};
use crate::Failure;
use std::{
    collections::VecDeque,
    io::{self, Write},
    path::PathBuf,
    process,
    time::Duration,
};
use teak::{
    Database, Durability, Geometry, Options, Table, Ticket, Transaction, WriteTxn,
    codec::{Bytes, Str},
};

pub(super) const TABLE: &str = "records";
pub(super) const ABOUT: &str = "about";
pub(super) const LABEL: &str = "newest";

/// Commits, and prints the promises that it received
#[derive(clap::Args)]
pub(crate) struct VictimArguments {
    #[arg(long)]
    path: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long, value_enum)]
    script: CommitScript,
    /// The number of this run of the program on this database
    #[arg(long)]
    incarnation: u32,
    /// Number of commits to make; endless if it is not given
    #[arg(long)]
    commits: Option<u64>,
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    /// End without closing the database
    #[arg(long)]
    leave: bool,
}

/// Commits until it is killed, or has made the requested number of commits.
pub(crate) fn run(arguments: &VictimArguments) -> Result<(), Failure> {
    let mut victim = Victim::open(arguments)?;
    let last = arguments
        .commits
        .map_or(u64::MAX, |commits| victim.number.saturating_add(commits));
    while victim.number < last {
        victim = victim.step()?;
    }
    if arguments.leave {
        process::exit(0);
    }
    close(victim.database, victim.number)
}

struct Victim<'a> {
    arguments: &'a VictimArguments,
    database: Database,
    /// The newest commit.
    number: u64,
    /// The newest commit that was reported as durable.
    durable: u64,
    tickets: PendingTickets,
}

impl<'a> Victim<'a> {
    fn open(arguments: &'a VictimArguments) -> Result<Self, Failure> {
        say("opening", 0)?;
        let database = open_options(arguments.script, arguments.page_size).open(&arguments.path)?;
        let number = newest_number(&database)?;
        say("found", number)?;
        Ok(Self {
            arguments,
            database,
            number,
            durable: number,
            tickets: PendingTickets::default(),
        })
    }

    fn step(mut self) -> Result<Self, Failure> {
        self.number += 1;
        let origin = Origin {
            seed: self.arguments.seed,
            incarnation: self.arguments.incarnation,
            number: self.number,
        };
        let commit = WorkloadCommit::draw(origin, self.arguments.script);
        say("begin", self.number)?;
        let mut txn = self.database.begin_write()?;
        make(&mut txn, origin, &commit)?;
        let ticket = commit_with(&self.database, txn, commit.durability)?;
        if commit.durability == Durability::Durable {
            self.say_durable(self.number)?;
        } else {
            say("seen", self.number)?;
            self.tickets.push(self.number, ticket);
        }
        if commit.then == AfterCommit::Reopen {
            let arguments = self.arguments;
            close(self.database, self.number)?;
            return Self::open(arguments);
        }
        self.follow(commit.then)?;
        Ok(self)
    }

    fn follow(&mut self, then: AfterCommit) -> Result<(), Failure> {
        match then {
            AfterCommit::Sync => {
                self.database.sync()?;
                self.say_durable(self.number)?;
            }
            AfterCommit::Wait => {
                if let Some(number) = self.tickets.wait()? {
                    self.say_durable(number)?;
                }
            }
            AfterCommit::Nothing | AfterCommit::Reopen => {}
        }
        for number in self.tickets.take_durable()? {
            if number > self.durable {
                self.say_durable(number)?;
            }
        }
        Ok(())
    }

    fn say_durable(&mut self, number: u64) -> Result<(), Failure> {
        self.durable = self.durable.max(number);
        say("durable", number)
    }
}

/// Tickets of commits that may become durable, oldest first, with their numbers.
#[derive(Default)]
pub(super) struct PendingTickets(VecDeque<(u64, Ticket)>);

impl PendingTickets {
    pub(super) fn push(&mut self, number: u64, ticket: Ticket) {
        self.0.push_back((number, ticket));
    }

    /// Waits for the newest commit for a short time, because a lazy one may not be flushed for a
    /// long time. Returns its number if it is durable.
    pub(super) fn wait(&self) -> Result<Option<u64>, Failure> {
        let limit = Duration::from_millis(2);
        match self.0.back() {
            Some((number, ticket)) if ticket.wait_timeout(limit)? => Ok(Some(*number)),
            _ => Ok(None),
        }
    }

    /// Removes the oldest commits that are durable. Returns their numbers.
    pub(super) fn take_durable(&mut self) -> Result<Vec<u64>, Failure> {
        let mut durable = Vec::new();
        while let Some((number, ticket)) = self.0.front() {
            if !ticket.is_durable()? {
                break;
            }
            durable.push(*number);
            self.0.pop_front();
        }
        Ok(durable)
    }
}

/// Commits in this mode. Returns the ticket of the commit.
pub(super) fn commit_with(
    database: &Database,
    mut txn: WriteTxn,
    durability: Durability,
) -> Result<Ticket, Failure> {
    if durability == Durability::Async {
        return Ok(txn.commit_async()?);
    }
    txn.set_durability(durability);
    let transaction = txn.commit()?;
    Ok(database.ticket(transaction)?)
}

/// Closes a database whose newest commit has this number.
pub(super) fn close(database: Database, number: u64) -> Result<(), Failure> {
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
        CommitScript::Plain | CommitScript::Lazy => options
            .flush_after(Duration::MAX)
            .flush_after_bytes(u64::MAX),
        CommitScript::Flusher => options
            .flush_after(Duration::from_millis(3))
            .flush_after_bytes(256 << 10),
    }
}

/// Makes the changes of a commit, and the record that identifies it.
pub(super) fn make(
    txn: &mut WriteTxn,
    origin: Origin,
    commit: &WorkloadCommit,
) -> Result<(), Failure> {
    change(txn, commit)?;
    let about = txn.create_table::<Str, Str>(ABOUT)?;
    about.insert(txn, LABEL, &origin.label())?;
    Ok(())
}

/// Makes the changes of a commit.
pub(super) fn change(txn: &mut WriteTxn, commit: &WorkloadCommit) -> Result<(), Failure> {
    let table = txn.create_table::<Bytes, Bytes>(TABLE)?;
    for change in &commit.changes {
        match *change {
            RecordChange::Insert { key, content } => {
                table.insert(txn, &key_bytes(key), &content.bytes())?;
            }
            RecordChange::Remove { key } => {
                table.remove(txn, &key_bytes(key))?;
            }
            RecordChange::RemoveRange { first, after } => {
                let (first, after) = (key_bytes(first), key_bytes(after));
                table.remove_range(txn, first.as_slice()..after.as_slice())?;
            }
        }
    }
    Ok(())
}

/// The label of the newest commit in the database, if there is one.
pub(super) fn label(txn: &impl Transaction) -> Result<Option<String>, Failure> {
    let about: Table<Str, Str> = match txn.open_table(ABOUT) {
        Ok(about) => about,
        Err(teak::Error::TableNotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(about.get(txn, LABEL)?.map(str::to_owned))
}

pub(super) fn newest_number(database: &Database) -> Result<u64, Failure> {
    match label(&database.begin_read()?)? {
        None => Ok(0),
        Some(label) => number_of(&label),
    }
}

/// The number in the label of a commit.
pub(super) fn number_of(label: &str) -> Result<u64, Failure> {
    let number = label.split(' ').next().unwrap_or_default();
    number
        .parse()
        .map_err(|_| failure!("not the label of a commit: {label:?}"))
}

pub(super) fn say(word: &str, number: u64) -> Result<(), Failure> {
    let line = format!("{word} {number}\n");
    Ok(io::stdout().write_all(line.as_bytes())?)
}
