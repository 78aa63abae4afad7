//! Writes the small databases that fuzzing and the test of hostile files start with.
//!
//! They are stored next to the fuzz targets. Regenerate them after a change of the format.

use crate::{Failure, built, campaign::scratch};
use std::{fs, path::Path};
use teak::{Create, Database, Durability, KeyOrder, Options, TableOptions, WriteTxn, codec::Bytes};

/// The directory of the seeds, in the workspace.
const SEEDS: &str = "fuzz/seeds/open";

/// The maximum length of a seed.
const SIZE_MAX: u64 = 96 << 10;

/// Makes all seeds.
pub(crate) fn run() -> Result<(), Failure> {
    let scratch = scratch::directory(None)?;
    let seeds = built::workspace().join(SEEDS);
    for (name, make) in [
        (
            "tables.teak",
            tables as fn(&Path, &Path) -> teak::Result<()>,
        ),
        ("folded.teak", checkpointed),
        ("killed.teak", killed),
        ("journal.teak", journal),
    ] {
        let seed = seeds.join(name);
        make(&scratch.path().join(name), &seed).map_err(|error| failure!("{name}: {error}"))?;
        println!("{name}: {} bytes", fs::metadata(seed)?.len());
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> teak::Result<()> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|source| teak::Error::InvalidArgument(source.to_string()))
}

fn create(path: &Path) -> teak::Result<Database> {
    let options = Options::new().size_limit_bytes(Some(SIZE_MAX));
    options.create(Create::New).open(path)
}

fn fill(txn: &mut WriteTxn, name: &str, options: TableOptions, count: u64) -> teak::Result<()> {
    let table = txn.create_table_with::<Bytes, Bytes>(name, options)?;
    for i in 0..count {
        let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        table.insert(txn, &number, &[i as u8; 40])?;
    }
    Ok(())
}

/// One commit with trees of each kind and order and a large value, followed by a close.
fn tables(path: &Path, seed: &Path) -> teak::Result<()> {
    let database = create(path)?;
    let mut txn = database.begin_write()?;
    fill(&mut txn, "bytes", TableOptions::new(), 90)?;
    fill(
        &mut txn,
        "integers",
        TableOptions::new().order(KeyOrder::Integer).value_align(8),
        20,
    )?;
    let counted = TableOptions::new()
        .order(KeyOrder::ReverseBytes)
        .counted(true);
    fill(&mut txn, "reverse", counted.share_prefixes(false), 90)?;
    let table = txn.create_table::<Bytes, Bytes>("values")?;
    table.insert(&mut txn, b"large", &[1; 6000])?;
    table.insert(&mut txn, b"small", b"")?;
    txn.create_table::<Bytes, Bytes>("empty")?;
    txn.commit()?;
    database.close()?;
    copy(path, seed)
}

/// Many commits with an open reader: the space map has bitmaps and segments of deaths. Closed.
fn checkpointed(path: &Path, seed: &Path) -> teak::Result<()> {
    let database = create(path)?;
    let mut reader = None;
    for round in 0..400u64 {
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        fill(&mut txn, "bytes", TableOptions::new(), 1 + round % 40)?;
        let table = txn.create_table::<Bytes, Bytes>("bytes")?;
        table.insert(&mut txn, &round.to_be_bytes(), b"value")?;
        txn.commit()?;
        if round % 150 == 0 {
            reader = Some(database.begin_read()?);
        }
    }
    database.close()?;
    drop(reader);
    copy(path, seed)
}

/// A durable commit followed by lazy ones, without a close.
fn killed(path: &Path, seed: &Path) -> teak::Result<()> {
    let database = create(path)?;
    for round in 0..4 {
        let mut txn = database.begin_write()?;
        txn.set_durability(if round < 2 {
            Durability::Durable
        } else {
            Durability::Lazy
        });
        fill(&mut txn, "bytes", TableOptions::new(), 30 * (round + 1))?;
        txn.commit()?;
    }
    copy(path, seed)
}

/// Durable commits that only the journal has on the disk.
fn journal(path: &Path, seed: &Path) -> teak::Result<()> {
    let options = Options::new()
        .size_limit_bytes(Some(2 * SIZE_MAX))
        .journal_bytes(8 * 4096);
    let database = options.create(Create::New).open(path)?;
    for round in 0..8 {
        let mut txn = database.begin_write()?;
        fill(&mut txn, "bytes", TableOptions::new(), 1 + round)?;
        txn.commit()?;
    }
    copy(path, seed)
}
