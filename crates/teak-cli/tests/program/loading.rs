//! `teak load` with concurrent writers, and the files after a failure.

use crate::support::{TestDir, numbered_dump};

/// Changes by others to the tables of a load, between two of its batches.
const OTHERS: [&[&str]; 5] = [
    &["put", "a.teak", "b", "theirs"],
    &["put", "a.teak", "a", "theirs"],
    &["del", "a.teak", "a"],
    &["table", "clear", "a.teak", "main"],
    &["table", "drop", "a.teak", "main"],
];

#[test]
fn a_load_verifies_its_records_despite_other_writers() {
    for others in OTHERS {
        for durability in ["durable", "lazy"] {
            let dir = TestDir::new();
            let mut load = dir.hold(&[
                "load",
                "-",
                "a.teak",
                "--format",
                "tsv",
                "--batch",
                "1",
                "--acknowledge",
                "--durability",
                durability,
            ]);
            load.say(b"a\t1\n");
            assert_eq!(load.hear(), "committed 1 1\n");
            dir.succeed(others);
            load.say(b"c\t3\n");
            assert_eq!(load.hear(), "committed 3 2\n", "{others:?}");
            dir.succeed(&["put", "a.teak", "d", "theirs"]);
            assert_eq!(load.end(), 0, "{others:?}");
        }
    }
}

#[test]
fn a_load_of_several_tables_reads_all_of_them_back_while_others_write() {
    let dir = TestDir::new();
    let dump = numbered_dump(2);
    let named = |name: &str| dump.replace("type=", &format!("database={name}\ntype="));
    let mut load = dir.hold(&["load", "-", "a.teak", "--batch", "1", "--acknowledge"]);
    load.say(named("one").as_bytes());
    assert_eq!(
        [load.hear(), load.hear()].concat(),
        "committed 1 1\ncommitted 2 2\n"
    );
    dir.succeed(&["put", "a.teak", "--table", "one", "key-00000", "theirs"]);
    load.say(named("two").as_bytes());
    assert_eq!(
        [load.hear(), load.hear()].concat(),
        "committed 4 3\ncommitted 5 4\n"
    );
    assert_eq!(load.end(), 0);
}

#[test]
fn work_that_fails_leaves_no_new_database() {
    let dir = TestDir::new();
    dir.write("cut.tsv", "a\t1\nb\n");
    dir.write("unsorted.tsv", "b\t1\na\t1\n");
    let long = "k".repeat(100_000);
    let failing: [(&[&str], i32); 5] = [
        (&["load", "cut.tsv", "a.teak"], 5),
        (&["load", "cut.tsv", "a.teak", "--bulk"], 5),
        (&["load", "unsorted.tsv", "a.teak", "--bulk", "--sorted"], 5),
        (&["put", "a.teak", &long, "value"], 2),
        (&["table", "create", "a.teak", &long], 2),
    ];
    for (arguments, code) in failing {
        let run = dir.run(arguments);
        assert_eq!(run.code, code, "{run:?}");
        assert!(!dir.path("a.teak").exists(), "{run:?}");
        assert!(!dir.path("a.teak-lock").exists(), "{run:?}");
    }
    dir.succeed(&["table", "create", "a.teak", "t"]);
    dir.succeed(&["table", "drop", "a.teak", "t"]);
    dir.run(&["load", "cut.tsv", "a.teak"])
        .fails(5, "nothing was loaded");
    assert!(dir.path("a.teak").exists());
}

#[test]
fn a_load_refuses_other_types_than_those_of_the_table() {
    let dir = TestDir::new();
    let typed = |types: &str| numbered_dump(2).replace("HEADER=END", &format!("{types}HEADER=END"));
    let text = typed("teak_key_type=str\nteak_value_type=str\n");
    dir.write("text.dump", &text);
    dir.write(
        "number.dump",
        typed("teak_key_type=str\nteak_value_type=u64\n"),
    );
    dir.write("key.dump", typed("teak_key_type=str\n"));
    dir.write("bare.dump", numbered_dump(3));
    dir.write("two.dump", text.clone() + &dir.read("number.dump"));

    dir.succeed(&["load", "text.dump", "a.teak"]);
    let message = "table \"main\" has the types str -> str, and the records of the input have the \
                   types str -> u64; load them into another table (--table)";
    for options in [&[][..], &["--bulk"]] {
        let arguments = [&["load", "number.dump", "a.teak"], options].concat();
        dir.run(&arguments).fails(2, message);
    }
    // Both without a type, and with the same types.
    for dump in ["text.dump", "key.dump", "bare.dump"] {
        dir.succeed(&["load", dump, "a.teak"]);
    }
    dir.succeed(&["load", "number.dump", "a.teak", "--any-types"]);
    assert!(dir.succeed(&["tables", "a.teak"]).contains("str -> str"));
    dir.succeed(&["load", "number.dump", "a.teak", "--table", "numbers"]);
    assert!(dir.succeed(&["tables", "a.teak"]).contains("str -> u64"));
    dir.run(&["load", "two.dump", "b.teak"]).fails(2, message);
    dir.write("all.dump", dir.succeed(&["dump", "a.teak", "--all"]));
    dir.succeed(&["load", "all.dump", "c.teak"]);
    let tables = dir.succeed(&["tables", "c.teak"]);
    assert!(
        tables.contains("str -> str") && tables.contains("str -> u64"),
        "{tables}"
    );
    dir.succeed(&["check", "a.teak"]);
}
