//! Databases whose file was changed by another program.

use crate::support::{TestDir, numbered_dump, parse};

/// A database `a.teak` of 2,000 records, in which bytes of a value were changed.
fn damaged_database() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(2_000));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    let path = dir.path("a.teak");
    let mut file = std::fs::read(&path).expect("reads the database");
    let needle = b"value-01234";
    let offsets: Vec<usize> = (0..file.len() - needle.len())
        .filter(|at| file[*at..].starts_with(needle))
        .collect();
    assert!(!offsets.is_empty(), "the value is in the file");
    for at in offsets {
        file[at] ^= 1;
    }
    std::fs::write(&path, file).expect("writes the database");
    dir
}

#[test]
fn a_damaged_database_fails_the_check_with_exit_code_3() {
    let dir = damaged_database();
    let run = dir.run(&["check", "a.teak"]);
    run.fails(3, "restore a backup");
    assert!(run.stdout.contains("page "), "{run:?}");
    let run = dir.run(&["check", "a.teak", "--json"]);
    let report = parse(&run.stdout);
    assert_eq!((run.code, &report["clean"]), (3, &false.into()));
    assert!(report["damages"][0]["page"].is_u64(), "{report}");
    assert_eq!(parse(&run.stderr)["kind"], "damaged");
}

#[test]
fn reading_damage_names_table_and_keys() {
    let dir = damaged_database();
    let run = dir.run(&["get", "a.teak", "key-01234"]);
    run.fails(3, "in table \"main\", keys from \"key-0");
    run.fails(3, "teak salvage");
    dir.succeed(&["get", "a.teak", "key-00001"]);
}

#[test]
fn salvage_saves_the_rest_and_names_the_losses() {
    let dir = damaged_database();
    let before = std::fs::read(dir.path("a.teak")).expect("reads the database");
    let run = dir.run(&["salvage", "a.teak", "saved.teak"]);
    run.fails(3, "not everything could be saved");
    assert!(run.stdout.contains("table \"main\": page "), "{run:?}");
    assert!(run.stdout.contains("keys from \"key-0"), "{run:?}");
    let after = std::fs::read(dir.path("a.teak")).expect("reads the database");
    assert!(before == after, "the damaged file is not changed");

    let check = dir.json(&["check", "saved.teak", "--json"]);
    assert_eq!(check["clean"], true);
    let saved = check["records"].as_u64().expect("a number of records");
    let run = dir.run(&["salvage", "a.teak", "again.teak", "--json"]);
    let report = parse(&run.stdout);
    assert_eq!((run.code, &report["complete"]), (3, &false.into()));
    let table = &report["tables"][0];
    assert_eq!(table["records"], saved);
    assert_eq!(table["records_lost"], 2_000 - saved);
    assert!(table["losses"][0]["from_key_hex"].is_string(), "{report}");
    assert!(1_500 < saved && saved < 2_000, "{report}");

    dir.run(&["salvage", "a.teak", "saved.teak"])
        .fails(4, "already exists");
}

#[test]
fn salvage_of_a_sound_database_is_a_copy() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(100));
    dir.succeed(&["load", "in.dump", "a.teak", "--table", "words"]);
    let text = dir.succeed(&["salvage", "a.teak", "b.teak"]);
    assert!(
        text.contains("table \"words\": 100 records saved, 0 lost"),
        "{text}"
    );
    let dump = |name| dir.succeed(&["dump", name, "--table", "words"]);
    assert_eq!(dump("a.teak"), dump("b.teak"));
}
