//! `teak readers`, `teak compact`, `teak backup` and `teak restore`.

use crate::support::{Place, numbered_dump};
use std::fs;

fn loaded() -> Place {
    let place = Place::new();
    place.write("in.dump", numbered_dump(20_000));
    place.succeed(&["load", "in.dump", "a.teak"]);
    place
}

#[test]
fn nobody_reads_a_database_that_nobody_has_open() {
    let place = loaded();
    assert_eq!(place.succeed(&["readers", "a.teak"]), "nobody reads\n");
    assert_eq!(
        place.json(&["readers", "a.teak", "--json"]).to_string(),
        "[]"
    );
}

#[test]
fn a_file_is_made_shorter() {
    let place = loaded();
    place.succeed(&["table", "clear", "a.teak", "main"]);
    place.succeed(&["load", "in.dump", "a.teak", "--table", "other"]);
    place.succeed(&["table", "clear", "a.teak", "other"]);
    let before = fs::metadata(place.path("a.teak")).unwrap().len();
    let report = place.json(&["compact", "a.teak", "--json"]);
    assert_eq!(report["bytes_before"], before);
    let after = fs::metadata(place.path("a.teak")).unwrap().len();
    assert!(
        after <= report["bytes_after"].as_u64().unwrap() && after < before / 4,
        "{report}"
    );
    assert!(
        place
            .succeed(&["compact", "a.teak", "--max-pages", "5"])
            .contains("pages moved")
    );
    place.succeed(&["check", "a.teak"]);
}

#[test]
fn a_backup_is_restored() {
    let place = loaded();
    let dump = place.succeed(&["dump", "a.teak"]);
    let report = place.json(&["backup", "a.teak", "b.teak", "--json"]);
    assert_eq!(
        report["bytes"],
        fs::metadata(place.path("b.teak")).unwrap().len()
    );
    let report = place.json(&["backup", "--compact", "a.teak", "c.teak", "--json"]);
    assert_eq!(report["records"], 20_000);
    for backup in ["b.teak", "c.teak"] {
        let report = place.json(&["restore", backup, "d.teak", "--json"]);
        assert_eq!(report["records"], 20_000);
        assert_eq!(place.succeed(&["dump", "d.teak"]), dump);
        fs::remove_file(place.path("d.teak")).unwrap();
    }
    // Nothing that is there is overwritten.
    for arguments in [
        &["backup", "a.teak", "b.teak"][..],
        &["restore", "b.teak", "c.teak"],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, 4, "{}", run.stderr);
    }
    assert_eq!(place.succeed(&["dump", "c.teak"]), dump);
}

#[test]
fn a_backup_goes_through_a_pipe() {
    let place = loaded();
    let dump = place.succeed(&["dump", "a.teak"]);
    let output = place.command(&["backup", "a.teak", "-"]).output().unwrap();
    assert!(output.status.success());
    let run = place.run_with_input(&["restore", "-", "b.teak"], &output.stdout);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(place.succeed(&["dump", "b.teak"]), dump);
    let mut dense = place.command(&["backup", "--compact", "a.teak", "-"]);
    let output = dense.output().unwrap();
    assert!(output.status.success());
    let run = place.run_with_input(&["restore", "-", "c.teak"], &output.stdout);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(place.succeed(&["dump", "c.teak"]), dump);
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let place = loaded();
    place.succeed(&["backup", "a.teak", "b.teak"]);
    let mut bytes = fs::read(place.path("b.teak")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(place.path("b.teak"), &bytes).unwrap();
    let run = place.run(&["restore", "b.teak", "c.teak"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(!place.path("c.teak").exists());
    bytes.truncate(middle);
    fs::write(place.path("b.teak"), &bytes).unwrap();
    assert_ne!(place.run(&["restore", "b.teak", "c.teak"]).code, 0);
    assert!(!place.path("c.teak").exists());
    assert_eq!(place.run(&["restore", "none.teak", "c.teak"]).code, 4);
}
