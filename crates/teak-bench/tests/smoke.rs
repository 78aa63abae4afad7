//! A whole run over few records: every work, every engine, and a result that can be read.

use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Runs the program over 2,000 records and returns its JSON result.
fn run(directory: &Path, more: &[&str]) -> Vec<Value> {
    let json = directory.join("figures.json");
    let databases = directory.join("databases");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(["quick", "--records", "2000", "--repeat", "2"])
        .args(["--durable-transactions", "10", "--lazy-transactions", "50"])
        .arg("--json")
        .arg(&json)
        .arg("--dir")
        .arg(&databases)
        .args(more)
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let left = fs::read_dir(&databases)
        .expect("the directory stays")
        .count();
    assert_eq!(left, 0, "the databases are removed at the end");
    let text = fs::read_to_string(&json).expect("the result is there");
    serde_json::from_str(&text).expect("the result is JSON")
}

#[test]
fn every_work_has_a_figure_for_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let figures = run(directory.path(), &[]);
    let engines = if cfg!(feature = "lmdb") { 2 } else { 1 };
    assert_eq!(figures.len(), 12 * engines);
    for figure in &figures {
        assert!(
            figure["ns_per_op"]
                .as_f64()
                .is_some_and(|value| value > 0.0),
            "{figure}"
        );
        assert_eq!(figure["records"], 2000);
        assert_eq!(figure["repeats"], 2);
        assert!(figure["spread"]["min"].as_f64() <= figure["spread"]["max"].as_f64());
    }
}

#[test]
fn loads_tell_their_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let figures = run(directory.path(), &["--only", "load_random_lazy"]);
    for figure in &figures {
        assert_eq!(figure["data_bytes"], 2000 * 116);
        assert!(
            figure["used_bytes"].as_u64() > figure["data_bytes"].as_u64(),
            "{figure}"
        );
        assert!(
            figure["file_bytes"].as_u64() >= figure["used_bytes"].as_u64(),
            "{figure}"
        );
    }
}

#[test]
fn each_way_to_verify_is_an_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let engines = "teak,teak-unverified,teak-always";
    let more = ["--only", "get", "--engines", engines];
    let figures = run(directory.path(), &more);
    let names: Vec<_> = figures
        .iter()
        .filter_map(|f| f["engine"].as_str())
        .collect();
    assert_eq!(names.join(","), engines);
}

#[cfg(feature = "lmdb")]
#[test]
fn works_and_engines_can_be_chosen() {
    let directory = tempfile::tempdir().expect("a directory");
    let more = ["--only", "get,scan", "--engines", "lmdb,lmdb-writemap"];
    let figures = run(directory.path(), &more);
    let names: Vec<(&str, &str)> = figures
        .iter()
        .map(|figure| {
            (
                figure["work"].as_str().unwrap_or(""),
                figure["engine"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("get", "lmdb"),
            ("get", "lmdb-writemap"),
            ("scan", "lmdb"),
            ("scan", "lmdb-writemap")
        ]
    );
}
