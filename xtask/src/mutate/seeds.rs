//! The databases to damage. They are small, and each has a feature that the others lack.
//!
//! They are identical in each run and each process.

use crate::{Context, campaign::Encoding};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};
use teak::{
    Cipher, Database, Durability, Expiry, ExpiryOptions, KeyOrder, MultiTableDef, Options, Result,
    TableDef, TableOptions, TableTypes, Transaction, ValueSize, WriteTxn,
    codec::Raw,
    testing::{self, SimDisk},
};

/// The boot in which all seeds were written.
pub(super) const BOOT: [u8; 16] = [1; 16];
const CAPACITY: usize = 40 << 20;

/// Records of all tables, in order.
pub(super) type SeedContent = BTreeMap<Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>>;

/// More records and bytes than any seed has. A damaged tree may have any number.
const RECORDS_MAX: usize = 5_000;
const BYTES_MAX: usize = 4 << 20;

/// A database, and its contents.
pub(crate) struct Seed {
    pub(crate) name: &'static str,
    pub(crate) image: Vec<u8>,
    pub(super) page_size: usize,
    /// The file before the last commits, which has the bytes of stale pages.
    pub(super) earlier: Vec<u8>,
    /// All committed states, the newest at the end.
    pub(super) states: Vec<SeedContent>,
}

/// An encrypted database.
pub(super) struct EncryptedSeed {
    pub(super) seed: Seed,
    /// The file of another database with the same key and contents.
    pub(super) twin: Vec<u8>,
    pub(super) encoding: Encoding,
}

/// A database under construction.
struct SeedBuilder {
    disk: SimDisk,
    database: Database,
    earlier: Vec<u8>,
    states: Vec<SeedContent>,
}

type MakeSeed = fn(&mut SeedBuilder) -> Result<()>;
/// The name, the page size, the contents, and whether the database is closed.
type SeedParameters = (&'static str, usize, MakeSeed, bool);

const SEEDS: [SeedParameters; 18] = [
    ("created", 4096, |_| Ok(()), true),
    ("orders", 4096, orders, true),
    ("orders, pages of 8 KiB", 8192, orders, true),
    ("orders, pages of 16 KiB", 16384, orders, false),
    ("orders, pages of 64 KiB", 65536, one_record, true),
    ("inner pages", 4096, inner_pages, true),
    ("inner pages, left open", 4096, inner_pages, false),
    ("large values", 4096, large_values, true),
    ("lazy commits", 4096, lazy_commits, false),
    ("journal", 4096, journal, false),
    ("deaths", 4096, deaths, false),
    ("checkpointed", 4096, checkpointed, true),
    ("checkpointed, left open", 4096, checkpointed, false),
    ("several values", 4096, several_values, true),
    ("several values, left open", 4096, several_values, false),
    ("types", 4096, types, true),
    ("expiring", 4096, expiring, true),
    ("expiring, left open", 4096, expiring, false),
];

/// Makes all seeds.
pub(crate) fn all() -> crate::Result<Vec<Seed>> {
    let seeds = SEEDS.into_iter().map(|parameters| {
        let seed = make_one(parameters, Encoding::Off);
        seed.context(format_args!("{}", parameters.0))
    });
    seeds.collect()
}

/// Makes encrypted databases, with each cipher. Their keys are random.
pub(super) fn encrypted() -> crate::Result<Vec<EncryptedSeed>> {
    let ciphers = [Cipher::Aes256Gcm, Cipher::XChaCha20Poly1305].map(Encoding::Encrypted);
    // An encrypted database has no journal.
    let seeds = SEEDS.iter().filter(|(name, ..)| *name != "journal");
    let all = ciphers
        .iter()
        .flat_map(|cipher| seeds.clone().map(move |seed| (*cipher, *seed)));
    let make = |(encoding, seed): (Encoding, SeedParameters)| {
        let make = || make_one(seed, encoding).context(format_args!("{}", seed.0));
        Ok(EncryptedSeed {
            seed: make()?,
            twin: make()?.image,
            encoding,
        })
    };
    all.map(make).collect()
}

impl EncryptedSeed {
    /// The files that differ between processes, by name.
    pub(super) fn files(&self) -> [(&'static str, &Vec<u8>); 3] {
        let Self { seed, twin, .. } = self;
        [
            ("image", &seed.image),
            ("earlier", &seed.earlier),
            ("twin", twin),
        ]
    }

    pub(super) fn files_mut(&mut self) -> [(&'static str, &mut Vec<u8>); 3] {
        let Self { seed, twin, .. } = self;
        let Seed { image, earlier, .. } = seed;
        [("image", image), ("earlier", earlier), ("twin", twin)]
    }
}

fn make_one(
    (name, page_size, make, is_closed): SeedParameters,
    encoding: Encoding,
) -> Result<Seed> {
    let disk = SimDisk::new(CAPACITY);
    let options = Options::new()
        .page_size(page_size)
        .flush_after(Duration::MAX)
        .clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    let options = encoding.apply(options);
    let database = testing::open(&disk, &options, true, BOOT)?;
    let mut builder = SeedBuilder {
        earlier: disk.process_crash(),
        states: vec![SeedContent::new()],
        disk,
        database,
    };
    make(&mut builder)?;
    let SeedBuilder {
        disk,
        database,
        earlier,
        states,
    } = builder;
    let disk = if is_closed {
        database.close()?;
        disk
    } else {
        disk.kill()
    };
    let mut image = disk.process_crash();
    testing::anonymize(&mut image);
    Ok(Seed {
        name,
        image,
        page_size,
        earlier,
        states,
    })
}

impl SeedBuilder {
    /// One transaction.
    fn commit(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&mut WriteTxn) -> Result<()>,
    ) -> Result<()> {
        self.earlier = self.disk.process_crash();
        let mut txn = self.database.begin_write()?;
        txn.set_durability(durability);
        work(&mut txn)?;
        txn.commit()?;
        self.states.push(content(&self.database)?);
        Ok(())
    }
}

/// The contents of a database, truncated if there is more than any seed has.
pub(super) fn content(database: &Database) -> Result<SeedContent> {
    let txn = database.begin_read()?;
    let mut content = SeedContent::new();
    let mut left = BYTES_MAX;
    for info in txn.tables()? {
        let mut records = Vec::new();
        let mut take = |key: Vec<u8>, value: Vec<u8>| {
            left = left.saturating_sub(value.len() + key.len());
            records.push((key, value));
            left > 0 && records.len() < RECORDS_MAX
        };
        if info.options.expiring {
            let table = txn.open_expiring_table::<Raw, Raw>(&info.name)?;
            for record in table.iter(&txn)? {
                let (key, value) = record?;
                if !take(key, value.to_vec()) {
                    break;
                }
            }
        } else if info.options.is_multi() {
            let table = txn.open_multi_table::<Raw, Raw>(&info.name)?;
            for pair in table.iter(&txn)? {
                let (key, value) = pair?;
                if !take(key, value) {
                    break;
                }
            }
        } else {
            let table = txn.open_table::<Raw, Raw>(&info.name)?;
            for record in table.iter(&txn)? {
                let (key, value) = record?;
                if !take(key, value.to_vec()) {
                    break;
                }
            }
        }
        content.insert(info.name, records);
    }
    Ok(content)
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
fn orders(builder: &mut SeedBuilder) -> Result<()> {
    builder.commit(Durability::Durable, |txn| {
        fill(txn, "bytes", TableOptions::new(), 60)
    })?;
    builder.commit(Durability::Durable, |txn| {
        fill(txn, "bytes", TableOptions::new(), 90)?;
        let integers = TableOptions::new().order(KeyOrder::Integer).value_align(8);
        fill(txn, "integers", integers, 30)?;
        let reverse = TableOptions::new().order(KeyOrder::ReverseBytes);
        fill(txn, "reverse", reverse.counted(true), 90)?;
        fill(
            txn,
            "whole keys",
            TableOptions::new().share_prefixes(false),
            20,
        )?;
        let table = txn.create_table::<&[u8], &[u8]>("values")?;
        table.insert(txn, b"large", [1; 6000])?;
        table.insert(txn, b"small", b"")?;
        txn.create_table::<&str, u64>("empty").map(drop)
    })
}

/// Keys with one value, with a few, and with nested trees of values.
fn several_values(builder: &mut SeedBuilder) -> Result<()> {
    let fixed = TableOptions::new().value_size(ValueSize::Bytes(8));
    for rounds in 1..4 {
        builder.commit(Durability::Durable, |txn| {
            let any = txn.create_multi_table::<Raw, Raw>("any")?;
            let counted = fixed.counted(true);
            let counted = MultiTableDef::<Raw, Raw>::new("eight")
                .options(counted)
                .create(txn)?;
            for i in 0..rounds * 150 {
                let key = [[0, 1, 1, 2, 2, 2, 2, i as u8][i as usize % 8]];
                any.insert(txn, key, &number(i)[..i as usize % 8 + 1])?;
                counted.insert(txn, key, number(i))?;
            }
            counted.remove(txn, [2], number(3)).map(drop)
        })?;
    }
    Ok(())
}

/// Tables whose records expire: some have expired, and some expire in a thousand years.
fn expiring(builder: &mut SeedBuilder) -> Result<()> {
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 * 366 * 86_400);
    let limited = ExpiryOptions::new().max_records(70);
    for (name, options) in [("limited", limited), ("sessions", ExpiryOptions::new())] {
        builder.commit(Durability::Durable, |txn| {
            let table = txn.create_expiring_table::<Raw, Raw>(name, &options)?;
            for i in 0..90 {
                let expiry = match i % 3 {
                    0 => Expiry::Never,
                    1 => Expiry::At(far),
                    _ => Expiry::At(SystemTime::UNIX_EPOCH),
                };
                table.insert_with_expiry(txn, number(i), [i as u8; 40], expiry)?;
            }
            table.insert(txn, b"large", [7; 9000])
        })?;
    }
    builder.commit(Durability::Lazy, |txn| {
        let table = txn.open_expiring_table::<Raw, Raw>("sessions")?;
        table.remove(txn, number(3)).map(drop)
    })
}

fn one_record(builder: &mut SeedBuilder) -> Result<()> {
    builder.commit(Durability::Durable, |txn| {
        fill(txn, "bytes", TableOptions::new(), 40)
    })
}

/// Long keys, so that there are two levels of inner pages.
fn inner_pages(builder: &mut SeedBuilder) -> Result<()> {
    for (name, count, options) in [
        ("long keys", 60, TableOptions::new()),
        ("counted", 40, TableOptions::new().counted(true)),
    ] {
        builder.commit(Durability::Durable, |txn| {
            let table = TableDef::<Raw, Raw>::new(name)
                .options(options)
                .create(txn)?;
            (0..count).try_for_each(|i| {
                let key = [&number(i)[..], &[i as u8; 500]].concat();
                table.insert(txn, &key, [i as u8; 300])
            })
        })?;
    }
    Ok(())
}

fn large_values(builder: &mut SeedBuilder) -> Result<()> {
    for round in 1..4u8 {
        builder.commit(Durability::Durable, |txn| {
            let table = txn.create_table::<&[u8], &[u8]>("values")?;
            for i in 0..4u8 {
                let value = vec![round ^ i; 3000 + 4096 * usize::from(i)];
                table.insert(txn, [i], &value)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A durable commit followed by lazy ones.
fn lazy_commits(builder: &mut SeedBuilder) -> Result<()> {
    for round in 1..5 {
        let durability = match round {
            1 => Durability::Durable,
            _ => Durability::Lazy,
        };
        builder.commit(durability, |txn| {
            fill(txn, "bytes", TableOptions::new(), 30 * round)?;
            let table = txn.create_table::<&[u8], &[u8]>("values")?;
            table.insert(txn, b"large", [round as u8; 5000])
        })?;
    }
    Ok(())
}

/// Durable commits that only the journal has on the disk, followed by a lazy one.
fn journal(builder: &mut SeedBuilder) -> Result<()> {
    let options = Options::new().journal_bytes(8 * 4096);
    let closed = SimDisk::from_image(builder.disk.process_crash(), CAPACITY);
    builder.database = testing::open(&closed, &options, false, BOOT)?;
    builder.disk = closed;
    for round in 1..7 {
        let durability = match round {
            6 => Durability::Lazy,
            _ => Durability::Durable,
        };
        builder.commit(durability, |txn| {
            fill(txn, "bytes", TableOptions::new(), 30 + 5 * round)
        })?;
    }
    Ok(())
}

/// A reader that keeps freed pages.
fn deaths(builder: &mut SeedBuilder) -> Result<()> {
    let mut reader = None;
    for round in 1..8u8 {
        builder.commit(Durability::Durable, |txn| {
            let table = txn.create_table::<Raw, Raw>("bytes")?;
            (0..60).try_for_each(|i| table.insert(txn, number(i), [round; 60]))
        })?;
        if round == 3 {
            reader = Some(builder.database.begin_read()?);
        }
    }
    drop(reader);
    Ok(())
}

/// Many commits with open readers: the space map has bitmaps and segments of deaths.
fn checkpointed(builder: &mut SeedBuilder) -> Result<()> {
    let mut reader = None;
    const ROUNDS: u64 = 400;
    const STATES_KEPT: u64 = 8;
    for round in 0..ROUNDS {
        let mut txn = builder.database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        fill(&mut txn, "bytes", TableOptions::new(), 1 + round % 40)?;
        let table = txn.create_table::<Raw, Raw>("bytes")?;
        table.insert(&mut txn, round.to_be_bytes(), b"value")?;
        txn.commit()?;
        if round + STATES_KEPT >= ROUNDS {
            // Its record may still be there.
            builder.states.push(content(&builder.database)?);
        }
        if round % 150 == 0 {
            reader = Some(builder.database.begin_read()?);
        }
    }
    builder.commit(Durability::Durable, |txn| {
        fill(txn, "more", TableOptions::new(), 30)
    })?;
    drop(reader);
    Ok(())
}

/// Tables whose types are recorded: with short names, with the longest ones, with one name.
fn types(builder: &mut SeedBuilder) -> Result<()> {
    builder.commit(Durability::Durable, |txn| {
        let ages = txn.create_table::<&str, u64>("ages")?;
        ages.insert_many(txn, &[("Ada", 36), ("Grace", 85)])?;
        let lines = txn.create_multi_table::<u32, &str>("lines")?;
        for number in 0..50 {
            lines.insert(txn, number % 7, number.to_string())?;
        }
        let table = txn.create_table::<Raw, Raw>("long names")?;
        table.insert(txn, b"key", b"value")?;
        let name = "t".repeat(255);
        txn.set_table_types("long names", &TableTypes::new(name.clone(), name))
    })?;
    builder.commit(Durability::Durable, |txn| {
        txn.create_table::<&str, u64>("ages")?
            .insert(txn, "Alan", 41)?;
        let table = txn.create_table::<Raw, Raw>("one name")?;
        table.insert(txn, b"key", b"value")?;
        txn.set_table_types("one name", &TableTypes::new("", "one"))
    })
}
