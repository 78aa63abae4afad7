//! `teak backup --since`, `teak restore` with increments, and dense copies of named snapshots.

use crate::support::{TestDir, numbered_dump, parse};
use std::{
    fs,
    time::{Duration, Instant},
};

/// A database with a copy and two increments, and the dump that all of them make.
fn backed_up() -> (TestDir, String) {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(20_000));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    dir.succeed(&["backup", "a.teak", "full.teak", "--snapshot", "sunday"]);
    dir.succeed(&["put", "a.teak", "key-00007", "monday"]);
    let report = dir.json(&[
        "backup",
        "a.teak",
        "monday.delta",
        "--since",
        "sunday",
        "--snapshot",
        "monday",
        "--json",
    ]);
    let len = fs::metadata(dir.path("monday.delta")).unwrap().len();
    assert_eq!(report["bytes"], len);
    assert_eq!(
        (&report["since"], &report["transaction"]),
        (&3.into(), &5.into()),
        "{report}"
    );
    assert!(len < 100_000, "{report}");
    dir.succeed(&["put", "a.teak", "key-00008", "tuesday"]);
    let mut tuesday = dir.command(&[
        "backup",
        "a.teak",
        "-",
        "--since",
        "monday",
        "--max-rate",
        "10",
    ]);
    let output = tuesday.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::write(dir.path("tuesday.delta"), output.stdout).unwrap();
    let dump = dir.succeed(&["dump", "a.teak"]);
    (dir, dump)
}

#[test]
fn a_copy_and_its_increments_are_restored() {
    let (dir, dump) = backed_up();
    let report = dir.json(&[
        "restore",
        "full.teak",
        "monday.delta",
        "tuesday.delta",
        "b.teak",
        "--json",
    ]);
    assert_eq!(
        (&report["records"], &report["increments"]),
        (&20_000.into(), &2.into())
    );
    assert_eq!(
        report["bytes"],
        fs::metadata(dir.path("b.teak")).unwrap().len()
    );
    assert_eq!(dir.succeed(&["dump", "b.teak"]), dump);
    let list = dir.succeed(&["snapshot", "list", "b.teak"]);
    assert!(list.contains("sunday") && list.contains("monday"), "{list}");
    // Any one of them may come through a pipe.
    let full = fs::read(dir.path("full.teak")).unwrap();
    let arguments = ["restore", "-", "monday.delta", "tuesday.delta", "c.teak"];
    assert_eq!(dir.run_with_input(&arguments, &full).code, 0);
    assert_eq!(dir.succeed(&["dump", "c.teak"]), dump);
    let tuesday = fs::read(dir.path("tuesday.delta")).unwrap();
    let arguments = ["restore", "full.teak", "monday.delta", "-", "d.teak"];
    assert_eq!(dir.run_with_input(&arguments, &tuesday).code, 0);
    assert_eq!(dir.succeed(&["dump", "d.teak"]), dump);
}

#[test]
fn increments_that_do_not_fit_are_refused() {
    let (dir, _) = backed_up();
    let restore = |backups: &[&str]| dir.run(&[&["restore"], backups, &["b.teak"]].concat());
    let run = restore(&["full.teak", "tuesday.delta"]);
    run.fails(2, "the increment leads from transaction");
    run.fails(2, "tuesday.delta was being applied; nothing was restored");
    restore(&["full.teak", "tuesday.delta", "monday.delta"]).fails(2, "tuesday.delta was");
    restore(&["full.teak", "full.teak"]).fails(2, "incremental backup is incomplete");
    restore(&["monday.delta"]).fails(4, "monday.delta is not a Teak database");
    restore(&["full.teak", "none.delta"]).fails(4, "none.delta");
    restore(&["-", "-"]).fails(2, "only one of the backups");
    let mut cut = fs::read(dir.path("monday.delta")).unwrap();
    cut.truncate(cut.len() - 100);
    fs::write(dir.path("cut.delta"), &cut).unwrap();
    restore(&["full.teak", "cut.delta"]).fails(2, "cut.delta was being applied");
    assert!(!dir.path("b.teak").exists());
    let left = fs::read_dir(dir.path("")).unwrap().count();
    assert_eq!(left, 6, "nothing that is not complete is left behind");
}

#[test]
fn a_damaged_copy_is_reported_as_such() {
    let (dir, _) = backed_up();
    let mut bytes = fs::read(dir.path("full.teak")).unwrap();
    let needle = b"value-15000";
    let at = (bytes.windows(needle.len()).position(|part| part == needle))
        .expect("the value is in the copy");
    bytes[at] ^= 1;
    fs::write(dir.path("full.teak"), &bytes).unwrap();
    let run = dir.run(&["restore", "full.teak", "monday.delta", "b.teak", "--json"]);
    run.fails(3, "the backup is damaged: page ");
    assert_eq!(parse(&run.stderr)["kind"], "damaged");
    assert!(!dir.path("b.teak").exists());
}

#[test]
fn a_backup_that_fails_leaves_no_snapshot() {
    let (dir, _) = backed_up();
    dir.run(&["backup", "a.teak", "full.teak", "--snapshot", "tuesday"])
        .fails(4, "already exists");
    dir.run(&[
        "backup",
        "a.teak",
        "x.delta",
        "--since",
        "none",
        "--snapshot",
        "tuesday",
    ])
    .fails(1, "there is no snapshot \"none\"");
    assert!(
        !dir.succeed(&["snapshot", "list", "a.teak"])
            .contains("tuesday")
    );
    dir.run(&[
        "backup",
        "a.teak",
        "x.delta",
        "--since",
        "sunday",
        "--snapshot",
        "monday",
    ])
    .fails(2, "snapshot \"monday\" already exists");
    assert!(!dir.path("x.delta").exists());
}

#[test]
fn a_named_snapshot_is_copied_densely() {
    let (dir, dump) = backed_up();
    let report = dir.json(&[
        "backup",
        "--compact",
        "--of",
        "sunday",
        "a.teak",
        "b.teak",
        "--json",
    ]);
    assert_eq!(report["records"], 20_000);
    let past = dir.succeed(&["dump", "a.teak", "--snapshot", "sunday"]);
    assert_ne!(past, dump);
    assert_eq!(dir.succeed(&["dump", "b.teak"]), past);
    assert_eq!(
        dir.succeed(&["snapshot", "list", "b.teak"]),
        "no named snapshots\n"
    );
    dir.run(&["backup", "--of", "sunday", "a.teak", "c.teak"])
        .fails(2, "--compact");
    dir.run(&["backup", "--compact", "--of", "none", "a.teak", "c.teak"])
        .fails(1, "there is no snapshot \"none\"");
}

/// A copy may be late, but never early.
#[test]
fn dense_copies_respect_the_rate_limit() {
    let dir = TestDir::new();
    dir.write("all.dump", numbered_dump(20_000));
    dir.succeed(&["load", "all.dump", "a.teak"]);
    let arguments = ["backup", "--compact", "--max-rate", "1", "a.teak"];
    let begun = Instant::now();
    dir.succeed(&[&arguments[..], &["b.teak"]].concat());
    // Up to 1,024 records may be in progress.
    let data_bytes = (20_000 - 1_024) * "key-00000value-00000".len() as u64;
    assert!(begun.elapsed() >= Duration::from_micros(data_bytes));
    let begun = Instant::now();
    let mut to_pipe = dir.command(&[&arguments[..], &["-"]].concat());
    let output = to_pipe.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(begun.elapsed() >= Duration::from_micros(output.stdout.len() as u64));
}
