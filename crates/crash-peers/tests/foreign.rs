//! Random files of LMDB and libmdbx, read by `teak-foreign` and by the engines themselves.

#[path = "foreign/engines.rs"]
mod engines;

use engines::{Change, Kind, Lmdb, Mdbx, Peer, Record, Writing};
use fastrand::Rng;
use std::{fs::File, path::Path};
use teak_foreign::{Environment, this_boot};

const REVERSE_KEY: u32 = 0x02;
const SEVERAL: u32 = 0x04;
const INTEGER_KEY: u32 = 0x08;
const FIXED: u32 = 0x10;
const INTEGER_VALUE: u32 = 0x20;
const REVERSE_VALUE: u32 = 0x40;

const KINDS: [Kind; 9] = [
    kind(None, 0),
    kind(Some("plain"), 0),
    kind(Some("reverse"), REVERSE_KEY),
    kind(Some("integer"), INTEGER_KEY),
    kind(Some("several"), SEVERAL),
    kind(Some("several of one size"), SEVERAL | FIXED),
    kind(
        Some("several, reverse"),
        SEVERAL | REVERSE_VALUE | REVERSE_KEY,
    ),
    kind(
        Some("several integers"),
        SEVERAL | FIXED | INTEGER_VALUE | INTEGER_KEY,
    ),
    kind(Some("nothing"), 0),
];

const fn kind(name: Option<&'static str>, flags: u32) -> Kind {
    Kind { name, flags }
}

/// A key of a table: from a few numbers, so that it is repeated, or from many.
fn key(kind: &Kind, longest: usize, random: &mut Rng) -> Vec<u8> {
    let number = match random.bool() {
        true => random.u64(..20),
        false => random.u64(..2_000),
    };
    if kind.flags & INTEGER_KEY != 0 {
        return number.to_le_bytes().to_vec();
    }
    let mut key = format!("{number}").into_bytes();
    // The length depends on the number, so that a key can be repeated.
    let len = match number % 7 {
        0 => longest,
        1 => longest / 2,
        _ => key.len() + number as usize % 5,
    };
    key.resize(len.clamp(key.len(), longest.max(key.len())), b'.');
    key
}

fn value(kind: &Kind, longest: usize, random: &mut Rng) -> Vec<u8> {
    let fill = |len: usize, random: &mut Rng| {
        let mut value = vec![0; len];
        random.fill(&mut value);
        value
    };
    if kind.flags & FIXED != 0 {
        return fill(8, random);
    }
    let len = match random.u8(..20) {
        0 if kind.flags & SEVERAL != 0 => longest,
        // Longer than any page, or about as long as one.
        0 => random.usize(..200_000),
        1 if kind.flags & SEVERAL == 0 => 4_000 + random.usize(..200),
        _ => 1 + random.usize(..40),
    };
    fill(len, random)
}

fn changes(kinds: &[Kind], longest: usize, random: &mut Rng) -> Vec<(usize, Change)> {
    let count = [3, 100, 1_500][random.usize(..3)];
    let of = random.usize(..kinds.len());
    let removes = random.u8(1..9);
    let change = |_| {
        // Most changes are in one table, so that it has several levels.
        let table = match random.u8(..3) {
            0 => random.usize(..kinds.len() - 1),
            _ => of.min(kinds.len() - 2),
        };
        let kind = &kinds[table];
        let key = key(kind, longest, random);
        match random.u8(..10) < removes {
            true => (table, Change::Remove(key)),
            false => (table, Change::Put(key, value(kind, longest, random))),
        }
    };
    (0..count).map(change).collect()
}

/// Compares the engine's contents with those read from its file. Returns the number of records.
fn compare(peer: &dyn Peer, path: &Path, label: &str) -> usize {
    let environment = Environment::open(File::open(path).expect("opens"), this_boot());
    let environment = environment.unwrap_or_else(|error| panic!("{label}: {error}"));
    let tables = environment.tables();
    let tables = tables.unwrap_or_else(|error| panic!("{label}: {error}"));
    assert_eq!(tables.len(), KINDS.len(), "{label}");
    let (mut pass, mut count) = (environment.pass(), 0);
    for kind in &KINDS {
        let found = |name: &Option<Vec<u8>>| name.as_deref() == kind.name.map(str::as_bytes);
        let table = tables.iter().find(|table| found(&table.name));
        let table = table.unwrap_or_else(|| panic!("{label}: no table {:?}", kind.name));
        let mut expected = peer.records(kind);
        if kind.name.is_none() {
            let is_named = |key: &[u8]| {
                KINDS
                    .iter()
                    .any(|kind| kind.name.map(str::as_bytes) == Some(key))
            };
            expected.retain(|(key, _)| !is_named(key));
        }
        let mut read: Vec<Record> = Vec::new();
        let mut records = pass.records(table).expect("the description is valid");
        while let Some((key, value)) = (records.next_record())
            .unwrap_or_else(|error| panic!("{label}, {:?}: {error}", kind.name))
        {
            read.push((key.to_vec(), value.to_vec()));
        }
        assert_eq!(
            table.records,
            expected.len() as u64,
            "{label}, {:?}",
            kind.name
        );
        assert!(
            read == expected,
            "{label}, {:?}: the records differ",
            kind.name
        );
        count += read.len();
    }
    environment.refuse_changed().expect("nobody writes");
    count
}

/// The number of files per test.
const FILES: u64 = 40;
/// With fewer records in all files, the test would show little.
const RECORDS_MIN: usize = 100_000;

/// Fills a file in several commits, and compares it after each. Returns the number of compared
/// records.
fn play(peer: &dyn Peer, path: &Path, longest: usize, seed: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let mut count = 0;
    for round in 0..8 {
        peer.commit(&KINDS, &changes(&KINDS, longest, &mut random));
        count += compare(peer, path, &format!("seed {seed}, round {round}"));
    }
    count
}

/// Plays with a new file for each seed. `run` gets the directory of the file.
fn play_all(run: impl Fn(&Path, u64, Writing) -> usize) {
    let counts = (0..FILES).map(|seed| {
        let directory = tempfile::tempdir().expect("a directory");
        let writing = match seed % 4 {
            3 => Writing::Mapped,
            _ => Writing::Called,
        };
        run(directory.path(), seed, writing)
    });
    let count: usize = counts.sum();
    assert!(count > RECORDS_MIN, "{count} records");
}

#[test]
fn files_of_lmdb_are_read_correctly() {
    play_all(|directory, seed, writing| {
        let path = directory.join("data.mdb");
        play(&Lmdb::create(&path, writing), &path, 500, seed)
    });
}

#[test]
fn files_of_libmdbx_are_read_correctly() {
    play_all(|directory, seed, writing| {
        let path = directory.join("mdbx.dat");
        let page_size = 256 << (seed % 9);
        // Keys and values of multi-value tables must often fit into a page.
        let longest = (page_size / 5).min(4_000);
        let engine = Mdbx::create(&path, page_size, writing);
        play(&engine, &path, longest, seed)
    });
}
