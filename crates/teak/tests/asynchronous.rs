//! Futures: beginning to write, following commits, and tickets, without an executor.

use crate::shared::temporary_path;
use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};
use teak::{ChangeFeed, Database, Event, Options, Ticket, WriteTxn, codec::Str};

/// Runs a future on this thread, which sleeps meanwhile.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park_timeout(Duration::from_secs(30));
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn count(database: &Database) {
    let add = async {
        let mut txn = database.begin_write_async().await?;
        let counts = txn.create_table::<Str, u64>("counts")?;
        let before = counts.get(&txn, "all")?.unwrap_or(0);
        counts.insert(&mut txn, "all", before + 1)?;
        txn.commit_async()?.await
    };
    block_on(add).unwrap();
}

fn total(database: &Database) -> Option<u64> {
    let txn = database.begin_read().unwrap();
    let counts = teak::Transaction::open_table::<Str, u64>(&txn, "counts").unwrap();
    counts.get(&txn, "all").unwrap()
}

#[test]
fn futures_of_transactions_can_be_sent() {
    fn assert_send<T: Send>(_: &T) {}
    let database = Database::in_memory().unwrap();
    assert_send(&database.begin_write_async());
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    assert_send(&feed.next_async());
    fn assert_types<T: Send>() {}
    assert_types::<(WriteTxn, Ticket, ChangeFeed)>();
}

#[test]
fn many_tasks_and_threads_write_in_turns() {
    let (_directory, path) = temporary_path();
    for database in [
        Database::open(&path).unwrap(),
        Database::in_memory().unwrap(),
    ] {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| count(&database)));
            }
            scope.spawn(|| {
                for _ in 0..25 {
                    let mut txn = database.begin_write().unwrap();
                    let counts = txn.create_table::<Str, u64>("counts").unwrap();
                    let before = counts.get(&txn, "all").unwrap().unwrap_or(0);
                    counts.insert(&mut txn, "all", before + 1).unwrap();
                    txn.commit().unwrap();
                }
            });
        });
        assert_eq!(total(&database), Some(125));
    }
}

/// The thread of the futures noted after a second that it had taken the lock, which another thread
/// held, and ended by an assertion.
#[test]
fn a_future_that_waits_for_seconds_begins() {
    let database = Database::in_memory().unwrap();
    let first = database.begin_write().unwrap();
    let mut future = Box::pin(database.begin_write_async());
    assert!(poll(&mut future).is_pending());
    thread::sleep(Duration::from_millis(1500));
    drop(first);
    let start = Instant::now();
    while poll(&mut future).is_pending() {
        assert!(start.elapsed() < Duration::from_secs(30), "nobody begins");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn futures_begin_in_the_order_of_their_first_poll() {
    let database = Database::in_memory().unwrap();
    let first = database.begin_write().unwrap();
    let mut futures: Vec<_> = (0..3)
        .map(|_| Box::pin(database.begin_write_async()))
        .collect();
    for future in &mut futures {
        assert!(poll(future).is_pending());
    }
    drop(first);
    while !futures.is_empty() {
        let begun = block_on(futures.remove(0)).unwrap();
        assert!(futures.iter_mut().all(|later| poll(later).is_pending()));
        drop(begun);
    }
}

#[test]
fn a_dropped_future_gives_its_turn_up() {
    let database = Database::in_memory().unwrap();
    let first = database.begin_write().unwrap();
    let mut dropped = Box::pin(database.begin_write_async());
    let mut waiting = Box::pin(database.begin_write_async());
    assert!(poll(&mut dropped).is_pending() && poll(&mut waiting).is_pending());
    drop(dropped);
    drop(first);
    drop(block_on(waiting).unwrap());
    // The thread may have begun for the dropped one, and has rolled that back.
    let began = Instant::now();
    drop(database.begin_write().unwrap());
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_future_that_was_dropped_after_it_had_begun_rolls_back() {
    let database = Database::in_memory().unwrap();
    let first = database.begin_write().unwrap();
    let mut waiting = Box::pin(database.begin_write_async());
    assert!(poll(&mut waiting).is_pending());
    drop(first);
    thread::sleep(Duration::from_millis(50));
    drop(waiting);
    drop(database.begin_write().unwrap());
}

#[test]
fn a_future_fails_when_the_database_is_closed() {
    let database = Database::in_memory().unwrap();
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    let closing = database.clone();
    let closer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        closing.close().unwrap();
    });
    assert!(block_on(feed.next_async()).is_err());
    closer.join().unwrap();
    assert!(block_on(database.begin_write_async()).is_err());
}

#[test]
fn one_thread_waits_for_all_subscribers() {
    let database = Database::in_memory().unwrap();
    let seen = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            let (database, seen) = (&database, &seen);
            let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
            scope.spawn(move || {
                block_on(async {
                    while total_of(&feed) < 20 {
                        feed.next_async().await.unwrap();
                    }
                });
                seen.fetch_add(1, SeqCst);
            });
        }
        (0..20).for_each(|_| count(&database));
    });
    assert_eq!(seen.load(SeqCst), 8);
}

fn total_of(feed: &ChangeFeed) -> u64 {
    match teak::Transaction::open_table::<Str, u64>(feed.seen(), "counts") {
        Ok(counts) => counts.get(feed.seen(), "all").unwrap().unwrap_or(0),
        Err(_) => 0,
    }
}

#[test]
fn a_dropped_wait_loses_no_commit() {
    let database = Database::in_memory().unwrap();
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    assert!(poll(&mut Box::pin(feed.next_async())).is_pending());
    count(&database);
    let changes = block_on(feed.next_async()).unwrap();
    assert_eq!(changes.tables().unwrap().len(), 1);
}

/// It waited forever, and nothing told the programmer.
#[test]
fn a_thread_that_waits_for_its_own_transaction_causes_an_event() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&events);
    let options = Options::new().on_event(move |event| {
        if matches!(event, Event::WaitsForItself { .. }) {
            noted.lock().unwrap().push(event.to_string());
        }
    });
    let database = options.open_in_memory().unwrap();
    let limit = teak::WriteOptions::new().timeout(Duration::from_millis(10));
    let txn = database.begin_write().unwrap();
    assert!(database.begin_write_with(limit).unwrap().is_none());
    let text = "a thread waits for 10ms for the end of a write transaction that it began itself; \
                end that one first";
    assert_eq!(*events.lock().unwrap(), [text]);

    // Other threads wait for another one's transaction.
    let other = database.clone();
    let waited = thread::spawn(move || other.begin_write_with(limit).unwrap().is_none());
    assert!(waited.join().unwrap());
    drop(txn);
    drop(database.begin_write().unwrap());
    assert_eq!(events.lock().unwrap().len(), 1);
}
