//! `teak readers`, `teak compact`, `teak backup` and `teak restore`.

#[cfg(target_os = "linux")]
use crate::messages::script;
use crate::support::{TestDir, numbered_dump};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

fn loaded() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(20_000));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    dir
}

#[test]
fn a_closed_database_has_no_readers() {
    let dir = loaded();
    assert_eq!(dir.succeed(&["readers", "a.teak"]), "no readers\n");
    assert_eq!(dir.json(&["readers", "a.teak", "--json"]).to_string(), "[]");
}

/// Regression: the mappings of two databases took all addresses of a process, and none were left
/// for its memory.
#[test]
#[cfg(target_os = "linux")]
fn a_limited_address_space_has_room_for_memory_and_mappings() {
    let dir = loaded();
    let program = dir.command(&[]).get_program().to_owned();
    for limit in [200_u64, 400, 800] {
        let limited = |words: &[&str]| {
            let mut command = std::process::Command::new("prlimit");
            command.arg(format!("--as={}", limit << 20)).arg(&program);
            let output = command.args(words).current_dir(dir.path("")).output();
            output.expect("util-linux is installed")
        };
        for words in [
            &["salvage", "a.teak", "b.teak"][..],
            &["backup", "--compact", "a.teak", "c.teak"],
        ] {
            let output = limited(words);
            assert!(output.status.success(), "{limit} {words:?} {output:?}");
        }
        for copy in ["b.teak", "c.teak"] {
            fs::remove_file(dir.path(copy)).unwrap();
        }
    }
}

#[test]
fn a_backup_is_cancelled() {
    let dir = loaded();
    // It waits for the reader of its pipe, which reads only at the end.
    let mut slow = dir.command(&["backup", "a.teak", "-"]);
    let slow = slow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let slow = slow.expect("the program runs");
    let process = slow.id().to_string();
    while dir.json(&["readers", "a.teak", "--json"]) == serde_json::json!([]) {
        std::thread::sleep(Duration::from_millis(5));
    }
    dir.run(&["readers", "a.teak", "--cancel", "1"])
        .fails(1, "there is no such reader");
    dir.run(&["readers", "a.teak", "--cancel", "one:2"])
        .fails(2, "pass a process id");
    let readers = dir.json(&["readers", "a.teak", "--cancel", &process, "--json"]);
    assert_eq!(readers[0]["process"].to_string(), process);
    assert_eq!(readers[0]["cancelled"], true);
    let ended = slow.wait_with_output().expect("the program ends");
    assert!(!ended.status.success());
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(text.contains("it was cancelled"), "{text}");
    dir.succeed(&["backup", "a.teak", "b.teak"]);
}

#[test]
fn a_file_is_made_shorter_as_far_as_it_is_to_be() {
    let dir = loaded();
    dir.succeed(&["load", "in.dump", "a.teak", "--table", "other"]);
    dir.succeed(&["table", "clear", "a.teak", "main"]);
    let len = || fs::metadata(dir.path("a.teak")).unwrap().len();
    let before = len();
    let limited = "compact a.teak --max-bytes 100000 --commit-bytes 50000 --pause-ms 10 --json";
    let report = dir.json(&limited.split(' ').collect::<Vec<_>>());
    assert!(report["moved_pages"].as_u64() < Some(40), "{report}");
    let target = (before / 10 * 8).to_string();
    let report = dir.json(&["compact", "a.teak", "--until-bytes", &target, "--json"]);
    assert!(len() <= before / 10 * 8, "{report}");
    dir.succeed(&["compact", "a.teak", "--until-free", "20"]);
    let stat = dir.json(&["stat", "a.teak", "--json"]);
    let [free, all] = ["free_pages", "page_count"].map(|field| stat[field].as_u64().unwrap());
    assert!(free * 5 <= all, "{stat}");
    let report = dir.json(&["compact", "a.teak", "--until-free", "20", "--json"]);
    assert_eq!(report["moved_pages"], 0);
    dir.run(&["compact", "a.teak", "--until-free", "101"])
        .fails(2, "101");
    dir.succeed(&["check", "a.teak"]);
}

#[test]
fn a_file_is_made_shorter() {
    let dir = loaded();
    dir.succeed(&["table", "clear", "a.teak", "main"]);
    dir.succeed(&["load", "in.dump", "a.teak", "--table", "other"]);
    dir.succeed(&["table", "clear", "a.teak", "other"]);
    let before = fs::metadata(dir.path("a.teak")).unwrap().len();
    let report = dir.json(&["compact", "a.teak", "--json"]);
    assert_eq!(report["bytes_before"], before);
    let after = fs::metadata(dir.path("a.teak")).unwrap().len();
    assert!(
        after <= report["bytes_after"].as_u64().unwrap() && after < before / 4,
        "{report}"
    );
    assert!(
        dir.succeed(&["compact", "a.teak", "--max-pages", "5"])
            .contains("pages moved")
    );
    dir.succeed(&["check", "a.teak"]);
}

#[test]
fn the_obstacle_to_a_shorter_file_is_reported() {
    let dir = loaded();
    dir.succeed(&["snapshot", "create", "a.teak", "held"]);
    dir.succeed(&["table", "clear", "a.teak", "main"]);
    let words = ["compact", "a.teak", "--until-bytes", "40000"];
    let report = dir.json(&[&words[..], &["--json"]].concat());
    assert_eq!(report["is_reached"], false, "{report}");
    assert_eq!(report["obstacle"], "named_snapshots", "{report}");
    assert!(dir.succeed(&words).contains("named snapshots keep pages"));
    dir.succeed(&["snapshot", "drop", "a.teak", "held"]);
    let report = dir.json(&["compact", "a.teak", "--json"]);
    assert_eq!(report["is_reached"], true, "{report}");
    assert_eq!(report["obstacle"], serde_json::Value::Null);
}

#[test]
fn a_backup_is_restored() {
    let dir = loaded();
    let dump = dir.succeed(&["dump", "a.teak"]);
    let report = dir.json(&["backup", "a.teak", "b.teak", "--json"]);
    assert_eq!(
        report["bytes"],
        fs::metadata(dir.path("b.teak")).unwrap().len()
    );
    let report = dir.json(&["backup", "--compact", "a.teak", "c.teak", "--json"]);
    assert_eq!(report["records"], 20_000);
    for backup in ["b.teak", "c.teak"] {
        let report = dir.json(&["restore", backup, "d.teak", "--json"]);
        assert_eq!(report["records"], 20_000);
        assert_eq!(dir.succeed(&["dump", "d.teak"]), dump);
        fs::remove_file(dir.path("d.teak")).unwrap();
    }
    // Existing files are not overwritten.
    for arguments in [
        &["backup", "a.teak", "b.teak"][..],
        &["restore", "b.teak", "c.teak"],
    ] {
        let run = dir.run(arguments);
        assert_eq!(run.code, 4, "{}", run.stderr);
    }
    assert_eq!(dir.succeed(&["dump", "c.teak"]), dump);
}

/// Regression: some messages named a directory that had been removed.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named_and_keeps_no_half_copy() {
    let dir = loaded();
    dir.succeed(&["snapshot", "create", "a.teak", "sunday"]);
    dir.write("more.dump", numbered_dump(30_000));
    dir.succeed(&["load", "more.dump", "a.teak", "--table", "more"]);
    dir.succeed(&["backup", "a.teak", "whole.teak"]);
    let dump = dir.succeed(&["dump", "a.teak"]);
    fs::create_dir(dir.path("full")).expect("makes a directory");
    for (command, target) in [
        ("backup a.teak full/b.teak", "(full/b.teak)"),
        (
            "backup a.teak full/b.teak --snapshot monday",
            "(full/b.teak)",
        ),
        (
            "backup --since sunday a.teak full/b.delta",
            "(full/b.delta)",
        ),
        (
            "backup --since sunday --snapshot monday a.teak full/b.delta",
            "(full/b.delta)",
        ),
        ("backup --compact a.teak full/b.teak", "(full/b.teak)"),
        ("restore whole.teak full/b.teak", "(full/b.teak)"),
        ("salvage a.teak full/b.teak", "(full/b.teak)"),
        ("dump a.teak -o full/b.dump", "full/b.dump"),
        ("backup a.teak - >full/b.teak", "to standard output"),
        (
            "backup --compact a.teak - >full/b.teak",
            "to standard output",
        ),
        (
            "backup --since sunday a.teak - >full/b.teak",
            "to standard output",
        ),
    ] {
        let mounted = format!(
            "mount -t tmpfs -o size=256k none full; teak {command}; rc=$?; rm full/b.teak; \
             [ -z \"$(ls -A full)\" ] || exit 77; exit $rc"
        );
        let Some((code, text)) = script(&dir, true, &mounted) else {
            println!("not run, since nothing can be mounted");
            return;
        };
        assert_eq!(code, 6, "{command}: {text}");
        for part in [target, "No space left", "free some space"] {
            assert!(text.contains(part), "{command}: {text}");
        }
        assert_eq!(text.contains("rm:"), !command.contains('>'), "{text}");
    }
    assert!(
        !dir.succeed(&["snapshot", "list", "a.teak"])
            .contains("monday")
    );
    dir.succeed(&["check", "a.teak"]);
    assert_eq!(dir.succeed(&["dump", "a.teak"]), dump);
}

#[test]
fn a_backup_goes_through_a_pipe() {
    let dir = loaded();
    let dump = dir.succeed(&["dump", "a.teak"]);
    let output = dir.command(&["backup", "a.teak", "-"]).output().unwrap();
    assert!(output.status.success());
    let run = dir.run_with_input(&["restore", "-", "b.teak"], &output.stdout);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(dir.succeed(&["dump", "b.teak"]), dump);
    let mut dense = dir.command(&["backup", "--compact", "a.teak", "-"]);
    let output = dense.output().unwrap();
    assert!(output.status.success());
    let run = dir.run_with_input(&["restore", "-", "c.teak"], &output.stdout);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(dir.succeed(&["dump", "c.teak"]), dump);
}

#[test]
fn a_damaged_database_is_not_backed_up() {
    let dir = loaded();
    let mut bytes = fs::read(dir.path("a.teak")).unwrap();
    let needle = b"value-15000";
    let at = (bytes.windows(needle.len()).position(|part| part == needle))
        .expect("the value is in the file");
    bytes[at] ^= 1;
    fs::write(dir.path("a.teak"), &bytes).unwrap();
    dir.run(&["backup", "a.teak", "b.teak"]).fails(3, "page ");
    assert!(!dir.path("b.teak").exists());
    let ended = dir.command(&["backup", "a.teak", "-"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let dir = loaded();
    dir.succeed(&["backup", "a.teak", "b.teak"]);
    let mut bytes = fs::read(dir.path("b.teak")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(dir.path("b.teak"), &bytes).unwrap();
    let run = dir.run(&["restore", "b.teak", "c.teak"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(!dir.path("c.teak").exists());
    bytes.truncate(middle);
    fs::write(dir.path("b.teak"), &bytes).unwrap();
    assert_ne!(dir.run(&["restore", "b.teak", "c.teak"]).code, 0);
    assert!(!dir.path("c.teak").exists());
    assert_eq!(dir.run(&["restore", "none.teak", "c.teak"]).code, 4);
}
