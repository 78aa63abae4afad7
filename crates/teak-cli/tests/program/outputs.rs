//! Outputs never overwrite an input, a database or a lock file, are either complete or absent, and
//! are readable only by users who may read the source.

use crate::support::{Place, numbered_dump};
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

/// A directory with a database of some records, and another one.
fn place() -> Place {
    let place = Place::new();
    place.write("in.dump", numbered_dump(500));
    place.succeed(&["load", "in.dump", "db"]);
    place.succeed(&["put", "other", "k", "v"]);
    place
}

/// The files that must be unchanged after a refusal.
fn all_files(place: &Place) -> Vec<(String, u64, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(place.path("."))
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
    let place = place();
    fs::hard_link(place.path("db"), place.path("hard")).expect("a hard link");
    symlink("db", place.path("soft")).expect("a symbolic link");
    fs::copy(place.path("db"), place.path("copy")).expect("a copy");
    fs::copy(place.path("db"), place.path("x-lock")).expect("a copy with the name of a lock file");
    let before = all_files(&place);
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
        let run = place.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        let names = ["lock file", "same file", "is a database"];
        assert!(
            names.iter().any(|name| run.stderr.contains(name)),
            "{arguments:?}: {run:?}"
        );
        assert_eq!(all_files(&place), before, "{arguments:?}");
    }
}

#[test]
fn a_damaged_database_is_not_salvaged_into_its_own_lock_file() {
    let place = place();
    let mut damaged = fs::read(place.path("db")).expect("reads the database");
    damaged[..4096].fill(0);
    place.write("damaged", &damaged);
    place
        .run(&["salvage", "damaged", "damaged-lock"])
        .fails(2, "lock file");
    fs::rename(place.path("damaged"), place.path("d-lock")).expect("renames it");
    place.run(&["salvage", "d-lock", "d"]).fails(2, "lock file");
    assert_eq!(fs::read(place.path("d-lock")).expect("reads it"), damaged);
}

#[test]
fn lock_files_in_use_are_no_outputs() {
    let place = place();
    let mut holder = place.hold(&["load", "-", "db", "--batch", "1", "--acknowledge"]);
    holder.say(b"VERSION=3\nformat=print\ntype=btree\nHEADER=END\n k\n v\n k2\n v2\n");
    holder.hear();
    let lock_file = fs::metadata(place.path("db-lock")).expect("there is a lock file");
    place
        .run(&["dump", "other", "-o", "db-lock"])
        .fails(2, "lock file");
    // Another name of the lock file, which does not look like one.
    fs::hard_link(place.path("db-lock"), place.path("innocent")).expect("a hard link");
    place
        .run(&["dump", "other", "-o", "innocent"])
        .fails(2, "lock file");
    let after = fs::metadata(place.path("db-lock")).expect("there is a lock file");
    assert_eq!(
        (lock_file.ino(), lock_file.len()),
        (after.ino(), after.len())
    );
    holder.say(b"DATA=END\n");
    assert_eq!(holder.end(), 0);
}

#[test]
fn standard_output_is_no_file_that_is_read_or_changed() {
    let place = place();
    let before = all_files(&place);
    for (arguments, output) in [
        (&["dump", "db"][..], "db"),
        (&["backup", "db", "-"], "db"),
        (&["check", "db"], "db"),
        (&["put", "db", "k", "v", "--json"], "db"),
        (&["salvage", "db", "new"], "db"),
        (&["restore", "db", "new"], "db"),
        // It would go on and on.
        (&["load", "in.dump", "new", "--acknowledge"], "in.dump"),
    ] {
        let run = place.run_into(arguments, appending(&place, output));
        run.fails(2, &format!("standard output is {output}"));
        assert_eq!(all_files(&place), before, "{arguments:?}");
    }
}

fn appending(place: &Place, name: &str) -> File {
    let mut options = OpenOptions::new();
    let opened = options.append(true).open(place.path(name));
    opened.expect("opens it")
}

#[test]
fn a_file_that_is_a_descriptor_is_written_to_and_not_replaced() {
    let place = place();
    symlink("/dev/stdout", place.path("link")).expect("a symbolic link");
    for output in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"] {
        place.write("log", "before\n");
        let run = place.run_into(&["dump", "db", "-o", output], appending(&place, "log"));
        assert_eq!(run.code, 0, "{run:?}");
        let log = place.read("log");
        assert!(log.starts_with("before\nVERSION=3"), "{output}: {log}");
        assert!(log.ends_with("DATA=END\n"), "{output}: {log}");
    }
    let run = place.run_into(
        &["dump", "db", "-o", "/dev/stdout"],
        appending(&place, "other"),
    );
    run.fails(2, "is a database");
}

#[test]
fn a_dump_is_complete_or_not_there() {
    let place = place();
    place.write("out", "before");
    place
        .run(&["dump", "db", "-o", "out", "-t", "none"])
        .fails(1, "none");
    assert_eq!(place.read("out"), "before");
    place
        .run(&["dump", "db", "-o", "new", "-t", "none"])
        .fails(1, "none");
    assert!(!place.path("new").exists());
    place
        .run(&["dump", "db", "-o", "none/out"])
        .fails(6, "none/out");
    let names = |place: &Place| {
        all_files(place)
            .into_iter()
            .map(|file| file.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&place), ["db", "in.dump", "other", "out"]);
    // The link still leads to the file.
    symlink("out", place.path("link")).expect("a symbolic link");
    place.succeed(&["dump", "db", "-o", "link"]);
    assert!(place.read("out").ends_with("DATA=END\n"));
    assert!(place.path("link").is_symlink());
    // An output that is not a regular file is not replaced.
    place.succeed(&["dump", "db", "-o", "/dev/null"]);
    symlink("nowhere", place.path("dangling")).expect("a symbolic link");
    place
        .run(&["dump", "db", "-o", "dangling"])
        .fails(2, "symbolic link");
}

#[test]
fn others_may_read_a_dump_only_as_far_as_the_database() {
    let place = place();
    let mode = |name: &str| fs::metadata(place.path(name)).expect("a file").mode() & 0o777;
    let set = |name: &str, mode| {
        fs::set_permissions(place.path(name), Permissions::from_mode(mode)).expect("sets the mode");
    };
    for source in [0o600, 0o640, 0o644, 0o604, 0o400] {
        set("db", source);
        let out = format!("{source:o}.dump");
        place.succeed(&["dump", "db", "-o", &out]);
        assert_eq!(mode(&out) & !source, 0, "{:o} of {source:o}", mode(&out));
        assert_eq!(mode(&out) & 0o400, 0o400);
    }
    // A file that is replaced does not become readable for more than it was.
    set("db", 0o644);
    File::create(place.path("private")).expect("creates a file");
    set("private", 0o600);
    place.succeed(&["dump", "db", "-o", "private"]);
    assert_eq!(mode("private"), 0o600);
}

#[test]
fn manual_pages_replace_no_database() {
    let place = place();
    fs::create_dir(place.path("man")).expect("a directory");
    symlink("../db", place.path("man/teak-load.1")).expect("a symbolic link");
    place.run(&["man", "man"]).fails(2, "is a database");
    assert_eq!(place.succeed(&["get", "db", "key-00001"]), "value-00001\n");
}

/// The library that the program is written with opens `/dev/null` then, and all was written there.
#[test]
fn what_is_written_to_a_closed_output_is_refused() {
    let place = Place::new();
    place.succeed(&["put", "a.teak", "k", "v"]);
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
        shell.current_dir(place.path("")).arg("-c");
        let run = shell.arg(format!("{program} {arguments}")).output();
        let run = run.expect("a shell runs");
        let text = String::from_utf8_lossy(&run.stderr);
        let code = if is_refused { 2 } else { 0 };
        assert_eq!(run.status.code(), Some(code), "{arguments}: {text}");
        assert_eq!(text.contains("standard output is closed"), is_refused);
    }
}
