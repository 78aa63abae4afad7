//! Readers and writers on several threads. Every state that is committed has the same sum, and every
//! state that is read must have it.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use teak::{
    Database, Durability, Options, ReadTxn, Result, Table, Transaction,
    codec::{Bytes, U32, U64},
};

const ACCOUNTS: u32 = 300;
const TOTAL: u64 = ACCOUNTS as u64 * 1000;

fn open(directory: &tempfile::TempDir) -> Result<Database> {
    let options = Options::new()
        .durability(Durability::Lazy)
        .write_memory_bytes(32 << 10);
    options.open(directory.path().join("threads.teak"))
}

fn accounts(database: &Database) -> Result<Table<U32, U64>> {
    let mut txn = database.begin_write()?;
    let accounts = txn.create_table("accounts")?;
    for account in 0..ACCOUNTS {
        accounts.insert(&mut txn, account, 1000)?;
    }
    txn.commit()?;
    Ok(accounts)
}

fn transfer(database: &Database, accounts: &Table<U32, U64>, seed: u32) -> Result<()> {
    let mut txn = database.begin_write()?;
    for step in 0..40u32 {
        let mixed = (seed ^ step << 16).wrapping_mul(0x9e37_79b9);
        let (from, to) = (mixed % ACCOUNTS, (mixed >> 12) % ACCOUNTS);
        let balance = accounts.get(&txn, from)?.unwrap_or(0);
        accounts.insert(&mut txn, from, balance - balance.min(7))?;
        let other = accounts.get(&txn, to)?.unwrap_or(0);
        accounts.insert(&mut txn, to, other + balance.min(7))?;
    }
    let blobs = txn.create_table::<U32, Bytes>("blobs")?;
    blobs.insert(&mut txn, seed % 10, &vec![seed as u8; 6000])?;
    txn.commit().map(drop)
}

fn expect_total(txn: &ReadTxn, accounts: &Table<U32, U64>) -> Result<()> {
    let mut sum = 0;
    for record in accounts.iter(txn)? {
        sum += record?.1;
    }
    assert_eq!(sum, TOTAL, "in the state of {}", txn.id());
    let Ok(blobs) = txn.open_table::<U32, Bytes>("blobs") else {
        return Ok(());
    };
    for blob in blobs.iter(txn)? {
        let (_, blob) = blob?;
        assert!(blob.iter().all(|byte| *byte == blob[0]), "a torn value");
    }
    Ok(())
}

/// Reads new states and, for a while, old ones.
fn read_on(database: &Database, accounts: &Table<U32, U64>, is_done: &AtomicBool) -> Result<()> {
    let mut held: Vec<ReadTxn> = Vec::new();
    for round in 0.. {
        let txn = database.begin_read()?;
        expect_total(&txn, accounts)?;
        if round % 5 == 0 {
            held.push(txn);
        }
        if held.len() == 6 {
            expect_total(&held.remove(round % 6), accounts)?;
        }
        if is_done.load(Ordering::Relaxed) {
            break;
        }
    }
    held.iter().try_for_each(|txn| expect_total(txn, accounts))
}

#[test]
fn every_state_that_is_read_is_one_that_was_committed() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = open(&directory)?;
    let accounts = accounts(&database)?;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| read_on(&database, &accounts, &is_done)))
            .collect();
        let writers: Vec<_> = (0..2u32)
            .map(|writer| {
                let (database, accounts) = (&database, &accounts);
                scope.spawn(move || {
                    (0..150).try_for_each(|i| transfer(database, accounts, 2 * i + writer))
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer does not panic")?;
        }
        is_done.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().expect("a reader does not panic"))
    })?;
    assert_eq!(database.begin_read()?.id().0, 301);
    assert!(database.check(&mut |_| ())?.is_clean());
    database.close()
}

#[test]
fn a_transaction_moves_to_another_thread_and_outlives_the_database() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = open(&directory)?;
    let accounts = accounts(&database)?;
    let (reader, writer) = (database.begin_read()?, database.begin_write()?);
    let table = accounts.clone();
    let barrier = Arc::new(Barrier::new(2));
    let waiting = Arc::clone(&barrier);
    let thread = thread::spawn(move || -> Result<()> {
        waiting.wait();
        let mut writer = writer;
        table.insert(&mut writer, 5, 1)?;
        writer.commit()?;
        expect_total(&reader, &table)
    });
    drop(database);
    barrier.wait();
    thread.join().expect("the thread does not panic")?;
    let database = open(&directory)?;
    assert_eq!(accounts.get(&database.begin_read()?, 5)?, Some(1));
    Ok(())
}

#[test]
fn writers_wait_for_each_other() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = open(&directory)?;
    let accounts = accounts(&database)?;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    for round in 0..50 {
                        let mut txn = database.begin_write()?;
                        let value = accounts.get(&txn, 0)?.unwrap_or(0);
                        accounts.insert(&mut txn, 0, value + 1)?;
                        if round % 10 == 9 {
                            txn.abort();
                        } else {
                            txn.commit()?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a writer does not panic"))
    })?;
    assert_eq!(
        accounts.get(&database.begin_read()?, 0)?,
        Some(1000 + 4 * 45)
    );
    Ok(())
}
