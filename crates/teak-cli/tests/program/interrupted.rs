//! Files after a killed load or backup, and after an interrupted one.

use crate::support::{TestDir, numbered_dump};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn acknowledged_records_survive_a_kill() {
    let dir = TestDir::new();
    let dump = numbered_dump(20_000);
    let mut child = dir
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

    let found = dir.succeed(&["scan", "a.teak"]).lines().count();
    assert!(
        found >= records,
        "{found} of {records} acknowledged records"
    );
    assert_eq!(found % 100, 0, "half a batch of {found} records");
    dir.succeed(&["check", "a.teak"]);

    dir.write("all.dump", dump);
    dir.succeed(&["load", "all.dump", "a.teak"]);
    assert_eq!(dir.succeed(&["scan", "a.teak"]).lines().count(), 20_000);
}

#[test]
fn a_snapshot_left_by_a_killed_backup_is_reported() {
    let dir = TestDir::new();
    dir.write("all.dump", numbered_dump(60_000));
    dir.succeed(&["load", "all.dump", "a.teak"]);
    let arguments = ["backup", "a.teak", "b.teak", "--snapshot", "sunday"];
    let mut slow = dir.command(&[&arguments[..], &["--max-rate", "1"]].concat());
    let mut slow = slow.spawn().expect("the program runs");
    let list = || dir.succeed(&["snapshot", "list", "a.teak"]);
    while !list().contains("sunday") {
        std::thread::sleep(Duration::from_millis(5));
    }
    dir.run(&["backup", "a.teak", "c.teak", "--snapshot", "sunday"])
        .fails(2, "perhaps a backup that is still running");
    slow.kill().expect("the program is killed");
    slow.wait().expect("the program ends");
    assert!(!dir.path("b.teak").exists() && list().contains("sunday"));
    dir.run(&arguments)
        .fails(2, "teak snapshot drop a.teak sunday");
    dir.succeed(&["snapshot", "drop", "a.teak", "sunday"]);
    dir.succeed(&arguments);
    dir.succeed(&["check", "b.teak"]);
}

#[test]
fn an_interrupted_backup_leaves_no_file() {
    let dir = TestDir::new();
    dir.write("all.dump", numbered_dump(60_000));
    dir.succeed(&["load", "all.dump", "a.teak"]);
    let files = || {
        std::fs::read_dir(dir.path("."))
            .expect("lists the directory")
            .count()
    };
    let before = files();
    for signal in ["INT", "TERM"] {
        let mut slow = dir.command(&["backup", "a.teak", "b.teak", "--max-rate", "1"]);
        let slow = slow
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        // Its temporary directory, in which it works from then on.
        while files() == before {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        let id = slow.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let ended = slow.wait_with_output().expect("the program ends");
        assert_eq!(ended.status.code(), Some(6), "{ended:?}");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(
            text.contains("was interrupted; nothing of the result was kept"),
            "{text}"
        );
        assert_eq!(files(), before);
    }
}
