//! `teak put`, `teak del` and `teak table`.

use crate::support::{TestDir, numbered_dump};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

#[test]
fn put_creates_replaces_and_reports() {
    let dir = TestDir::new();
    assert_eq!(dir.succeed(&["put", "a.teak", "k", "one"]), "");
    let report = dir.json(&["put", "a.teak", "k", "two", "--json"]);
    assert_eq!(
        (&report["transaction"], &report["replaced"]),
        (&2.into(), &true.into())
    );
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "two\n");
    dir.succeed(&[
        "put",
        "a.teak",
        "--hex",
        "00ff",
        "--value-format",
        "hex",
        "cafe",
        "-t",
        "bytes",
    ]);
    assert_eq!(
        dir.succeed(&["scan", "a.teak", "-t", "bytes", "--format", "hex"]),
        "00ff\tcafe\n"
    );
    dir.succeed(&["put", "a.teak", "-k", "-v"]);
    assert_eq!(dir.succeed(&["get", "a.teak", "-k"]), "-v\n");
}

#[test]
fn put_reads_a_value_from_a_file() {
    let dir = TestDir::new();
    dir.write("value", "from\na file");
    dir.succeed(&["put", "a.teak", "file", "--value-file", "value"]);
    assert_eq!(
        dir.succeed(&["get", "a.teak", "file", "-f", "raw"]),
        "from\na file"
    );
    let large = "large ".repeat(100_000);
    dir.run_with_input(
        &["put", "a.teak", "pipe", "--value-file", "-"],
        large.as_bytes(),
    );
    assert_eq!(dir.succeed(&["get", "a.teak", "pipe", "-f", "raw"]), large);
    dir.run(&["put", "a.teak", "k"]).fails(2, "VALUE");
    dir.run(&["put", "a.teak", "k", "--value-file", "none"])
        .fails(6, "reading none failed");
    dir.run(&["put", "a.teak", &"k".repeat(100_000), "v"])
        .fails(2, "too long");
}

#[test]
fn del_removes_existing_records() {
    let dir = TestDir::new();
    dir.run(&["del", "a.teak", "k"]).fails(4, "a.teak");
    dir.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(
        dir.json(&["del", "a.teak", "k", "--json"])["transaction"],
        2
    );
    dir.run(&["del", "a.teak", "k"])
        .fails(1, "there is no key \"k\"");
    dir.run(&["get", "a.teak", "k"])
        .fails(1, "there is no key \"k\"");
}

#[test]
fn tables_are_created_renamed_cleared_and_dropped() {
    let dir = TestDir::new();
    let names = || -> Vec<String> {
        let tables = dir.json(&["tables", "a.teak", "--json"]);
        let tables = tables.as_array().expect("a list of tables").iter();
        tables
            .map(|table| table["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    dir.run(&["table", "drop", "a.teak", "one"])
        .fails(4, "a.teak");
    dir.succeed(&["table", "create", "a.teak", "one"]);
    dir.run(&["table", "create", "a.teak", "one"])
        .fails(2, "already exists");
    dir.succeed(&["table", "create", "a.teak", "two", "--order", "integer"]);
    assert_eq!(names(), ["one", "two"]);
    dir.succeed(&["table", "rename", "a.teak", "one", "zero"]);
    dir.run(&["table", "rename", "a.teak", "one", "other"])
        .fails(1, "one");
    dir.run(&["table", "rename", "a.teak", "zero", "two"])
        .fails(2, "already exists");
    assert_eq!(names(), ["two", "zero"]);
    dir.succeed(&["put", "a.teak", "k", "v", "-t", "zero"]);
    dir.succeed(&["table", "clear", "a.teak", "zero"]);
    assert_eq!(dir.succeed(&["scan", "a.teak", "-t", "zero"]), "");
    dir.run(&["table", "clear", "a.teak", "none"])
        .fails(1, "none");
    dir.succeed(&["table", "drop", "a.teak", "two"]);
    dir.run(&["table", "drop", "a.teak", "two"]).fails(1, "two");
    assert_eq!(names(), ["zero"]);
}

#[test]
fn a_database_in_use_can_be_changed_but_not_salvaged() {
    let dir = TestDir::new();
    // A load that waits for more input. It is a separate process, because programs that other tests
    // start would briefly inherit a lock of this one.
    let mut load = dir
        .command(&["load", "-", "a.teak", "--batch", "1", "--acknowledge"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let dump = numbered_dump(1);
    let (begin, end) = dump.split_once("DATA").expect("the end of a dump");
    let mut stdin = load.stdin.take().expect("a pipe to the program");
    stdin
        .write_all(begin.as_bytes())
        .expect("the program reads");
    let mut stdout = BufReader::new(load.stdout.take().expect("a pipe from the program"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line for the commit");
    assert_eq!(line, "committed 1 1\n");

    dir.succeed(&["put", "a.teak", "k", "v", "--table", "beside"]);
    let salvage = dir.run(&["salvage", "a.teak", "b.teak"]);
    salvage.fails(4, "in use");
    stdin
        .write_all(format!("DATA{end}").as_bytes())
        .expect("the program reads");
    drop(stdin);
    // Read the report, or the process could not end.
    stdout.read_to_string(&mut line).expect("the report");
    assert!(load.wait().expect("the program ends").success());
    dir.succeed(&["put", "a.teak", "k", "v"]);
}
