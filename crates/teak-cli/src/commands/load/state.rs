//! What one load knows and has done so far, whichever way it writes.

use super::Arguments;
use crate::arguments::DEFAULT_TABLE;
use crate::checksum::Checksum;
use crate::engine;
use crate::failure::Failure;
use crate::output;
use crate::text::{Header, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use teak::{Database, TransactionId, WriteTxn};

/// What a table must hold after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expectation {
    /// Exactly these records.
    Checksum(Checksum),
    /// So many records: the input had keys more than once, and which value counts was settled
    /// while it was sorted.
    Records(u64),
}

/// Counts of what was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) replaced: u64,
    pub(super) data_bytes: u64,
    pub(super) commits: u64,
    pub(super) committed_records: u64,
    pub(super) last_transaction: Option<TransactionId>,
}

/// One load.
pub(super) struct LoadState<'a> {
    pub(super) database: &'a Database,
    pub(super) arguments: &'a Arguments,
    pub(super) tally: Tally,
    pub(super) expectations: BTreeMap<Vec<u8>, Expectation>,
    /// The tables of the input so far.
    pub(super) table_names: BTreeSet<Vec<u8>>,
}

impl<'a> LoadState<'a> {
    pub(super) fn new(database: &'a Database, arguments: &'a Arguments) -> Self {
        let expectations = BTreeMap::new();
        Self {
            database,
            arguments,
            tally: Tally::default(),
            expectations,
            table_names: BTreeSet::new(),
        }
    }

    /// The table that a header of the input means; tells what of the header has no effect.
    pub(super) fn begin_table(&mut self, header: &Header) -> Result<Vec<u8>, Failure> {
        for warning in &header.warnings {
            output::warn(warning);
        }
        let name = match (&self.arguments.table, &header.name) {
            (Some(_), _) if !self.table_names.is_empty() => {
                let message = "the input holds more than one table; load it without --table, under the names it has";
                return Err(Failure::Usage(message.to_owned()));
            }
            (Some(name), _) => name.as_encoded_bytes().to_vec(),
            (None, Some(name)) => name.clone(),
            (None, None) => DEFAULT_TABLE.as_bytes().to_vec(),
        };
        self.table_names.insert(name.clone());
        Ok(name)
    }

    /// A write transaction as durable as was asked for.
    pub(super) fn begin_write(&self) -> Result<WriteTxn, Failure> {
        let mut txn = self.database.begin_write()?;
        txn.set_durability(self.arguments.durability.into());
        Ok(txn)
    }

    /// Counts a record that was read.
    pub(super) fn count_record(&mut self, key: &[u8], value: &[u8]) {
        self.tally.records += 1;
        self.tally.data_bytes += (key.len() + value.len()) as u64;
    }

    /// Commits, and acknowledges that if it was asked for.
    pub(super) fn commit(&mut self, txn: WriteTxn) -> Result<(), Failure> {
        let transaction = txn.commit()?;
        self.tally.commits += 1;
        self.tally.committed_records = self.tally.records;
        self.tally.last_transaction = Some(transaction);
        if !self.arguments.acknowledge {
            return Ok(());
        }
        let mut output = io::stdout().lock();
        writeln!(
            output,
            "committed {transaction} {}",
            self.tally.committed_records
        )
        .and_then(|()| output.flush())
        // A load whose reader has gone has not done its work, so this is no quiet end.
        .map_err(|source| Failure::File {
            action: "writing to",
            path: "standard output".into(),
            source,
        })
    }

    /// A failure of the load, with what of it is in the database.
    pub(super) fn interrupted(&self, cause: Failure) -> Failure {
        let context = match self.tally.last_transaction {
            None => "nothing was loaded".to_owned(),
            Some(transaction) => format!(
                "{} loaded before that and stay, up to transaction {transaction}",
                match self.tally.committed_records {
                    1 => "1 record was".to_owned(),
                    records => format!("{} records were", indicatif::HumanCount(records)),
                }
            ),
        };
        Failure::During {
            context,
            cause: Box::new(cause),
        }
    }

    /// Reads all tables of the load back and compares. Gives the number of records read.
    pub(super) fn verify(&self) -> Result<u64, Failure> {
        let mut verified = 0;
        for (name, expectation) in &self.expectations {
            let (txn, table) = engine::read_table(self.database, None, name)?;
            let found = Checksum::of_table(&txn, &table)?;
            let fits = match expectation {
                Expectation::Checksum(expected) => found == *expected,
                Expectation::Records(expected) => found.records == *expected,
            };
            if !fits {
                return Err(unverified(name, expectation, found));
            }
            verified += found.records;
        }
        Ok(verified)
    }
}

fn unverified(name: &[u8], expectation: &Expectation, found: Checksum) -> Failure {
    let expected = match expectation {
        Expectation::Checksum(checksum) => checksum.records,
        Expectation::Records(records) => *records,
    };
    Failure::Unverified(format!(
        "table \"{}\" does not read back as it was loaded: {expected} records expected, {} read, and their contents \
         differ; run `teak check`, and load into a new database",
        printable(name),
        found.records,
    ))
}
