//! The exit code and message of each failure. `docs/errors.md` has all texts.

use crate::support::TestDir;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

struct Situation<'a> {
    command: &'a [&'a str],
    code: i32,
    /// The subject of the message, and its advice.
    says: [&'a str; 2],
}

fn situation<'a>(command: &'a [&'a str], code: i32, says: [&'a str; 2]) -> Situation<'a> {
    Situation {
        command,
        code,
        says,
    }
}

fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    dir.succeed(&["table", "create", "a.teak", "several", "--multi"]);
    dir.write("file", "text");
    fs::create_dir(dir.path("directory")).expect("a directory");
    symlink("round", dir.path("round")).expect("a link to itself");
    fs::copy(dir.path("a.teak"), dir.path("taken.teak")).expect("a database");
    fs::create_dir(dir.path("taken.teak-lock")).expect("a directory of that name");
    dir
}

#[test]
fn every_situation_has_its_message_and_exit_code() {
    let dir = prepared();
    let long_name = "n".repeat(300);
    let long = "l".repeat(5000);
    dir.write("long.tsv", format!("k\t{long}\n"));
    let get_long_name = ["get", &long_name, "k"];
    let long_name = ["put", &long_name, "k", "v"];
    let (long_key, long_value) = (
        ["put", "a.teak", &long, "v"],
        ["put", "a.teak", "-t", "several", "k", &long],
    );
    let situations = [
        situation(
            &["get", "no/a.teak", "k"],
            4,
            ["no/a.teak", "correct the path"],
        ),
        situation(
            &["put", "no/a.teak", "k", "v"],
            6,
            ["(no/a.teak)", "or create the directory"],
        ),
        situation(
            &["get", "file/a.teak", "k"],
            4,
            ["file/a.teak", "correct the path"],
        ),
        situation(
            &["put", "file/a.teak", "k", "v"],
            6,
            ["(file/a.teak)", "is not a directory"],
        ),
        situation(&long_name, 6, [long_name[1], "choose a shorter one"]),
        situation(&get_long_name, 6, [long_name[1], "choose a shorter one"]),
        situation(
            &["put", "round", "k", "v"],
            6,
            ["(round)", "symbolic links"],
        ),
        situation(&["get", "round", "k"], 6, ["(round)", "symbolic links"]),
        situation(
            &["get", "directory", "k"],
            4,
            ["directory is not", "nothing was changed"],
        ),
        situation(
            &["get", "file", "k"],
            4,
            ["file is not", "nothing was changed"],
        ),
        situation(
            &["get", "taken.teak", "k"],
            4,
            ["taken.teak-lock", "move it away"],
        ),
        situation(
            &long_key,
            2,
            ["5000 bytes", "keys of this database have at most"],
        ),
        situation(&long_value, 2, ["5000 bytes", "at most"]),
        situation(
            &["load", "long.tsv", "a.teak", "-t", "several"],
            5,
            ["line 1", "at most"],
        ),
        situation(
            &["get", "a.teak", "-t", "t", "k"],
            1,
            ["table \"t\"", "`teak tables`"],
        ),
        situation(
            &["table", "drop", "a.teak", "t"],
            1,
            ["table \"t\"", "`teak tables`"],
        ),
        situation(
            &["table", "clear", "a.teak", "t"],
            1,
            ["table \"t\"", "`teak tables`"],
        ),
        situation(
            &["table", "rename", "a.teak", "t", "u"],
            1,
            ["table \"t\"", "`teak tables`"],
        ),
        situation(
            &["table", "create", "a.teak", "main"],
            2,
            ["table \"main\"", "another name"],
        ),
        situation(
            &["get", "a.teak", "k", "--snapshot", "s"],
            1,
            ["snapshot \"s\"", "snapshot list"],
        ),
        situation(
            &["load", "no.tsv", "a.teak"],
            6,
            ["no.tsv", "correct the path"],
        ),
        situation(
            &["dump", "a.teak", "-o", "no/a.dump"],
            6,
            ["no/a.dump", "create the directory"],
        ),
        situation(
            &["backup", "a.teak", "no/b.teak"],
            6,
            ["(no/b.teak)", "create the directory"],
        ),
        situation(
            &["restore", "a.teak", "no/b.teak"],
            6,
            ["(no/b.teak)", "create the directory"],
        ),
        situation(
            &["import", "lmdb:round", "b.teak"],
            6,
            ["round", "symbolic links"],
        ),
        situation(
            &["restore", "no/a.teak", "b.teak"],
            4,
            ["no/a.teak", "correct the path"],
        ),
        situation(
            &["salvage", "a.teak", "no/b.teak"],
            6,
            ["(no/b.teak)", "create the directory"],
        ),
        situation(
            &["restore", "directory", "b.teak"],
            6,
            ["(directory)", "name a file"],
        ),
        situation(
            &["restore", "a.teak", "directory", "b.teak"],
            6,
            ["(directory)", "name a file"],
        ),
        situation(&["man", "file"], 6, ["file", "another name"]),
        situation(
            &["backup", "a.teak", "file"],
            4,
            ["already exists", "remove it first"],
        ),
    ];
    for Situation {
        command,
        code,
        says,
    } in situations
    {
        let run = dir.run(command);
        for text in says {
            run.fails(code, text);
        }
        assert!(!run.stderr.contains("create it first"), "{run:?}");
    }
}

/// Runs a script in a directory, as root in a mount namespace of its own if `is_mounting`. Returns
/// `None` if that is not possible.
pub(crate) fn script(dir: &TestDir, is_mounting: bool, script: &str) -> Option<(i32, String)> {
    let path = dir.path("").display().to_string();
    let script = format!(
        "cd {path}; teak() {{ {} \"$@\"; }}; {script}",
        env!("CARGO_BIN_EXE_teak")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    if !is_mounting {
        command = Command::new("sh");
        command.args(["-c", &script]);
    } else {
        let possible = Command::new("unshare").args(["--mount", "true"]).output();
        if !possible.is_ok_and(|tried| tried.status.success()) {
            return None;
        }
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the script runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    Some((output.status.code().unwrap_or(-1), text))
}

#[test]
fn limits_and_mounts_are_named_with_a_remedy() {
    let dir = prepared();
    let cases = [
        (
            false,
            "ulimit -n 4; teak get a.teak k",
            "a.teak",
            "ulimit -n",
        ),
        (
            false,
            "ulimit -f 4; teak put new.teak k v",
            "new.teak",
            "ulimit -f",
        ),
        // The program reports this itself; a file that is too long used to raise a signal.
        (
            false,
            "for i in 1 2 3 4 5 6; do teak put large.teak k$i $(printf %099999d 0); done; ulimit -f 900; teak dump large.teak -o large.dump",
            "large.dump",
            "ulimit -f",
        ),
        (
            true,
            "mount -t tmpfs -o size=16k none directory; teak put directory/a.teak k v",
            "directory/a.teak",
            "free some space",
        ),
        (
            true,
            "mount -t tmpfs none directory; teak put directory/a.teak k v; mount -o remount,ro directory; teak get directory/a.teak k >/dev/null || exit 77; teak put directory/a.teak k w",
            "directory/a.teak",
            "mounted read-only",
        ),
        (
            true,
            "mount -t tmpfs none directory; teak put directory/a.teak k v; mount -o remount,ro directory; teak put directory/b.teak k w",
            "directory/b.teak",
            "mounted read-only",
        ),
    ];
    for (is_mounting, commands, path, remedy) in cases {
        let Some((code, text)) = script(&dir, is_mounting, commands) else {
            continue;
        };
        assert_eq!(code, 6, "{commands}: {text}");
        assert!(
            text.contains(path) && text.contains(remedy),
            "{commands}: {text}"
        );
    }
}

#[test]
fn missing_permissions_are_named_with_a_remedy() {
    let dir = prepared();
    let program = dir.path("program");
    // Not written by this process: a child of another test might have it open for writing when it
    // is run.
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_teak")).arg(&program);
    assert!(copy.status().is_ok_and(|status| status.success()));
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path(path), fs::Permissions::from_mode(mode)).expect("permissions");
    };
    mode("", 0o755);
    mode("a.teak", 0o200);
    mode("directory", 0o555);
    fs::create_dir(dir.path("closed")).expect("a directory");
    dir.succeed(&["put", "closed/c.teak", "k", "v"]);
    mode("closed", 0o600);
    for (arguments, path) in [
        (["get", "a.teak", "k", ""], "(a.teak)"),
        (["put", "directory/b.teak", "k", "v"], "directory/b.teak"),
        // It may exist.
        (["get", "closed/c.teak", "k", ""], "closed/c.teak"),
        (["del", "closed/c.teak", "k", ""], "closed/c.teak"),
        (["dump", "closed/c.teak", "", ""], "closed/c.teak"),
        (["salvage", "closed/c.teak", "s.teak", ""], "closed/c.teak"),
        (["restore", "closed/c.teak", "r.teak", ""], "closed/c.teak"),
        (
            ["import", "lmdb:closed/c.mdb", "i.teak", ""],
            "closed/c.mdb",
        ),
    ] {
        let mut command = Command::new(&program);
        command
            .current_dir(dir.path(""))
            .args(arguments.iter().filter(|text| !text.is_empty()));
        // Root has all permissions.
        if fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
        {
            command.uid(65534).gid(65534);
        }
        let output = command.output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{text}");
        assert!(
            text.contains(path) && text.contains("check the permissions"),
            "{text}"
        );
    }
}

/// Regression: the program reported that there are no readers.
#[test]
fn readers_are_unknown_without_a_lock_file() {
    let dir = prepared();
    let program = dir.path("program");
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_teak")).arg(&program);
    assert!(copy.status().is_ok_and(|status| status.success()));
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path(path), fs::Permissions::from_mode(mode)).expect("permissions");
    };
    mode("", 0o755);
    mode("a.teak", 0o644);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(dir.path("")).args(arguments);
        // Root has all permissions.
        if fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
        {
            command.uid(65534).gid(65534);
        }
        command.output().expect("the program runs")
    };
    mode("", 0o555);
    let got = run(&["get", "a.teak", "k"]);
    let asked = run(&["readers", "a.teak"]);
    mode("", 0o755);
    assert!(got.status.success(), "{got:?}");
    assert_eq!(asked.status.code(), Some(4), "{asked:?}");
    let text = String::from_utf8_lossy(&asked.stderr);
    assert!(
        text.contains("the readers of a.teak cannot be listed"),
        "{text}"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_no_work_that_failed() {
    let dir = prepared();
    let full = || {
        fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("it is there")
    };
    for (arguments, is_done) in [
        (&["put", "a.teak", "new", "v", "--json"][..], true),
        (&["snapshot", "create", "a.teak", "s", "--json"], true),
        (&["backup", "a.teak", "b.teak"], true),
        (&["restore", "b.teak", "c.teak"], true),
        (&["compact", "a.teak"], true),
        (&["snapshot", "list", "a.teak"], false),
        (&["get", "a.teak", "new"], false),
        (&["backup", "a.teak", "-"], false),
    ] {
        let run = dir.run_into(arguments, full());
        run.fails(6, "free some space");
        assert_eq!(run.stderr.contains("is done"), is_done, "{run:?}");
    }
    assert_eq!(dir.succeed(&["get", "c.teak", "new"]), "v\n");
}
