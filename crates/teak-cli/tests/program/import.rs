//! `teak import`.

use crate::support::{ProgramOutput, TestDir};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that another engine has made.
pub(crate) fn foreign(name: &str) -> PathBuf {
    let directory = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/repository/crates/teak-foreign/tests/data"
    );
    Path::new(directory).join(name)
}

/// The argument for a stored file.
fn source(name: &str) -> String {
    let prefix = match name.starts_with("lmdb") {
        true => "lmdb",
        false => "mdbx",
    };
    format!("{prefix}:{}", foreign(name).display())
}

/// The tables of a file and their record counts, as its engine reports them; the main one as `-`.
fn expected(name: &str) -> Vec<(String, u64)> {
    let text =
        fs::read_to_string(foreign(&format!("{name}.expected"))).expect("a file of the tests");
    let table = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].to_owned(), words[2].parse().expect("a number"))
    };
    text.lines().map(table).collect()
}

fn tables(dir: &TestDir, database: &str) -> Vec<(String, u64)> {
    let report = dir.json(&["tables", database, "--json"]);
    let table = |table: &Value| {
        let name = table["name"].as_str().expect("a name");
        (
            name.to_owned(),
            table["records"].as_u64().expect("a number"),
        )
    };
    report
        .as_array()
        .expect("a list")
        .iter()
        .map(table)
        .collect()
}

/// Checks that a run has left no files.
fn left_nothing(dir: &TestDir, run: &ProgramOutput) {
    let left: Vec<_> = fs::read_dir(dir.path("")).expect("the directory").collect();
    assert!(left.is_empty(), "{left:?} after {run:?}");
}

#[test]
fn tables_arrive_with_their_kinds_and_all_records() {
    for name in ["lmdb-0.9.mdb", "lmdb-1.0.mdb", "mdbx.dat"] {
        let dir = TestDir::new();
        let report = dir.json(&["import", &source(name), "a.teak", "--json"]);
        let mut expected = expected(name);
        let records: u64 = expected.iter().map(|(_, records)| records).sum();
        assert_eq!(report["records"], records);
        expected[0].0 = "main".to_owned();
        expected.sort();
        assert_eq!(tables(&dir, "a.teak"), expected, "{name}");
        dir.succeed(&["check", "a.teak"]);

        let dump = dir.succeed(&["dump", "a.teak", "--all"]);
        let header = |table: &str| {
            let from = dump
                .split_once(&format!("database={table}\n"))
                .expect("is there")
                .1;
            from.split_once("HEADER=END")
                .expect("a header")
                .0
                .to_owned()
        };
        assert!(header("back").contains("reversekey=1"));
        assert!(header("longs").contains("integerkey=1"));
        assert!(!header("plain").contains("=1\n"), "{}", header("plain"));
        assert!(header("dup-back").contains("dupsort=1\nreversedup=1"));
        let kinds = "integerkey=1\nduplicates=1\ndupsort=1\ndupfixed=1\nintegerdup=1\n";
        assert!(header("dup-ints").contains(kinds));
        assert_eq!(dir.succeed(&["get", "a.teak", "note"]), "of the main one\n");
        assert_eq!(
            dir.succeed(&["get", "a.teak", "key", "--table", "one"]),
            "value\n"
        );
        let run = dir.succeed(&["get", "a.teak", "run"]);
        assert_eq!(run, format!("{}\n", "m".repeat(9_000)));
    }
}

#[test]
fn sequences_and_marks_arrive() {
    let dir = TestDir::new();
    dir.succeed(&["import", &source("mdbx.dat"), "a.teak"]);
    let stat = dir.json(&["stat", "a.teak", "--json"]);
    assert_eq!(stat["marks"], serde_json::json!([840_000, 7, 3]));
    let list = dir.json(&["tables", "a.teak", "--json"]);
    let plain = (list.as_array().expect("a list").iter())
        .find(|table| table["name"] == "plain")
        .expect("is there");
    assert_eq!(plain["sequence"], 42);
}

#[test]
fn an_empty_file_becomes_an_empty_table() {
    for name in ["lmdb-0.9-empty.mdb", "lmdb-1.0-empty.mdb", "mdbx-empty.dat"] {
        let dir = TestDir::new();
        let said = dir.succeed(&["import", &source(name), "a.teak", "--main", "all"]);
        assert!(said.contains("imported 0 records in 1 table"), "{said}");
        assert_eq!(tables(&dir, "a.teak"), [("all".to_owned(), 0)]);
    }
}

#[test]
fn an_order_of_the_application_is_noticed() {
    for name in [
        "lmdb-0.9-custom.mdb",
        "lmdb-1.0-custom.mdb",
        "mdbx-custom.dat",
    ] {
        let dir = TestDir::new();
        let arguments = ["import", &source(name), "a.teak"];
        let run = dir.run(&arguments);
        run.fails(
            5,
            "table \"custom\" of the source is not greater than the one before it",
        );
        run.fails(5, "--unordered");
        left_nothing(&dir, &run);
        dir.succeed(&[&arguments[..], &["--unordered", "custom"]].concat());
        assert_eq!(tables(&dir, "a.teak"), [("custom".to_owned(), 30)]);
        assert_eq!(
            dir.succeed(&["get", "a.teak", "841", "--table", "custom"]),
            "of an order of its own\n"
        );
        dir.run(&["import", &source(name), "b.teak", "--unordered", "none"])
            .fails(1, "there is no table \"none\"");
    }
}

#[test]
fn tables_are_chosen_and_renamed() {
    let dir = TestDir::new();
    let from = source("lmdb-0.9.mdb");
    let import = |database: &'static str, words: &[&str]| {
        dir.run(&[&["import", &from, database], words].concat())
    };
    let one = import(
        "a.teak",
        &["--table", "one", "-t", "first", "--main", "first"],
    );
    assert_eq!(one.code, 0, "{one:?}");
    let found = [("first".to_owned(), 3), ("one".to_owned(), 1)];
    assert_eq!(tables(&dir, "a.teak"), found);
    let renamed = import("b.teak", &["--table", "one", "--rename", "one=a=b"]);
    assert_eq!(renamed.code, 0, "{renamed:?}");
    assert_eq!(tables(&dir, "b.teak"), [("a=b".to_owned(), 1)]);
    import("c.teak", &["--table", "none"]).fails(1, "there is no table \"none\"");
    import("c.teak", &["--rename", "one"]).fails(2, "OLD=NEW");
    import("c.teak", &["--main", "one"]).fails(2, "two tables would be named \"one\"");
    import("c.teak", &["--page-size", "5000"]).fails(2, "page");
    import("a.teak", &[]).fails(4, "a.teak already exists");
    assert!(!dir.path("c.teak").exists());
}

#[test]
fn directories_are_searched_and_prefixes_compared() {
    let dir = TestDir::new();
    for (directory, name, file) in [
        ("l", "lmdb-1.0.mdb", "data.mdb"),
        ("m", "mdbx.dat", "mdbx.dat"),
    ] {
        fs::create_dir(dir.path(directory)).expect("a directory");
        fs::copy(foreign(name), dir.path(directory).join(file)).expect("copies");
    }
    dir.succeed(&["import", "lmdb:l", "a.teak"]);
    dir.succeed(&["import", "mdbx:m", "b.teak"]);
    let import = |source: &str| dir.run(&["import", source, "c.teak"]);
    import("mdbx:l").fails(2, "write lmdb:l");
    import("lmdb:m").fails(2, "write mdbx:m");
    import("lmdb:m/mdbx.dat").fails(2, "is a file of libmdbx; write mdbx:m/mdbx.dat");
    import("l").fails(2, "write lmdb:PATH, mdbx:PATH or leveldb:PATH");
    import("lmdb:none").fails(4, "none");
    import("lmdb:a.teak").fails(4, "not a file of LMDB or libmdbx");
    assert!(!dir.path("c.teak").exists());
}

#[test]
fn damage_is_reported_and_leaves_nothing() {
    let dir = TestDir::new();
    let elsewhere = TestDir::new();
    let whole = fs::read(foreign("lmdb-0.9.mdb")).expect("a file of the tests");
    for (len, change) in [(whole.len() / 2, None), (whole.len(), Some(0xEE))] {
        let mut bytes = whole[..len].to_vec();
        if let Some(change) = change {
            // All but the first two pages.
            for page in bytes.chunks_mut(4096).skip(2) {
                page[..16].fill(change);
            }
        }
        elsewhere.write("data.mdb", bytes);
        let source = format!("lmdb:{}", elsewhere.path("data.mdb").display());
        let run = dir.run(&["import", &source, "a.teak"]);
        run.fails(3, "nothing was imported");
        run.fails(3, "page ");
        left_nothing(&dir, &run);
    }
}

#[test]
fn an_import_takes_no_name_of_a_lock_file() {
    let dir = TestDir::new();
    let from = source("lmdb-0.9.mdb");
    dir.succeed(&["put", "a.teak", "k", "v"]);
    fs::copy(dir.path("a.teak"), dir.path("b.teak-lock")).expect("a copy");
    for (target, says) in [
        ("a.teak-lock", "is the name of the lock file of a database"),
        ("b.teak", "b.teak-lock is a database"),
    ] {
        dir.run(&["import", &from, target]).fails(2, says);
        assert!(!dir.path(target).exists());
    }
    assert_eq!(fs::read_dir(dir.path("")).expect("lists it").count(), 2);
}

#[test]
fn an_import_that_is_killed_leaves_no_database_or_all_of_it() {
    let from = source("lmdb-0.9.mdb");
    let mut finished = 0;
    for wait_ms in 0..30 {
        let dir = TestDir::new();
        let mut child = dir
            .command(&["import", &from, "a.teak"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program runs");
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        child.kill().expect("the program is killed");
        child.wait().expect("the program ends");
        if dir.path("a.teak").exists() {
            finished += 1;
            dir.succeed(&["check", "a.teak"]);
            assert_eq!(tables(&dir, "a.teak").len(), expected("lmdb-0.9.mdb").len());
        } else {
            // The next import removes the leftovers.
            dir.succeed(&["import", &from, "a.teak"]);
            let left = fs::read_dir(dir.path("")).expect("the directory");
            assert_eq!(left.count(), 1);
        }
    }
    assert!(finished < 30, "none was killed before its end");
}
