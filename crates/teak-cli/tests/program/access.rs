//! Databases with missing or unexpected files.

use crate::support::{Place, numbered_dump};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
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

#[test]
fn a_database_is_read_without_a_lock_file_or_with_another_one() {
    let place = Place::new();
    place.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(place.succeed(&["--no-lock", "get", "a.teak", "k"]), "v\n");
    assert_eq!(place.succeed(&["get", "a.teak", "k", "--no-lock"]), "v\n");
    for arguments in [
        &["put", "--no-lock", "a.teak", "k", "w"][..],
        &["put", "--no-lock", "new.teak", "k", "w"],
        &["compact", "--no-lock", "a.teak"],
        // It would report no readers.
        &["readers", "--no-lock", "a.teak"],
    ] {
        let run = place.run(arguments);
        run.fails(2, "without a lock file");
        run.fails(2, "leave it out");
    }
    assert!(!place.path("new.teak").exists());
    let arguments = ["put", "--lock-file", "other.lock", "a.teak", "k", "w"];
    place.succeed(&arguments);
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "w\n");
    // Using another lock file while somebody writes is an error with advice.
    let arguments = [
        "load",
        "-",
        "a.teak",
        "--lock-file",
        "other.lock",
        "--batch",
        "1",
        "--acknowledge",
    ];
    let mut load = place.hold(&arguments);
    load.say(numbered_dump(100).as_bytes());
    load.hear();
    place.run(&["put", "a.teak", "k", "x"]).fails(4, "in use");
    place.succeed(&["put", "--lock-file", "other.lock", "a.teak", "k", "x"]);
    assert_eq!(load.end(), 0);
}

#[test]
fn a_lock_file_that_cannot_be_one_is_named() {
    let place = Place::new();
    place.succeed(&["put", "a.teak", "k", "v"]);
    for (lock_file, code, says) in [
        ("no/a.lock", 6, "lock file (no/a.lock)"),
        ("a.teak/a.lock", 6, "a part of the path is not a directory"),
        (".", 6, "lock file (.)"),
        ("/", 6, "name a file"),
        ("a.teak", 4, "it is a Teak database"),
    ] {
        for arguments in [&["get", "a.teak", "k"][..], &["put", "a.teak", "k", "w"]] {
            let run = place.run(&[&["--lock-file", lock_file], arguments].concat());
            run.fails(code, says);
        }
    }
    place
        .run(&["put", "b.teak", "k", "v", "--lock-file", "./b.teak"])
        .fails(2, "use another lock file");
    assert!(!place.path("b.teak").exists());
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "v\n");
}

#[test]
fn a_database_can_be_an_empty_file_and_no_link_to_nothing() {
    let place = Place::new();
    place.write("a.teak", "");
    place.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "v\n");
    std::os::unix::fs::symlink("nothing", place.path("b.teak")).expect("makes a link");
    place
        .run(&["put", "b.teak", "k", "v"])
        .fails(2, "is a symbolic link to nothing");
    place.run(&["get", "b.teak", "k"]).fails(4, "nothing");
}

#[test]
fn what_is_made_of_a_private_file_is_private() {
    let place = Place::new();
    let mode = |name: &str| {
        let found = place.path(name).metadata().expect("it is there");
        found.permissions().mode() & 0o777
    };
    place.write("a.dump", numbered_dump(10));
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(place.path("a.dump"), private).expect("sets the mode");
    place.succeed(&["load", "a.dump", "a.teak"]);
    place.succeed(&["backup", "a.teak", "exact"]);
    place.succeed(&["backup", "--compact", "a.teak", "dense"]);
    place.succeed(&["restore", "exact", "restored"]);
    place.succeed(&["salvage", "a.teak", "saved"]);
    place.succeed(&["dump", "a.teak", "-o", "b.dump"]);
    place.succeed(&["put", "value", "k", "--value-file", "a.dump"]);
    for name in [
        "a.teak", "exact", "dense", "restored", "saved", "b.dump", "value",
    ] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    // Members of this process's group are no members of the file's.
    let set = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.path("a.dump"), permissions).expect("sets the mode");
    };
    set(0o640);
    place.succeed(&["load", "a.dump", "own-group"]);
    assert_eq!(mode("own-group") & 0o007, 0);
    if std::os::unix::fs::chown(place.path("a.dump"), None, Some(4)).is_ok() {
        set(0o640);
        place.succeed(&["load", "a.dump", "other-group"]);
        assert_eq!(mode("other-group"), 0o600);
    }
}
