//! Files that are damaged or hostile give errors: no panic, no endless loop.
//!
//! The seeds of the fuzz targets are mutated in thousands of ways, always identical ones. Half of
//! the mutations get correct checksums of pages and records.

use super::{SimDisk, exercise, fuzz_page, fuzz_record, open, redone, repair};
use crate::{KeyOrder, MultiTableDef, Options, TableOptions, ValueSize, codec::Bytes};
use std::{
    fs,
    ops::Range,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

const PAGE: usize = 4096;
/// Of the seed that has a journal.
const JOURNAL_LEN: usize = 8 * PAGE;
const MUTATIONS: u64 = 700;
/// More than enough for one database.
const TIME_MAX: Duration = Duration::from_secs(60);

fn seeds() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repository/fuzz/seeds/open");
    let mut seeds: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    seeds.sort();
    let databases = seeds.iter().filter(|(name, _)| name.ends_with(".teak"));
    assert!(
        databases.count() >= 3,
        "the seeds are kept with the sources"
    );
    seeds
}

#[test]
fn a_damaged_journal_has_valid_checksums() {
    let (_, seed) = seeds()
        .into_iter()
        .find(|(name, _)| name == "journal.teak")
        .unwrap();
    let first = (0..seed.len())
        .step_by(PAGE)
        .find(|at| seed[*at..].starts_with(b"TeakJou"))
        .unwrap();
    let is_next = |at: &usize| seed[*at + 24..][..8] == seed[*at - PAGE + 8..][..8];
    let after = (first + PAGE..seed.len()).step_by(PAGE);
    let last = after.take_while(is_next).last().unwrap();
    let mut damaged = seed.clone();
    // The last byte of what the last entry has of a page.
    let len = u32::from_le_bytes(seed[last + 16..][..4].try_into().unwrap());
    damaged[last + len as usize - 1] ^= 1;
    let others = |image: &[u8]| {
        let redone = redone(image).unwrap();
        [&redone[..first], &redone[first + JOURNAL_LEN..]].concat()
    };
    assert!(
        others(&damaged) == others(&seed),
        "they are in the file, too"
    );
    repair(&mut damaged);
    assert!(others(&damaged) != others(&seed));
}

/// Ends the process if one piece of work takes too long.
struct Watchdog {
    work: Arc<Mutex<(String, Instant)>>,
    is_done: Arc<AtomicBool>,
}

impl Watchdog {
    fn new() -> Self {
        let work = Arc::new(Mutex::new((String::new(), Instant::now())));
        let is_done = Arc::new(AtomicBool::new(false));
        let (watched, stop) = (Arc::clone(&work), Arc::clone(&is_done));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(200));
                let (name, begin) = watched.lock().unwrap().clone();
                if begin.elapsed() > TIME_MAX {
                    eprintln!("{name} takes more than {TIME_MAX:?}");
                    std::process::abort();
                }
            }
        });
        Self { work, is_done }
    }

    fn begin(&self, name: String) {
        *self.work.lock().unwrap() = (name, Instant::now());
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
    }
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }

    /// A random offset in the image, mostly at numbers: at the head of pages and of records.
    fn offset_below(&mut self, len: usize) -> usize {
        let page = self.below(len / PAGE) * PAGE;
        let within = match self.below(8) {
            0..4 => self.below(24),
            4 | 5 => self.below(160),
            6 => self.below(512),
            _ => self.below(PAGE),
        };
        (page + within).min(len.saturating_sub(9))
    }
}

/// Numbers at the limits of a field.
const EDGES: [u64; 8] = [0, 1, 2, 0x7f, 0xff, 0xffff, 0xffff_ffff, u64::MAX];

fn mutate(image: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(3) {
        if image.len() < 2 * PAGE {
            return;
        }
        let at = rng.offset_below(image.len());
        match rng.below(12) {
            0..3 => image[at] ^= 1 << rng.below(8),
            3 | 4 => image[at] = rng.below(256) as u8,
            5..8 => {
                let len = [1, 2, 4, 8][rng.below(4)];
                let edge = EDGES[rng.below(EDGES.len())].wrapping_sub(rng.below(2) as u64);
                image[at..at + len].copy_from_slice(&edge.to_le_bytes()[..len]);
            }
            8 => {
                let (a, b) = (rng.below(image.len() / PAGE), rng.below(image.len() / PAGE));
                let page = image[a * PAGE..][..PAGE].to_vec();
                image.copy_within(b * PAGE..(b + 1) * PAGE, a * PAGE);
                image[b * PAGE..][..PAGE].copy_from_slice(&page);
            }
            9 => image[at / PAGE * PAGE..][..PAGE].fill([0, 0xff][rng.below(2)]),
            10 => {
                let len = rng.below(300).min(image.len() - at);
                (0..len).for_each(|i| image[at + i] = rng.below(256) as u8);
            }
            _ => image.truncate(at),
        }
    }
}

#[test]
fn seeds_are_valid() {
    for (name, image) in seeds() {
        if name.ends_with(".teak") {
            assert!(
                exercise(&image),
                "{name}; write it anew with `cargo xtask seeds`"
            );
            let mut repaired = image.clone();
            repair(&mut repaired);
            assert!(exercise(&repaired), "{name} is damaged by a repair");
        }
    }
}

#[test]
fn hostile_files_give_errors() {
    let watchdog = Watchdog::new();
    for (name, seed) in seeds() {
        exercise(&seed);
        if seed.len() < PAGE {
            continue;
        }
        for number in 0..MUTATIONS {
            survive_mutation(&watchdog, &name, &seed, number);
        }
    }
}

/// Performs all operations on a seed that was mutated in the way of this number.
fn survive_mutation(watchdog: &Watchdog, name: &str, seed: &[u8], number: u64) {
    watchdog.begin(format!("{name}, mutation {number}"));
    let mut image = seed.to_vec();
    mutate(&mut image, &mut Rng(number));
    if !number.is_multiple_of(4) {
        repair(&mut image);
    }
    let result = std::panic::catch_unwind(|| exercise(&image));
    assert!(result.is_ok(), "{name}, mutation {number}");
}

/// A database with keys that have one value, a few, and nested trees of them.
fn with_several_values() -> Vec<u8> {
    let (disk, options) = (SimDisk::new(4 << 20), Options::new());
    let database = open(&disk, &options, true, [3; 16]).unwrap();
    let mut txn = database.begin_write().unwrap();
    let tables = [
        ("any", TableOptions::new()),
        (
            "eight",
            TableOptions::new()
                .value_size(ValueSize::Bytes(8))
                .counted(true),
        ),
        (
            "numbers",
            TableOptions::new().value_order(KeyOrder::Integer),
        ),
    ];
    for (name, options) in tables {
        let table = MultiTableDef::<Bytes, Bytes>::new(name)
            .options(options)
            .create(&mut txn)
            .unwrap();
        for (key, count) in (0..9u64).map(|key| (key, [1, 3, 20, 400][key as usize / 2 % 4])) {
            for value in 0..count {
                let value = u64::wrapping_mul(value, 0x9e37_79b9_7f4a_7c15).to_le_bytes();
                table.insert(&mut txn, key.to_be_bytes(), value).unwrap();
            }
        }
    }
    txn.commit().unwrap();
    database.close().unwrap();
    disk.process_crash()
}

#[test]
fn hostile_tables_of_several_values_give_errors() {
    let seed = with_several_values();
    assert!(exercise(&seed));
    let mutated = |numbers: Range<u64>| {
        let watchdog = Watchdog::new();
        numbers.for_each(|number| survive_mutation(&watchdog, "several values", &seed, number));
    };
    let half = MUTATIONS / 4;
    thread::scope(|threads| {
        threads.spawn(|| mutated(0..half));
        mutated(half..2 * half);
    });
}

#[test]
fn hostile_pages_and_records_give_errors() {
    for (_, seed) in seeds() {
        for number in 0..MUTATIONS {
            let mut image = seed.clone();
            mutate(&mut image, &mut Rng(number));
            let page = image
                .chunks(PAGE)
                .nth(number as usize % 16)
                .unwrap_or_default();
            fuzz_page(page);
            fuzz_record(page);
        }
    }
}

type Replay = fn(&[u8]);

/// The initial corpus of fuzzing, kept or found, without its tools.
#[test]
fn the_fuzzing_corpus_causes_no_panic() {
    let replays: [(&str, Replay); 3] = [
        ("open", |bytes| {
            exercise(bytes);
        }),
        ("page", fuzz_page),
        ("record", fuzz_record),
    ];
    let watchdog = Watchdog::new();
    // Only the seeds are in the package of this crate.
    let folders = [
        "tests/repository/fuzz/seeds",
        "../../fuzz/corpus",
        "../../fuzz/artifacts",
    ]
    .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    for (target, replay) in replays {
        for folder in &folders {
            let Ok(files) = fs::read_dir(folder.join(target)) else {
                continue;
            };
            for path in files.map(|file| file.unwrap().path()) {
                watchdog.begin(path.display().to_string());
                let bytes = fs::read(&path).unwrap();
                let result = std::panic::catch_unwind(|| replay(&bytes));
                assert!(result.is_ok(), "{}", path.display());
            }
        }
    }
}
