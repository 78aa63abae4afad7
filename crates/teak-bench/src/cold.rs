//! Scans and lookups of a database that is not in memory, with each read-ahead setting.
//!
//! Two tables of records like those of `quick`, one loaded in key order and one at random, 10,000
//! per transaction. Before each round the database is opened with another setting of
//! `Options::read_ahead`, and the file is dropped from the system's memory. Then all records are
//! scanned, or some looked up at random. `bytes read` are the bytes that the disk read, as the
//! system counts them.

use crate::{
    arguments::Cold,
    data::{VALUE_LEN, random_key},
    report::plain_table,
    statistics::{Samples, Spread},
};
use anyhow::{Result, anyhow, ensure};
use comfy_table::Table as Printed;
use fastrand::Rng;
use serde::Serialize;
use std::{fs, path::Path, time::Instant};
use teak::{Database, Durability, Options, ReadAhead, Table, Transaction, codec::Bytes};

const BATCH: usize = 10_000;
const SEED: u64 = 7;

/// The figures for one setting of read-ahead.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ColdFigure {
    work: &'static str,
    /// The order in which the table was loaded.
    loaded: &'static str,
    read_ahead: String,
    /// The median over the rounds.
    microseconds: f64,
    spread: Spread,
    /// The mean number of bytes read from the disk per operation.
    read_bytes: f64,
}

/// One read of many records, or one of many reads of one record.
#[derive(Clone, Copy)]
enum ColdRead {
    Scan,
    Get,
}

/// Runs `cold` with files in `directory`.
pub(crate) fn run(cold: &Cold, directory: &Path) -> Result<Vec<ColdFigure>> {
    let mut figures = Vec::new();
    for loaded in ["in order", "at random"] {
        let path = directory.join(loaded);
        let keys = load(cold, &path, loaded)?;
        for work in [ColdRead::Scan, ColdRead::Get] {
            figures.extend(measure(cold, &path, loaded, work, &keys)?);
        }
        fs::remove_file(&path)?;
    }
    Ok(figures)
}

fn load(cold: &Cold, path: &Path, loaded: &str) -> Result<Vec<[u8; 16]>> {
    let mut random = Rng::with_seed(SEED);
    let mut keys: Vec<_> = (0..cold.records).map(|_| random_key(&mut random)).collect();
    let database = Options::new().durability(Durability::Lazy).open(path)?;
    let value = [7; VALUE_LEN];
    if loaded == "in order" {
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let mut txn = database.begin_write()?;
        let table: Table<Bytes, Bytes> = txn.create_table("records")?;
        let records = sorted.iter().map(|key| (&key[..], &value[..]));
        table.bulk_load(&mut txn, records)?;
        txn.commit()?;
    } else {
        for batch in keys.chunks(BATCH) {
            let mut txn = database.begin_write()?;
            let table: Table<Bytes, Bytes> = txn.create_table("records")?;
            let records: Vec<_> = batch.iter().map(|key| (&key[..], &value[..])).collect();
            table.insert_many(&mut txn, &records)?;
            txn.commit()?;
        }
    }
    database.close()?;
    random.shuffle(&mut keys);
    Ok(keys)
}

/// All read-ahead settings, in turns.
fn measure(
    cold: &Cold,
    path: &Path,
    loaded: &'static str,
    work: ColdRead,
    keys: &[[u8; 16]],
) -> Result<Vec<ColdFigure>> {
    let kinds = [ReadAhead::Off, ReadAhead::On, ReadAhead::Auto];
    let mut samples = vec![(Samples::default(), 0); kinds.len()];
    for round in 0..cold.repeat as usize {
        for (kind, (samples, read_bytes)) in kinds.iter().zip(&mut samples) {
            let database = Options::new().read_ahead(*kind).open(path)?;
            database.release_memory()?;
            let (before, begin) = (disk_read_bytes()?, Instant::now());
            let operations = match work {
                ColdRead::Scan => scan(&database, cold.records)?,
                ColdRead::Get => get(&database, cold, keys, round)?,
            };
            let elapsed = begin.elapsed().as_secs_f64() * 1e6;
            samples.push(elapsed / operations);
            *read_bytes += disk_read_bytes()? - before;
            database.close()?;
        }
    }
    let operations = match work {
        ColdRead::Scan => 1,
        ColdRead::Get => u64::from(cold.gets),
    };
    let nothing = || anyhow!("there was no round");
    let figure = |(kind, (samples, read_bytes)): (&ReadAhead, &(Samples, u64))| {
        Ok(ColdFigure {
            work: match work {
                ColdRead::Scan => "scan",
                ColdRead::Get => "get",
            },
            loaded,
            read_ahead: format!("{kind:?}"),
            microseconds: samples.median().ok_or_else(nothing)?,
            spread: samples.spread().ok_or_else(nothing)?,
            read_bytes: *read_bytes as f64 / (operations * u64::from(cold.repeat)) as f64,
        })
    };
    kinds.iter().zip(&samples).map(figure).collect()
}

fn scan(database: &Database, records: u64) -> Result<f64> {
    let txn = database.begin_read()?;
    let table: Table<Bytes, Bytes> = txn.open_table("records")?;
    let mut count = 0;
    for record in table.iter(&txn)? {
        count += u64::from(record?.1.first() == Some(&7));
    }
    ensure!(count == records, "{count} records of {records} were read");
    Ok(1.0)
}

fn get(database: &Database, cold: &Cold, keys: &[[u8; 16]], round: usize) -> Result<f64> {
    let txn = database.begin_read()?;
    let table: Table<Bytes, Bytes> = txn.open_table("records")?;
    let gets = cold.gets as usize;
    for key in keys.iter().cycle().skip(round * gets).take(gets) {
        ensure!(table.get(&txn, &key[..])?.is_some(), "a record is missing");
    }
    Ok(gets as f64)
}

/// The bytes that this process has read from the disk so far.
pub(crate) fn disk_read_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    Ok(line
        .ok_or_else(|| anyhow!("the system counts no reads"))?
        .parse()?)
}

/// A line that describes the run.
pub(crate) fn describe_run(cold: &Cold) -> String {
    format!(
        "{} rounds: a scan of {} records, {} lookups, each from a file that is not in memory\n",
        cold.repeat, cold.records, cold.gets
    )
}

/// A line for each figure.
pub(crate) fn table(figures: &[ColdFigure]) -> Printed {
    let header = [
        "work",
        "loaded",
        "read ahead",
        "us (min..max)",
        "bytes read",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let Spread { min, max } = figure.spread;
        table.add_row([
            figure.work.to_owned(),
            figure.loaded.to_owned(),
            figure.read_ahead.clone(),
            format!("{:.0} ({min:.0}..{max:.0})", figure.microseconds),
            format!("{:.0}", figure.read_bytes),
        ]);
    }
    table
}
