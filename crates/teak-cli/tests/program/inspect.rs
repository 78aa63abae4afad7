//! `teak tables`, `teak stat`, `teak check`, `teak page`, `teak completions` and `teak man`.

use crate::support::{TestDir, numbered_dump, parse};
use std::time::{Duration, SystemTime};
use teak::{
    Comparison, Database, ExpiryOptions, Geometry, KeyOrder, Options, Table, TableDef,
    TableOptions, Transaction,
    codec::{Bytes, Str},
};

fn loaded() -> TestDir {
    let dir = TestDir::new();
    dir.write("in.dump", numbered_dump(2_000));
    dir.succeed(&["load", "in.dump", "a.teak"]);
    dir
}

#[test]
fn tables_are_listed() {
    let dir = loaded();
    let text = dir.succeed(&["tables", "a.teak"]);
    assert!(text.contains("main") && text.contains("2,000"), "{text}");
    let report = dir.json(&["tables", "a.teak", "--json"]);
    assert_eq!(
        (&report[0]["name"], &report[0]["records"]),
        (&"main".into(), &2_000.into())
    );
    assert_eq!(report[0]["order"], "bytes");
}

#[test]
fn an_expiring_table_is_described_and_used() {
    let dir = TestDir::new();
    let database = Database::open(dir.path("a.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = ExpiryOptions::new()
        .ttl(Duration::from_secs(3600))
        .max_records(10);
    let table = txn.create_expiring_table::<Str, Str>("sessions", &options);
    let table = table.unwrap();
    table.insert(&mut txn, "live", "1").unwrap();
    table
        .insert_with_expiry(&mut txn, "stale", "2", SystemTime::UNIX_EPOCH)
        .unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    table
        .insert_with_expiry(&mut txn, "later", "3", SystemTime::UNIX_EPOCH)
        .unwrap();
    txn.commit().unwrap();
    database.close().unwrap();

    let report = dir.json(&["stat", "a.teak", "--json"]);
    let expiry = &report["tables"][0]["expiry"];
    let removed = expiry["removed_expired"].as_u64().unwrap();
    assert_eq!(expiry["live"], 1);
    assert_eq!(expiry["expired"].as_u64().unwrap() + removed, 2);
    assert_eq!(
        (&expiry["ttl_ms"], &expiry["max_records"]),
        (&3_600_000.into(), &10.into())
    );
    for arguments in [["stat", "a.teak"], ["tables", "a.teak"]] {
        let text = dir.succeed(&arguments);
        for part in [
            "expiring: ",
            "expired",
            "time to live ",
            "at most 10 records",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
    assert_eq!(
        dir.succeed(&["get", "a.teak", "live", "--table", "sessions"])
            .trim(),
        "1"
    );
    dir.run(&["get", "a.teak", "stale", "--table", "sessions"])
        .fails(1, "");
    dir.succeed(&["put", "a.teak", "new", "4", "--table", "sessions"]);
    let scanned = dir.succeed(&["scan", "a.teak", "--table", "sessions"]);
    assert!(
        scanned.contains("live") && scanned.contains("new"),
        "{scanned}"
    );
    assert!(!scanned.contains("stale"), "{scanned}");
    dir.run(&["dump", "a.teak", "--table", "sessions"])
        .fails(2, "teak backup");
    dir.succeed(&["check", "a.teak"]);
}

#[test]
fn the_file_is_described() {
    let dir = loaded();
    let report = dir.json(&["stat", "a.teak", "--fill", "--json"]);
    assert_eq!(
        (&report["page_size"], &report["transaction"]),
        (&4096.into(), &1.into())
    );
    assert_eq!(report["data_bytes"], 2_000 * 20);
    assert!(
        report["page_bytes_per_data_byte"]
            .as_f64()
            .is_some_and(|ratio| ratio > 1.0),
        "{report}"
    );
    assert!(
        report["page_kinds"]["leaf"]
            .as_u64()
            .is_some_and(|pages| pages > 0),
        "{report}"
    );
    let text = dir.succeed(&["stat", "a.teak"]);
    for part in ["transaction 1", "used", "free", "main", "█ leaf"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(
        !text.contains('\x1b'),
        "colours outside of a terminal: {text:?}"
    );
}

#[test]
fn marks_and_sequences_are_reported() {
    let dir = loaded();
    let report = dir.json(&["stat", "a.teak", "--json"]);
    assert_eq!(report["marks"], serde_json::json!([0, 0, 0]));
    assert!(report["marks_transaction"].is_null());
    assert!(!dir.succeed(&["stat", "a.teak"]).contains("marks"));
    let database = Database::open(dir.path("a.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let main: Table<Bytes, Bytes> = txn.open_table("main").unwrap();
    main.draw_sequence(&mut txn, 42).unwrap();
    txn.set_marks([7, 8, 9]).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    let report = dir.json(&["stat", "a.teak", "--json"]);
    assert_eq!(report["marks"], serde_json::json!([7, 8, 9]));
    assert_eq!(report["marks_transaction"], 2);
    assert_eq!(report["tables"][0]["sequence"], 42);
    let text = dir.succeed(&["stat", "a.teak"]);
    for part in [
        "marks 7, 8, 9, set by transaction 2",
        "bytes, sequence at 42",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn length_limits_are_reported() {
    let dir = loaded();
    assert!(!dir.succeed(&["stat", "a.teak"]).contains("length"));
    let geometry = Geometry::new().lower_limit_bytes(1 << 20);
    let options = Options::new().geometry(geometry);
    options.open(dir.path("a.teak")).unwrap().close().unwrap();
    let text = dir.succeed(&["stat", "a.teak"]);
    assert!(
        text.contains("length of the file: at least 1.00 MiB\n"),
        "{text}"
    );
    let report = dir.json(&["stat", "a.teak", "--json"]);
    assert_eq!(report["limits"]["lower_bytes"], 1 << 20);
    assert!(report["limits"]["upper_bytes"].is_null(), "{report}");
}

#[test]
fn a_sound_database_passes_the_check() {
    let dir = loaded();
    let text = dir.succeed(&["check", "a.teak"]);
    assert!(
        text.starts_with("no damage in ") && text.contains("2,000 records"),
        "{text}"
    );
    let report = dir.json(&["check", "a.teak", "--json"]);
    assert_eq!(
        (&report["clean"], &report["records"]),
        (&true.into(), &2_000.into())
    );
}

/// Tables of an application that brings its own order can be listed, checked and copied, but not
/// read.
#[test]
fn a_table_in_an_order_of_an_applications_is_left_to_it() {
    static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));
    let dir = loaded();
    let database = Options::new()
        .comparison(&DOWNWARDS)
        .open(dir.path("a.teak"))
        .unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().order(KeyOrder::Custom(&DOWNWARDS));
    let table = TableDef::<Str, Str>::new("down")
        .options(options)
        .create(&mut txn)
        .unwrap();
    table.insert(&mut txn, "key", "value").unwrap();
    txn.commit().unwrap();
    database.close().unwrap();

    let text = dir.succeed(&["tables", "a.teak"]);
    assert!(text.contains("custom \"downwards\""), "{text}");
    let report = dir.json(&["tables", "a.teak", "--json"]);
    assert_eq!(report[0]["order"], "custom");
    assert_eq!(report[0]["comparison"], "downwards");
    let report = dir.json(&["stat", "a.teak", "--fill", "--json"]);
    assert_eq!(report["data_bytes"], 2_000 * 20);
    let text = dir.succeed(&["check", "a.teak"]);
    assert!(
        text.contains("table \"down\"") && text.contains("no damage"),
        "{text}"
    );
    let report = dir.json(&["check", "a.teak", "--json"]);
    assert_eq!(report["unordered_tables"][0], "down");
    for arguments in [
        &["get", "-t", "down", "a.teak", "key"][..],
        &["scan", "-t", "down", "a.teak"],
        &["put", "-t", "down", "a.teak", "key", "other"],
        &["dump", "--all", "a.teak"],
    ] {
        let run = dir.run(arguments);
        assert!(
            run.code != 0 && run.stdout.is_empty(),
            "{arguments:?}: {run:?}"
        );
        assert!(run.stderr.contains("downwards"), "{run:?}");
    }
    let run = dir.run(&["salvage", "a.teak", "saved.teak"]);
    assert!(
        run.code == 3 && run.stdout.contains("table \"down\" was not saved"),
        "{run:?}"
    );
    dir.succeed(&["backup", "a.teak", "copy.teak"]);
    dir.succeed(&["table", "drop", "copy.teak", "down"]);
    let report = dir.json(&["check", "copy.teak", "--json"]);
    assert_eq!(report["unordered_tables"].as_array().map(Vec::len), Some(0));
}

#[test]
fn pages_are_described() {
    let dir = loaded();
    assert!(!dir.succeed(&["page", "a.teak", "0"]).trim().is_empty());
    assert_eq!(dir.json(&["page", "a.teak", "0x0", "--json"])["page"], 0);
    dir.run(&["page", "a.teak", "4000000000"])
        .fails(2, "4000000000");
    dir.run(&["page", "a.teak", "zero"])
        .fails(2, "invalid digit");
}

#[test]
fn help_completions_and_manual_pages_are_there() {
    let dir = TestDir::new();
    let help = dir.succeed(&["--help"]);
    let codes = "  5  the input is malformed";
    assert!(help.contains(codes), "{help}");
    for command in [
        "load",
        "dump",
        "get",
        "put",
        "del",
        "scan",
        "tables",
        "table",
        "stat",
        "snapshot",
        "diff",
        "backup",
        "restore",
        "check",
        "page",
        "key",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        assert!(
            dir.succeed(&[command, "--help"]).contains("Examples:"),
            "{command}"
        );
    }
    assert!(dir.succeed(&["completions", "bash"]).contains("_teak()"));
    dir.succeed(&["man", "pages"]);
    assert!(dir.read("pages/teak-load.1").contains("acknowledge"));
}

#[test]
fn errors_in_json_are_one_line_on_standard_error() {
    let dir = TestDir::new();
    let run = dir.run(&["stat", "none.teak", "--json"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""));
    let error = parse(&run.stderr);
    assert_eq!(
        (&error["kind"], &error["exit_code"]),
        (&"unavailable".into(), &4.into())
    );
    assert!(
        error["error"]
            .as_str()
            .is_some_and(|text| text.contains("none.teak"))
    );
}
