//! Databases in several threads: readers during writes, and transactions, cursors, ranges and
//! values that move to another thread or outlive the handle of their database.

use fastrand::Rng;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use teak::{
    Database, DetachedCursor, Durability, Error, Options, OwnedIter, ReadTxn, Recovery, Result,
    Table, Transaction, TransactionId, ValueGuard, WriteOptions, WriteTxn, codec::Bytes,
};

const ACCOUNTS: u64 = 2000;
const BALANCE: u64 = 1000;
const TRANSFERS: u64 = 1500;
/// One in this many commits is durable.
const DURABLE_EVERY: u64 = 20;
const READERS: usize = 3;

type Accounts = Table<u64, u64>;
/// The transfers by number; only the newest are kept.
type Journal = Table<u64, Bytes>;

const JOURNAL_LEN: u64 = 100;

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    const fn is_sent<T: Send>() {}
    is_shared::<Database>();
    is_shared::<ReadTxn>();
    is_shared::<Accounts>();
    is_shared::<ValueGuard>();
    is_sent::<DetachedCursor>();
    is_sent::<OwnedIter<u64, Bytes>>();
    is_sent::<WriteTxn>();
};

fn bank(path: &Path) -> Result<(Database, Accounts, Journal)> {
    // Little memory, so that large transactions write early.
    let database = Options::new().write_memory_bytes(64 << 10).open(path)?;
    let mut txn = database.begin_write()?;
    let accounts = txn.create_table("accounts")?;
    let journal = txn.create_table("journal")?;
    for account in 0..ACCOUNTS {
        accounts.insert(&mut txn, account, BALANCE)?;
    }
    txn.commit()?;
    Ok((database, accounts, journal))
}

/// Moves money between some accounts and records the transfer.
fn transfer(
    txn: &mut WriteTxn,
    accounts: &Accounts,
    journal: &Journal,
    number: u64,
    random: &mut Rng,
) -> Result<()> {
    for _ in 0..=random.u64(..30) {
        let (from, to) = (random.u64(..ACCOUNTS), random.u64(..ACCOUNTS));
        let amount = random.u64(..100).min(accounts.get(txn, from)?.unwrap_or(0));
        let reduced = accounts.get(txn, from)?.unwrap_or(0) - amount;
        accounts.insert(txn, from, reduced)?;
        let raised = accounts.get(txn, to)?.unwrap_or(0) + amount;
        accounts.insert(txn, to, raised)?;
    }
    // Sometimes a value that has pages of its own.
    let len = if number.is_multiple_of(7) { 9000 } else { 60 };
    journal.insert(txn, number, vec![number as u8; len])?;
    if let Some(old) = number.checked_sub(JOURNAL_LEN) {
        assert!(journal.remove(txn, old)?);
    }
    Ok(())
}

/// Checks all invariants of a committed state.
fn verify(txn: &ReadTxn, accounts: &Accounts, journal: &Journal) -> Result<()> {
    let mut sum = 0;
    for (expected, record) in (0..).zip(accounts.iter(txn)?) {
        let (account, balance) = record?;
        assert_eq!(account, expected);
        sum += balance;
    }
    assert_eq!(sum, ACCOUNTS * BALANCE, "in {}", txn.id());
    let mut newest = None;
    for record in journal.iter(txn)?.rev() {
        let (number, note) = record?;
        assert!(note.iter().all(|byte| *byte == number as u8));
        assert_eq!(number, newest.map_or(number, |newer: u64| newer - 1));
        newest = Some(number);
    }
    Ok(())
}

/// Verifies snapshots until `is_done`, and holds each for a while, so that the writer must not
/// reuse pages of several states.
fn read_on(
    database: &Database,
    (accounts, journal): (&Accounts, &Journal),
    is_done: &AtomicBool,
) -> Result<()> {
    let mut held: Option<ReadTxn> = None;
    let mut last = TransactionId(0);
    for count in 0u64.. {
        let is_last = is_done.load(Ordering::Acquire);
        let txn = database.begin_read()?;
        assert!(txn.id() >= last, "states come in order");
        last = txn.id();
        verify(&txn, accounts, journal)?;
        if let Some(held) = &held {
            verify(held, accounts, journal)?;
        }
        if is_last {
            break;
        }
        if count % 5 == 0 {
            held = Some(txn);
        }
    }
    Ok(())
}

/// Tells the readers to stop, even if the writer panics.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn readers_see_whole_transactions() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("bank.teak");
    let (database, accounts, journal) = bank(&path)?;
    let is_done = AtomicBool::new(false);
    let start = Barrier::new(READERS + 1);
    thread::scope(|scope| -> Result<()> {
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    read_on(&database, (&accounts, &journal), &is_done)
                })
            })
            .collect();
        start.wait();
        let written = {
            let _done = Done(&is_done);
            write_on(&database, &accounts, &journal)
        };
        for reader in readers {
            reader.join().expect("no reader panics")?;
        }
        written
    })?;
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    assert_eq!(database.stat()?.readers, 0);
    let last = database.begin_read()?.id();
    database.close()?;

    let database = Database::open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    let txn = database.begin_read()?;
    assert_eq!(txn.id(), last);
    verify(&txn, &accounts, &journal)
}

/// Commits lazily and durably, and aborts every ninth transfer.
fn write_on(database: &Database, accounts: &Accounts, journal: &Journal) -> Result<()> {
    let mut random = Rng::with_seed(11);
    for number in 0..TRANSFERS {
        if number % 9 == 0 {
            let mut txn = database.begin_write()?;
            transfer(&mut txn, accounts, journal, number, &mut random)?;
            txn.abort();
        }
        let mut txn = database.begin_write()?;
        if number % DURABLE_EVERY != 0 {
            txn.set_durability(Durability::Lazy);
        }
        transfer(&mut txn, accounts, journal, number, &mut random)?;
        let id = txn.commit()?;
        let durable = database.stat()?.durable_transaction;
        assert_eq!(durable == id, number % DURABLE_EVERY == 0);
    }
    Ok(())
}

/// Several threads write in turn: no update is lost.
#[test]
fn writers_take_turns() -> Result<()> {
    const WRITERS: u64 = 4;
    const ROUNDS: u64 = 50;
    let directory = tempfile::tempdir().expect("a directory for the test");
    let options = Options::new().durability(Durability::Lazy);
    let database = options.open(directory.path().join("turns.teak"))?;
    let mut txn = database.begin_write()?;
    let counters: Accounts = txn.create_table("counters")?;
    counters.insert(&mut txn, 0, 0)?;
    txn.commit()?;
    thread::scope(|scope| {
        for writer in 1..=WRITERS {
            let (database, counters) = (&database, &counters);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let mut txn = database.begin_write().expect("the lock becomes free");
                    for counter in [0, writer] {
                        let count = counters.get(&txn, counter).expect("a count").unwrap_or(0);
                        counters.insert(&mut txn, counter, count + 1).expect("room");
                    }
                    txn.commit().expect("a commit");
                }
            });
        }
    });
    let txn = database.begin_read()?;
    assert_eq!(counters.get(&txn, 0)?, Some(WRITERS * ROUNDS));
    for writer in 1..=WRITERS {
        assert_eq!(counters.get(&txn, writer)?, Some(ROUNDS));
    }
    Ok(())
}

/// A table of small and large values, and a map of it.
fn library(path: &Path) -> Result<(Database, Journal, BTreeMap<u64, Vec<u8>>)> {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let books: Journal = txn.create_table("books")?;
    let model: BTreeMap<u64, Vec<u8>> = (0..500)
        .map(|i| (i, vec![i as u8; if i % 50 == 0 { 20_000 } else { 80 }]))
        .collect();
    for (number, text) in &model {
        books.insert(&mut txn, *number, text)?;
    }
    txn.commit()?;
    Ok((database, books, model))
}

/// Overwrites everything, in several commits.
fn rewrite(database: &Database, books: &Journal) -> Result<()> {
    for round in 0..5 {
        let mut txn = database.begin_write()?;
        for number in 0..500 {
            books.insert(&mut txn, number, [200 + round; 90])?;
        }
        txn.commit()?;
    }
    let mut txn = database.begin_write()?;
    books.clear(&mut txn)?;
    txn.commit()?;
    Ok(())
}

/// Reads all that a cursor reaches, forwards and backwards.
fn walk(txn: &ReadTxn, mut cursor: DetachedCursor, model: &BTreeMap<u64, Vec<u8>>) -> Result<()> {
    for (number, text) in model {
        assert!(cursor.next(txn)?);
        assert_eq!(cursor.key(), number.to_be_bytes());
        assert_eq!(*cursor.value(txn)?, **text);
    }
    assert!(!cursor.next(txn)?);
    for text in model.values().rev() {
        assert!(cursor.prev(txn)?);
        assert_eq!(*cursor.value(txn)?, **text);
    }
    assert!(!cursor.prev(txn)?);
    Ok(())
}

/// Cursors, ranges and values keep their state after the transaction, the database handle and all
/// other owners are dropped, in any thread.
#[test]
fn owned_handles_outlive_the_database_handle() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("library.teak");
    let (database, books, model) = library(&path)?;
    let txn = database.begin_read()?;
    let (cursor, of_cursor) = (DetachedCursor::new(&books), txn.clone());
    let range = books.range(100..400).owned(&txn)?;
    let (small, large) = (books.get_owned(&txn, 7)?, books.get_owned(&txn, 50)?);
    drop(txn);
    rewrite(&database, &books)?;
    drop(database);
    let again = Database::open(&path)?;
    assert_eq!(
        again.stat()?.readers,
        1,
        "owned handles keep the database and its state"
    );
    rewrite(&again, &books)?;
    drop(again);

    let model = Arc::new(model);
    let same = Arc::clone(&model);
    let walked = thread::spawn(move || walk(&of_cursor, cursor, &same));
    let same = Arc::clone(&model);
    let ranged = thread::spawn(move || -> Result<Vec<ValueGuard>> {
        let mut guards = Vec::new();
        for (record, (number, text)) in range.zip(same.range(100..400)) {
            let (key, value) = record?;
            assert_eq!((&key, &*value), (number, &text[..]));
            guards.push(value);
        }
        Ok(guards)
    });
    walked.join().expect("the cursor walks")?;
    let guards = ranged.join().expect("the range is read")?;
    let guarded = thread::spawn(move || {
        assert_eq!(guards.len(), 300);
        for (guard, text) in guards.iter().zip(model.range(100..400)) {
            assert_eq!(&**guard, text.1);
        }
        assert_eq!(small.as_deref(), Some(&model[&7][..]));
        assert_eq!(large.as_deref(), Some(&model[&50][..]));
    });
    guarded.join().expect("the values are read");

    // The last of them has closed the database.
    let database = Database::open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    assert!(books.is_empty(&database.begin_read()?)?);
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    Ok(())
}

/// Closing truncates the file, but not below the pages of an open transaction.
#[test]
fn a_reader_outlives_closing() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("library.teak");
    let (database, books, model) = library(&path)?;
    let txn = database.begin_read()?;
    rewrite(&database, &books)?;
    let other = database.clone();
    database.close()?;
    assert!(matches!(other.begin_read(), Err(Error::InvalidArgument(_))));
    assert!(matches!(
        other.begin_write(),
        Err(Error::InvalidArgument(_))
    ));
    drop(other);
    let cursor = DetachedCursor::new(&books);
    let walked = thread::spawn(move || walk(&txn, cursor, &model));
    walked.join().expect("the cursor walks")
}

/// A write transaction belongs to no thread: it is begun in one, continues in a second, and is
/// committed in a third, while another writer waits and the database handle is dropped.
#[test]
fn a_write_transaction_moves_between_threads() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = directory.path().join("moved.teak");
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let words: Journal = txn.create_table("words")?;
    words.insert(&mut txn, 1, b"first")?;

    let waiting = database.clone();
    let same = words.clone();
    let waiter = thread::spawn(move || -> Result<TransactionId> {
        let mut txn = waiting.begin_write()?;
        assert_eq!(
            same.get(&txn, 2)?,
            Some(&b"second"[..]),
            "it was inserted later"
        );
        same.insert(&mut txn, 3, b"third")?;
        txn.commit()
    });
    drop(database);
    let same = words.clone();
    let second = thread::spawn(move || -> Result<WriteTxn> {
        same.insert(&mut txn, 2, b"second")?;
        Ok(txn)
    });
    let txn = second.join().expect("the second thread inserts")?;
    let third = thread::spawn(move || txn.commit());
    let committed = third.join().expect("the third thread commits")?;
    assert_eq!(committed, TransactionId(1));
    assert_eq!(waiter.join().expect("the other writer")?, TransactionId(2));

    let database = Database::open(&path)?;
    assert_eq!(database.info().recovery, Recovery::Clean);
    let txn = database.begin_read()?;
    assert_eq!(words.len(&txn)?, 3);
    Ok(())
}

/// Dropping a write transaction in another thread rolls it back and admits the next writer.
#[test]
fn a_write_transaction_is_undone_in_another_thread() -> Result<()> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let database = Database::open(directory.path().join("undone.teak"))?;
    let mut txn = database.begin_write()?;
    txn.create_table::<u64, u64>("counters")?;
    let waiting = database.clone();
    let waiter = thread::spawn(move || waiting.begin_write()?.tables());
    thread::spawn(move || drop(txn)).join().expect("it drops");
    assert!(waiter.join().expect("the other writer")?.is_empty());
    Ok(())
}

/// Bug: on Windows the background thread could not end while thread-local data was destroyed.
#[test]
fn a_thread_closes_the_database_in_its_thread_locals() {
    thread_local! {
        static DATABASE: RefCell<Option<Database>> = const { RefCell::new(None) };
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("local.teak");
    let database = Database::open(&path).unwrap();
    let ending = thread::spawn(move || {
        let options = WriteOptions::new().durability(Durability::Async);
        let mut txn = database.begin_write_with(options).unwrap().unwrap();
        txn.create_table::<u64, u64>("a").unwrap();
        // This starts the background thread.
        txn.commit().unwrap();
        DATABASE.set(Some(database));
    });
    ending.join().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(database.info().recovery, Recovery::Clean);
}
