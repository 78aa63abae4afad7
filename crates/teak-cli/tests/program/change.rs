//! `teak put`, `teak del` and `teak table`.

use crate::support::{Place, numbered_dump};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

#[test]
fn put_creates_replaces_and_reports() {
    let place = Place::new();
    assert_eq!(place.succeed(&["put", "a.teak", "k", "one"]), "");
    let report = place.json(&["put", "a.teak", "k", "two", "--json"]);
    assert_eq!(
        (&report["transaction"], &report["replaced"]),
        (&2.into(), &true.into())
    );
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "two\n");
    place.succeed(&[
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
        place.succeed(&["scan", "a.teak", "-t", "bytes", "--format", "hex"]),
        "00ff\tcafe\n"
    );
    place.succeed(&["put", "a.teak", "-k", "-v"]);
    assert_eq!(place.succeed(&["get", "a.teak", "-k"]), "-v\n");
}

#[test]
fn put_reads_a_value_from_a_file() {
    let place = Place::new();
    place.write("value", "from\na file");
    place.succeed(&["put", "a.teak", "file", "--value-file", "value"]);
    assert_eq!(
        place.succeed(&["get", "a.teak", "file", "-f", "raw"]),
        "from\na file"
    );
    let large = "large ".repeat(100_000);
    place.run_with_input(
        &["put", "a.teak", "pipe", "--value-file", "-"],
        large.as_bytes(),
    );
    assert_eq!(
        place.succeed(&["get", "a.teak", "pipe", "-f", "raw"]),
        large
    );
    place.run(&["put", "a.teak", "k"]).fails(2, "VALUE");
    place
        .run(&["put", "a.teak", "k", "--value-file", "none"])
        .fails(6, "reading none failed");
    place
        .run(&["put", "a.teak", &"k".repeat(100_000), "v"])
        .fails(2, "too long");
}

#[test]
fn del_removes_what_is_there() {
    let place = Place::new();
    place.run(&["del", "a.teak", "k"]).fails(4, "a.teak");
    place.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(
        place.json(&["del", "a.teak", "k", "--json"])["transaction"],
        2
    );
    place
        .run(&["del", "a.teak", "k"])
        .fails(1, "there is no key \"k\"");
    place
        .run(&["get", "a.teak", "k"])
        .fails(1, "there is no key \"k\"");
}

#[test]
fn tables_are_created_renamed_cleared_and_dropped() {
    let place = Place::new();
    let names = || -> Vec<String> {
        let tables = place.json(&["tables", "a.teak", "--json"]);
        let tables = tables.as_array().expect("a list of tables").iter();
        tables
            .map(|table| table["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    place
        .run(&["table", "drop", "a.teak", "one"])
        .fails(4, "a.teak");
    place.succeed(&["table", "create", "a.teak", "one"]);
    place
        .run(&["table", "create", "a.teak", "one"])
        .fails(2, "already exists");
    place.succeed(&["table", "create", "a.teak", "two", "--order", "integer"]);
    assert_eq!(names(), ["one", "two"]);
    place.succeed(&["table", "rename", "a.teak", "one", "zero"]);
    place
        .run(&["table", "rename", "a.teak", "one", "other"])
        .fails(1, "one");
    place
        .run(&["table", "rename", "a.teak", "zero", "two"])
        .fails(2, "already exists");
    assert_eq!(names(), ["two", "zero"]);
    place.succeed(&["put", "a.teak", "k", "v", "-t", "zero"]);
    place.succeed(&["table", "clear", "a.teak", "zero"]);
    assert_eq!(place.succeed(&["scan", "a.teak", "-t", "zero"]), "");
    place
        .run(&["table", "clear", "a.teak", "none"])
        .fails(1, "none");
    place.succeed(&["table", "drop", "a.teak", "two"]);
    place
        .run(&["table", "drop", "a.teak", "two"])
        .fails(1, "two");
    assert_eq!(names(), ["zero"]);
}

#[test]
fn a_database_in_use_can_be_changed_but_not_salvaged() {
    let place = Place::new();
    // A load that waits for more input. It is a separate process, because programs that other tests
    // start would briefly inherit a lock of this one.
    let mut load = place
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

    place.succeed(&["put", "a.teak", "k", "v", "--table", "beside"]);
    let salvage = place.run(&["salvage", "a.teak", "b.teak"]);
    salvage.fails(4, "in use");
    stdin
        .write_all(format!("DATA{end}").as_bytes())
        .expect("the program reads");
    drop(stdin);
    // Read the report, or the process could not end.
    stdout.read_to_string(&mut line).expect("the report");
    assert!(load.wait().expect("the program ends").success());
    place.succeed(&["put", "a.teak", "k", "v"]);
}
