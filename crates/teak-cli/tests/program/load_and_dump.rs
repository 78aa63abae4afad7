//! `teak load` and `teak dump`.

use crate::support::{Place, numbered_dump, parse};
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
    let place = Place::new();
    place.write("in.dump", two_tables());
    let said = place.succeed(&["load", "in.dump", "a.teak"]);
    assert!(
        said.contains("loaded 3 records into 2 tables of a.teak"),
        "{said}"
    );
    assert!(said.contains("verified 3 records"), "{said}");
    assert_eq!(place.succeed(&["dump", "a.teak", "--all"]), two_tables());

    place.succeed(&[
        "dump", "a.teak", "--all", "--format", "print", "-o", "out.dump",
    ]);
    place.succeed(&["load", "out.dump", "b.teak"]);
    assert_eq!(place.succeed(&["dump", "b.teak", "--all"]), two_tables());
}

#[test]
fn standard_input_is_loaded() {
    let place = Place::new();
    let run = place.run_with_input(&["load", "-", "a.teak"], numbered_dump(3).as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        place.succeed(&["get", "a.teak", "key-00002"]),
        "value-00002\n"
    );
}

#[test]
fn each_batch_is_acknowledged_once_it_is_committed() {
    let place = Place::new();
    place.write("in.dump", numbered_dump(25));
    let said = place.succeed(&[
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
    let place = Place::new();
    place.write("in.dump", numbered_dump(20));
    place.succeed(&["load", "in.dump", "a.teak"]);
    let again = parse(&place.succeed(&["load", "in.dump", "a.teak", "--json"]));
    assert_eq!(
        (&again["replaced"], &again["verified_records"]),
        (&20.into(), &20.into())
    );

    place.write(
        "more.tsv",
        "key-00001\tnew\nkey-99999\tadded\nkey-99999\tagain\n",
    );
    let more = parse(&place.succeed(&["load", "more.tsv", "a.teak", "--json", "--batch", "1"]));
    assert_eq!(
        (&more["replaced"], &more["verified_records"]),
        (&2.into(), &21.into())
    );
    assert_eq!(place.succeed(&["get", "a.teak", "key-00001"]), "new\n");
    assert_eq!(place.succeed(&["get", "a.teak", "key-99999"]), "again\n");
}

#[test]
fn bulk_loads_sort_unless_told_that_the_input_is_sorted() {
    let place = Place::new();
    place.write("in.tsv", "b\t2\na\t1\nc\t3\na\t0\n");
    let report = parse(&place.succeed(&["load", "in.tsv", "a.teak", "--bulk", "--json"]));
    assert_eq!(
        (&report["records"], &report["replaced"], &report["commits"]),
        (&4.into(), &1.into(), &1.into())
    );
    assert_eq!(place.succeed(&["scan", "a.teak"]), "a\t0\nb\t2\nc\t3\n");
    place
        .run(&["load", "in.tsv", "a.teak", "--bulk"])
        .fails(2, "is not empty");
    place
        .run(&["load", "in.tsv", "b.teak", "--bulk", "--sorted"])
        .fails(5, "sort the input");

    place.write("in.dump", numbered_dump(50));
    let report =
        parse(&place.succeed(&["load", "in.dump", "c.teak", "--bulk", "--sorted", "--json"]));
    assert_eq!(report["verified_records"], 50);
    place.write("two.dump", two_tables());
    place.succeed(&["load", "two.dump", "d.teak", "--bulk"]);
    assert_eq!(place.succeed(&["dump", "d.teak", "--all"]), two_tables());
}

#[test]
fn other_ways_to_load_store_the_same() {
    let place = Place::new();
    place.write("in.dump", numbered_dump(30));
    for arguments in [
        &["--durability", "lazy"][..],
        &["--no-verify"],
        &["--no-verify", "--bulk"],
        &["--page-size", "16384", "--batch", "7"],
    ] {
        let name = format!("with{}.teak", arguments.concat());
        place.succeed(&[&["load", "in.dump", &name], arguments].concat());
        assert_eq!(
            place.succeed(&["scan", &name]).lines().count(),
            30,
            "{arguments:?}"
        );
    }
}

#[test]
fn the_table_is_the_one_asked_for_else_the_one_of_the_input_else_main() {
    let place = Place::new();
    place.write(
        "named.dump",
        "VERSION=3\nformat=print\ndatabase=own\nHEADER=END\n k\n v\nDATA=END\n",
    );
    place.write(
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
        place.succeed(&[&["load", input, &name], arguments].concat());
        assert_eq!(place.json(&["tables", &name, "--json"])[0]["name"], table);
    }
    place.write("two.dump", two_tables());
    place
        .run(&["load", "two.dump", "x.teak", "--table", "t"])
        .fails(2, "more than one table");
}

#[test]
fn malformed_input_is_refused_and_what_was_committed_stays() {
    let place = Place::new();
    place.write(
        "cut.dump",
        numbered_dump(25).replace("DATA=END\n", " key-99999\nDATA=END\n"),
    );
    let run = place.run(&["load", "cut.dump", "a.teak", "--batch", "10"]);
    run.fails(5, "cut.dump, line 56, column 1: expected the value");
    run.fails(
        5,
        "20 records were loaded before the error and stay, up to transaction 2",
    );
    assert_eq!(place.succeed(&["scan", "a.teak"]).lines().count(), 20);

    let error = parse(&place.run(&["load", "cut.dump", "b.teak", "--json"]).stderr);
    assert_eq!(
        (&error["kind"], &error["exit_code"]),
        (&"malformed_input".into(), &5.into())
    );
    assert_eq!((&error["line"], &error["column"]), (&56.into(), &1.into()));

    place.write("not.dump", "whatever\n");
    place
        .run(&["load", "not.dump", "c.teak"])
        .fails(5, "--format tsv");
    assert!(!place.path("c.teak").exists());
}

#[test]
fn a_record_that_cannot_be_stored_is_named_by_its_line() {
    let place = Place::new();
    place.write(
        "long.tsv",
        format!("a\tb\n{}\tvalue\n", "k".repeat(100_000)),
    );
    let run = place.run(&["load", "long.tsv", "a.teak"]);
    run.fails(5, "the record in line 2 of the input cannot be stored");
}

#[test]
fn missing_files_are_told_apart() {
    let place = Place::new();
    place
        .run(&["load", "none.dump", "a.teak"])
        .fails(6, "opening none.dump failed");
    assert!(!place.path("a.teak").exists());
    place.run(&["dump", "none.teak"]).fails(4, "none.teak");
    assert!(!place.path("none.teak").exists());
}

#[test]
fn unknown_header_keys_are_warned_about() {
    let place = Place::new();
    place.write(
        "in.dump",
        "VERSION=3\nformat=print\nflavour=x\nHEADER=END\n a\n b\nDATA=END\n",
    );
    let run = place.run(&["load", "in.dump", "a.teak"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("warning: line 3: flavour=x is unknown"),
        "{run:?}"
    );
}

#[test]
fn tables_keep_the_order_that_their_dump_says() {
    let place = Place::new();
    let dump = two_tables().replace("HEADER=END", "reversekey=1\nHEADER=END");
    place.write("in.dump", dump.replace(" 00\n ff0a\n", ""));
    place.succeed(&["load", "in.dump", "a.teak"]);
    assert_eq!(
        place.json(&["tables", "a.teak", "--json"])[0]["order"],
        "reverse"
    );
    assert_eq!(
        place.succeed(&["dump", "a.teak", "--all"]),
        place.read("in.dump")
    );
    place
        .run(&["scan", "a.teak", "-t", "one", "--prefix", "a"])
        .fails(2, "--from and --to");
}

#[test]
fn tab_separated_text_comes_back() {
    let place = Place::new();
    let text = "a\\tb\tone\\ntwo\nz\\xff\t\\\\\nü\tÜ\n";
    place.write("in.tsv", text);
    place.succeed(&["load", "in.tsv", "a.teak"]);
    assert_eq!(place.succeed(&["dump", "a.teak", "--format", "tsv"]), text);
    assert_eq!(place.succeed(&["scan", "a.teak"]), text);
    place
        .run(&["dump", "a.teak", "--format", "tsv", "--all"])
        .fails(2, "tab-separated");
}

#[test]
fn a_dump_does_not_overwrite_its_database() {
    let place = Place::new();
    place.succeed(&["put", "a.teak", "k", "v"]);
    place
        .run(&["dump", "a.teak", "-o", "a.teak"])
        .fails(2, "the same file as the input");
    assert_eq!(place.succeed(&["get", "a.teak", "k"]), "v\n");
    place
        .run(&["dump", "a.teak", "-t", "none"])
        .fails(1, "none");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    place.write("in.dump", numbered_dump(20_000));
    place.succeed(&["load", "in.dump", "a.teak"]);
    for command in ["dump", "scan"] {
        let mut child = place
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
