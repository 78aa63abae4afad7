//! The promises to the workers of a round: a file that all workers append to.
//!
//! A record has 32 bytes, so it never crosses a page of the file, and is written by one call, so
//! after a kill it is complete or missing. A worker first appends a record, and from then on no
//! transaction may see less. So a process that reads the journal and then begins a transaction
//! knows what it must see.

use super::positions::{AppendLock, read_at};
use crate::Result;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    sync::Mutex,
};

const NAME: &str = "acknowledged";
const RECORD_LEN: usize = 32;

/// The subject of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// The counter that a worker saw in a snapshot, or committed.
    Counter,
    /// The state that a worker read, or made.
    Transaction,
    /// The last commit of a writer that returned, by the writer's own count.
    Writer(u64),
}

/// The minimum that a transaction must see.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Promises {
    pub(super) counter: u64,
    pub(super) transaction: u64,
    pub(super) writers: BTreeMap<u64, u64>,
}

/// The journal of a round, as a process has it open.
pub(super) struct StormJournal {
    file: File,
    lock: AppendLock,
    reading: Mutex<ReadProgress>,
}

/// The position up to which the process has read.
#[derive(Default)]
struct ReadProgress {
    offset: u64,
    promises: Promises,
}

impl Promises {
    /// Whether no worker made or saw a commit.
    pub(super) fn is_empty(&self) -> bool {
        self.counter == 0 && self.writers.is_empty()
    }

    /// Commits that returned.
    pub(super) fn commits(&self) -> u64 {
        self.writers.values().sum()
    }

    pub(super) fn take(&mut self, subject: Subject, number: u64) {
        let known = match subject {
            Subject::Counter => &mut self.counter,
            Subject::Transaction => &mut self.transaction,
            Subject::Writer(writer) => self.writers.entry(writer).or_default(),
        };
        *known = number.max(*known);
    }
}

impl StormJournal {
    /// Opens the journal of the round in `directory`.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.create(true).append(true).read(true);
        let path = directory.join(NAME);
        Ok(Self {
            file: options.open(&path)?,
            lock: AppendLock::new(&path)?,
            reading: Mutex::default(),
        })
    }

    /// Appends a record.
    pub(super) fn note(&self, subject: Subject, number: u64) -> Result {
        let record = record(subject, number);
        Ok(self.lock.during(|| (&self.file).write_all(&record))??)
    }

    /// All promises so far.
    pub(super) fn promises(&self) -> Result<Promises> {
        let mut reading = self.reading.lock()?;
        let mut part = [0; 128 * RECORD_LEN];
        loop {
            let len = read_at(&self.file, &mut part, reading.offset)?;
            let whole = len - len % RECORD_LEN;
            for record in part[..whole].chunks(RECORD_LEN) {
                let (subject, number) = parse(record)?;
                reading.promises.take(subject, number);
            }
            reading.offset += whole as u64;
            if whole < part.len() {
                return Ok(reading.promises.clone());
            }
        }
    }
}

/// A letter, the writer, the number, and the end of the line.
fn record(subject: Subject, number: u64) -> [u8; RECORD_LEN] {
    let (letter, writer) = match subject {
        Subject::Counter => ('c', 0),
        Subject::Transaction => ('t', 0),
        Subject::Writer(writer) => ('w', writer),
    };
    let text = format!("{letter}{writer:010} {number:019}\n");
    let mut record = [0; RECORD_LEN];
    record.copy_from_slice(text.as_bytes());
    record
}

fn parse(record: &[u8]) -> Result<(Subject, u64)> {
    let text = str::from_utf8(record)?;
    let subject = match &text[..1] {
        "c" => Subject::Counter,
        "t" => Subject::Transaction,
        "w" => Subject::Writer(text[1..11].parse()?),
        _ => bail!("not a record of the journal: {text:?}"),
    };
    Ok((subject, text[12..31].parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_parsed_from_its_text() {
        for subject in [Subject::Counter, Subject::Transaction, Subject::Writer(71)] {
            assert_eq!(parse(&record(subject, 123)).unwrap(), (subject, 123));
        }
        assert!(parse(&[b' '; RECORD_LEN]).is_err());
    }

    #[test]
    fn all_processes_read_each_others_notes() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| StormJournal::open(directory.path()).unwrap());
        assert!(other.promises().unwrap().is_empty());
        for number in 1..=300 {
            one.note(Subject::Writer(17), number).unwrap();
            other.note(Subject::Counter, 2 * number).unwrap();
        }
        one.note(Subject::Writer(17), 4).unwrap();
        let promises = other.promises().unwrap();
        assert_eq!(promises, one.promises().unwrap());
        assert_eq!(promises.counter, 600);
        assert_eq!(promises.writers, BTreeMap::from([(17, 300)]));
        assert_eq!(promises.commits(), 300);
    }
}
