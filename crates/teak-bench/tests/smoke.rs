//! A whole run over few records: every work, every engine, and a result that can be read.

use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Runs `quick` over 2,000 records and returns its JSON result.
fn run(directory: &Path, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["quick", "--repeat", "2"];
    arguments.extend(["--durable-transactions", "10", "--lazy-transactions", "50"]);
    arguments.extend(more);
    run_command(directory, &arguments)
}

/// Runs the program over 2,000 records and returns its JSON result.
fn run_command(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let json = directory.join("figures.json");
    let databases = directory.join("databases");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(arguments)
        .args(["--records", "2000"])
        .arg("--json")
        .arg(&json)
        .arg("--dir")
        .arg(&databases)
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

#[cfg(feature = "mdbx")]
#[test]
fn every_work_runs_on_libmdbx() {
    let directory = tempfile::tempdir().expect("a directory");
    let figures = run(directory.path(), &["--engines", "mdbx"]);
    assert_eq!(figures.len(), 12);
    for figure in figures {
        assert_eq!(figure["engine"], "mdbx");
        let Some(used) = figure["used_bytes"].as_u64() else {
            continue;
        };
        assert!(used > 2000 * 116, "{figure}");
        assert!(figure["file_bytes"].as_u64() >= Some(used), "{figure}");
    }
}

#[test]
fn commits_have_a_figure_for_every_number_of_threads_and_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["commits", "--threads", "1,3", "--commits", "40"];
    let more = ["--repeat", "2", "--mode", "async,lazy"];
    let figures = run_command(directory.path(), &[&arguments[..], &more].concat());
    let engines = 1 + usize::from(cfg!(feature = "lmdb")) + usize::from(cfg!(feature = "mdbx"));
    assert_eq!(figures.len(), 2 * (engines + 2));
    for figure in &figures {
        let rate = figure["commits_per_second"].as_f64();
        assert!(rate.is_some_and(|value| value > 0.0), "{figure}");
        assert!(figure["spread"]["min"].as_f64() <= rate, "{figure}");
        assert!(figure["p50_ns"].as_u64() <= figure["p99_ns"].as_u64());
        assert_eq!(figure["operations"], 40);
        assert_eq!(figure["repeats"], 2);
    }
    let modes: Vec<&Value> = figures[engines - 1..engines + 2]
        .iter()
        .map(|figure| &figure["mode"])
        .collect();
    assert_eq!(modes, ["durable", "async", "lazy"]);
    assert_eq!(figures[0]["threads"], 1);
    assert_eq!(figures[engines + 2]["threads"], 3);
}

#[test]
fn a_round_that_changes_a_record_twice_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(["commits", "--records", "10", "--commits", "21", "--dir"])
        .arg(directory.path())
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("at most twice --records"), "{errors}");
}
