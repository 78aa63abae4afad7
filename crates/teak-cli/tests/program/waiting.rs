//! Commands that wait for another writer report its process, and how long they wait.

use crate::support::{Held, TestDir, numbered_dump, parse};
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

/// A database in which a load holds an open write transaction until it gets more input.
fn held() -> (TestDir, Held) {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    dir.succeed(&["snapshot", "create", "a.teak", "monday"]);
    let load = hold_writing(&dir);
    (dir, load)
}

/// A load that holds an open write transaction until it receives a line.
fn hold_writing(dir: &TestDir) -> Held {
    let mut load = dir.hold(&[
        "load",
        "-",
        "a.teak",
        "--format",
        "tsv",
        "--batch",
        "2",
        "--acknowledge",
    ]);
    load.say(b"a\t1\nb\t2\nc\t3\n");
    load.hear();
    // The transaction of the third record follows the commit of the first two.
    let is_held = || {
        dir.run(&["put", "a.teak", "--wait-timeout", "0", "k", "v"])
            .code
            != 0
    };
    while !is_held() {
        std::thread::sleep(Duration::from_millis(5));
    }
    load
}

#[test]
fn every_command_that_writes_gives_up_after_its_timeout_and_names_the_writer() {
    let (dir, load) = held();
    dir.write("in.tsv", "x\ty\n");
    let commands: [&[&str]; 11] = [
        &["put", "a.teak", "k", "v"],
        &["del", "a.teak", "k"],
        &["table", "create", "a.teak", "t"],
        &["table", "drop", "a.teak", "t"],
        &["table", "clear", "a.teak", "main"],
        &["table", "rename", "a.teak", "main", "t"],
        &["snapshot", "create", "a.teak", "tuesday"],
        &["snapshot", "rollback", "a.teak", "monday"],
        &["backup", "a.teak", "b.teak", "--snapshot", "tuesday"],
        &["load", "in.tsv", "a.teak"],
        &["compact", "a.teak"],
    ];
    let writer = format!("process {} has been writing to a.teak", load.id());
    for command in commands {
        let run = dir.run(&[command, &["--wait-timeout", "0.05"]].concat());
        run.fails(4, &writer);
        run.fails(4, "--wait-timeout");
    }
    let run = dir.run(&["del", "a.teak", "k", "--wait-timeout", "1.2", "--json"]);
    let (warning, error) = run.stderr.split_once('\n').expect("a warning and an error");
    assert!(
        warning.ends_with("is writing to a.teak; waiting for at most 1.2s"),
        "{run:?}"
    );
    assert_eq!(parse(error)["kind"], "unavailable");
    for limit in [
        "never",
        "nan",
        "inf",
        "1e400",
        "18446744073709551616",
        "5s",
        "",
    ] {
        let run = dir.run(&["del", "a.teak", "k", "--wait-timeout", limit]);
        run.fails(2, "a number of seconds, from 0");
    }
    assert_eq!(load.end(), 0);
}

#[test]
fn waiting_without_a_timeout_names_the_writer_and_gets_the_lock() {
    let (dir, load) = held();
    let began = Instant::now();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| dir.run(&["put", "a.teak", "k", "w"]));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!waiting.is_finished());
        let writer = load.id();
        assert_eq!(load.end(), 0);
        (waiting.join().expect("it ends"), writer)
    });
    let (run, writer) = waiting;
    assert_eq!(run.code, 0, "{run:?}");
    let warning =
        format!("warning: process {writer} is writing to a.teak; waiting until it has ended");
    assert!(run.stderr.contains(&warning), "{run:?}");
    assert!(began.elapsed() >= Duration::from_millis(1500));
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "w\n");
}

/// Regression: it reported that before its first commit, but not between later ones.
#[test]
fn a_compaction_names_the_writer_it_waits_for_between_commits() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(20_000));
    dir.succeed(&["load", "in.dump", "a.teak", "--table", "first"]);
    dir.succeed(&["load", "in.dump", "a.teak"]);
    dir.succeed(&["table", "clear", "a.teak", "first"]);
    let arguments = ["--commit-bytes", "4096", "--pause-ms", "300"];
    let arguments = [&["compact", "a.teak"][..], &arguments].concat();
    let mut compact = dir.command(&arguments);
    let compact = compact.stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut compact = compact.expect("the program runs");
    let transaction = || dir.json(&["stat", "a.teak", "--json"])["transaction"].clone();
    let before = transaction();
    while transaction() == before {
        std::thread::sleep(Duration::from_millis(5));
    }
    let load = hold_writing(&dir);
    std::thread::sleep(Duration::from_millis(2500));
    let writer = load.id();
    assert_eq!(load.end(), 0);
    let warning =
        format!("warning: process {writer} is writing to a.teak; waiting until it has ended");
    let mut lines = BufReader::new(compact.stderr.take().expect("a pipe")).lines();
    assert!(
        lines
            .next()
            .is_some_and(|line| line.expect("text").contains(&warning))
    );
    compact.kill().expect("it still moves pages");
    compact.wait().expect("it ends");
    dir.succeed(&["check", "a.teak"]);
}
