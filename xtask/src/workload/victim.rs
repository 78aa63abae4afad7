//! The program that is killed or cut off: `cargo xtask victim`.
//!
//! It says on its standard output, each line by one call to the system: `found N` when the database
//! is open, `begin N` before a commit begins, `seen N` when it has returned, `durable N` when it is
//! said to be durable, `closing N` before the database is closed.

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
    /// Which run of the program over this database this is
    #[arg(long)]
    incarnation: u32,
    /// How many commits to make; without end if it is not given
    #[arg(long)]
    commits: Option<u64>,
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    /// Ends without closing the database
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
    victim.close()
}

struct Victim<'a> {
    arguments: &'a VictimArguments,
    database: Database,
    /// The newest commit.
    number: u64,
    /// The newest commit that was reported as durable.
    durable: u64,
    /// Of commits that may become durable, oldest first.
    tickets: VecDeque<(u64, Ticket)>,
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
            tickets: VecDeque::new(),
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
        self.commit(txn, commit.durability)?;
        if commit.then == AfterCommit::Reopen {
            let arguments = self.arguments;
            self.close()?;
            return Self::open(arguments);
        }
        self.follow(commit.then)?;
        Ok(self)
    }

    fn commit(&mut self, mut txn: WriteTxn, durability: Durability) -> Result<(), Failure> {
        let ticket = match durability {
            Durability::Async => txn.commit_async()?,
            durability => {
                txn.set_durability(durability);
                let transaction = txn.commit()?;
                self.database.ticket(transaction)?
            }
        };
        if durability == Durability::Durable {
            return self.say_durable(self.number);
        }
        say("seen", self.number)?;
        self.tickets.push_back((self.number, ticket));
        Ok(())
    }

    fn follow(&mut self, then: AfterCommit) -> Result<(), Failure> {
        match then {
            AfterCommit::Sync => {
                self.database.sync()?;
                self.say_durable(self.number)?;
            }
            AfterCommit::Wait => {
                // A lazy commit may have no flush.
                let limit = Duration::from_millis(2);
                if let Some((number, ticket)) = self.tickets.back()
                    && ticket.wait_timeout(limit)?
                {
                    self.say_durable(*number)?;
                }
            }
            AfterCommit::Nothing | AfterCommit::Reopen => {}
        }
        while let Some((number, ticket)) = self.tickets.front() {
            if !ticket.is_durable()? {
                break;
            }
            if *number > self.durable {
                self.say_durable(*number)?;
            }
            self.tickets.pop_front();
        }
        Ok(())
    }

    fn say_durable(&mut self, number: u64) -> Result<(), Failure> {
        self.durable = self.durable.max(number);
        say("durable", number)
    }

    fn close(self) -> Result<(), Failure> {
        say("closing", self.number)?;
        self.database.close()?;
        say("durable", self.number)
    }
}

pub(super) fn open_options(script: CommitScript, page_size: usize) -> Options {
    // Nearly every commit cuts or moves something.
    let geometry = Geometry {
        growth_step_bytes: 2 * page_size as u64,
        shrink_threshold_bytes: 2 * page_size as u64,
        ..Geometry::default()
    };
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
        .map_err(|_| Failure(format!("not the label of a commit: {label:?}")))
}

pub(super) fn say(word: &str, number: u64) -> Result<(), Failure> {
    let line = format!("{word} {number}\n");
    Ok(io::stdout().write_all(line.as_bytes())?)
}
