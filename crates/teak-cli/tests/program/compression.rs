//! Compressed databases: their creation, their sizes, and copies with another compression or none.

use crate::support::TestDir;
use std::fmt::Write;

/// A dump of records that compress well.
fn words(count: usize) -> String {
    let mut dump = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n".to_owned();
    for number in 0..count {
        let value =
            format!("the value of record {number} has words that many values have").repeat(4);
        writeln!(dump, " key {number:08}\n {value}").expect("memory");
    }
    dump + "DATA=END\n"
}

#[test]
fn a_compressed_database_is_loaded_copied_and_expanded() {
    let dir = TestDir::new();
    dir.write("words.dump", words(20_000));
    dir.succeed(&["load", "words.dump", "plain.teak"]);
    dir.succeed(&["load", "words.dump", "x.teak", "--compress", "zstd:5"]);
    let dumped = dir.succeed(&["dump", "plain.teak"]);
    assert_eq!(dir.succeed(&["dump", "x.teak"]), dumped);
    let (plain, stat) = (
        dir.json(&["stat", "plain.teak", "--json"]),
        dir.json(&["stat", "x.teak", "--json"]),
    );
    assert_eq!(plain["compression"], serde_json::Value::Null);
    assert_eq!(
        (&stat["compression"], &stat["page_size"]),
        (&"zstd:5".into(), &32_768.into())
    );
    let disk_bytes = |stat: &serde_json::Value| stat["disk_bytes"].as_u64().expect("blocks");
    assert!(
        disk_bytes(&stat) * 4 < disk_bytes(&plain),
        "{stat} of {plain}"
    );
    let shown = dir.succeed(&["stat", "x.teak"]);
    assert!(shown.contains("compressed with zstd:5: "), "{shown}");

    dir.succeed(&["backup", "x.teak", "copy.teak"]);
    assert_eq!(
        dir.json(&["stat", "copy.teak", "--json"])["compression"],
        "zstd:5"
    );
    dir.succeed(&["restore", "copy.teak", "restored.teak"]);
    dir.succeed(&["backup", "x.teak", "dense.teak", "--compact"]);
    dir.succeed(&[
        "backup",
        "plain.teak",
        "lz4.teak",
        "--compact",
        "--compress",
        "lz4",
    ]);
    dir.succeed(&["backup", "x.teak", "expanded.teak", "--compact", "--expand"]);
    for (name, compression) in [
        ("restored.teak", Some("zstd:5")),
        ("dense.teak", Some("zstd:5")),
        ("lz4.teak", Some("lz4")),
        ("expanded.teak", None),
    ] {
        let stat = dir.json(&["stat", name, "--json"]);
        assert_eq!(stat["compression"].as_str(), compression, "{name}");
        assert_eq!(dir.succeed(&["dump", name]), dumped, "{name}");
        dir.succeed(&["check", name]);
    }
}

#[test]
fn compression_goes_with_encryption() {
    let dir = TestDir::new();
    dir.succeed(&["key", "create", "a.key"]);
    let key = ["--key-file", "a.key"];
    let created = [
        "put",
        "x.teak",
        "k",
        "value",
        "--compress",
        "lz4",
        "--encrypt",
    ];
    dir.succeed(&[&created[..], &key[..]].concat());
    assert_eq!(
        dir.succeed(&[&["get", "x.teak", "k"][..], &key[..]].concat()),
        "value\n"
    );
    let stat = dir.json(&[&["stat", "x.teak", "--json"][..], &key[..]].concat());
    assert_eq!(
        (&stat["compression"], &stat["encryption"]),
        (&"lz4".into(), &"aes-256-gcm".into())
    );
}

#[test]
fn wrong_compressions_are_refused_and_existing_databases_unchanged() {
    let dir = TestDir::new();
    let refused = dir.run(&["put", "x.teak", "k", "v", "--compress", "snappy"]);
    refused.fails(2, "not lz4, zstd, or zstd:LEVEL");
    dir.succeed(&["put", "x.teak", "k", "v"]);
    let kept = dir.run(&["put", "x.teak", "k", "w", "--compress", "lz4"]);
    assert!(
        kept.stderr.contains("stays not compressed"),
        "{}",
        kept.stderr
    );
    assert_eq!(dir.succeed(&["get", "x.teak", "k"]), "w\n");
    dir.write("words.dump", words(1));
    let small = dir.run(&[
        "load",
        "words.dump",
        "y.teak",
        "--compress",
        "lz4",
        "--page-size",
        "4096",
    ]);
    small.fails(2, "at least 8192 bytes");
}
