//! Tests of acknowledgements, and of the calls in a trace.

use super::{
    calls::{KillPoint, Ordinals, ordinals},
    loader::acknowledged,
};

#[test]
fn the_last_complete_line_counts() {
    assert_eq!(acknowledged("").unwrap(), 0);
    assert_eq!(
        acknowledged("committed 1 250\ncommitted 2 500\n").unwrap(),
        500
    );
    assert_eq!(
        acknowledged("committed 1 250\ncommitted 2 500\ncommitted 3 7").unwrap(),
        500
    );
    assert_eq!(acknowledged("committed 1 25").unwrap(), 0);
}

#[test]
fn other_lines_do_not_count() {
    assert_eq!(
        acknowledged("loading\ncommitted 1 250\ndone\n").unwrap(),
        250
    );
    assert!(acknowledged("committed much\n").is_err());
}

#[test]
fn calls_are_counted_after_opening() {
    let trace = "\
7  openat(AT_FDCWD, \"/etc/ld.so.cache\") = 3
7  write(1, \"opening 0\\n\", 10) = 10
7  openat(AT_FDCWD, \".\") = 3
8  fdatasync(3 <unfinished ...>
7  openat(AT_FDCWD, \".\") = 4
8  <... fdatasync resumed>) = 0
7  +++ exited with 0 +++
";
    let found = ordinals(trace);
    let expected = [
        ("fdatasync", Ordinals { first: 1, last: 1 }),
        ("openat", Ordinals { first: 2, last: 3 }),
    ];
    assert_eq!(
        found,
        expected
            .map(|(name, counts)| (name.to_owned(), counts))
            .into()
    );
}

#[test]
fn a_point_is_parsed_from_its_text() {
    for text in ["new:plain:pwritev:7", "left:flusher:fdatasync:1"] {
        let point: KillPoint = text.parse().unwrap();
        assert_eq!(point.to_string(), text);
    }
    assert!("new:plain:pwritev".parse::<KillPoint>().is_err());
    assert!("new:quick:pwritev:1".parse::<KillPoint>().is_err());
}
