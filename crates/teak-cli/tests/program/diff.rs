//! `teak diff`.

use crate::support::{TestDir, parse};

/// A database with the snapshots `monday` and `tuesday`.
fn changed() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.tsv", "ash\t1\noak\t2\nteak\tthree\\tfour\n");
    dir.succeed(&["load", "in.tsv", "a.teak"]);
    dir.succeed(&["put", "a.teak", "--table", "old", "x", "1"]);
    dir.succeed(&["snapshot", "create", "a.teak", "monday"]);
    dir.succeed(&["put", "a.teak", "oak", "5"]);
    dir.succeed(&["put", "a.teak", "elm", "7"]);
    dir.succeed(&["del", "a.teak", "teak"]);
    dir.succeed(&["snapshot", "create", "a.teak", "tuesday"]);
    dir.succeed(&["table", "drop", "a.teak", "old"]);
    dir.succeed(&["put", "a.teak", "--table", "new", "y", "2"]);
    dir
}

#[test]
fn records_that_differ_are_shown_in_order() {
    let dir = changed();
    let main = "table \"main\"\n+\telm\t7\n~\toak\t2\t5\n-\tteak\tthree\\tfour\n";
    assert_eq!(dir.succeed(&["diff", "a.teak", "monday", "tuesday"]), main);
    assert_eq!(
        dir.succeed(&["diff", "a.teak", "monday", "--table", "main"]),
        main
    );
    let rest = "table \"new\" created\n+\ty\t2\ntable \"old\" dropped\n-\tx\t1\n";
    assert_eq!(dir.succeed(&["diff", "a.teak", "tuesday"]), rest);
    assert_eq!(
        dir.succeed(&["diff", "a.teak", "monday"]),
        [main, rest].concat()
    );
    assert_eq!(dir.succeed(&["diff", "a.teak", "monday", "monday"]), "");
    let back = dir.succeed(&["diff", "a.teak", "tuesday", "monday", "--format", "hex"]);
    assert!(
        back.starts_with("table \"main\"\n-\t656c6d\t37\n~\t6f616b\t35\t32\n"),
        "{back}"
    );
}

#[test]
fn differences_in_json_are_one_object_on_each_line() {
    let dir = changed();
    let json = dir.succeed(&["diff", "a.teak", "monday", "--json"]);
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"table":"main","change":"inserted","key":"elm","new":"7"}"#,
            r#"{"table":"main","change":"changed","key":"oak","old":"2","new":"5"}"#,
            r#"{"table":"main","change":"removed","key":"teak","old":"three\tfour"}"#,
            r#"{"table":"new","change":"table_created"}"#,
            r#"{"table":"new","change":"inserted","key":"y","new":"2"}"#,
            r#"{"table":"old","change":"table_dropped"}"#,
            r#"{"table":"old","change":"removed","key":"x","old":"1"}"#,
        ]
    );
}

#[test]
fn differences_are_counted() {
    let dir = changed();
    let text = dir.succeed(&["diff", "a.teak", "monday", "--count"]);
    assert_eq!(
        text,
        "table \"main\": 1 inserted, 1 changed, 1 removed\ntable \"new\" created: 1 record\ntable \"old\" dropped: 1 record\n"
    );
    let report = dir.json(&[
        "diff", "a.teak", "monday", "--count", "--json", "--table", "old",
    ]);
    let expected = r#"[{"name":"old","table":"dropped","inserted":0,"changed":0,"removed":1}]"#;
    assert_eq!(report, parse(expected));
    let same = [
        "diff", "a.teak", "monday", "tuesday", "--table", "old", "--count",
    ];
    assert_eq!(dir.succeed(&same), "no differences\n");
}

#[test]
fn a_table_in_another_order_was_dropped_and_created() {
    let dir = changed();
    dir.succeed(&["table", "drop", "a.teak", "main"]);
    dir.succeed(&["table", "create", "a.teak", "main", "--order", "reverse"]);
    dir.succeed(&["put", "a.teak", "oak", "5"]);
    let text = dir.succeed(&["diff", "a.teak", "tuesday", "--table", "main"]);
    assert_eq!(
        text,
        "table \"main\" dropped\n-\tash\t1\n-\telm\t7\n-\toak\t5\ntable \"main\" created\n+\toak\t5\n"
    );
}

#[test]
fn a_table_that_is_as_it_was_again_is_not_named() {
    let dir = changed();
    dir.succeed(&["snapshot", "create", "a.teak", "before"]);
    dir.succeed(&["put", "a.teak", "elm", "8"]);
    dir.succeed(&["put", "a.teak", "elm", "7"]);
    assert_eq!(dir.succeed(&["diff", "a.teak", "before"]), "");
    assert_eq!(
        dir.succeed(&["diff", "a.teak", "before", "--count"]),
        "no differences\n"
    );
}

#[test]
fn missing_snapshots_and_tables_cannot_be_compared() {
    let dir = changed();
    dir.run(&["diff", "a.teak", "sunday"])
        .fails(1, "there is no snapshot \"sunday\"");
    dir.run(&["diff", "a.teak", "monday", "sunday"])
        .fails(1, "there is no snapshot");
    dir.run(&["diff", "a.teak", "monday", "--table", "none"])
        .fails(1, "there is no table \"none\"");
}
