//! Loops over typed records, as the users of each interface write them.
//!
//! Nanoseconds per record of loops over typed records, written as the users of each interface write
//! them, and compared with Teak's raw cursor. The values are `u64`. Keys are text of 18 bytes with
//! long common prefixes (`texts`) or `u64` (`numbers`).
//!
//! | work | one operation |
//! |---|---|
//! | `scan_typed` | a record of a scan of all |
//! | `range_typed` | a record of a range of 50, from a random record on, with both bounds given |
//!
//! | loop | how it reads |
//! |---|---|
//! | `teak-cursor` | `Cursor::next`, bytes; the value is decoded |
//! | `teak` | `for record in table.iter(&txn)?`, and `table.range(..).iter(&txn)?` |
//! | `teak-lend` | `while let Some((key, value)) = records.lend()?` |
//! | `heed` | `for record in table.iter(&txn)?`, with `types::Str`, `types::U64` |
//! | `redb` | `for record in table.iter()?`, and `value()` of both guards |
//! | `fjall` | it has no types: `for record in keyspace.iter()`, then `str::from_utf8` and `u64::from_be_bytes` |
//!
//! All are in one process and take turns after each scan, or after all ranges. Each loop computes a
//! sum over all keys and values, which is compared. All data are in memory, and read once before.

#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "heed")]
mod heed;
mod records;
#[cfg(feature = "redb")]
mod redb;
mod report;
mod teak;

use report::{TypedFigure, describe_run, table};

use crate::{
    arguments::{TypedArguments, TypedLoop},
    bench::{add_round, turn_order},
    statistics::Samples,
};
use anyhow::{Context, Result, ensure};
use records::{RANGE_LEN, ReadTyped, RecordSum, TypedRecords};
use std::{
    fs,
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

/// Measures all loops, and prints the figures.
pub(crate) fn run_and_print(typed: &TypedArguments, directory: &Path) -> Result<Vec<TypedFigure>> {
    println!("{}", describe_run(typed));
    let figures = run(typed, directory)?;
    println!("\n{}", table(&figures));
    Ok(figures)
}

/// The records that a loop reads.
#[derive(Clone, Copy)]
enum TypedWork {
    ScanTexts,
    ScanNumbers,
    RangeTexts,
    RangeNumbers,
}

impl TypedWork {
    const ALL: [Self; 4] = [
        Self::ScanTexts,
        Self::ScanNumbers,
        Self::RangeTexts,
        Self::RangeNumbers,
    ];

    /// The name of the work, and of its keys.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ScanTexts => ("scan_typed", "texts"),
            Self::ScanNumbers => ("scan_typed", "numbers"),
            Self::RangeTexts => ("range_typed", "texts"),
            Self::RangeNumbers => ("range_typed", "numbers"),
        }
    }

    fn run(self, reader: &dyn ReadTyped, records: &TypedRecords) -> Result<RecordSum> {
        match self {
            Self::ScanTexts => reader.scan_texts(),
            Self::ScanNumbers => reader.scan_numbers(),
            Self::RangeTexts => reader.range_texts(&records.text_ranges),
            Self::RangeNumbers => reader.range_numbers(&records.number_ranges),
        }
    }

    /// The sum that the loop has to find.
    fn expected(self, records: &TypedRecords) -> RecordSum {
        let mut sum = RecordSum::default();
        match self {
            Self::ScanTexts => records.add_texts(0..records.texts.len(), &mut sum),
            Self::ScanNumbers => records.add_numbers(0..records.texts.len(), &mut sum),
            Self::RangeTexts => {
                let starts = records.starts.iter();
                starts.for_each(|&at| records.add_texts(at..at + RANGE_LEN, &mut sum));
            }
            Self::RangeNumbers => {
                let starts = records.starts.iter();
                starts.for_each(|&at| records.add_numbers(at..at + RANGE_LEN, &mut sum));
            }
        }
        sum
    }
}

/// Runs `typed` with databases below `directory`. Reports progress on standard error.
fn run(typed: &TypedArguments, directory: &Path) -> Result<Vec<TypedFigure>> {
    let records = TypedRecords::new(typed);
    let mut readers: Vec<Box<dyn ReadTyped>> = Vec::new();
    for reader in &typed.loops {
        eprintln!("loading {reader}, not measured");
        let directory = directory.join(reader.to_string());
        fs::create_dir_all(&directory)?;
        readers.push(open(*reader, &directory, &records)?);
    }
    let mut figures = Vec::new();
    for work in TypedWork::ALL {
        let (name, keys) = work.names();
        eprintln!("{name}, {keys}");
        let samples = measure(typed, work, &readers, &records)?;
        for (reader, samples) in typed.loops.iter().zip(samples) {
            figures.push(TypedFigure {
                work: name,
                keys,
                reader: *reader,
                ns_per_op: samples.median().context("there was no round")?,
                spread: samples.spread().context("there was no round")?,
            });
        }
    }
    Ok(figures)
}

/// Creates the database of a loop.
fn open(reader: TypedLoop, directory: &Path, records: &TypedRecords) -> Result<Box<dyn ReadTyped>> {
    Ok(match reader {
        TypedLoop::TeakCursor => Box::new(teak::TypedCursor(teak::load(directory, records)?)),
        TypedLoop::Teak => Box::new(teak::TypedIter(teak::load(directory, records)?)),
        TypedLoop::TeakLend => Box::new(teak::TypedLend(teak::load(directory, records)?)),
        #[cfg(feature = "heed")]
        TypedLoop::Heed => Box::new(heed::load(directory, records)?),
        #[cfg(feature = "redb")]
        TypedLoop::Redb => Box::new(redb::load(directory, records)?),
        #[cfg(feature = "fjall")]
        TypedLoop::Fjall => Box::new(fjall::load(directory, records)?),
    })
}

/// Runs a work in turns. The first round is not counted.
fn measure(
    typed: &TypedArguments,
    work: TypedWork,
    readers: &[Box<dyn ReadTyped>],
    records: &TypedRecords,
) -> Result<Vec<Samples>> {
    let expected = work.expected(records);
    let mut samples = vec![Samples::default(); readers.len()];
    for round in 0..=typed.repeat as usize {
        let mut sums = vec![Duration::ZERO; readers.len()];
        for index in turn_order(readers.len(), round) {
            let began = Instant::now();
            let found = black_box(work.run(&*readers[index], records)?);
            sums[index] = began.elapsed();
            let reader = typed.loops[index];
            ensure!(
                found == expected,
                "{reader} found {found:?} instead of {expected:?}"
            );
        }
        if round > 0 {
            add_round(&mut samples, &sums, expected.count as usize);
        }
    }
    Ok(samples)
}
