//! Whole comparisons over few records: every workload, every kind of key, and a readable result.

use serde_json::Value;
use std::{collections::BTreeSet, fs, process::Command};

/// A few operations of each workload.
const FEW: &[&str] = &[
    "--repeat=2",
    "--lookups=400",
    "--ranges=50",
    "--updates=40",
    "--durable-updates=4",
    "--crud-durable=4",
    "--crud-lazy=40",
    "--crud-async=40",
    "--commits=20",
    "--threads=1,3",
    "--coins=20000",
    "--coin-blocks=4",
    "--coin-flush-mb=1",
];

/// Runs `compare` with few operations, and returns its JSON result.
fn compare(more: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("report.json");
    let databases = directory.path().join("databases");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .arg("compare")
        .args(FEW)
        .args(more)
        .arg("--json")
        .arg(&json)
        .arg("--dir")
        .arg(&databases)
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let left = fs::read_dir(&databases).expect("the directory stays");
    assert_eq!(left.count(), 0, "the databases are removed at the end");
    let text = fs::read_to_string(&json).expect("the result is there");
    serde_json::from_str(&text).expect("the result is JSON")
}

fn figures(report: &Value) -> &[Value] {
    let figures = report["figures"].as_array();
    figures.expect("there are figures")
}

/// All engines that the program was built with.
const ENGINES: &[&str] = &[
    "teak",
    #[cfg(feature = "lmdb")]
    "lmdb",
    #[cfg(feature = "lmdb")]
    "lmdb-writemap",
    #[cfg(feature = "mdbx")]
    "mdbx",
    #[cfg(feature = "mdbx")]
    "mdbx-writemap",
    #[cfg(feature = "redb")]
    "redb",
    #[cfg(feature = "canopydb")]
    "canopydb",
    #[cfg(feature = "sqlite")]
    "sqlite",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
    #[cfg(feature = "leveldb")]
    "leveldb",
    #[cfg(feature = "fjall")]
    "fjall",
    #[cfg(feature = "berkeleydb")]
    "berkeleydb",
    #[cfg(feature = "wiredtiger")]
    "wiredtiger",
];

#[test]
fn every_work_has_a_figure_for_every_engine() {
    let engines = format!("--engines={}", ENGINES.join(","));
    let report = compare(&["--records=1000", &engines]);
    let of = |name: &str| -> BTreeSet<String> {
        let names = figures(&report).iter().map(|figure| &figure[name]);
        names
            .map(|name| name.as_str().unwrap_or("").to_owned())
            .collect()
    };
    let (works, engines) = (of("work"), of("engine"));
    assert!(works.contains("get") && works.contains("commits_3") && works.contains("large_get"));
    assert_eq!(engines.len(), ENGINES.len());
    assert_eq!(figures(&report).len(), works.len() * engines.len());
    for figure in figures(&report) {
        let time = figure["ns_per_op"].as_f64();
        assert!(time.is_some_and(|time| time > 0.0), "{figure}");
        assert_eq!(figure["rounds"], 2);
        assert!(figure["spread"]["min"].as_f64() <= figure["spread"]["max"].as_f64());
    }
    assert!(report["failures"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn keys_and_values_can_be_chosen() {
    for keys in ["random32", "integers", "strings"] {
        let keys = format!("--keys={keys}");
        let works = "--only=load_sorted,load_bulk,get,get_miss,scan_back,crud_lazy,delete";
        let more = [&keys, works, "--records=700", "--value=8", "--engines=teak"];
        assert_eq!(figures(&compare(&more)).len(), 7);
    }
    // The workloads whose tables compare integers; large values have keys of their own.
    let works = "--only=large_put,large_get,load_sorted,load_bulk,get,get_miss,scan,crud_lazy";
    let more = ["--keys=native-integers", works, "--records=700"];
    let report = compare(&more);
    let engines: BTreeSet<_> = figures(&report)
        .iter()
        .map(|figure| figure["engine"].as_str())
        .collect();
    assert_eq!(figures(&report).len(), 8 * engines.len());
}
