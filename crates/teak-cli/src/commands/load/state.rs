//! The state of a load, for both ways of writing.

use super::arguments::LoadArguments;
use crate::checksum::Checksum;
use crate::common_arguments::DEFAULT_TABLE;
use crate::engine::{self, AnyTable};
use crate::failure::Failure;
use crate::output;
use crate::text::{Header, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use teak::Transaction as _;
use teak::{Database, ReadTxn, TableTypes, TransactionId, WriteTxn};

/// The expected contents of a table after the load.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedTable {
    pub(super) checksum: Checksum,
    /// Whether only the number of records is known: the input had keys more than once, and which
    /// value counts was settled while it was sorted.
    pub(super) is_count: bool,
}

impl ExpectedTable {
    fn fits(&self, found: Checksum) -> bool {
        match self.is_count {
            true => found.records == self.checksum.records,
            false => found == self.checksum,
        }
    }

    /// Applies the changes that others made to the table between two states.
    fn follow(&mut self, older: &ReadTxn, newer: &ReadTxn, name: &[u8]) -> Result<(), Failure> {
        let is_there = |txn| AnyTable::open(txn, name).is_ok();
        if is_there(older) && is_there(newer) {
            let mut checksum = self.checksum;
            let table = engine::open_table(newer, name)?;
            let followed = table.for_each_change((older, newer), |change| {
                if let Some(old) = change.old {
                    checksum.remove(change.key, old);
                }
                if let Some(new) = change.new {
                    checksum.add(change.key, new);
                }
                Ok(())
            });
            if followed.is_ok() {
                self.checksum = checksum;
                return Ok(());
            }
        }
        // The table was dropped in between, and perhaps created again with other options.
        self.checksum = checksum_of(newer, name)?;
        Ok(())
    }
}

/// The checksum of a table; that of an empty one if the table does not exist.
fn checksum_of(txn: &ReadTxn, name: &[u8]) -> Result<Checksum, Failure> {
    match engine::open_table(txn, name) {
        Ok(table) => Checksum::of_table(txn, &table),
        Err(Failure::Engine(teak::Error::TableNotFound(_))) => Ok(Checksum::default()),
        Err(failure) => Err(failure),
    }
}

/// Counts of loaded records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadTally {
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
    pub(super) arguments: &'a LoadArguments,
    pub(super) tally: LoadTally,
    /// The expectations for the tables to read back, as of `seen` and the changes of the open
    /// transaction.
    pub(super) expectations: BTreeMap<Vec<u8>, ExpectedTable>,
    /// The newest state that the expectations include: the one before the load, or that of its last
    /// commit. It is read back at the end.
    seen: Option<ReadTxn>,
    /// The recorded types of the tables: of those before the load, once the input names types, and
    /// of those that the load has created.
    types: Option<BTreeMap<Vec<u8>, TableTypes>>,
    /// The tables of the input so far.
    pub(super) table_names: BTreeSet<Vec<u8>>,
}

impl<'a> LoadState<'a> {
    pub(super) fn new(database: &'a Database, arguments: &'a LoadArguments) -> Self {
        let expectations = BTreeMap::new();
        Self {
            database,
            arguments,
            tally: LoadTally::default(),
            expectations,
            seen: None,
            types: None,
            table_names: BTreeSet::new(),
        }
    }

    /// Opens or creates the table that a header of the input names. Reports the header fields that
    /// have no effect.
    pub(super) fn begin_table(&mut self, header: &Header) -> Result<Vec<u8>, Failure> {
        for warning in &header.warnings {
            output::warn(warning);
        }
        let name = match (&self.arguments.table, &header.name) {
            (Some(_), _) if !self.table_names.is_empty() => {
                let message = "the input holds more than one table; load it without --table, which keeps their names";
                return Err(Failure::Usage(message.to_owned()));
            }
            (Some(name), _) => name.as_encoded_bytes().to_vec(),
            (None, Some(name)) => name.clone(),
            (None, None) => DEFAULT_TABLE.as_bytes().to_vec(),
        };
        self.refuse_other_types(&name, &header.types)?;
        self.table_names.insert(name.clone());
        Ok(name)
    }

    /// Refuses a table that exists and has other types than the input.
    fn refuse_other_types(&mut self, name: &[u8], types: &TableTypes) -> Result<(), Failure> {
        if self.arguments.any_types || *types == TableTypes::default() {
            return Ok(());
        }
        let recorded = match &mut self.types {
            Some(recorded) => recorded,
            None => {
                let tables = self.database.begin_read()?.tables()?.into_iter();
                let types = tables.map(|info| (info.name, info.types));
                self.types.insert(types.collect())
            }
        };
        let recorded = recorded.entry(name.to_vec());
        // An earlier section of the input, without types, may have created the table.
        let recorded = recorded.or_insert_with(|| match self.table_names.contains(name) {
            true => TableTypes::default(),
            false => types.clone(),
        });
        let agree = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        if agree(&recorded.keys, &types.keys) && agree(&recorded.values, &types.values) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "table \"{}\" has the types {}, and the records of the input have the types {}; load them \
             into another table (--table), or into this one all the same (--any-types)",
            printable(name),
            printable(recorded.to_string().as_bytes()),
            printable(types.to_string().as_bytes()),
        )))
    }

    /// Includes a table in the final comparison, with its contents before the load.
    pub(super) fn expect(&mut self, name: &[u8]) -> Result<(), Failure> {
        if self.arguments.no_verify || self.expectations.contains_key(name) {
            return Ok(());
        }
        let seen = match self.seen.take() {
            Some(seen) => seen,
            None => self.database.begin_read()?,
        };
        let expectation = ExpectedTable {
            checksum: checksum_of(&seen, name)?,
            is_count: false,
        };
        self.expectations.insert(name.to_vec(), expectation);
        self.seen = Some(seen);
        Ok(())
    }

    /// A write transaction as durable as was asked for.
    pub(super) fn begin_write(&mut self) -> Result<WriteTxn, Failure> {
        let mut txn = engine::begin_write(self.database, self.arguments.wait)?;
        txn.set_durability(self.arguments.durability.into());
        self.follow_others(&txn)?;
        Ok(txn)
    }

    /// Adds to the expectations the changes that others committed before `txn` began.
    fn follow_others(&mut self, txn: &WriteTxn) -> Result<(), Failure> {
        let is_newest = |seen: &ReadTxn| seen.id().next() == txn.id();
        let Some(older) = self.seen.take_if(|seen| !is_newest(seen)) else {
            return Ok(());
        };
        let mut newer = self.database.begin_read()?;
        if !is_newest(&newer) {
            // Readers see other processes' commits once they are on the disk.
            self.database.sync()?;
            newer = self.database.begin_read()?;
        }
        for (name, expectation) in &mut self.expectations {
            expectation.follow(&older, &newer, name)?;
        }
        self.seen = Some(newer);
        Ok(())
    }

    /// Counts a record that was read.
    pub(super) fn count_record(&mut self, key: &[u8], value: &[u8]) {
        self.tally.records += 1;
        self.tally.data_bytes += (key.len() + value.len()) as u64;
    }

    /// Commits, and acknowledges that if it was asked for.
    pub(super) fn commit(&mut self, txn: WriteTxn) -> Result<(), Failure> {
        let transaction = match self.arguments.no_verify {
            true => txn.commit()?,
            false => self.seen.insert(txn.commit_and_read()?).id(),
        };
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
        // The load is incomplete, so a closed pipe is an error here.
        .map_err(|source| Failure::File {
            action: "writing to",
            path: "standard output".into(),
            source,
        })
    }

    /// A failure of the load, with the amount that has been committed.
    pub(super) fn interrupted(&self, cause: Failure) -> Failure {
        let context = match self.tally.last_transaction {
            None => "nothing was loaded".to_owned(),
            Some(transaction) => format!(
                "{} loaded before the error and stay, up to transaction {transaction}",
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

    /// Reads all tables of the load back, as its last commit left them, and compares. Gives the
    /// number of records read.
    pub(super) fn verify(&self) -> Result<u64, Failure> {
        let mut verified = 0;
        let Some(seen) = &self.seen else {
            return Ok(verified);
        };
        for (name, expectation) in &self.expectations {
            let found = Checksum::of_table(seen, &engine::open_table(seen, name)?)?;
            if !expectation.fits(found) {
                return Err(unverified(name, expectation.checksum, found));
            }
            verified += found.records;
        }
        Ok(verified)
    }
}

fn unverified(name: &[u8], expected: Checksum, found: Checksum) -> Failure {
    Failure::Unverified(format!(
        "table \"{}\" differs from what was loaded: {} records expected, {} read, and their contents \
         differ; run `teak check`, and load into a new database",
        printable(name),
        expected.records,
        found.records,
    ))
}
