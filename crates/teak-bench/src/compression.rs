//! Compressed databases: their sizes, loads, lookups and changes, beside LevelDB and RocksDB.
//!
//! Each data set is loaded in an order that is not that of the keys, by the best call of the
//! engine. `disk` are the blocks of all files after the database was closed, and opened once more:
//! the log is in the tables then. Lookups are of random records: first in memory, at the end from
//! files that the system has dropped from memory, with the bytes that the disk read. A change is a
//! lazy transaction that writes ten records again.

use crate::{
    arguments::CompressionArguments,
    cold::disk_read_bytes,
    engines::{
        Durability, EngineKind, OpenSettings,
        store::{Connection, LookupTransaction, RecordBatches, Store, StorePair, Write},
        teak::Teak,
    },
    report::plain_table,
    statistics::Samples,
};
use anyhow::{Result, ensure};
use comfy_table::Table as Printed;
use fastrand::Rng;
use rustix::fs::{Advice, fadvise};
use serde::Serialize;
use std::{fs, fs::File, iter, os::unix::fs::MetadataExt, path::Path, time::Instant};

type OwnedRecord = (Vec<u8>, Vec<u8>);

/// Records that one lazy transaction changes.
const CHANGED_TOGETHER: usize = 10;

/// The data sets.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum RecordKind {
    /// Documents of 1.7 KB of JSON, in six records each.
    Json,
    /// Unspent coins: random keys, and values that hardly compress.
    Coins,
    /// Lists of numbers of documents, as differences in bytes of seven bits.
    Postings,
    /// Random bytes.
    Noise,
}

impl RecordKind {
    const ALL: [Self; 4] = [Self::Json, Self::Coins, Self::Postings, Self::Noise];

    fn record(self, number: u64, words: &[String], random: &mut Rng) -> OwnedRecord {
        let mut bytes = |len: usize| {
            let mut bytes = vec![0; len];
            random.fill(&mut bytes);
            bytes
        };
        match self {
            Self::Json => {
                let (document, part) = (number / 6, number % 6);
                let mut text = |count: usize| {
                    let words = iter::repeat_with(|| words[random.usize(..words.len())].as_str());
                    words.take(count).collect::<Vec<_>>().join(" ")
                };
                let (title, body, topics) = (text(3), text(20), text(5));
                let time = 1_700_000_000 + document * 7;
                let value = format!(
                    "{{\"id\":{document},\"part\":{part},\"title\":\"{title}\",\"time\":{time},\
                     \"topics\":\"{topics}\",\"body\":\"{body}\",\"kind\":\"order\"}}"
                );
                (
                    format!("doc:{document:08}:{part}").into_bytes(),
                    value.into_bytes(),
                )
            }
            Self::Coins => {
                let mut key = b"C".to_vec();
                key.extend(bytes(33));
                (key, bytes(27))
            }
            Self::Postings => {
                let mut list = Vec::new();
                let count = (3.0 / random.f64().max(0.001)) as usize;
                for _ in 0..count {
                    let mut gap = random.u64(1..=400_000 / count as u64);
                    while gap > 127 {
                        list.push(gap as u8 | 128);
                        gap >>= 7;
                    }
                    list.push(gap as u8);
                }
                (
                    format!("term{:07x}", number * 7_919 % 0xfff_ffff).into_bytes(),
                    list,
                )
            }
            Self::Noise => (bytes(16), bytes(100)),
        }
    }

    /// Records in an order that is not that of the keys.
    fn records(self, count: u64) -> Vec<OwnedRecord> {
        let mut random = Rng::with_seed(11);
        let word = |random: &mut Rng| {
            let len = random.usize(3..10);
            iter::repeat_with(|| random.lowercase()).take(len).collect()
        };
        let words: Vec<String> = (0..3000).map(|_| word(&mut random)).collect();
        let mut records: Vec<_> = (0..count)
            .map(|number| self.record(number, &words, &mut random))
            .collect();
        random.shuffle(&mut records);
        records
    }
}

/// The figures of an engine for a data set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CompressionFigure {
    data: RecordKind,
    engine: &'static str,
    /// Keys and values.
    record_bytes: u64,
    /// The blocks of the files.
    disk_bytes: u64,
    load_seconds: f64,
    /// A lookup in memory.
    get_ns: f64,
    /// A lookup from files that are not in memory.
    cold_us: f64,
    /// The bytes that it reads from the disk.
    cold_bytes: f64,
    /// A lazy transaction that changes records.
    change_us: f64,
}

/// The records of a load.
struct LoadBatches<'r>(std::slice::Iter<'r, OwnedRecord>);

impl RecordBatches for LoadBatches<'_> {
    fn next_batch(&mut self, most: usize) -> Option<Vec<StorePair<'_>>> {
        let batch = self.0.by_ref().take(most);
        let batch: Vec<_> = batch.map(|(key, value)| (&key[..], &value[..])).collect();
        (!batch.is_empty()).then_some(batch)
    }
}

/// Runs all engines with files in `directory`, and prints a line for each figure.
pub(crate) fn run_and_print(
    arguments: &CompressionArguments,
    directory: &Path,
) -> Result<Vec<CompressionFigure>> {
    let mut figures = Vec::new();
    for data in RecordKind::ALL {
        let records = data.records(arguments.records);
        let record_bytes = records
            .iter()
            .map(|(key, value)| (key.len() + value.len()) as u64)
            .sum();
        let work = CompressionWork {
            data,
            records: &records,
            record_bytes,
            gets: arguments.gets as usize,
            directory,
        };
        for kind in [EngineKind::Teak, EngineKind::TeakLz4, EngineKind::TeakZstd] {
            let opening = OpenSettings::usual(Durability::Lazy, record_bytes);
            let open = |path: &Path| Teak::open(path, &opening, kind.teak_options());
            figures.push(work.measure(kind.name(), open)?);
        }
        #[cfg(any(feature = "leveldb", feature = "rocksdb"))]
        let room = crate::engines::store::CacheBudget {
            data_bytes: record_bytes,
            cache_bytes: 1 << 30,
            write_bytes: None,
            keys: crate::engines::KeyOrder::Bytes,
        };
        #[cfg(feature = "leveldb")]
        {
            use crate::engines::log_structured::leveldb::{SNAPPY, open_compressed};
            let open = |path: &Path| open_compressed(path, Durability::Lazy, room, SNAPPY);
            figures.push(work.measure("leveldb-snappy", open)?);
        }
        #[cfg(feature = "rocksdb")]
        {
            use crate::engines::log_structured::rocksdb::{LZ4, ZSTD, open_compressed};
            for (name, compression) in [("rocksdb-lz4", LZ4), ("rocksdb-zstd", ZSTD)] {
                let open = |path: &Path| open_compressed(path, Durability::Lazy, room, compression);
                figures.push(work.measure(name, open)?);
            }
        }
    }
    println!("{}", table(&figures));
    Ok(figures)
}

/// The work of each engine.
struct CompressionWork<'r> {
    data: RecordKind,
    records: &'r [OwnedRecord],
    record_bytes: u64,
    gets: usize,
    directory: &'r Path,
}

impl CompressionWork<'_> {
    fn measure<S: Store>(
        &self,
        engine: &'static str,
        open: impl Fn(&Path) -> Result<S>,
    ) -> Result<CompressionFigure> {
        let path = self.directory.join(engine);
        fs::create_dir(&path)?;
        let begin = Instant::now();
        let store = open(&path)?;
        store
            .connect()?
            .load(&mut LoadBatches(self.records.iter()))?;
        store.sync()?;
        let load_seconds = begin.elapsed().as_secs_f64();
        store.rest()?;
        store.close()?;
        // The log becomes a table when it is opened again.
        let store = open(&path)?;
        store.rest()?;
        store.close()?;
        let disk_bytes = disk_bytes(&path)?;

        let store = open(&path)?;
        let mut warm = Samples::default();
        self.get_all(&store, self.records.len())?;
        for _ in 0..3 {
            warm.push(self.get_all(&store, self.gets)? * 1e9);
        }
        let change_us = self.change(&store)? * 1e6;
        store.sync()?;
        store.close()?;

        release(&path)?;
        let store = open(&path)?;
        let (before, gets) = (disk_read_bytes()?, self.gets.min(2000));
        let cold_us = self.get_all(&store, gets)? * 1e6;
        let cold_bytes = (disk_read_bytes()? - before) as f64 / gets as f64;
        store.close()?;
        fs::remove_dir_all(&path)?;
        Ok(CompressionFigure {
            data: self.data,
            engine,
            record_bytes: self.record_bytes,
            disk_bytes,
            load_seconds,
            get_ns: warm.median().unwrap_or_default(),
            cold_us,
            cold_bytes,
            change_us,
        })
    }

    /// Looks up records at random. Returns the seconds of each.
    fn get_all<S: Store>(&self, store: &S, gets: usize) -> Result<f64> {
        let mut random = Rng::with_seed(5);
        let mut connection = store.connect()?;
        let begin = Instant::now();
        let mut read = connection.read()?;
        for _ in 0..gets {
            let (key, value) = &self.records[random.usize(..self.records.len())];
            let mut is_right = false;
            read.get(key, |found| is_right = found.len() == value.len())?;
            ensure!(is_right, "a record is missing or wrong");
        }
        Ok(begin.elapsed().as_secs_f64() / gets as f64)
    }

    /// Writes records again, in lazy transactions. Returns the seconds of each transaction.
    fn change<S: Store>(&self, store: &S) -> Result<f64> {
        let mut random = Rng::with_seed(6);
        let (mut connection, transactions) = (store.connect()?, self.gets.min(2000));
        let begin = Instant::now();
        for _ in 0..transactions {
            let mut transaction = connection.write()?;
            for _ in 0..CHANGED_TOGETHER {
                let (key, value) = &self.records[random.usize(..self.records.len())];
                transaction.put(key, value)?;
            }
            transaction.commit()?;
        }
        Ok(begin.elapsed().as_secs_f64() / transactions as f64)
    }
}

fn disk_bytes(path: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => disk_bytes(&entry.path())?,
            false => entry.metadata()?.blocks() * 512,
        };
    }
    Ok(bytes)
}

/// Drops files from the cache of the system.
fn release(path: &Path) -> Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            release(&entry.path())?;
            continue;
        }
        let file = File::open(entry.path())?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// A line for each figure.
fn table(figures: &[CompressionFigure]) -> Printed {
    let header = [
        "data",
        "engine",
        "records MB",
        "disk MB",
        "load s",
        "get ns",
        "cold us",
        "cold bytes",
        "10 changes us",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        table.add_row([
            format!("{:?}", figure.data).to_lowercase(),
            figure.engine.to_owned(),
            format!("{:.1}", figure.record_bytes as f64 / 1e6),
            format!("{:.1}", figure.disk_bytes as f64 / 1e6),
            format!("{:.2}", figure.load_seconds),
            format!("{:.0}", figure.get_ns),
            format!("{:.1}", figure.cold_us),
            format!("{:.0}", figure.cold_bytes),
            format!("{:.1}", figure.change_us),
        ]);
    }
    table
}
