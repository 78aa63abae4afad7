//! Commands that write while another process does report whom they wait for, and for how long.

use crate::support::{Held, Place, numbered_dump, parse};
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

/// A database in which a load holds an open write transaction until it gets more input.
fn held() -> (Place, Held) {
    let place = Place::new();
    place.succeed(&["put", "a.teak", "k", "v"]);
    place.succeed(&["snapshot", "create", "a.teak", "monday"]);
    let load = hold_writing(&place);
    (place, load)
}

/// A load that holds an open write transaction until it receives a line.
fn hold_writing(place: &Place) -> Held {
    let mut load = place.hold(&[
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
        place
            .run(&["put", "a.teak", "--wait-timeout", "0", "k", "v"])
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
    let (place, load) = held();
    place.write("in.tsv", "x\ty\n");
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
        let run = place.run(&[command, &["--wait-timeout", "0.05"]].concat());
        run.fails(4, &writer);
        run.fails(4, "--wait-timeout");
    }
    let run = place.run(&["del", "a.teak", "k", "--wait-timeout", "1.2", "--json"]);
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
        let run = place.run(&["del", "a.teak", "k", "--wait-timeout", limit]);
        run.fails(2, "a number of seconds, from 0");
    }
    assert_eq!(load.end(), 0);
}

#[test]
fn who_waits_without_a_timeout_says_for_whom_and_gets_the_turn() {
    let (place, load) = held();
    let began = Instant::now();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| place.run(&["put", "a.teak", "k", "w"]));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!waiting.is_finished());
        let writer = load.id();
        assert_eq!(load.end(), 0);
        (waiting.join().expect("it ends"), writer)
    });
    let (run, writer) = waiting;
    assert_eq!(run.code, 0, "{run:?}");
    let told =
        format!("warning: process {writer} is writing to a.teak; waiting until it has ended");
    assert!(run.stderr.contains(&told), "{run:?}");
    assert!(began.elapsed() >= Duration::from_millis(1500));
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "w\n");
}

/// It said so before its first commit, and waited in silence between the others.
#[test]
fn a_compaction_says_for_whom_it_waits_between_its_commits() {
    let place = Place::new();
    place.write("in.dump", numbered_dump(20_000));
    place.succeed(&["load", "in.dump", "a.teak", "--table", "first"]);
    place.succeed(&["load", "in.dump", "a.teak"]);
    place.succeed(&["table", "clear", "a.teak", "first"]);
    let arguments = ["--commit-bytes", "4096", "--pause-ms", "300"];
    let arguments = [&["compact", "a.teak"][..], &arguments].concat();
    let mut compact = place.command(&arguments);
    let compact = compact.stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut compact = compact.expect("the program runs");
    let transaction = || place.json(&["stat", "a.teak", "--json"])["transaction"].clone();
    let before = transaction();
    while transaction() == before {
        std::thread::sleep(Duration::from_millis(5));
    }
    let load = hold_writing(&place);
    std::thread::sleep(Duration::from_millis(2500));
    let writer = load.id();
    assert_eq!(load.end(), 0);
    let told =
        format!("warning: process {writer} is writing to a.teak; waiting until it has ended");
    let mut lines = BufReader::new(compact.stderr.take().expect("a pipe")).lines();
    assert!(
        lines
            .next()
            .is_some_and(|line| line.expect("text").contains(&told))
    );
    compact.kill().expect("it still moves pages");
    compact.wait().expect("it ends");
    place.succeed(&["check", "a.teak"]);
}
