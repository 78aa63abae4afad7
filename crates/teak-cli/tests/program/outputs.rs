//! Outputs never overwrite an input, a database or a lock file, are either complete or absent, and
//! are readable only by users who may read the source.

use crate::support::{TestDir, numbered_dump};
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

/// A directory with a database of some records, and another one.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(500));
    dir.succeed(&["load", "in.dump", "db"]);
    dir.succeed(&["put", "other", "k", "v"]);
    dir
}

/// The files that must be unchanged after a refusal.
fn all_files(dir: &TestDir) -> Vec<(String, u64, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir.path("."))
        .expect("lists the directory")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let file = entry.metadata().expect("its metadata");
            let name = entry.file_name().into_string().expect("a plain name");
            (name, file.ino(), fs::read(entry.path()).unwrap_or_default())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn no_output_goes_onto_an_input_or_a_lock_file() {
    let dir = prepared();
    fs::hard_link(dir.path("db"), dir.path("hard")).expect("a hard link");
    symlink("db", dir.path("soft")).expect("a symbolic link");
    fs::copy(dir.path("db"), dir.path("copy")).expect("a copy");
    fs::copy(dir.path("db"), dir.path("x-lock")).expect("a copy with the name of a lock file");
    let before = all_files(&dir);
    for arguments in [
        &["dump", "db", "-o", "db"][..],
        &["dump", "db", "-o", "hard"],
        &["dump", "hard", "-o", "db"],
        &["dump", "db", "-o", "soft"],
        &["dump", "db", "-o", "./db-lock"],
        &["dump", "soft", "-o", "db-lock"],
        &["dump", "db", "-o", "other"],
        &["dump", "db", "-o", "other-lock"],
        &["backup", "db", "db-lock"],
        &["backup", "db", "other-lock"],
        &["backup", "db", "hard"],
        &["backup", "db", "--compact", "db-lock"],
        &["backup", "db", "--compact", "other-lock"],
        &["backup", "db", "x"],
        &["restore", "copy", "copy"],
        &["restore", "copy", "copy-lock"],
        &["restore", "copy", "db-lock"],
        &["restore", "x-lock", "x"],
        &["salvage", "db", "db"],
        &["salvage", "db", "db-lock"],
        &["salvage", "db", "other-lock"],
        &["salvage", "x-lock", "x"],
        &["load", "in.dump", "db-lock"],
        &["load", "in.dump", "in.dump"],
        &["load", "db", "db"],
        &["put", "db-lock", "k", "v"],
        &["table", "create", "db-lock", "t"],
    ] {
        let run = dir.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        let names = ["lock file", "same file", "is a database"];
        assert!(
            names.iter().any(|name| run.stderr.contains(name)),
            "{arguments:?}: {run:?}"
        );
        assert_eq!(all_files(&dir), before, "{arguments:?}");
    }
}

#[test]
fn a_damaged_database_is_not_salvaged_into_its_own_lock_file() {
    let dir = prepared();
    let mut damaged = fs::read(dir.path("db")).expect("reads the database");
    damaged[..4096].fill(0);
    dir.write("damaged", &damaged);
    dir.run(&["salvage", "damaged", "damaged-lock"])
        .fails(2, "lock file");
    fs::rename(dir.path("damaged"), dir.path("d-lock")).expect("renames it");
    dir.run(&["salvage", "d-lock", "d"]).fails(2, "lock file");
    assert_eq!(fs::read(dir.path("d-lock")).expect("reads it"), damaged);
}

#[test]
fn lock_files_in_use_are_no_outputs() {
    let dir = prepared();
    let mut holder = dir.hold(&["load", "-", "db", "--batch", "1", "--acknowledge"]);
    holder.say(b"VERSION=3\nformat=print\ntype=btree\nHEADER=END\n k\n v\n k2\n v2\n");
    holder.hear();
    let lock_file = fs::metadata(dir.path("db-lock")).expect("there is a lock file");
    dir.run(&["dump", "other", "-o", "db-lock"])
        .fails(2, "lock file");
    // Another name of the lock file, which does not look like one.
    fs::hard_link(dir.path("db-lock"), dir.path("innocent")).expect("a hard link");
    dir.run(&["dump", "other", "-o", "innocent"])
        .fails(2, "lock file");
    let after = fs::metadata(dir.path("db-lock")).expect("there is a lock file");
    assert_eq!(
        (lock_file.ino(), lock_file.len()),
        (after.ino(), after.len())
    );
    holder.say(b"DATA=END\n");
    assert_eq!(holder.end(), 0);
}

#[test]
fn standard_output_is_no_file_that_is_read_or_changed() {
    let dir = prepared();
    let before = all_files(&dir);
    for (arguments, output) in [
        (&["dump", "db"][..], "db"),
        (&["backup", "db", "-"], "db"),
        (&["check", "db"], "db"),
        (&["put", "db", "k", "v", "--json"], "db"),
        (&["salvage", "db", "new"], "db"),
        (&["restore", "db", "new"], "db"),
        // The command would never end.
        (&["load", "in.dump", "new", "--acknowledge"], "in.dump"),
    ] {
        let run = dir.run_into(arguments, appending(&dir, output));
        run.fails(2, &format!("standard output is {output}"));
        assert_eq!(all_files(&dir), before, "{arguments:?}");
    }
}

fn appending(dir: &TestDir, name: &str) -> File {
    let mut options = OpenOptions::new();
    let opened = options.append(true).open(dir.path(name));
    opened.expect("opens it")
}

#[test]
fn a_file_that_is_a_descriptor_is_written_to_and_not_replaced() {
    let dir = prepared();
    symlink("/dev/stdout", dir.path("link")).expect("a symbolic link");
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"] {
        dir.write("log", "before\n");
        let run = dir.run_into(&["dump", "db", "-o", output], appending(&dir, "log"));
        assert_eq!(run.code, 0, "{run:?}");
        let log = dir.read("log");
        assert!(log.starts_with("before\nVERSION=3"), "{output}: {log}");
        assert!(log.ends_with("DATA=END\n"), "{output}: {log}");
    }
    let run = dir.run_into(
        &["dump", "db", "-o", "/dev/stdout"],
        appending(&dir, "other"),
    );
    run.fails(2, "is a database");
}

#[test]
fn a_dump_is_complete_or_not_there() {
    let dir = prepared();
    dir.write("out", "before");
    dir.run(&["dump", "db", "-o", "out", "-t", "none"])
        .fails(1, "none");
    assert_eq!(dir.read("out"), "before");
    dir.run(&["dump", "db", "-o", "new", "-t", "none"])
        .fails(1, "none");
    assert!(!dir.path("new").exists());
    dir.run(&["dump", "db", "-o", "none/out"])
        .fails(6, "none/out");
    let names = |dir: &TestDir| {
        all_files(dir)
            .into_iter()
            .map(|file| file.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&dir), ["db", "in.dump", "other", "out"]);
    // The link still points to the file.
    symlink("out", dir.path("link")).expect("a symbolic link");
    dir.succeed(&["dump", "db", "-o", "link"]);
    assert!(dir.read("out").ends_with("DATA=END\n"));
    assert!(dir.path("link").is_symlink());
    // An output that is not a regular file is not replaced.
    dir.succeed(&["dump", "db", "-o", "/dev/null"]);
    symlink("nowhere", dir.path("dangling")).expect("a symbolic link");
    dir.run(&["dump", "db", "-o", "dangling"])
        .fails(2, "symbolic link");
}

#[test]
fn others_may_read_a_dump_only_as_far_as_the_database() {
    let dir = prepared();
    let mode = |name: &str| fs::metadata(dir.path(name)).expect("a file").mode() & 0o777;
    let set = |name: &str, mode| {
        fs::set_permissions(dir.path(name), Permissions::from_mode(mode)).expect("sets the mode");
    };
    for source in [0o600, 0o640, 0o644, 0o604, 0o400] {
        set("db", source);
        let out = format!("{source:o}.dump");
        dir.succeed(&["dump", "db", "-o", &out]);
        assert_eq!(mode(&out) & !source, 0, "{:o} of {source:o}", mode(&out));
        assert_eq!(mode(&out) & 0o400, 0o400);
    }
    // A replaced file does not become readable for more users.
    set("db", 0o644);
    File::create(dir.path("private")).expect("creates a file");
    set("private", 0o600);
    dir.succeed(&["dump", "db", "-o", "private"]);
    assert_eq!(mode("private"), 0o600);
}

#[test]
fn manual_pages_replace_no_database() {
    let dir = prepared();
    fs::create_dir(dir.path("man")).expect("a directory");
    symlink("../db", dir.path("man/teak-load.1")).expect("a symbolic link");
    dir.run(&["man", "man"]).fails(2, "is a database");
    assert_eq!(dir.succeed(&["get", "db", "key-00001"]), "value-00001\n");
}

/// Regression: Rust's library then opens `/dev/null`, and the output was written there.
#[test]
fn writes_to_a_closed_output_are_refused() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    let program = env!("CARGO_BIN_EXE_teak");
    for (arguments, is_refused) in [
        ("backup a.teak - >&-", true),
        ("backup a.teak - --compact >&-", true),
        ("dump a.teak >&-", true),
        ("backup a.teak - >/dev/null", false),
        ("dump a.teak >/dev/null", false),
        ("dump a.teak -o a.dump >&-", false),
        ("put a.teak k w >&-", false),
    ] {
        let mut shell = Command::new("sh");
        shell.current_dir(dir.path("")).arg("-c");
        let run = shell.arg(format!("{program} {arguments}")).output();
        let run = run.expect("a shell runs");
        let text = String::from_utf8_lossy(&run.stderr);
        let code = if is_refused { 2 } else { 0 };
        assert_eq!(run.status.code(), Some(code), "{arguments}: {text}");
        assert_eq!(text.contains("standard output is closed"), is_refused);
    }
}
