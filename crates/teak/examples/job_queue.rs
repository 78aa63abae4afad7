//! A queue of jobs that two processes share: one adds jobs, the other takes them, each waiting for
//! commits of the other. A job that a killed worker had taken goes back into the queue.
//!
//! ```text
//! cargo run --example job_queue -- [DATABASE]
//! ```
//!
//! The program starts itself a second time as the worker.

use std::{
    env,
    error::Error,
    path::Path,
    process::{self, Command},
    time::Duration,
};
use teak::{Database, Table, Transaction, WriteTxn};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const JOB_COUNT: u64 = 200;
const BATCH_LEN: usize = 16;

/// The tables of the queue. Jobs are taken in the order of their numbers.
struct Queue {
    /// Jobs that wait.
    waiting: Table<u64, String>,
    /// Jobs that were taken, with the process that works on each.
    taken: Table<u64, (u32, String)>,
    results: Table<u64, String>,
}

impl Queue {
    fn create(txn: &mut WriteTxn) -> teak::Result<Self> {
        Ok(Self {
            waiting: txn.create_table("waiting")?,
            taken: txn.create_table("taken")?,
            results: txn.create_table("results")?,
        })
    }

    /// Adds jobs. Numbers come from a sequence of the table, so none is used twice.
    fn add(&self, txn: &mut WriteTxn, jobs: &[String]) -> teak::Result<()> {
        let first = self.waiting.draw_sequence(txn, jobs.len() as u64)?;
        for (number, job) in (first..).zip(jobs) {
            self.waiting.insert(txn, number, job)?;
        }
        Ok(())
    }

    /// Moves the oldest jobs to those that this process has taken.
    fn take(&self, txn: &mut WriteTxn, count: usize) -> teak::Result<Vec<(u64, String)>> {
        let oldest = self.waiting.iter(txn)?.take(count);
        let owned = oldest.map(|record| record.map(|(number, job)| (number, job.to_owned())));
        let jobs: Vec<(u64, String)> = owned.collect::<teak::Result<_>>()?;
        for (number, job) in &jobs {
            self.waiting.remove(txn, number)?;
            self.taken
                .insert(txn, number, (process::id(), job.clone()))?;
        }
        Ok(jobs)
    }

    fn finish(&self, txn: &mut WriteTxn, number: u64, result: &str) -> teak::Result<()> {
        self.taken.remove(txn, number)?;
        self.results.insert(txn, number, result)
    }

    /// Puts jobs of processes that no longer run back into the queue.
    fn recover(&self, txn: &mut WriteTxn) -> teak::Result<u64> {
        let mut lost = Vec::new();
        for record in self.taken.iter(txn)? {
            let (number, (process, job)) = record?;
            if !Path::new(&format!("/proc/{process}")).exists() {
                lost.push((number, job.to_owned()));
            }
        }
        for (number, job) in &lost {
            self.taken.remove(txn, number)?;
            self.waiting.insert(txn, number, job)?;
        }
        Ok(lost.len() as u64)
    }
}

fn main() -> Result {
    let mut arguments = env::args_os().skip(1);
    let path = arguments.next();
    let path = path.unwrap_or_else(|| "job-queue.teak".into());
    let database = Database::open(&path)?;
    if arguments.next().is_some_and(|role| role == "worker") {
        return work(&database);
    }

    let mut txn = database.begin_write()?;
    let queue = Queue::create(&mut txn)?;
    queue.results.range(..).remove(&mut txn)?;
    let recovered = queue.recover(&mut txn)?;
    txn.commit()?;
    println!("{recovered} jobs of killed workers are back in the queue");

    let mut worker = Command::new(env::current_exe()?)
        .arg(&path)
        .arg("worker")
        .spawn()?;
    for first in (0..JOB_COUNT).step_by(10) {
        let jobs: Vec<String> = (first..first + 10)
            .map(|job| format!("job {job}"))
            .collect();
        let mut txn = database.begin_write()?;
        queue.add(&mut txn, &jobs)?;
        txn.commit()?;
    }

    // Wakes after each commit of the worker, without polling.
    let mut txn = database.begin_read()?;
    while queue.results.len(&txn)? < JOB_COUNT + recovered {
        database.wait_for_commit(txn.id(), Some(Duration::from_secs(10)))?;
        txn.refresh()?;
    }
    let result = queue.results.iter(&txn)?.next().transpose()?;
    println!(
        "{} results, the first: {result:?}",
        queue.results.len(&txn)?
    );
    drop(txn);
    worker.kill()?; // it waits for more jobs; a killed process leaves nothing half done
    worker.wait()?;
    Ok(())
}

fn work(database: &Database) -> Result {
    let mut txn = database.begin_write()?;
    let queue = Queue::create(&mut txn)?;
    txn.commit()?;
    loop {
        let mut txn = database.begin_write()?;
        let seen = txn.id();
        let jobs = queue.take(&mut txn, BATCH_LEN)?;
        txn.commit()?;
        if jobs.is_empty() {
            database.wait_for_commit(seen, None)?;
            continue;
        }
        let mut txn = database.begin_write()?;
        for (number, job) in jobs {
            queue.finish(&mut txn, number, &format!("{job} is done"))?;
        }
        txn.commit()?;
    }
}
