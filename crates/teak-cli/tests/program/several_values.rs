//! Tables in which keys have several values.

use crate::support::TestDir;

/// A database with a table of each kind: several values per key, and one.
fn with_values() -> TestDir {
    let dir = TestDir::new();
    dir.succeed(&["table", "create", "a.teak", "symbols", "--multi"]);
    for (key, value) in [("bitcoin", "XBT"), ("ether", "ETH"), ("bitcoin", "BTC")] {
        dir.succeed(&["put", "a.teak", key, value, "--table", "symbols"]);
    }
    dir.succeed(&["put", "a.teak", "bitcoin", "2009"]);
    dir
}

#[test]
fn values_are_put_got_and_removed_one_by_one() {
    let dir = with_values();
    let table = ["--table", "symbols"];
    let get = |key| dir.run(&[&["get", "a.teak", key], &table[..]].concat());
    assert_eq!(
        dir.succeed(&["get", "a.teak", "bitcoin", "--table", "symbols"]),
        "BTC\nXBT\n"
    );
    let again = ["put", "a.teak", "bitcoin", "BTC", "--json"];
    let report = dir.json(&[&again[..], &table].concat());
    assert_eq!(report["replaced"], true);
    assert_eq!(
        dir.succeed(&["scan", "a.teak", "--table", "symbols", "--reverse"]),
        "ether\tETH\nbitcoin\tXBT\nbitcoin\tBTC\n"
    );
    let remove = |words: &[&str]| dir.run(&[&["del", "a.teak"], words, &table].concat());
    remove(&["bitcoin", "LTC"]).fails(1, "with the value \"LTC\"");
    dir.succeed(&["del", "a.teak", "bitcoin", "BTC", "--table", "symbols"]);
    assert_eq!(
        dir.succeed(&["get", "a.teak", "bitcoin", "--table", "symbols"]),
        "XBT\n"
    );
    dir.succeed(&["del", "a.teak", "bitcoin", "--table", "symbols"]);
    get("bitcoin").fails(1, "there is no key \"bitcoin\"");
    dir.run(&["del", "a.teak", "bitcoin", "2008"])
        .fails(1, "with the value \"2008\"");
    dir.succeed(&["del", "a.teak", "bitcoin", "2009"]);
}

#[test]
fn values_are_listed_dumped_loaded_and_compared() {
    let dir = with_values();
    let integers = ["table", "create", "a.teak", "heights", "--order", "integer"];
    let of_values = ["--multi", "--value-order", "integer", "--fixed-values"];
    dir.succeed(&[&integers[..], &of_values].concat());
    let hex = ["--hex", "--value-format", "hex", "--table", "heights"];
    for value in ["0100000000000000", "0001000000000000"] {
        dir.succeed(&[&["put", "a.teak", "01000000", value], &hex[..]].concat());
    }
    let tables = dir.succeed(&["tables", "a.teak"]);
    assert!(
        tables.contains("integer, several values of a key: integer"),
        "{tables}"
    );
    let report = dir.json(&["tables", "a.teak", "--json"]);
    assert_eq!(
        (&report[1]["value_order"], &report[2]["value_order"]),
        (&serde_json::Value::Null, &"bytes".into()),
        "{report}"
    );

    let dump = dir.succeed(&["dump", "a.teak", "--all"]);
    assert!(
        dump.contains("duplicates=1\ndupsort=1\ndupfixed=1\nintegerdup=1\n"),
        "{dump}"
    );
    dir.write("all.dump", &dump);
    for (name, more) in [
        ("b.teak", &[][..]),
        ("c.teak", &["--bulk"]),
        ("d.teak", &["--bulk", "--sorted"]),
    ] {
        dir.succeed(&[&["load", "all.dump", name], more].concat());
        assert_eq!(dir.succeed(&["dump", name, "--all"]), dump, "{name}");
        dir.succeed(&["check", name]);
    }
    // On a second load all pairs exist already.
    let report = dir.json(&["load", "all.dump", "b.teak", "--json"]);
    assert_eq!(
        (&report["records"], &report["replaced"]),
        (&6.into(), &6.into())
    );

    dir.succeed(&["snapshot", "create", "b.teak", "before"]);
    dir.succeed(&["put", "b.teak", "bitcoin", "BTX", "--table", "symbols"]);
    dir.succeed(&["del", "b.teak", "ether", "ETH", "--table", "symbols"]);
    assert_eq!(
        dir.succeed(&["diff", "b.teak", "before"]),
        "table \"symbols\"\n+\tbitcoin\tBTX\n-\tether\tETH\n"
    );

    dir.succeed(&["backup", "--compact", "b.teak", "e.teak"]);
    assert_eq!(
        dir.succeed(&["dump", "b.teak", "--all"]),
        dir.succeed(&["dump", "e.teak", "--all"])
    );
    dir.succeed(&["table", "clear", "b.teak", "symbols"]);
    assert_eq!(dir.succeed(&["scan", "b.teak", "--table", "symbols"]), "");
}
