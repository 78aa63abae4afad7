//! Teak in tokio. Tasks write in turns and share flushes, a subscriber follows the commits, and a
//! range is streamed, without a thread for any of them.
//!
//! ```text
//! cargo run --release -p example-tokio [DATABASE]
//! ```
//!
//! Without a path the database is in memory. Reads and writes of a few records are called from
//! tasks directly: they take microseconds, like a lookup in a large map. Long scans, bulk loads and
//! files that are larger than the memory belong on `spawn_blocking`, as in [`stream_range`].

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};
use teak::{ChangeFeed, Database, ReadTxn, Table, codec::Str};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

const TASKS: u64 = 50;
const COMMITS: u64 = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let database = match env::args_os().nth(1) {
        Some(path) => Database::open(path)?,
        None => Database::in_memory()?,
    };
    let mut txn = database.begin_write_async().await?;
    let counts = txn.create_table::<Str, u64>("counts")?;
    txn.commit_async()?.await?;

    let feed = database.follow(database.begin_read()?)?;
    let subscriber = tokio::spawn(follow(feed, counts.clone()));

    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(count(database.clone(), counts.clone(), task));
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let (took, flushes) = (began.elapsed(), database.metrics().flushes);
    println!("{} commits in {took:?}, {flushes} flushes", TASKS * COMMITS);

    let (batches, changes) = subscriber.await??;
    println!("the subscriber saw {changes} changes in {batches} batches");

    let mut sum = 0;
    let mut records = stream_range(database.begin_read()?, counts);
    while let Some(record) = records.recv().await {
        sum += record?.1;
    }
    assert_eq!(sum, TASKS * COMMITS, "each task has counted to the end");
    println!("the stream has {sum} in all");
    Ok(())
}

/// Writes records, each in a transaction. While it waits for its turn, and for the disk, other
/// tasks run on the same thread.
async fn count(database: Database, counts: Table<Str, u64>, task: u64) -> teak::Result<()> {
    let name = format!("task {task:02}");
    for number in 1..=COMMITS {
        let mut txn = database.begin_write_async().await?;
        counts.insert(&mut txn, &name, number)?;
        // Not `commit`, which blocks the thread until the flush has ended. Other tasks begin as
        // soon as this call returns, and share the flush.
        txn.commit_async()?.await?;
    }
    Ok(())
}

/// Follows the commits until all tasks are done, or nothing happens for a while. Returns how many
/// batches and changes there were.
async fn follow(mut feed: ChangeFeed, counts: Table<Str, u64>) -> teak::Result<(u64, u64)> {
    let (mut batches, mut changed) = (0, 0);
    loop {
        // Dropping the future, as a timeout does, loses no commit.
        let Ok(changes) = timeout(Duration::from_secs(10), feed.next_async()).await else {
            return Ok((batches, changed));
        };
        let changes = changes?;
        batches += 1;
        for difference in changes.of(&counts)? {
            difference?;
            changed += 1;
        }
        if is_done(changes.newer(), &counts)? {
            return Ok((batches, changed));
        }
    }
}

fn is_done(txn: &ReadTxn, counts: &Table<Str, u64>) -> teak::Result<bool> {
    let mut sum = 0;
    for record in counts.iter(txn)? {
        sum += record?.1;
    }
    Ok(sum == TASKS * COMMITS)
}

/// Streams the records of a table. A thread of tokio's pool reads ahead, and waits when the
/// receiver is slow. The transaction keeps its state until the stream ends or is dropped.
fn stream_range(
    txn: ReadTxn,
    counts: Table<Str, u64>,
) -> mpsc::Receiver<teak::Result<(String, u64)>> {
    let (sender, receiver) = mpsc::channel(64);
    tokio::task::spawn_blocking(move || {
        let records = match counts.iter(&txn) {
            Ok(records) => records,
            Err(error) => return drop(sender.blocking_send(Err(error))),
        };
        for record in records {
            let record = record.map(|(name, count)| (name.to_string(), count));
            // The receiver may be gone.
            if sender.blocking_send(record).is_err() {
                return;
            }
        }
    });
    receiver
}
