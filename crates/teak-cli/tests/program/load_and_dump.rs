//! `teak load` and `teak dump`.

use crate::support::{TestDir, numbered_dump, parse};
use std::process::Stdio;

const TWO_TABLES: &str = "\
VERSION=3
format=bytevalue
database=one
type=btree
mapsize=1073741824
HEADER=END
 00
 ff0a
 6162

DATA=END
VERSION=3
format=bytevalue
database=two
type=btree
mapsize=1073741824
HEADER=END
 61
 62
DATA=END
";

fn two_tables() -> String {
    TWO_TABLES.replace("\n\nDATA", "\n \nDATA")
}

#[test]
fn a_dump_comes_back_byte_for_byte() {
    let dir = TestDir::new();
    dir.write("in.dump", two_tables());
    let said = dir.succeed(&["load", "in.dump", "a.teak"]);
    assert!(
        said.contains("loaded 3 records into 2 tables of a.teak"),
        "{said}"
    );
    assert!(said.contains("verified 3 records"), "{said}");
    assert_eq!(dir.succeed(&["dump", "a.teak", "--all"]), two_tables());

    dir.succeed(&[
        "dump", "a.teak", "--all", "--format", "print", "-o", "out.dump",
    ]);
    dir.succeed(&["load", "out.dump", "b.teak"]);
    assert_eq!(dir.succeed(&["dump", "b.teak", "--all"]), two_tables());
}

#[test]
fn standard_input_is_loaded() {
    let dir = TestDir::new();
    let run = dir.run_with_input(&["load", "-", "a.teak"], numbered_dump(3).as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        dir.succeed(&["get", "a.teak", "key-00002"]),
        "value-00002\n"
    );
}

#[test]
fn each_batch_is_acknowledged_once_it_is_committed() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(25));
    let said = dir.succeed(&[
        "load",
        "in.dump",
        "a.teak",
        "--batch",
        "10",
        "--acknowledge",
        "--json",
    ]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..3],
        ["committed 1 10", "committed 2 20", "committed 3 25"]
    );
    let report = parse(lines[3]);
    assert_eq!(report["records"], 25);
    assert_eq!(report["replaced"], 0);
    assert_eq!(report["commits"], 3);
    assert_eq!(report["transaction"], 3);
    assert_eq!(report["data_bytes"], 25 * 20);
    assert_eq!(report["verified_records"], 25);
    assert_eq!(report["tables"][0], "main");
}

#[test]
fn loading_again_changes_nothing_and_new_values_replace_old_ones() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(20));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    let again = parse(&dir.succeed(&["load", "in.dump", "a.teak", "--json"]));
    assert_eq!(
        (&again["replaced"], &again["verified_records"]),
        (&20.into(), &20.into())
    );

    dir.write(
        "more.tsv",
        "key-00001\tnew\nkey-99999\tadded\nkey-99999\tagain\n",
    );
    let more = parse(&dir.succeed(&["load", "more.tsv", "a.teak", "--json", "--batch", "1"]));
    assert_eq!(
        (&more["replaced"], &more["verified_records"]),
        (&2.into(), &21.into())
    );
    assert_eq!(dir.succeed(&["get", "a.teak", "key-00001"]), "new\n");
    assert_eq!(dir.succeed(&["get", "a.teak", "key-99999"]), "again\n");
}

#[test]
fn bulk_loads_sort_unless_the_input_is_declared_sorted() {
    let dir = TestDir::new();
    dir.write("in.tsv", "b\t2\na\t1\nc\t3\na\t0\n");
    let report = parse(&dir.succeed(&["load", "in.tsv", "a.teak", "--bulk", "--json"]));
    assert_eq!(
        (&report["records"], &report["replaced"], &report["commits"]),
        (&4.into(), &1.into(), &1.into())
    );
    assert_eq!(dir.succeed(&["scan", "a.teak"]), "a\t0\nb\t2\nc\t3\n");
    dir.run(&["load", "in.tsv", "a.teak", "--bulk"])
        .fails(2, "is not empty");
    dir.run(&["load", "in.tsv", "b.teak", "--bulk", "--sorted"])
        .fails(5, "sort the input");

    dir.write("in.dump", numbered_dump(50));
    let report =
        parse(&dir.succeed(&["load", "in.dump", "c.teak", "--bulk", "--sorted", "--json"]));
    assert_eq!(report["verified_records"], 50);
    dir.write("two.dump", two_tables());
    dir.succeed(&["load", "two.dump", "d.teak", "--bulk"]);
    assert_eq!(dir.succeed(&["dump", "d.teak", "--all"]), two_tables());
}

#[test]
fn other_load_options_store_the_same() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(30));
    for arguments in [
        &["--durability", "lazy"][..],
        &["--no-verify"],
        &["--no-verify", "--bulk"],
        &["--page-size", "16384", "--batch", "7"],
    ] {
        let name = format!("with{}.teak", arguments.concat());
        dir.succeed(&[&["load", "in.dump", &name], arguments].concat());
        assert_eq!(
            dir.succeed(&["scan", &name]).lines().count(),
            30,
            "{arguments:?}"
        );
    }
}

#[test]
fn the_table_is_the_one_asked_for_else_the_one_of_the_input_else_main() {
    let dir = TestDir::new();
    dir.write(
        "named.dump",
        "VERSION=3\nformat=print\ndatabase=own\nHEADER=END\n k\n v\nDATA=END\n",
    );
    dir.write(
        "bare.dump",
        "VERSION=3\nformat=print\nHEADER=END\n k\n v\nDATA=END\n",
    );
    for (input, arguments, table) in [
        ("named.dump", &[][..], "own"),
        ("named.dump", &["--table", "other"], "other"),
        ("bare.dump", &[], "main"),
        ("bare.dump", &["--table", "other"], "other"),
    ] {
        let name = format!("{input}{}.teak", arguments.len());
        dir.succeed(&[&["load", input, &name], arguments].concat());
        assert_eq!(dir.json(&["tables", &name, "--json"])[0]["name"], table);
    }
    dir.write("two.dump", two_tables());
    dir.run(&["load", "two.dump", "x.teak", "--table", "t"])
        .fails(2, "more than one table");
}

#[test]
fn malformed_input_is_refused_and_committed_records_stay() {
    let dir = TestDir::new();
    dir.write(
        "cut.dump",
        numbered_dump(25).replace("DATA=END\n", " key-99999\nDATA=END\n"),
    );
    let run = dir.run(&["load", "cut.dump", "a.teak", "--batch", "10"]);
    run.fails(5, "cut.dump, line 56, column 1: expected the value");
    run.fails(
        5,
        "20 records were loaded before the error and stay, up to transaction 2",
    );
    assert_eq!(dir.succeed(&["scan", "a.teak"]).lines().count(), 20);

    let error = parse(&dir.run(&["load", "cut.dump", "b.teak", "--json"]).stderr);
    assert_eq!(
        (&error["kind"], &error["exit_code"]),
        (&"malformed_input".into(), &5.into())
    );
    assert_eq!((&error["line"], &error["column"]), (&56.into(), &1.into()));

    dir.write("not.dump", "whatever\n");
    dir.run(&["load", "not.dump", "c.teak"])
        .fails(5, "--format tsv");
    assert!(!dir.path("c.teak").exists());
}

#[test]
fn a_record_that_cannot_be_stored_is_named_by_its_line() {
    let dir = TestDir::new();
    dir.write(
        "long.tsv",
        format!("a\tb\n{}\tvalue\n", "k".repeat(100_000)),
    );
    let run = dir.run(&["load", "long.tsv", "a.teak"]);
    run.fails(5, "the record in line 2 of the input cannot be stored");
}

#[test]
fn missing_files_are_distinguished() {
    let dir = TestDir::new();
    dir.run(&["load", "none.dump", "a.teak"])
        .fails(6, "opening none.dump failed");
    assert!(!dir.path("a.teak").exists());
    dir.run(&["dump", "none.teak"]).fails(4, "none.teak");
    assert!(!dir.path("none.teak").exists());
}

#[test]
fn unknown_header_keys_are_warned_about() {
    let dir = TestDir::new();
    dir.write(
        "in.dump",
        "VERSION=3\nformat=print\nflavour=x\nHEADER=END\n a\n b\nDATA=END\n",
    );
    let run = dir.run(&["load", "in.dump", "a.teak"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("warning: line 3: flavour=x is unknown"),
        "{run:?}"
    );
}

#[test]
fn tables_have_the_order_of_their_dump() {
    let dir = TestDir::new();
    let dump = two_tables().replace("HEADER=END", "reversekey=1\nHEADER=END");
    dir.write("in.dump", dump.replace(" 00\n ff0a\n", ""));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    assert_eq!(
        dir.json(&["tables", "a.teak", "--json"])[0]["order"],
        "reverse"
    );
    assert_eq!(
        dir.succeed(&["dump", "a.teak", "--all"]),
        dir.read("in.dump")
    );
    dir.run(&["scan", "a.teak", "-t", "one", "--prefix", "a"])
        .fails(2, "--from and --to");
}

#[test]
fn tab_separated_text_comes_back() {
    let dir = TestDir::new();
    let text = "a\\tb\tone\\ntwo\nz\\xff\t\\\\\nü\tÜ\n";
    dir.write("in.tsv", text);
    dir.succeed(&["load", "in.tsv", "a.teak"]);
    assert_eq!(dir.succeed(&["dump", "a.teak", "--format", "tsv"]), text);
    assert_eq!(dir.succeed(&["scan", "a.teak"]), text);
    dir.run(&["dump", "a.teak", "--format", "tsv", "--all"])
        .fails(2, "tab-separated");
}

#[test]
fn a_dump_does_not_overwrite_its_database() {
    let dir = TestDir::new();
    dir.succeed(&["put", "a.teak", "k", "v"]);
    dir.run(&["dump", "a.teak", "-o", "a.teak"])
        .fails(2, "the same file as the input");
    assert_eq!(dir.succeed(&["get", "a.teak", "k"]), "v\n");
    dir.run(&["dump", "a.teak", "-t", "none"]).fails(1, "none");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(20_000));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    for command in ["dump", "scan"] {
        let mut child = dir
            .command(&[command, "a.teak"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}
