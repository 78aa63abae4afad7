//! Databases whose files are not where, or not what, the program expects.

use crate::support::{Place, numbered_dump};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_load_whose_database_is_renamed_meanwhile_fails() {
    let place = Place::new();
    let dump = numbered_dump(2_000);
    let (first, second) = dump.as_bytes().split_at(dump.len() / 2);
    let arguments = ["load", "-", "a.teak", "--batch", "100", "--acknowledge"];
    let mut command = place.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut load = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = load.stdin.take().expect("a pipe to the program");
    let mut acknowledged = BufReader::new(load.stdout.take().expect("a pipe from the program"));
    stdin.write_all(first).expect("it reads");
    let mut line = String::new();
    acknowledged.read_line(&mut line).expect("it writes");
    fs::rename(place.path("a.teak"), place.path("b.teak")).expect("renames the database");
    std::thread::sleep(Duration::from_millis(50));
    // It ends before it has read all of this.
    let _ = stdin.write_all(second);
    drop(stdin);
    let ended = load.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(4));
    let text = String::from_utf8(ended.stderr).expect("an error is UTF-8");
    assert!(text.contains("a.teak") && text.contains("b.teak"), "{text}");
    place.succeed(&["check", "b.teak"]);
}
