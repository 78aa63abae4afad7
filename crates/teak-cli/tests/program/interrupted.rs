//! Files after a killed load or backup.

use crate::support::{Place, numbered_dump};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let place = Place::new();
    let dump = numbered_dump(20_000);
    let mut child = place
        .command(&["load", "-", "a.teak", "--batch", "100", "--acknowledge"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe to the program");
    // All but the end, so that the load is still waiting for more when it is killed.
    stdin
        .write_all(&dump.as_bytes()[..dump.len() / 2])
        .expect("the program reads");
    stdin.flush().expect("the program reads");
    let mut acknowledged =
        BufReader::new(child.stdout.take().expect("a pipe from the program")).lines();
    let mut records = 0;
    for _ in 0..5 {
        let line = acknowledged
            .next()
            .expect("a line for each commit")
            .expect("a line for each commit");
        records = line
            .rsplit(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a number of records");
    }
    child.kill().expect("the program is killed");
    child.wait().expect("the program ends");
    assert_eq!(records, 500);

    let found = place.succeed(&["scan", "a.teak"]).lines().count();
    assert!(
        found >= records,
        "{found} of {records} acknowledged records"
    );
    assert_eq!(found % 100, 0, "half a batch of {found} records");
    place.succeed(&["check", "a.teak"]);

    place.write("all.dump", dump);
    place.succeed(&["load", "all.dump", "a.teak"]);
    assert_eq!(place.succeed(&["scan", "a.teak"]).lines().count(), 20_000);
}

#[test]
fn a_snapshot_that_a_killed_backup_left_is_told_of() {
    let place = Place::new();
    place.write("all.dump", numbered_dump(60_000));
    place.succeed(&["load", "all.dump", "a.teak"]);
    let arguments = ["backup", "a.teak", "b.teak", "--snapshot", "sunday"];
    let mut slow = place.command(&[&arguments[..], &["--max-rate", "1"]].concat());
    let mut slow = slow.spawn().expect("the program runs");
    let list = || place.succeed(&["snapshot", "list", "a.teak"]);
    while !list().contains("sunday") {
        std::thread::sleep(Duration::from_millis(5));
    }
    place
        .run(&["backup", "a.teak", "c.teak", "--snapshot", "sunday"])
        .fails(2, "perhaps a backup that is still running");
    slow.kill().expect("the program is killed");
    slow.wait().expect("the program ends");
    assert!(!place.path("b.teak").exists() && list().contains("sunday"));
    place
        .run(&arguments)
        .fails(2, "teak snapshot drop a.teak sunday");
    place.succeed(&["snapshot", "drop", "a.teak", "sunday"]);
    place.succeed(&arguments);
    place.succeed(&["check", "b.teak"]);
}
