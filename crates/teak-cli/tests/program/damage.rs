//! A database whose file was changed by somebody else.

use crate::support::{Place, numbered_dump, parse};

#[test]
fn a_damaged_database_fails_the_check_with_exit_code_3() {
    let place = Place::new();
    place.write("in.dump", numbered_dump(2_000));
    place.succeed(&["load", "in.dump", "a.teak"]);
    let path = place.path("a.teak");
    let mut file = std::fs::read(&path).expect("reads the database");
    let needle = b"value-01234";
    let places: Vec<usize> = (0..file.len() - needle.len())
        .filter(|at| file[*at..].starts_with(needle))
        .collect();
    assert!(!places.is_empty(), "the value is in the file");
    for at in places {
        file[at] ^= 1;
    }
    std::fs::write(&path, file).expect("writes the database");

    let run = place.run(&["check", "a.teak"]);
    run.fails(3, "restore a backup");
    assert!(run.stdout.contains("page "), "{run:?}");
    let run = place.run(&["check", "a.teak", "--json"]);
    let report = parse(&run.stdout);
    assert_eq!((run.code, &report["clean"]), (3, &false.into()));
    assert!(report["damages"][0]["page"].is_u64(), "{report}");
    assert_eq!(parse(&run.stderr)["kind"], "damaged");
}
