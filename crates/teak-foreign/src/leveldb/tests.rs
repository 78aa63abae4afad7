//! Directories that LevelDB has made, damaged ones, and others that it would not open.

use super::{LevelDb, entry::EntryVersion, sorter::Sorter};
use crate::{Error, Result};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

fn stored(name: &str) -> PathBuf {
    Path::new("tests/data").join(name)
}

/// A copy of a stored directory.
fn copy(name: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(stored(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

/// The number of records, and the hash of all of them, as the stored files have them.
fn digest(path: &Path, is_unordered: bool) -> Result<String> {
    let source = LevelDb::open(path)?;
    let temporary = std::env::temp_dir();
    let mut records = source.records(&temporary, is_unordered)?;
    let (mut count, mut hash) = (0, 0xcbf2_9ce4_8422_2325_u64);
    let mut add = |part: &[u8]| {
        for byte in (part.len() as u32).to_le_bytes().iter().chain(part) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    while let Some((key, value)) = records.next_record()? {
        add(&key);
        add(&value);
        count += 1;
    }
    source.refuse_changed()?;
    Ok(format!("{count} {hash:016x}\n"))
}

fn expected(name: &str) -> String {
    fs::read_to_string(stored(&format!("{name}.expected"))).unwrap()
}

#[test]
fn records_are_those_that_leveldb_reads() {
    for name in ["leveldb", "leveldb-zstd", "leveldb-long"] {
        for is_unordered in [false, true] {
            let found = digest(&stored(name), is_unordered).unwrap();
            assert_eq!(found, expected(name), "{name}");
        }
    }
}

#[test]
fn other_comparators_are_named_and_their_records_can_be_sorted() {
    let name = "leveldb-order";
    let error = digest(&stored(name), false).unwrap_err();
    assert!(error.to_string().contains("\"from-the-end\""), "{error}");
    assert_eq!(digest(&stored(name), true).unwrap(), expected(name));
}

#[test]
fn a_written_directory_has_the_records() {
    let directory = tempfile::tempdir().unwrap();
    for (bits, is_compressed) in [(10, true), (0, false)] {
        let path = directory.path().join(bits.to_string());
        fs::create_dir(&path).unwrap();
        let options = super::LevelDbOptions {
            is_compressed,
            bloom_bits_per_key: bits,
            // So that there are several tables.
            table_bytes: 20 << 10,
        };
        let mut writer = super::LevelDbWriter::create(&path, options).unwrap();
        let source = LevelDb::open(&stored("leveldb")).unwrap();
        let mut records = source.records(directory.path(), false).unwrap();
        while let Some((key, value)) = records.next_record().unwrap() {
            writer.add(&key, &value).unwrap();
        }
        assert!(matches!(
            writer.add(b"key-", b""),
            Err(Error::NotSorted { index: 2600 })
        ));
        assert_eq!(writer.finish().unwrap(), 2600);
        assert_eq!(digest(&path, false).unwrap(), expected("leveldb"));
        assert!(
            super::LevelDbWriter::create(&path, options).is_err(),
            "is not empty"
        );
    }
}

/// Each key has an old value and a newer one.
#[test]
fn entries_beyond_the_budget_are_sorted_in_files() {
    for (fan_in, files) in [(1000, 60..120), (2, 3..9), (4, 4..11)] {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::with_limits(directory.path(), 1000, fan_in);
        for number in 0..2000_u64 {
            let key = (number * 7919 % 1000).to_be_bytes();
            let version = EntryVersion::new(number, 1).unwrap();
            sorter.push(&key, version, &number.to_be_bytes()).unwrap();
        }
        let runs = sorter.finish().unwrap();
        assert!(files.contains(&runs.len()), "{} files", runs.len());
        let mut records = super::LevelDbRecords::new(runs, Default::default(), 0);
        for expected in 0..1000_u64 {
            let (key, value) = records.next_record().unwrap().unwrap();
            assert_eq!(key, expected.to_be_bytes());
            let value = u64::from_be_bytes(value[..].try_into().unwrap());
            assert_eq!((value * 7919 % 1000, value >= 1000), (expected, true));
        }
        assert!(records.next_record().unwrap().is_none());
        let left = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 0, "temporary files have no names");
    }
}

#[test]
fn a_torn_end_of_a_log_is_left_out() {
    let log = fs::read(stored("leveldb/000060.log")).unwrap();
    let whole = LevelDb::open(&stored("leveldb")).unwrap();
    assert_eq!(
        whole
            .records(&std::env::temp_dir(), false)
            .unwrap()
            .torn_bytes(),
        0
    );
    for len in [log.len() - 1, log.len() - 8, 3] {
        let copy = copy("leveldb");
        fs::write(copy.path().join("000060.log"), &log[..len]).unwrap();
        let torn = LevelDb::open(copy.path()).unwrap();
        let mut records = torn.records(&std::env::temp_dir(), false).unwrap();
        let mut count = 0;
        while records.next_record().unwrap().is_some() {
            count += 1;
        }
        assert!(
            (2599..=2600).contains(&count),
            "{count} records of {len} bytes"
        );
        assert_eq!(records.torn_bytes() > 0, len != 3);
    }
}

#[test]
fn damage_before_the_end_of_a_log_is_an_error() {
    let copy = copy("leveldb");
    let path = copy.path().join("000060.log");
    let mut log = fs::read(&path).unwrap();
    log[20] ^= 1;
    fs::write(&path, log).unwrap();
    let error = digest(copy.path(), false).unwrap_err();
    assert!(matches!(error, Error::DamagedFile { .. }), "{error}");
}

#[test]
fn other_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |part: &str| {
        let error = LevelDb::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused("has no file CURRENT");
    fs::write(directory.path().join("CURRENT"), "TEAK data.teak\n").unwrap();
    refused("names no manifest, but is \"TEAK data.teak\"");
    fs::write(directory.path().join("CURRENT"), "MANIFEST-../../1\n").unwrap();
    refused("names no manifest");
    fs::write(directory.path().join("CURRENT"), "MANIFEST-000007\n").unwrap();
    refused("MANIFEST-000007");
    fs::write(directory.path().join("MANIFEST-000007"), "").unwrap();
    refused("the manifest does not describe a database");
}

#[test]
fn missing_and_short_tables_are_errors_that_name_them() {
    for name in ["000059.ldb", "000005.ldb"] {
        let copy = copy("leveldb");
        let path = copy.path().join(name);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = digest(copy.path(), false).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        fs::remove_file(&path).unwrap();
        let error = digest(copy.path(), false).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        // Old versions of LevelDB use the other name.
        fs::write(path.with_extension("sst"), &bytes).unwrap();
        assert_eq!(digest(copy.path(), false).unwrap(), expected("leveldb"));
    }
}

#[cfg(unix)]
fn lock(file: &fs::File) {
    let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::fcntl_lock(file, operation).unwrap();
}

#[cfg(windows)]
fn lock(file: &fs::File) {
    file.try_lock().unwrap();
}

/// The other process of the next test: holds the lock that the variable names as LevelDB does.
#[test]
fn hold_the_lock() {
    let Some(path) = std::env::var_os("LOCK_TO_HOLD") else {
        return;
    };
    let file = fs::File::options().write(true).open(path).unwrap();
    lock(&file);
    println!("is held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_directory_that_a_program_has_open_is_refused() {
    let copy = copy("leveldb");
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leveldb::tests::hold_the_lock", "--nocapture"])
        .env("LOCK_TO_HOLD", copy.path().join("LOCK"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap());
    let mut lines = output.by_ref().lines();
    assert!(lines.any(|line| line.unwrap().contains("is held")));
    let error = LevelDb::open(copy.path()).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    LevelDb::open(copy.path()).unwrap();
}

#[test]
fn changes_without_the_lock_are_noticed() {
    let copy = copy("leveldb");
    fs::remove_file(copy.path().join("LOCK")).unwrap();
    let source = LevelDb::open(copy.path()).unwrap();
    assert!(!source.is_locked());
    source.refuse_changed().unwrap();
    let path = copy.path().join("000060.log");
    let mut log = fs::read(&path).unwrap();
    log.push(0);
    fs::write(&path, log).unwrap();
    let error = source.refuse_changed().unwrap_err();
    assert!(matches!(error, Error::FilesChanged { .. }), "{error}");
}

/// Files with changed, missing and repeated bytes give records or an error.
#[test]
fn damaged_directories_give_errors() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut errors = 0;
    const ROUNDS: usize = 600;
    for round in 0..ROUNDS {
        let name = ["leveldb", "leveldb-zstd", "leveldb-order"][round % 3];
        let copy = copy(name);
        let mut files: Vec<PathBuf> = fs::read_dir(copy.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for _ in 0..random.usize(1..4) {
            let path = &files[random.usize(..files.len())];
            let mut bytes = fs::read(path).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = random.usize(..bytes.len());
            match random.u8(..4) {
                0 => bytes[at] = random.u8(..),
                1 => bytes[at] ^= 1 << random.u8(..8),
                2 => bytes.truncate(at),
                _ => {
                    let end = (at + random.usize(1..40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let at = random.usize(..=bytes.len());
                    bytes.splice(at..at, piece);
                }
            }
            fs::write(path, bytes).unwrap();
        }
        errors += usize::from(digest(copy.path(), random.bool()).is_err());
    }
    assert!(errors > ROUNDS / 2, "{errors} errors");
}
