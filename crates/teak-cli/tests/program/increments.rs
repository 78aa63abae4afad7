//! `teak backup --since`, `teak restore` with increments, and dense copies of named snapshots.

use crate::support::{Place, numbered_dump, parse};
use std::{
    fs,
    time::{Duration, Instant},
};

/// A database with a copy and two increments, and the dump that all of them make.
fn backed_up() -> (Place, String) {
    let place = Place::new();
    place.write("in.dump", numbered_dump(20_000));
    place.succeed(&["load", "in.dump", "a.teak"]);
    place.succeed(&["backup", "a.teak", "full.teak", "--snapshot", "sunday"]);
    place.succeed(&["put", "a.teak", "key-00007", "monday"]);
    let report = place.json(&[
        "backup",
        "a.teak",
        "monday.delta",
        "--since",
        "sunday",
        "--snapshot",
        "monday",
        "--json",
    ]);
    let len = fs::metadata(place.path("monday.delta")).unwrap().len();
    assert_eq!(report["bytes"], len);
    assert_eq!(
        (&report["since"], &report["transaction"]),
        (&3.into(), &5.into()),
        "{report}"
    );
    assert!(len < 100_000, "{report}");
    place.succeed(&["put", "a.teak", "key-00008", "tuesday"]);
    let mut tuesday = place.command(&[
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
    fs::write(place.path("tuesday.delta"), output.stdout).unwrap();
    let dump = place.succeed(&["dump", "a.teak"]);
    (place, dump)
}

#[test]
fn a_copy_and_its_increments_are_restored() {
    let (place, dump) = backed_up();
    let report = place.json(&[
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
        fs::metadata(place.path("b.teak")).unwrap().len()
    );
    assert_eq!(place.succeed(&["dump", "b.teak"]), dump);
    let list = place.succeed(&["snapshot", "list", "b.teak"]);
    assert!(list.contains("sunday") && list.contains("monday"), "{list}");
    // Any one of them may come through a pipe.
    let full = fs::read(place.path("full.teak")).unwrap();
    let arguments = ["restore", "-", "monday.delta", "tuesday.delta", "c.teak"];
    assert_eq!(place.run_with_input(&arguments, &full).code, 0);
    assert_eq!(place.succeed(&["dump", "c.teak"]), dump);
    let tuesday = fs::read(place.path("tuesday.delta")).unwrap();
    let arguments = ["restore", "full.teak", "monday.delta", "-", "d.teak"];
    assert_eq!(place.run_with_input(&arguments, &tuesday).code, 0);
    assert_eq!(place.succeed(&["dump", "d.teak"]), dump);
}

#[test]
fn increments_that_do_not_fit_are_refused() {
    let (place, _) = backed_up();
    let restore = |backups: &[&str]| place.run(&[&["restore"], backups, &["b.teak"]].concat());
    let run = restore(&["full.teak", "tuesday.delta"]);
    run.fails(2, "the increment leads from transaction");
    run.fails(2, "tuesday.delta was being applied; nothing was restored");
    restore(&["full.teak", "tuesday.delta", "monday.delta"]).fails(2, "tuesday.delta was");
    restore(&["full.teak", "full.teak"]).fails(2, "incremental backup is incomplete");
    restore(&["monday.delta"]).fails(4, "monday.delta is not a Teak database");
    restore(&["full.teak", "none.delta"]).fails(4, "none.delta");
    restore(&["-", "-"]).fails(2, "only one of the backups");
    let mut cut = fs::read(place.path("monday.delta")).unwrap();
    cut.truncate(cut.len() - 100);
    fs::write(place.path("cut.delta"), &cut).unwrap();
    restore(&["full.teak", "cut.delta"]).fails(2, "cut.delta was being applied");
    assert!(!place.path("b.teak").exists());
    let left = fs::read_dir(place.path("")).unwrap().count();
    assert_eq!(left, 6, "nothing that is not complete is left behind");
}

#[test]
fn a_damaged_copy_is_told_as_such() {
    let (place, _) = backed_up();
    let mut bytes = fs::read(place.path("full.teak")).unwrap();
    let needle = b"value-15000";
    let at = (bytes.windows(needle.len()).position(|part| part == needle))
        .expect("the value is in the copy");
    bytes[at] ^= 1;
    fs::write(place.path("full.teak"), &bytes).unwrap();
    let run = place.run(&["restore", "full.teak", "monday.delta", "b.teak", "--json"]);
    run.fails(3, "the backup is damaged: page ");
    assert_eq!(parse(&run.stderr)["kind"], "damaged");
    assert!(!place.path("b.teak").exists());
}

#[test]
fn a_backup_that_fails_leaves_no_snapshot() {
    let (place, _) = backed_up();
    place
        .run(&["backup", "a.teak", "full.teak", "--snapshot", "tuesday"])
        .fails(4, "already exists");
    place
        .run(&[
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
        !place
            .succeed(&["snapshot", "list", "a.teak"])
            .contains("tuesday")
    );
    place
        .run(&[
            "backup",
            "a.teak",
            "x.delta",
            "--since",
            "sunday",
            "--snapshot",
            "monday",
        ])
        .fails(2, "snapshot \"monday\" already exists");
    assert!(!place.path("x.delta").exists());
}

#[test]
fn a_named_snapshot_is_copied_densely() {
    let (place, dump) = backed_up();
    let report = place.json(&[
        "backup",
        "--compact",
        "--of",
        "sunday",
        "a.teak",
        "b.teak",
        "--json",
    ]);
    assert_eq!(report["records"], 20_000);
    let past = place.succeed(&["dump", "a.teak", "--snapshot", "sunday"]);
    assert_ne!(past, dump);
    assert_eq!(place.succeed(&["dump", "b.teak"]), past);
    assert_eq!(
        place.succeed(&["snapshot", "list", "b.teak"]),
        "no named snapshots\n"
    );
    place
        .run(&["backup", "--of", "sunday", "a.teak", "c.teak"])
        .fails(2, "--compact");
    place
        .run(&["backup", "--compact", "--of", "none", "a.teak", "c.teak"])
        .fails(1, "there is no snapshot \"none\"");
}

/// A copy may be late, but never early.
#[test]
fn dense_copies_keep_to_a_pace() {
    let place = Place::new();
    place.write("all.dump", numbered_dump(20_000));
    place.succeed(&["load", "all.dump", "a.teak"]);
    let arguments = ["backup", "--compact", "--max-rate", "1", "a.teak"];
    let begun = Instant::now();
    place.succeed(&[&arguments[..], &["b.teak"]].concat());
    // Up to 1,024 records may be in progress.
    let data_bytes = (20_000 - 1_024) * "key-00000value-00000".len() as u64;
    assert!(begun.elapsed() >= Duration::from_micros(data_bytes));
    let begun = Instant::now();
    let mut to_pipe = place.command(&[&arguments[..], &["-"]].concat());
    let output = to_pipe.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(begun.elapsed() >= Duration::from_micros(output.stdout.len() as u64));
}
