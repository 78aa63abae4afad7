//! `teak snapshot`, and `--snapshot` of the commands that read.

use crate::support::{TestDir, parse};
use std::process::Stdio;

/// A database with a snapshot `monday` that has other records.
fn changed() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.tsv", "ash\t1\noak\t2\n");
    dir.succeed(&["load", "in.tsv", "a.teak"]);
    dir.succeed(&["snapshot", "create", "a.teak", "monday"]);
    dir.succeed(&["put", "a.teak", "oak", "5"]);
    dir.succeed(&["put", "a.teak", "--table", "new", "key", "value"]);
    dir
}

const MONDAY: &str = "ash\t1\noak\t2\n";
const NOW: &str = "ash\t1\noak\t5\n";

#[test]
fn snapshots_are_listed() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "key", "value"]);
    let list = || dir.succeed(&["snapshot", "list", "a.teak"]);
    assert_eq!(list(), "no named snapshots\n");
    let none = dir.json(&["snapshot", "list", "a.teak", "--json"]);
    assert_eq!(none.to_string(), "[]");

    let dir = changed();
    let text = dir.succeed(&["snapshot", "list", "a.teak"]);
    let line = text.lines().nth(1).expect("a line for the snapshot");
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(fields[..2], ["monday", "2"], "{text}");
    assert!(fields[2].ends_with('Z') && fields[2].len() == 20, "{text}");
    let report = dir.json(&["snapshot", "list", "a.teak", "--json"]);
    let info = &report[0];
    assert_eq!(
        (&info["name"], &info["transaction"]),
        (&"monday".into(), &2.into())
    );
    assert_eq!(info["time"], fields[2]);
    assert!(info["kept_bytes"].as_u64() >= Some(4096), "{report}");
}

#[test]
fn names_are_taken_and_given_back() {
    let dir = changed();
    let create = ["snapshot", "create", "a.teak", "monday"];
    dir.run(&create)
        .fails(2, "snapshot \"monday\" already exists");
    let report = dir.json(&["snapshot", "drop", "a.teak", "monday", "--json"]);
    assert_eq!(report["transaction"], 5);
    let drop = dir.run(&["snapshot", "drop", "a.teak", "monday", "--json"]);
    assert_eq!(
        (drop.code, &parse(&drop.stderr)["kind"]),
        (1, &"not_found".into())
    );
    dir.succeed(&create);
    dir.run(&["snapshot", "create", "none.teak", "x"])
        .fails(4, "none.teak");
    assert!(!dir.path("none.teak").exists());
}

#[test]
fn commands_that_read_read_a_snapshot() {
    let dir = changed();
    let past = |arguments: &[&str]| {
        dir.succeed(&[arguments, &["a.teak", "--snapshot", "monday"]].concat())
    };
    assert_eq!(past(&["scan"]), MONDAY);
    assert_eq!(dir.succeed(&["scan", "a.teak"]), NOW);
    assert_eq!(past(&["dump", "--format", "tsv"]), MONDAY);
    assert!(!past(&["dump", "--all"]).contains("database=new"));
    assert!(!past(&["tables"]).contains("new"));
    let get = |key| dir.run(&["get", "a.teak", key, "--snapshot", "monday"]);
    assert_eq!(get("oak").stdout, "2\n");
    get("elm").fails(1, "there is no key \"elm\"");
    for command in ["scan", "dump", "tables"] {
        let run = dir.run(&[command, "a.teak", "--snapshot", "tuesday"]);
        run.fails(1, "there is no snapshot \"tuesday\"");
    }
}

#[test]
fn a_rollback_names_its_target_and_loses_nothing() {
    let dir = changed();
    let rollback = [
        "snapshot", "rollback", "a.teak", "monday", "--keep", "before",
    ];
    let text = dir.succeed(&rollback);
    assert!(
        text.contains("rolled back to \"monday\", the state of transaction 2 of 2"),
        "{text}"
    );
    assert!(
        text.contains("the state before the rollback is kept as \"before\""),
        "{text}"
    );
    assert_eq!(dir.succeed(&["scan", "a.teak"]), MONDAY);
    dir.run(&["scan", "a.teak", "--table", "new"])
        .fails(1, "there is no table");
    dir.run(&rollback)
        .fails(2, "snapshot \"before\" already exists");

    let report = dir.json(&["snapshot", "rollback", "a.teak", "before", "--json"]);
    assert_eq!(report["back_to"]["name"], "before");
    assert_eq!(report["kept_transaction"], serde_json::Value::Null);
    assert_eq!(dir.succeed(&["scan", "a.teak"]), NOW);
    assert_eq!(
        dir.succeed(&["get", "a.teak", "key", "--table", "new"]),
        "value\n"
    );
    dir.succeed(&["check", "a.teak"]);

    // A rollback that fails leaves no snapshot.
    let run = dir.run(&["snapshot", "rollback", "a.teak", "none", "--keep", "left"]);
    run.fails(1, "there is no snapshot \"none\"");
    assert!(
        !dir.succeed(&["snapshot", "list", "a.teak"])
            .contains("left")
    );
}

#[test]
fn check_and_stat_report_snapshots() {
    let dir = changed();
    let text = dir.succeed(&["check", "a.teak"]);
    assert!(text.contains("and in 1 named snapshot"), "{text}");
    assert_eq!(dir.json(&["check", "a.teak", "--json"])["snapshots"], 1);
    let list = dir.json(&["snapshot", "list", "a.teak", "--json"]);
    let stat = dir.json(&["stat", "a.teak", "--json"]);
    assert_eq!(
        (&stat["snapshots"], &stat["snapshots_kept_bytes"]),
        (&1.into(), &list[0]["kept_bytes"])
    );
    // Another name of the same state keeps the same pages, which are counted once.
    dir.succeed(&["snapshot", "rollback", "a.teak", "monday", "--keep", "one"]);
    let text = dir.succeed(&["stat", "a.teak"]);
    assert!(text.contains("  2 named snapshots, at least "), "{text}");
    dir.succeed(&["snapshot", "drop", "a.teak", "monday"]);
    dir.succeed(&["snapshot", "drop", "a.teak", "one"]);
    assert!(!dir.succeed(&["stat", "a.teak"]).contains("named"));
    assert!(!dir.succeed(&["check", "a.teak"]).contains("named"));
}

/// The snapshot has the state just before the rollback.
#[test]
fn a_rollback_while_others_write_keeps_just_the_state_before() {
    let dir = changed();
    let records: String = (0..20_000)
        .map(|number| format!("k{number}\tv\n"))
        .collect();
    dir.write("many.tsv", records);
    let load = "load many.tsv a.teak --table other --batch 1 --durability lazy --no-verify";
    let mut command = dir.command(&load.split(' ').collect::<Vec<_>>());
    let mut writer = command
        .stdout(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut names = vec!["monday".to_owned()];
    for round in 0..5 {
        let name = format!("round-{round}");
        let report = dir.json(&[
            "snapshot", "rollback", "a.teak", "monday", "--keep", &name, "--json",
        ]);
        let [kept, transaction] =
            ["kept_transaction", "transaction"].map(|field| report[field].as_u64());
        assert_eq!(kept.map(|kept| kept + 1), transaction, "{report}");
        names.push(name);
    }
    assert!(writer.wait().expect("the writer ends").success());
    let list = dir.json(&["snapshot", "list", "a.teak", "--json"]);
    let listed = list.as_array().into_iter().flatten();
    let listed: Vec<_> = listed.filter_map(|info| info["name"].as_str()).collect();
    assert_eq!(listed, names);
    dir.succeed(&["check", "a.teak"]);
}
