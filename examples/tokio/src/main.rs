//! Teak in tokio. Tasks write in turns and share flushes, a subscriber follows the commits, and a
//! range is streamed, without a thread for any of them.
//!
//! ```text
//! cargo run --release -p example-tokio [DATABASE]
//! ```
//!
//! Without a path the database is in memory. Reads and writes of a few records are called from
//! tasks directly: they take microseconds, like a lookup in a large map. A stream lets other tasks
//! run after each batch of records. Bulk loads, and scans of files that are larger than the memory,
//! belong on `spawn_blocking`.

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};
use teak::{ChangeStream, Database, ReadTxn, Table, codec::Str};
use tokio::{pin, task::JoinSet};
use tokio_stream::StreamExt;

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
    let subscriber = tokio::spawn(follow(feed.into_stream(), counts.clone()));

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
    // The stream keeps its state until it is dropped.
    let mut records = counts.range(..).stream(&database.begin_read()?)?;
    while let Some((_, count)) = records.try_next().await? {
        sum += count;
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
async fn follow(feed: ChangeStream, counts: Table<Str, u64>) -> teak::Result<(u64, u64)> {
    let (mut batches, mut changed) = (0, 0);
    let commits = feed.timeout(Duration::from_secs(10));
    pin!(commits);
    while let Some(Ok(changes)) = commits.next().await {
        let changes = changes?;
        batches += 1;
        for difference in changes.of(&counts)? {
            difference?;
            changed += 1;
        }
        if is_done(&changes.newer, &counts)? {
            break;
        }
    }
    Ok((batches, changed))
}

fn is_done(txn: &ReadTxn, counts: &Table<Str, u64>) -> teak::Result<bool> {
    let mut sum = 0;
    for record in counts.iter(txn)? {
        sum += record?.1;
    }
    Ok(sum == TASKS * COMMITS)
}
