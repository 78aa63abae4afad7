//! Databases with missing or unexpected files.

use crate::support::{TestDir, numbered_dump};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn a_load_fails_if_its_database_is_renamed() {
    let dir = TestDir::new();
    let dump = numbered_dump(2_000);
    let (first, second) = dump.as_bytes().split_at(dump.len() / 2);
    let arguments = ["load", "-", "a.teak", "--batch", "100", "--acknowledge"];
    let mut command = dir.command(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut load = command.stderr(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = load.stdin.take().expect("a pipe to the program");
    let mut acknowledged = BufReader::new(load.stdout.take().expect("a pipe from the program"));
    stdin.write_all(first).expect("it reads");
    let mut line = String::new();
    acknowledged.read_line(&mut line).expect("it writes");
    fs::rename(dir.path("a.teak"), dir.path("b.teak")).expect("renames the database");
    std::thread::sleep(Duration::from_millis(50));
    // The program ends before it has read all of this.
    let _ = stdin.write_all(second);
    drop(stdin);
    let ended = load.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(4));
    let text = String::from_utf8(ended.stderr).expect("an error is UTF-8");
    assert!(text.contains("a.teak") && text.contains("b.teak"), "{text}");
    dir.succeed(&["check", "b.teak"]);
}

#[test]
fn a_database_is_read_without_a_lock_file_or_with_another_one() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(dir.succeed(&["--no-lock", "get", "a.teak", "k"]), "v\n");
    assert_eq!(dir.succeed(&["get", "a.teak", "k", "--no-lock"]), "v\n");
    for arguments in [
        &["put", "--no-lock", "a.teak", "k", "w"][..],
        &["put", "--no-lock", "new.teak", "k", "w"],
        &["compact", "--no-lock", "a.teak"],
        // It would list no readers.
        &["readers", "--no-lock", "a.teak"],
    ] {
        let run = dir.run(arguments);
        run.fails(2, "without a lock file");
        run.fails(2, "leave it out");
    }
    assert!(!dir.path("new.teak").exists());
    let arguments = ["put", "--lock-file", "other.lock", "a.teak", "k", "w"];
    dir.succeed(&arguments);
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "w\n");
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
    let mut load = dir.hold(&arguments);
    load.say(numbered_dump(100).as_bytes());
    load.hear();
    dir.run(&["put", "a.teak", "k", "x"]).fails(4, "in use");
    dir.succeed(&["put", "--lock-file", "other.lock", "a.teak", "k", "x"]);
    assert_eq!(load.end(), 0);
}

#[test]
fn a_lock_file_that_cannot_be_one_is_named() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    for (lock_file, code, says) in [
        ("no/a.lock", 6, "lock file (no/a.lock)"),
        ("a.teak/a.lock", 6, "a part of the path is not a directory"),
        (".", 6, "lock file (.)"),
        ("/", 6, "name a file"),
        ("a.teak", 4, "it is a Teak database"),
    ] {
        for arguments in [&["get", "a.teak", "k"][..], &["put", "a.teak", "k", "w"]] {
            let run = dir.run(&[&["--lock-file", lock_file], arguments].concat());
            run.fails(code, says);
        }
    }
    dir.run(&["put", "b.teak", "k", "v", "--lock-file", "./b.teak"])
        .fails(2, "use another lock file");
    assert!(!dir.path("b.teak").exists());
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "v\n");
}

#[test]
fn a_database_can_be_an_empty_file_and_no_link_to_nothing() {
    let dir = TestDir::new();
    dir.write("a.teak", "");
    dir.succeed(&["put", "a.teak", "k", "v"]);
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "v\n");
    std::os::unix::fs::symlink("nothing", dir.path("b.teak")).expect("makes a link");
    dir.run(&["put", "b.teak", "k", "v"])
        .fails(2, "is a symbolic link to nothing");
    dir.run(&["get", "b.teak", "k"]).fails(4, "nothing");
}

#[test]
fn files_made_from_a_private_file_are_private() {
    let dir = TestDir::new();
    let mode = |name: &str| {
        let found = dir.path(name).metadata().expect("it is there");
        found.permissions().mode() & 0o777
    };
    dir.write("a.dump", numbered_dump(10));
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(dir.path("a.dump"), private).expect("sets the mode");
    dir.succeed(&["load", "a.dump", "a.teak"]);
    dir.succeed(&["backup", "a.teak", "exact"]);
    dir.succeed(&["backup", "--compact", "a.teak", "dense"]);
    dir.succeed(&["restore", "exact", "restored"]);
    dir.succeed(&["salvage", "a.teak", "saved"]);
    dir.succeed(&["dump", "a.teak", "-o", "b.dump"]);
    dir.succeed(&["put", "value", "k", "--value-file", "a.dump"]);
    for name in [
        "a.teak", "exact", "dense", "restored", "saved", "b.dump", "value",
    ] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    // Members of this process's group are not members of the file's group.
    let set = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(dir.path("a.dump"), permissions).expect("sets the mode");
    };
    set(0o640);
    dir.succeed(&["load", "a.dump", "own-group"]);
    assert_eq!(mode("own-group") & 0o007, 0);
    if std::os::unix::fs::chown(dir.path("a.dump"), None, Some(4)).is_ok() {
        set(0o640);
        dir.succeed(&["load", "a.dump", "other-group"]);
        assert_eq!(mode("other-group"), 0o600);
    }
}
