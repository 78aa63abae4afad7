//! `teak import` and `teak export` of directories of LevelDB.

use crate::import::foreign;
use crate::support::TestDir;
use std::fs;
use std::path::Path;

fn source(name: &str) -> String {
    format!("leveldb:{}", foreign(name).display())
}

/// Copies a stored directory.
fn copy(name: &str, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(foreign(name)).expect("a directory of the tests") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copies");
    }
}

#[test]
fn records_come_and_go_unchanged() {
    for name in ["leveldb", "leveldb-zstd"] {
        let dir = TestDir::new();
        let report = dir.json(&["import", &source(name), "a.teak", "--json"]);
        let expected = fs::read_to_string(foreign(&format!("{name}.expected"))).expect("is there");
        let records = expected.split(' ').next().expect("a number");
        assert_eq!(report["records"].to_string(), records);
        assert_eq!(report["format"], "LevelDB");
        dir.succeed(&["check", "a.teak"]);
        for more in [
            &["--compression", "none", "--bloom-bits", "0"][..],
            &["--file-size", "65536"],
        ] {
            let export = [&["export", "leveldb:out", "a.teak"], more].concat();
            let said = dir.succeed(&export);
            assert!(said.contains(" of table \"main\""), "{said}");
            dir.succeed(&["import", "leveldb:out", "b.teak", "--main", "again"]);
            let again = dir.succeed(&["dump", "b.teak", "--table", "again", "--format", "tsv"]);
            assert_eq!(again, dir.succeed(&["dump", "a.teak", "--format", "tsv"]));
            fs::remove_dir_all(dir.path("out")).expect("is there");
            fs::remove_file(dir.path("b.teak")).expect("is there");
        }
        let left = fs::read_dir(dir.path("")).expect("the directory").count();
        assert_eq!(left, 1, "only the database is left");
    }
}

#[test]
fn values_are_the_newest_ones() {
    let dir = TestDir::new();
    dir.succeed(&["import", &source("leveldb"), "a.teak"]);
    let get = |key: &str| dir.run(&["get", "a.teak", key]);
    assert_eq!(get("key-000004").stdout, "in the log\n");
    assert_eq!(get("key-000003").stdout, "again\n");
    assert_eq!(get("key-000001").stdout, "\n");
    assert_eq!(get("key-000010").code, 1, "is deleted");
}

#[test]
fn another_comparator_needs_the_users_word() {
    let dir = TestDir::new();
    let import = ["import", &source("leveldb-order"), "a.teak"];
    let run = dir.run(&import);
    run.fails(4, "keys are compared by \"from-the-end\"");
    run.fails(4, "With --unordered");
    dir.run(&[&import[..], &["--unordered", "other"]].concat())
        .fails(1, "there is no such table");
    dir.succeed(&[&import[..], &["--unordered", "main"]].concat());
    assert_eq!(
        dir.json(&["tables", "a.teak", "--json"])[0]["records"],
        1_400
    );
}

#[test]
fn keys_that_are_too_long_need_larger_pages() {
    let dir = TestDir::new();
    let import = ["import", &source("leveldb-long"), "a.teak"];
    let run = dir.run(&import);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("--page-size 65536"), "{run:?}");
    assert!(!dir.path("a.teak").exists());
    dir.succeed(&[&import[..], &["--page-size", "65536"]].concat());
}

#[test]
fn a_write_that_did_not_finish_is_left_out_with_a_warning() {
    let dir = TestDir::new();
    copy("leveldb", &dir.path("torn"));
    let log = dir.path("torn/000060.log");
    let bytes = fs::read(&log).expect("is there");
    fs::write(&log, &bytes[..bytes.len() - 1]).expect("writes");
    let run = dir.run(&["import", "leveldb:torn", "a.teak"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("are not a complete record"), "{run:?}");
}

#[test]
fn damage_and_wrong_targets_are_reported_and_leave_nothing() {
    let dir = TestDir::new();
    copy("leveldb", &dir.path("damaged"));
    let table = dir.path("damaged/000059.ldb");
    let mut bytes = fs::read(&table).expect("is there");
    bytes[1_000] ^= 1;
    fs::write(&table, bytes).expect("writes");
    let import =
        |source: &str, more: &[&str]| dir.run(&[&["import", source, "a.teak"], more].concat());
    import("leveldb:damaged", &[]).fails(3, "000059.ldb, byte ");
    import("leveldb:none", &[]).fails(4, "none");
    import("leveldb:.", &[]).fails(4, "has no file CURRENT");
    import("leveldb:damaged", &["--rename", "a=b"]).fails(2, "LevelDB has no tables");
    let inside = dir.run(&["import", &source("leveldb"), "damaged/a.teak"]);
    assert_eq!(
        inside.code, 0,
        "another directory of LevelDB is a directory"
    );
    dir.run(&["import", "leveldb:damaged", "damaged/b.teak"])
        .fails(2, "is in the directory of LevelDB");
    let left = fs::read_dir(dir.path("")).expect("the directory").count();
    assert_eq!(left, 1);
}

#[test]
fn tables_that_leveldb_cannot_have_are_refused() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    dir.succeed(&["table", "create", "a.teak", "several", "--multi"]);
    let export =
        |target: &str, more: &[&str]| dir.run(&[&["export", target, "a.teak"], more].concat());
    export("leveldb:out", &["--table", "several"]).fails(2, "has several values for a key");
    export("leveldb:out", &["--table", "none"]).fails(1, "none");
    export("out", &[]).fails(2, "write leveldb:DIRECTORY");
    export("leveldb:.", &[]).fails(2, "is not empty");
    export("leveldb:none/out", &[]).fails(6, "none/out");
    assert!(!dir.path("out").exists());
    fs::create_dir(dir.path("out")).expect("a directory");
    assert_eq!(
        export("leveldb:out", &[]).code,
        0,
        "an empty directory is replaced"
    );
    dir.succeed(&["import", "leveldb:out", "b.teak"]);
}
