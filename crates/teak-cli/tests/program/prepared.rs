//! `teak prepared`, and other commands while a transaction is prepared.

use crate::support::TestDir;
use teak::{Database, codec::Raw};

/// A database with a prepared transaction that changes the value of a key.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "oak", "1"]);
    prepare(&dir);
    dir
}

fn prepare(dir: &TestDir) {
    let database = Database::open(dir.path("a.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Raw, Raw>("main").unwrap();
    table.insert(&mut txn, "oak", "2").unwrap();
    txn.prepare("transfer 7").unwrap();
    database.close().unwrap();
}

#[test]
fn the_prepared_transaction_is_listed() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "oak", "1"]);
    let list = ["prepared", "a.teak"];
    assert_eq!(dir.succeed(&list), "no prepared transaction\n");
    let none = dir.json(&["prepared", "a.teak", "--json"]);
    assert_eq!(none.to_string(), "[]");
    prepare(&dir);
    let text = dir.succeed(&list);
    let line = text.lines().nth(1).expect("a line for the transaction");
    assert!(line.starts_with("transfer 7  "), "{text}");
    let report = dir.json(&["prepared", "a.teak", "--json"]);
    let info = &report[0];
    assert_eq!(
        (&info["name"], &info["transaction"]),
        (&"transfer 7".into(), &2.into())
    );
    let time = info["time"].as_str().expect("a time");
    assert!(text.contains(time) && time.len() == 20, "{text}");
    assert!(info["changed_pages"].as_u64() > Some(0), "{report}");
    assert!(info["changed_bytes"].as_u64() >= Some(4096), "{report}");
}

#[test]
fn it_is_committed_or_rolled_back() {
    for (option, expected) in [("--commit", "2"), ("--rollback", "1")] {
        let dir = prepared();
        assert_eq!(dir.succeed(&["get", "a.teak", "oak"]).trim(), "1");
        dir.run(&["prepared", "a.teak", option, "other"])
            .fails(1, "no prepared transaction \"other\"");
        let report = dir.json(&["prepared", "a.teak", option, "transfer 7", "--json"]);
        assert_eq!(report["transaction"], 4);
        assert_eq!(dir.succeed(&["get", "a.teak", "oak"]).trim(), expected);
        dir.run(&["prepared", "a.teak", option, "transfer 7"])
            .fails(1, "no prepared transaction \"transfer 7\"");
        dir.succeed(&["put", "a.teak", "oak", "3"]);
        dir.succeed(&["check", "a.teak"]);
    }
}

#[test]
fn both_decisions_at_once_are_refused() {
    let dir = prepared();
    let both = ["prepared", "a.teak", "--commit", "a", "--rollback", "a"];
    dir.run(&both).fails(2, "cannot be used with");
    dir.run(&["prepared", "--no-lock", "a.teak", "--commit", "transfer 7"])
        .fails(2, "--no-lock");
    assert!(
        dir.succeed(&["prepared", "--no-lock", "a.teak"])
            .contains("transfer 7")
    );
}

#[test]
fn other_commands_that_write_fail_and_those_that_read_do_not() {
    let dir = prepared();
    dir.write("in.tsv", "x\ty\n");
    let commands: [&[&str]; 6] = [
        &["put", "a.teak", "k", "v"],
        &["del", "a.teak", "oak"],
        &["table", "create", "a.teak", "t"],
        &["snapshot", "create", "a.teak", "tuesday"],
        &["load", "in.tsv", "a.teak"],
        &["compact", "a.teak"],
    ];
    for command in commands {
        let run = dir.run(&[command, &["--wait-timeout", "0"]].concat());
        run.fails(4, "the transaction \"transfer 7\" is prepared");
        run.fails(4, "teak prepared");
    }
    dir.succeed(&["check", "a.teak"]);
    dir.succeed(&["stat", "a.teak"]);
    assert!(dir.succeed(&["scan", "a.teak"]).contains("oak"));
    dir.succeed(&["backup", "a.teak", "b.teak"]);
    assert!(dir.succeed(&["prepared", "b.teak"]).contains("transfer 7"));
    dir.succeed(&["prepared", "b.teak", "--commit", "transfer 7"]);
    assert_eq!(dir.succeed(&["get", "b.teak", "oak"]).trim(), "2");
    dir.succeed(&["backup", "--compact", "a.teak", "c.teak"]);
    assert_eq!(
        dir.succeed(&["prepared", "c.teak"]),
        "no prepared transaction\n"
    );
    let report = dir.run(&["salvage", "a.teak", "d.teak", "--json"]);
    assert!(
        report.stdout.contains("\"lost_prepared\":[\"transfer 7\"]"),
        "{report:?}"
    );
}
