//! `teak get` and `teak scan`.

use crate::support::{TestDir, parse};

fn fruits() -> TestDir {
    let dir = TestDir::new();
    dir.write(
        "in.tsv",
        "apple\tred\napricot\torange\nbanana\tyellow\nn\\xff\tb\\x00\\xfe\n",
    );
    dir.succeed(&["load", "in.tsv", "a.teak"]);
    dir
}

#[test]
fn values_are_printed_in_each_format() {
    let dir = fruits();
    assert_eq!(dir.succeed(&["get", "a.teak", "apple"]), "red\n");
    assert_eq!(
        dir.succeed(&["get", "a.teak", "apple", "--format", "raw"]),
        "red"
    );
    assert_eq!(
        dir.succeed(&["get", "a.teak", "apple", "--format", "hex"]),
        "726564\n"
    );
    assert_eq!(
        dir.json(&["get", "a.teak", "apple", "--json"])["value"],
        "red"
    );
    assert_eq!(
        dir.json(&["get", "a.teak", "--hex", "6eFF", "--json"])["value_hex"],
        "6200fe"
    );
}

#[test]
fn missing_keys_and_tables_are_exit_code_1() {
    let dir = fruits();
    let run = dir.run(&["get", "a.teak", "cherry"]);
    run.fails(1, "there is no key \"cherry\" in table \"main\"");
    assert_eq!(run.stdout, "");
    dir.run(&["get", "a.teak", "apple", "-t", "none"])
        .fails(1, "there is no table");
    assert_eq!(
        parse(&dir.run(&["get", "a.teak", "x", "--json"]).stderr)["kind"],
        "not_found"
    );
}

#[test]
fn arguments_that_make_no_sense_are_exit_code_2() {
    let dir = fruits();
    dir.run(&["get", "a.teak", "--hex", "6g"])
        .fails(2, "a hexadecimal digit at column 2");
    dir.run(&["get", "a.teak"]).fails(2, "<KEY>");
    dir.run(&["frobnicate"]).fails(2, "frobnicate");
    assert_eq!(
        parse(&dir.run(&["frobnicate", "--json"]).stderr)["kind"],
        "usage"
    );
    dir.run(&["scan", "a.teak", "--prefix", "a", "--from", "b"])
        .fails(2, "cannot be used with");
}

#[test]
fn databases_that_cannot_be_opened_are_exit_code_4() {
    let dir = fruits();
    dir.run(&["get", "none.teak", "k"]).fails(4, "none.teak");
    assert!(!dir.path("none.teak").exists());
    dir.write("other.teak", "this is some other file".repeat(2000));
    for command in ["scan", "tables", "stat", "check", "dump"] {
        dir.run(&[command, "other.teak"]).fails(4, "other.teak");
    }
    assert_eq!(
        dir.read("other.teak"),
        "this is some other file".repeat(2000)
    );
}

#[test]
fn ranges_are_cut_as_asked() {
    let dir = fruits();
    let keys = |arguments: &[&str]| -> Vec<String> {
        let text = dir.succeed(&[&["scan", "a.teak"], arguments].concat());
        text.lines()
            .filter_map(|line| line.split('\t').next())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(keys(&[]), ["apple", "apricot", "banana", "n\\xff"]);
    assert_eq!(keys(&["--prefix", "ap"]), ["apple", "apricot"]);
    assert_eq!(keys(&["--prefix", ""]).len(), 4);
    assert_eq!(keys(&["--hex", "--prefix", "6eff"]), ["n\\xff"]);
    assert_eq!(
        keys(&["--from", "apricot"]),
        ["apricot", "banana", "n\\xff"]
    );
    assert_eq!(
        keys(&["--from", "ap", "--to", "banana"]),
        ["apple", "apricot"]
    );
    assert_eq!(keys(&["--from", "c", "--to", "a"]), [""; 0]);
    assert_eq!(keys(&["--from", "a", "--to", "a"]), [""; 0]);
    assert_eq!(keys(&["--limit", "2"]), ["apple", "apricot"]);
    assert_eq!(keys(&["--limit", "0"]), [""; 0]);
    assert_eq!(keys(&["--reverse", "-n", "2"]), ["n\\xff", "banana"]);
    assert_eq!(keys(&["--reverse", "--prefix", "ap"]), ["apricot", "apple"]);
}

#[test]
fn records_are_printed_in_each_format() {
    let dir = fruits();
    let text = dir.succeed(&["scan", "a.teak", "--from", "banana"]);
    assert_eq!(text, "banana\tyellow\nn\\xff\tb\\x00\\xfe\n");
    let hex = dir.succeed(&["scan", "a.teak", "--prefix", "apple", "--format", "hex"]);
    assert_eq!(hex, "6170706c65\t726564\n");
    let json = dir.succeed(&["scan", "a.teak", "--from", "banana", "--json"]);
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"key":"banana","value":"yellow"}"#,
            r#"{"key_hex":"6eff","value_hex":"6200fe"}"#
        ]
    );
}
