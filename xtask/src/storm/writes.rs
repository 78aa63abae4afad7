//! Write transactions of workers.

use super::{
    context,
    invariants::{self, InvariantDepth},
    journal::{Promises, Subject},
    misbehaviour::Misbehaviour,
    tables::{ACCOUNTS, COMMITS, LEN_MIN, NAMES, StormTables, content},
    work::WorkerThread,
};
use crate::{Context, Result};
use teak::{Database, Durability, Error, Transaction, TransactionId, WriteTxn, codec::Raw};

/// The numbers of keys of the mirror and of large values, and of records of the bulk table.
const MIRROR_KEYS: u64 = 400;
const LARGE_KEYS: u64 = 12;
const BULK_MAX: u64 = 10_000;

/// The error with which a nested transaction fails on purpose.
const CHANGED_MY_MIND: &str = "changed my mind";

impl WorkerThread<'_, '_> {
    /// Makes changes, and commits or rolls back.
    pub(super) fn write(&mut self, database: &Database) -> Result {
        let promises = self.worker.journal.promises()?;
        self.reporter.begin("waiting for the writer lock")?;
        let mut txn = database.begin_write()?;
        self.reporter.begin("writing")?;
        self.check_before_write(&txn, &promises)?;
        let tables = StormTables::create(&mut txn)?;
        for _ in 0..self.rng.u8(1..4) {
            self.change_or_undo(&mut txn, &tables)?;
        }
        self.count(&mut txn, &tables)?;
        match self.rng.u8(0..12) {
            0 => txn.abort(),
            1 => drop(txn),
            _ => self.commit(txn)?,
        }
        Ok(())
    }

    /// A write transaction begins with the newest commit of all writers.
    fn check_before_write(&mut self, txn: &WriteTxn, promises: &Promises) -> Result {
        ensure!(
            txn.id().0 > promises.transaction,
            "transaction {} begins, but {} was seen before",
            txn.id(),
            promises.transaction
        );
        let depth = match self.rng.u8(0..8) {
            0 => InvariantDepth::Tables,
            _ => InvariantDepth::Promises,
        };
        invariants::check(txn, promises, depth).context(format_args!("before {}", txn.id()))?;
        Ok(())
    }

    /// Changes that stay, or a part of the transaction that may be rolled back.
    fn change_or_undo(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> Result {
        match self.rng.u8(0..8) {
            0 => {
                let savepoint = txn.savepoint()?;
                self.change(txn, tables)?;
                if self.rng.bool() {
                    txn.rollback_to(&savepoint)?;
                }
                txn.release(savepoint)?;
            }
            1 => {
                let is_kept = self.rng.bool();
                let result = txn.nested(|txn| {
                    self.change(txn, tables)?;
                    match is_kept {
                        true => Ok(()),
                        false => Err(Error::InvalidArgument(CHANGED_MY_MIND.to_owned())),
                    }
                });
                match result {
                    Err(Error::InvalidArgument(text)) if text == CHANGED_MY_MIND => {}
                    result => result?,
                }
            }
            _ => self.change(txn, tables)?,
        }
        Ok(())
    }

    fn change(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        match self.rng.u8(0..12) {
            0..5 => self.transfer(txn, tables),
            5..9 => self.set_mirror(txn, tables),
            9 => self.set_large(txn, tables),
            10 if tables.bulk.len(txn)? < BULK_MAX => self.grow(txn, tables),
            _ => self.shrink(txn, tables),
        }
    }

    fn transfer(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        let [from, to] = [(); 2].map(|()| self.rng.u64(0..ACCOUNTS));
        let accounts = &tables.accounts;
        let balance = accounts.get(txn, from)?.unwrap_or_default();
        let amount = self.rng.u64(0..=balance);
        accounts.insert(txn, from, balance - amount)?;
        let lost = u64::from(amount > 0 && self.misbehaves(Misbehaviour::LoseMoney));
        let balance = accounts.get(txn, to)?.unwrap_or_default();
        accounts.insert(txn, to, balance + amount - lost)
    }

    fn set_mirror(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        for _ in 0..self.rng.u8(1..20) {
            let key = self.rng.u64(0..MIRROR_KEYS);
            if let Some(old) = tables.mirror.get(txn, key)?
                && !self.misbehaves(Misbehaviour::HalfMirror)
            {
                tables.inverse.remove(txn, old)?;
            }
            tables.mirror.remove(txn, key)?;
            let value = self.rng.u64(..);
            if self.rng.u8(0..4) > 0 && tables.inverse.insert_new(txn, value, key)? {
                tables.mirror.insert(txn, key, value)?;
            }
        }
        Ok(())
    }

    fn set_large(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        let key = self.rng.u64(0..LARGE_KEYS);
        if self.rng.u8(0..4) == 0 {
            return tables.large.remove(txn, key).map(drop);
        }
        let len = self.rng.usize(LEN_MIN..100_000);
        let mut value = content(self.rng.u64(..), len);
        value[len - 1] ^= u8::from(self.misbehaves(Misbehaviour::Garble));
        tables.large.insert(txn, key, &value)
    }

    fn grow(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        let batch = self.rng.u64(0..64);
        let value = content(self.rng.u64(..), self.rng.usize(LEN_MIN..200));
        let first = self.rng.u64(0..1000);
        let count = self.rng.u64(1..1000);
        let keys = first..first + count;
        if self.rng.bool() {
            let records = keys.map(|index| ((batch, index), value.as_slice()));
            let records: Vec<_> = records.collect();
            return tables.bulk.insert_many(txn, &records).map(drop);
        }
        for index in keys {
            tables.bulk.insert(txn, (batch, index), &value)?;
        }
        Ok(())
    }

    fn shrink(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        let first = self.rng.u64(0..64);
        match self.rng.u8(0..12) {
            0 => tables.bulk.clear(txn),
            1 => {
                let name = NAMES[6];
                txn.drop_table(name)?;
                txn.create_table::<Raw, Raw>(name)?;
                Ok(())
            }
            2..4 => {
                let keys = (0..300).map(|index| (first, 3 * index));
                let keys: Vec<_> = keys.collect();
                tables.bulk.remove_many(txn, &keys).map(drop)
            }
            _ => {
                let after = first + self.rng.u64(1..30);
                let range = (first, 0)..(after, 0);
                tables.bulk.range(range).remove(txn).map(drop)
            }
        }
    }

    /// Counts this commit.
    fn count(&mut self, txn: &mut WriteTxn, tables: &StormTables) -> teak::Result<()> {
        let count = tables.count(txn)?;
        let next = match self.misbehaves(Misbehaviour::SetBack) {
            true => count.saturating_sub(3),
            false => count + 1,
        };
        tables.counter.insert(txn, COMMITS, next)?;
        if self.misbehaves(Misbehaviour::Uncounted) {
            return Ok(());
        }
        let (writer, commits) = (self.writer, self.commits + 1);
        tables.acknowledged.insert(txn, writer, commits)
    }

    fn commit(&mut self, mut txn: WriteTxn) -> Result {
        if self.misbehaves(Misbehaviour::Forget) {
            txn.abort();
            return self.acknowledge(None);
        }
        let id = txn.id();
        let durability = context::durability(&mut self.rng);
        txn.set_durability(durability);
        self.reporter.begin(match durability {
            Durability::Durable => "committing durably",
            _ => "committing",
        })?;
        if durability == Durability::Async && self.rng.bool() {
            let ticket = txn.commit_async()?;
            self.acknowledge(Some(id))?;
            if self.rng.u8(0..4) == 0 {
                self.reporter.begin("waiting until a commit is durable")?;
                ticket.wait()?;
            }
            return Ok(());
        }
        let made = txn.commit()?;
        ensure!(made == id, "transaction {id} became state {made}");
        self.acknowledge(Some(id))
    }

    /// Records the commit: from now on all workers must see it.
    fn acknowledge(&mut self, id: Option<TransactionId>) -> Result {
        self.commits += 1;
        let journal = &self.worker.journal;
        journal.note(Subject::Writer(self.writer), self.commits)?;
        match id {
            Some(id) => journal.note(Subject::Transaction, id.0),
            None => Ok(()),
        }
    }
}
