//! Small commits beside many free and many pending pages: neither should be felt.

use crate::{
    data::{Key, random_key},
    latencies::Latencies,
    report::plain_table,
};
use anyhow::Result;
use comfy_table::Table as Lines;
use fastrand::Rng;
use std::path::Path;
use teak::{
    Database, Durability, Geometry, Options, ReadTxn, Table,
    codec::{Bytes, U64},
};

/// Records that small commits change.
const RECORDS: usize = 100_000;
/// Commits of a slice, and slices of each database.
const SLICE: usize = 500;
const SLICES: usize = 8;
/// A value of this length has a page of its own.
const PAGE_VALUE_LEN: usize = 4000;
/// Values of a transaction.
const BATCH: u64 = 50_000;

/// What there is besides the records.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    Free,
    Pending,
}

struct Place {
    name: &'static str,
    database: Database,
    table: Table<Bytes, Bytes>,
    /// Sees what is pending.
    _reader: Option<ReadTxn>,
    lazy: Latencies,
    durable: Latencies,
}

/// Times commits beside `pages` pages of each kind.
pub(crate) fn run(pages: u64, directory: &Path) -> Result<Lines> {
    let mut rng = Rng::with_seed(pages);
    let keys: Vec<Key> = (0..RECORDS).map(|_| random_key(&mut rng)).collect();
    let mut places = Vec::new();
    for (name, beside) in [
        ("nothing", Beside::Nothing),
        ("free", Beside::Free),
        ("pending", Beside::Pending),
    ] {
        eprintln!("preparing {pages} pages: {name}");
        places.push(prepare(name, beside, pages, &keys, directory)?);
    }
    for slice in 0..SLICES {
        for turn in 0..places.len() {
            let place = &mut places[(slice + turn) % 3];
            for commit in 0..SLICE {
                let is_durable = commit % 5 == 4;
                let latencies = match is_durable {
                    true => &mut place.durable,
                    false => &mut place.lazy,
                };
                let key = keys[rng.usize(..keys.len())];
                let value = rng.u64(..).to_le_bytes();
                latencies.time(|| -> Result<()> {
                    let mut txn = place.database.begin_write()?;
                    if !is_durable {
                        txn.set_durability(Durability::Lazy);
                    }
                    place.table.insert(&mut txn, &key, &value)?;
                    txn.commit()?;
                    Ok(())
                })?;
            }
        }
    }
    let header = [
        "beside",
        "free pages",
        "pending pages",
        "lazy us: median",
        "99 %",
        "longest",
        "durable us: median",
        "99 %",
        "longest",
    ];
    let mut lines = plain_table(header.map(str::to_owned).to_vec());
    for place in &places {
        let stat = place.database.stat()?;
        let mut line = vec![
            place.name.to_owned(),
            stat.free_pages.to_string(),
            stat.pending_pages.to_string(),
        ];
        for latencies in [&place.lazy, &place.durable] {
            for percent in [50.0, 99.0, 100.0] {
                line.push(format!(
                    "{:.1}",
                    latencies.percentile_ns(percent) as f64 / 1e3
                ));
            }
        }
        lines.add_row(line);
    }
    Ok(lines)
}

fn prepare(
    name: &'static str,
    beside: Beside,
    pages: u64,
    keys: &[Key],
    directory: &Path,
) -> Result<Place> {
    // What is free is to stay so.
    let geometry = Geometry {
        shrink_threshold_bytes: u64::MAX,
        ..Geometry::default()
    };
    let database = Options::new()
        .geometry(geometry)
        .move_percent(0)
        .open(directory.join(name))?;
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::Lazy);
    let table = txn.create_table::<Bytes, Bytes>("records")?;
    for key in keys {
        table.insert(&mut txn, key, &[0; 100])?;
    }
    txn.commit()?;
    let mut reader = None;
    if !matches!(beside, Beside::Nothing) {
        let values: Table<U64, Bytes> = {
            let mut txn = database.begin_write()?;
            let values = txn.create_table("values")?;
            txn.commit()?;
            values
        };
        for first in (0..2 * pages).step_by(BATCH as usize) {
            let mut txn = database.begin_write()?;
            txn.set_durability(Durability::Lazy);
            for number in first..(first + BATCH).min(2 * pages) {
                values.insert(&mut txn, number, &[number as u8; PAGE_VALUE_LEN])?;
            }
            txn.commit()?;
        }
        database.sync()?;
        if matches!(beside, Beside::Pending) {
            reader = Some(database.begin_read()?);
        }
        for first in (0..2 * pages).step_by(BATCH as usize) {
            let mut txn = database.begin_write()?;
            txn.set_durability(Durability::Lazy);
            for number in (first..(first + BATCH).min(2 * pages)).step_by(2) {
                values.remove(&mut txn, number)?;
            }
            txn.commit()?;
        }
    }
    database.sync()?;
    Ok(Place {
        name,
        database,
        table,
        _reader: reader,
        lazy: Latencies::new()?,
        durable: Latencies::new()?,
    })
}
