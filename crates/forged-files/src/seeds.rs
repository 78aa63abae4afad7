//! The databases to forge: small, each with some unique feature, and identical in each run.

use std::{
    cmp::Ordering,
    error::Error,
    ops::RangeInclusive,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use teak::{
    Comparison, Database, Durability, KeyOrder, MultiTableDef, Options, ReadTxn, Result, TableDef,
    TableOptions, ValueSize, WriteTxn,
    codec::Raw,
    testing::{self, SimDisk},
};

/// The boot in which all of them were written.
pub(crate) const BOOT: [u8; 16] = [1; 16];
const CAPACITY: usize = 8 << 20;

/// A custom key order.
pub(crate) static LENGTHS: Comparison = Comparison::new("lengths", &by_length);

fn by_length(a: &[u8], b: &[u8]) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

/// A database.
pub(crate) struct Seed {
    pub(crate) name: &'static str,
    pub(crate) image: Vec<u8>,
}

type MakeSeed = fn(&SimDisk, &Database) -> Result<()>;

/// Each with its page size, the size of its journal in pages, and whether it is closed.
const SEEDS: [(&str, usize, u64, MakeSeed, bool); 13] = [
    ("tables", 4096, 0, tables, true),
    ("levels", 4096, 0, levels, true),
    ("levels, left open", 4096, 0, levels, false),
    ("several values", 4096, 0, several_values, true),
    ("snapshots", 4096, 0, snapshots, true),
    ("snapshots, left open", 4096, 0, snapshots, false),
    ("many tables", 4096, 0, many_tables, true),
    ("journal", 4096, 32, journal, false),
    ("deaths", 4096, 0, deaths, false),
    ("lazy", 4096, 0, lazy, false),
    ("comparisons", 4096, 0, comparisons, true),
    ("dropped", 4096, 0, dropped, true),
    ("large pages", 65536, 0, tables, true),
];

/// The options for opening such a file.
pub(crate) fn options() -> Options {
    Options::new().comparison(&LENGTHS)
}

/// Makes all databases.
pub(crate) fn all() -> std::result::Result<Vec<Seed>, Box<dyn Error>> {
    let seeds = SEEDS
        .into_iter()
        .map(|(name, page_size, journal, make, is_closed)| {
            let image = image(page_size, journal, make, is_closed);
            let image = image.map_err(|error| format!("{name}: {error}"))?;
            Ok(Seed { name, image })
        });
    seeds.collect()
}

fn image(page_size: usize, journal: u64, make: MakeSeed, is_closed: bool) -> Result<Vec<u8>> {
    let begin = now_ms();
    let disk = SimDisk::new(CAPACITY);
    let mut options = options()
        .page_size(page_size)
        .release_at_once(8)
        .flush_after(Duration::MAX);
    if journal > 0 {
        options = options.journal_bytes(journal * page_size as u64);
    }
    let database = testing::open(&disk, &options, true, BOOT)?;
    make(&disk, &database)?;
    let disk = if is_closed {
        database.close()?;
        disk
    } else {
        disk.kill()
    };
    let mut image = disk.process_crash();
    forget_times(&mut image, begin..=now_ms());
    testing::repair(&mut image);
    testing::anonymize(&mut image);
    Ok(image)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Replaces the creation times of named states, which are in pages and in their stale copies.
fn forget_times(image: &mut [u8], times: RangeInclusive<u64>) {
    for at in 0..image.len().saturating_sub(7) {
        let bytes = image[at..].first_chunk();
        if bytes.is_some_and(|bytes| times.contains(&u64::from_le_bytes(*bytes))) {
            image[at..at + 8].fill(0);
        }
    }
}

fn commit(
    database: &Database,
    durability: Durability,
    work: impl FnOnce(&mut WriteTxn) -> Result<()>,
) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.set_durability(durability);
    work(&mut txn)?;
    txn.commit().map(drop)
}

fn number(i: u64) -> [u8; 8] {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn fill(txn: &mut WriteTxn, name: &str, options: TableOptions, count: u64) -> Result<()> {
    let table = TableDef::<Raw, Raw>::new(name)
        .options(options)
        .create(txn)?;
    (0..count).try_for_each(|i| table.insert(txn, number(i), [i as u8; 40]))
}

/// Tables of each order and kind.
fn tables(_: &SimDisk, database: &Database) -> Result<()> {
    for round in 1..3_u64 {
        commit(database, Durability::Durable, |txn| {
            fill(txn, "bytes", TableOptions::new(), 60 * round)?;
            let integers = TableOptions::new().order(KeyOrder::Integer).value_align(8);
            fill(txn, "integers", integers.counted(true), 90 * round)?;
            let reverse = TableOptions::new().order(KeyOrder::ReverseBytes);
            fill(txn, "reverse", reverse.counted(true), 70)?;
            let whole = TableOptions::new().share_prefixes(false);
            fill(txn, "whole keys", whole, 20)?;
            let table = txn.create_table::<&[u8], &[u8]>("values")?;
            for i in 0..5_u8 {
                table.insert(txn, [i], vec![i; 1 + 2500 * usize::from(i)])?;
            }
            table.draw_sequence(txn, 3)?;
            txn.set_marks([1, 2, 3])?;
            txn.create_table::<&str, u64>("empty").map(drop)
        })?;
    }
    Ok(())
}

/// Long keys, so that there are inner pages in several levels.
fn levels(_: &SimDisk, database: &Database) -> Result<()> {
    for (name, count, options) in [
        ("long keys", 150, TableOptions::new()),
        ("counted", 90, TableOptions::new().counted(true)),
    ] {
        commit(database, Durability::Durable, |txn| {
            let table = TableDef::<Raw, Raw>::new(name)
                .options(options)
                .create(txn)?;
            (0..count).try_for_each(|i| {
                let key = [&number(i)[..], &[i as u8; 500]].concat();
                table.insert(txn, &key, [i as u8; 400])
            })
        })?;
    }
    Ok(())
}

/// Keys with one value, a few, and nested trees of one level and of several.
fn several_values(_: &SimDisk, database: &Database) -> Result<()> {
    for rounds in 1..3_u64 {
        commit(database, Durability::Durable, |txn| {
            let any = txn.create_multi_table::<Raw, Raw>("any")?;
            let fixed = TableOptions::new().value_size(ValueSize::Bytes(8));
            let fixed = MultiTableDef::<Raw, Raw>::new("eight")
                .options(fixed.counted(true))
                .create(txn)?;
            let integers = TableOptions::new().value_order(KeyOrder::Integer);
            let integers = MultiTableDef::<Raw, Raw>::new("integers")
                .options(integers)
                .create(txn)?;
            let long = TableOptions::new().counted(true);
            let long = MultiTableDef::<Raw, Raw>::new("long values")
                .options(long)
                .create(txn)?;
            for i in 0..rounds * 200 {
                let key = [[0, 1, 1, 2, 2, 2, 2, i as u8][i as usize % 8]];
                any.insert(txn, key, &number(i)[..i as usize % 8 + 1])?;
                fixed.insert(txn, key, number(i))?;
                integers.insert(txn, key, number(i))?;
            }
            for i in 0..rounds * 40 {
                let value = [&number(i)[..], &[i as u8; 500]].concat();
                long.insert(txn, [i as u8 % 3], &value)?;
            }
            fixed.remove(txn, [2], number(3)).map(drop)
        })?;
    }
    Ok(())
}

/// Many names of states, so that their list has several pages.
fn snapshots(_: &SimDisk, database: &Database) -> Result<()> {
    for round in 0..24_u64 {
        commit(database, Durability::Durable, |txn| {
            let table = txn.create_table::<Raw, Raw>("bytes")?;
            for i in 0..60 {
                if round == 0 || i % 7 == round % 7 {
                    table.insert(txn, number(i), [round as u8; 60])?;
                }
            }
            if round % 5 == 1 {
                txn.set_marks([round; 3])?;
            }
            let name = format!("{round:03} {}", "n".repeat(200));
            txn.create_snapshot(if round % 8 == 0 { &name[..3] } else { &name })
        })?;
    }
    database.drop_snapshot("008")?;
    commit(database, Durability::Durable, |txn| {
        fill(txn, "more", TableOptions::new(), 30)
    })
}

/// A catalog of several pages.
fn many_tables(_: &SimDisk, database: &Database) -> Result<()> {
    for round in 0..2_u64 {
        commit(database, Durability::Durable, |txn| {
            (0..40_u64).try_for_each(|i| {
                let name = format!(
                    "{:016x} {}",
                    i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    "t".repeat(180)
                );
                let options = TableOptions::new().counted(i % 2 == 0);
                fill(txn, &name, options, 1 + (i + round) % 3)
            })
        })?;
    }
    Ok(())
}

/// Durable commits that only the journal has on the disk, followed by a lazy one.
fn journal(_: &SimDisk, database: &Database) -> Result<()> {
    commit(database, Durability::Durable, |txn| {
        fill(txn, "bytes", TableOptions::new(), 60)
    })?;
    database.sync()?;
    for round in 1..5 {
        commit(database, Durability::Durable, |txn| {
            let table = txn.create_table::<Raw, Raw>("bytes")?;
            table.insert(txn, number(round), [round as u8; 70])
        })?;
    }
    commit(database, Durability::Lazy, |txn| {
        fill(txn, "lazy", TableOptions::new(), 30)
    })
}

/// Readers that keep freed pages until the space map has bitmaps and segments of deaths.
fn deaths(_: &SimDisk, database: &Database) -> Result<()> {
    let mut readers: Vec<ReadTxn> = Vec::new();
    for round in 0..260_u64 {
        commit(database, Durability::Lazy, |txn| {
            fill(txn, "bytes", TableOptions::new(), 1 + round % 40)?;
            let table = txn.create_table::<Raw, Raw>("bytes")?;
            table.insert(txn, round.to_be_bytes(), b"value")
        })?;
        if round % 20 == 0 {
            readers.push(database.begin_read()?);
        }
    }
    commit(database, Durability::Durable, |txn| {
        fill(txn, "more", TableOptions::new(), 30)
    })?;
    drop(readers);
    Ok(())
}

/// A durable commit followed by lazy ones, one of them with a named snapshot.
fn lazy(_: &SimDisk, database: &Database) -> Result<()> {
    for round in 1..5 {
        let durability = match round {
            1 => Durability::Durable,
            _ => Durability::Lazy,
        };
        commit(database, durability, |txn| {
            fill(txn, "bytes", TableOptions::new(), 30 * round)?;
            let table = txn.create_table::<&[u8], &[u8]>("values")?;
            if round == 3 {
                txn.create_snapshot("three")?;
            }
            table.insert(txn, b"large", [round as u8; 5000])
        })?;
    }
    Ok(())
}

fn comparisons(_: &SimDisk, database: &Database) -> Result<()> {
    for rounds in 1..3_u64 {
        commit(database, Durability::Durable, |txn| {
            let own = TableOptions::new().order(KeyOrder::Custom(&LENGTHS));
            fill(txn, "own order", own.counted(true), rounds * 80)?;
            let values = own.value_order(KeyOrder::Custom(&LENGTHS));
            let table = MultiTableDef::<Raw, Raw>::new("own orders")
                .options(values)
                .create(txn)?;
            (0..rounds * 120).try_for_each(|i| {
                let value = &number(i)[..i as usize % 8 + 1];
                table.insert(txn, [i as u8 % 4], value).map(drop)
            })
        })?;
    }
    Ok(())
}

/// Trees that are released in parts, a few pages with each commit.
fn dropped(_: &SimDisk, database: &Database) -> Result<()> {
    for i in 0..3_u64 {
        commit(database, Durability::Durable, |txn| {
            let name = format!("table {i}");
            let table = txn.create_table::<Raw, Raw>(&name)?;
            (0..130_u64).try_for_each(|j| {
                let key = [&number(j)[..], &[j as u8; 300]].concat();
                table.insert(txn, &key, [i as u8; 300])
            })
        })?;
    }
    commit(database, Durability::Durable, |txn| {
        txn.drop_table("table 0")?;
        let table = txn.create_table::<Raw, Raw>("table 1")?;
        table.clear(txn)?;
        table.insert(txn, b"key", b"value")
    })
}
