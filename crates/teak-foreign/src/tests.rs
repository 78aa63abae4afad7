//! Files made by the engines, intact and with all kinds of damage.

use crate::{Engine, Environment, Error, Order, Result, Table, bytes::u64_at};
use std::{fs, path::PathBuf};

const FILES: [&str; 3] = ["lmdb-0.9.mdb", "lmdb-1.0.mdb", "mdbx.dat"];

fn path(name: &str) -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    PathBuf::from(directory).join(name)
}

fn file(name: &str) -> Vec<u8> {
    fs::read(path(name)).expect("a file of the tests")
}

fn open(bytes: Vec<u8>) -> Result<Environment<Vec<u8>>> {
    Environment::open(bytes, None)
}

/// FNV-1a of lengths, keys and values.
fn mix(hash: u64, bytes: &[u8]) -> u64 {
    let len = (bytes.len() as u32).to_le_bytes();
    let all = len.iter().chain(bytes);
    all.fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    })
}

/// The line that `make.c` writes for a table.
fn line(table: &Table, records: u64, hash: u64) -> String {
    let name = table.name.as_deref().unwrap_or(b"-");
    let flags = table.tree.flags;
    let name = String::from_utf8_lossy(name);
    match flags {
        0 => format!("{name} 0 {records} {hash:016x}\n"),
        _ => format!("{name} {flags:#x} {records} {hash:016x}\n"),
    }
}

/// Reads a whole file, and describes it like `make.c`.
fn read(environment: &Environment<Vec<u8>>) -> Result<String> {
    let mut text = String::new();
    let mut pass = environment.pass();
    for table in environment.tables()? {
        let mut records = pass.records(&table)?;
        let (mut count, mut hash) = (0, 14_695_981_039_346_656_037);
        while let Some((key, value)) = records.next_record()? {
            hash = mix(mix(hash, &key), &value);
            count += 1;
        }
        assert_eq!(count, table.records);
        text.push_str(&line(&table, count, hash));
    }
    Ok(text)
}

#[test]
fn files_have_the_contents_their_engines_report() {
    for (name, engine) in [
        ("lmdb-0.9", Engine::Lmdb),
        ("lmdb-1.0", Engine::Lmdb),
        ("mdbx", Engine::Mdbx),
    ] {
        for kind in ["", "-empty", "-custom"] {
            let extension = match engine {
                Engine::Lmdb => "mdb",
                Engine::Mdbx => "dat",
            };
            let name = format!("{name}{kind}.{extension}");
            let environment = open(file(&name)).expect("opens");
            assert_eq!(environment.engine(), engine);
            assert_eq!(environment.page_size(), 4096);
            assert_eq!(environment.notes(), [""; 0], "{name}");
            let expected = String::from_utf8(file(&format!("{name}.expected"))).expect("is text");
            assert_eq!(read(&environment).expect("reads"), expected, "{name}");
            environment.refuse_changed().expect("is the same still");
        }
    }
}

#[test]
fn orders_and_kinds_of_values_are_reported() {
    for name in FILES {
        let tables = open(file(name)).expect("opens").tables().expect("reads");
        let table = |name: &str| {
            let found = |table: &&Table| table.name.as_deref() == Some(name.as_bytes());
            tables.iter().find(found).expect("is there")
        };
        assert_eq!(table("plain").order, Order::Bytes);
        assert_eq!(table("back").order, Order::ReverseBytes);
        assert_eq!(table("longs").order, Order::Integer);
        assert_eq!(table("plain").values, None);
        let values = table("dup-back").values.expect("several");
        assert_eq!(
            (values.order, values.is_fixed),
            (Order::ReverseBytes, false)
        );
        let values = table("dup-ints").values.expect("several");
        assert_eq!((values.order, values.is_fixed), (Order::Integer, true));
        assert!(table("deep").tree.depth >= 3, "{:?}", table("deep"));
        assert_eq!(
            table("plain").sequence,
            if name == "mdbx.dat" { 42 } else { 0 }
        );
    }
    let marks = |name| open(file(name)).expect("opens").marks();
    assert_eq!(marks("mdbx.dat"), Some([840_000, 7, 3]));
    assert_eq!(marks("mdbx-empty.dat"), None);
    assert_eq!(marks("lmdb-0.9.mdb"), None);
}

/// Changes bytes of a file and opens it.
fn changed(name: &str, changes: &[(usize, &[u8])]) -> Result<Environment<Vec<u8>>> {
    let mut bytes = file(name);
    for (at, change) in changes {
        bytes[*at..at + change.len()].copy_from_slice(change);
    }
    open(bytes)
}

#[test]
fn unsupported_files_are_called_by_their_name() {
    let refused = |opened: Result<Environment<Vec<u8>>>, text: &str| {
        let error = opened.expect_err("cannot be read");
        assert!(error.to_string().contains(text), "{error}");
        assert!(
            matches!(error, Error::Unsupported(_) | Error::NotRecognised(_)),
            "{error:?}"
        );
    };
    refused(open(Vec::new()), "not a file of LMDB or libmdbx");
    refused(open(vec![b'x'; 100_000]), "not a file of LMDB or libmdbx");
    let lmdb =
        |at: usize, change: &[u8]| changed("lmdb-0.9.mdb", &[(at, change), (4096 + at, change)]);
    refused(lmdb(16, &0xBEEF_C0DE_u32.to_be_bytes()), "order of bytes");
    refused(lmdb(20, &999_u32.to_le_bytes()), "version 999");
    refused(lmdb(20, &3_u32.to_le_bytes()), "32-bit");
    // A 32-bit program writes its magic number four bytes earlier.
    let narrow = [0xBEEF_C0DE_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    refused(lmdb(12, &narrow), "32-bit");
    refused(
        changed(
            "lmdb-1.0.mdb",
            &[(24 + 28, &[8, 0x20]), (4096 + 24 + 28, &[8, 0x20])],
        ),
        "encrypted",
    );
    let mdbx = |change: &[u8]| {
        let changes = [0, 4096, 8192].map(|page| (page + 20, change));
        changed("mdbx.dat", &changes)
    };
    refused(mdbx(&[9]), "version 9");
    let mut stamp = file("mdbx.dat")[20..28].to_vec();
    stamp.reverse();
    refused(mdbx(&stamp), "order of bytes");
}

#[test]
fn a_first_page_that_is_damaged_leaves_the_other() {
    for (name, len) in [
        ("lmdb-0.9.mdb", 4096),
        ("lmdb-1.0.mdb", 4096),
        ("mdbx.dat", 4096),
    ] {
        let mut transactions = Vec::new();
        for page in 0..2 {
            let environment = changed(name, &[(page * len, &[0xEE; 64])]).expect("opens");
            let note = environment.notes().first().expect("a note");
            assert!(
                note.starts_with(&format!("page {page} does not count")),
                "{note}"
            );
            transactions.push(environment.transaction());
        }
        assert_ne!(transactions[0], transactions[1], "{name}");
    }
    let nothing = changed(
        "mdbx.dat",
        &[0, 4096, 8192].map(|page| (page + 28, &[9_u8][..])),
    );
    let error = nothing.expect_err("no state");
    assert!(
        error.to_string().contains("not written to its end"),
        "{error}"
    );
}

#[test]
fn unflushed_libmdbx_commits_count_in_the_same_boot_only() {
    let bytes = file("mdbx.dat");
    let newest = open(bytes.clone()).expect("opens").transaction();
    let at = (0..3)
        .map(|page| page * 4096 + 20)
        .find(|at| u64_at(&bytes, at + 8) == Some(newest))
        .expect("the page that counts");
    let mut weak = bytes;
    weak[at + 168..at + 176].fill(0);
    weak[at + 192..at + 208].copy_from_slice(&7_u128.to_le_bytes());
    for (boot, is_read) in [(None, false), (Some(8), false), (Some(7), true)] {
        let environment = Environment::open(weak.clone(), boot).expect("opens");
        assert_eq!(environment.transaction() == newest, is_read, "{boot:?}");
        let note = environment.notes().first().expect("a note");
        assert!(note.contains("not flushed"), "{note}");
    }
    // An unflushed file is readable only in the same boot.
    for page in [0, 4096, 8192] {
        weak[page + 20 + 168..page + 20 + 176].fill(0);
        weak[page + 20 + 192..page + 20 + 208].copy_from_slice(&7_u128.to_le_bytes());
    }
    let error = Environment::open(weak.clone(), None).expect_err("no state");
    assert!(
        error.to_string().contains("before any state was flushed"),
        "{error}"
    );
    assert!(Environment::open(weak, Some(7)).is_ok());
}

#[test]
fn a_commit_while_it_is_read_is_an_error() {
    let directory = tempdir();
    for name in FILES {
        let copy = directory.join(name);
        fs::copy(path(name), &copy).expect("copies");
        let opened = Environment::open(fs::File::open(&copy).expect("opens"), None);
        let environment = opened.expect("opens");
        environment.refuse_changed().expect("is the same");
        let mut bytes = file(name);
        let (at, len) = match name {
            "lmdb-0.9.mdb" => (16 + 128, 1),
            "lmdb-1.0.mdb" => (24 + 128, 1),
            _ => (20 + 8, 176 - 8 + 1),
        };
        for page in [0, 4096] {
            bytes[page + at] = 99;
            bytes[page + at + len - 1] = 99;
        }
        fs::write(&copy, bytes).expect("writes");
        let error = environment.refuse_changed().expect_err("has changed");
        assert!(matches!(error, Error::Changed { is: 99, .. }), "{error:?}");
    }
    fs::remove_dir_all(directory).expect("removes");
}

fn tempdir() -> PathBuf {
    let directory = std::env::temp_dir().join(format!("teak-foreign-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

#[test]
fn a_file_that_is_cut_short_is_an_error_or_has_all() {
    for name in FILES {
        let bytes = file(name);
        let expected = read(&open(bytes.clone()).expect("opens")).expect("reads");
        for len in (0..bytes.len()).step_by(1000) {
            let cut = open(bytes[..len].to_vec()).and_then(|cut| {
                // An older state may be intact.
                let is_newest = cut.notes().is_empty();
                Ok((is_newest, read(&cut)?))
            });
            if let Ok((true, found)) = cut {
                assert_eq!(found, expected, "{name} cut to {len}");
            }
        }
    }
}

#[test]
fn a_page_cycle_is_refused() {
    for name in FILES {
        let bytes = file(name);
        let environment = open(bytes.clone()).expect("opens");
        let format = environment.state.format;
        let tables = environment.tables().expect("reads");
        let deep = tables
            .iter()
            .find(|table| table.name.as_deref() == Some(b"deep"));
        let root = deep.and_then(|deep| deep.tree.root).expect("a root");
        let page = &bytes[root as usize * 4096..][..4096];
        let pointer = crate::bytes::u16_at(page, format.header_len()).expect("a pointer");
        let node = root as usize * 4096 + usize::from(pointer) + format.pointer_base();
        let error = changed(name, &[(node, &(root as u32).to_le_bytes())])
            .and_then(|changed| read(&changed))
            .expect_err("leads to itself");
        assert!(
            error.to_string().contains("another page has led before"),
            "{error}"
        );
    }
}

/// Damages a file in a random way.
fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let len = bytes.len();
    let page = random.usize(..len / 4096) * 4096;
    // Headers, pointers and the numbers of the first pages more often than values.
    let at = match random.u8(..4) {
        0 => random.usize(..len),
        1 => page + random.usize(..32),
        2 => page + random.usize(..200),
        _ => page + 4096 - 1 - random.usize(..600),
    };
    let number = match random.u8(..4) {
        0 => random.u64(..),
        1 => random.u64(..300),
        2 => u64::MAX - random.u64(..3),
        _ => 1 << random.u32(..64),
    };
    match random.u8(..7) {
        0 | 1 => bytes[at] ^= 1 << random.u8(..8),
        2 | 3 => {
            let width = [1, 2, 4, 8][random.usize(..4)].min(len - at);
            bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
        }
        4 => {
            let end = (at + random.usize(..300)).min(len);
            bytes[at..end].fill(random.choice([0, 0xFF]).unwrap_or(0));
        }
        5 => {
            let from = random.usize(..len / 4096) * 4096;
            bytes.copy_within(from..from + 4096, page);
        }
        _ => bytes.truncate(at),
    }
}

#[test]
fn damaged_files_give_records_or_errors() {
    const ROUNDS: u64 = 3_000;
    for name in FILES {
        let whole = file(name);
        let (mut errors, mut read_count) = (0, 0);
        for seed in 0..ROUNDS {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = whole.clone();
            for _ in 0..random.u8(1..4) {
                if bytes.len() >= 8192 {
                    damage(&mut bytes, &mut random);
                }
            }
            let outcome = open(bytes).and_then(|environment| read_bounded(&environment));
            match outcome {
                Ok(()) => read_count += 1,
                Err(_) => errors += 1,
            }
        }
        assert!(errors > ROUNDS / 10, "{name}: {errors} errors");
        assert!(read_count > ROUNDS / 10, "{name}: {read_count} were read");
    }
}

/// Reads a whole file, in at most as many steps as it has bytes.
fn read_bounded(environment: &Environment<Vec<u8>>) -> Result<()> {
    let bound = environment.source.len();
    let (mut pass, mut steps) = (environment.pass(), 0);
    for table in environment.tables()? {
        let mut records = pass.records(&table)?;
        while let Some((key, value)) = records.next_record()? {
            steps += 1;
            assert!(steps <= bound && key.len() <= 65_536 && value.len() <= bound);
        }
    }
    Ok(())
}
