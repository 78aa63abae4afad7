//! Whole runs over few records: every workload, every engine, and a readable result.

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
    run_exactly(directory, &[arguments, &["--records", "2000"]].concat())
}

/// Runs the program and returns its JSON result, a list.
fn run_exactly(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    match run_any(directory, arguments) {
        Value::Array(figures) => figures,
        other => panic!("expected a list, and found {other}"),
    }
}

/// Runs the program and returns its JSON result.
fn run_any(directory: &Path, arguments: &[&str]) -> Value {
    let json = directory.join("figures.json");
    let databases = directory.join("databases");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(arguments)
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
fn loads_report_their_size() {
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
fn each_verification_is_an_engine() {
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
    let engines = engine_count();
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

#[test]
fn readers_have_a_figure_for_every_start_in_every_setting() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["readers", "--threads", "1,2", "--open", "0,200"];
    let more = ["--slice-ms", "2", "--repeat", "2"];
    let figures = run_command(directory.path(), &[&arguments[..], &more].concat());
    let peers = usize::from(cfg!(feature = "lmdb")) + usize::from(cfg!(feature = "mdbx"));
    let (with_none_open, with_many_open) = (3 + peers * 7, 3 + peers * 5);
    assert_eq!(figures.len(), 2 * (with_none_open + with_many_open));
    for figure in &figures {
        let time = figure["ns_per_op"].as_f64();
        assert!(time.is_some_and(|value| value > 0.0), "{figure}");
        assert!(figure["spread"]["min"].as_f64() <= time, "{figure}");
        assert!(figure["operations"].as_u64() > Some(0), "{figure}");
        assert_eq!(figure["records"], 2000);
        assert_eq!(figure["repeats"], 2);
    }
    assert_eq!(
        (&figures[0]["threads"], &figures[0]["open"]),
        (&1.into(), &0.into())
    );
    assert_eq!(figures[0]["step"], "begin_end");
    let last = figures.last().expect("there are some");
    assert_eq!((&last["threads"], &last["open"]), (&2.into(), &200.into()));
    assert_eq!(last["step"], "lookup");
}

/// Runs `handover` in very short slices.
fn run_handover(directory: &Path, more: &[&str]) -> Vec<Value> {
    let arguments = ["handover", "--slice-ms", "20", "--repeat", "2"];
    run_command(directory, &[&arguments[..], more].concat())
}

fn assert_rates(figure: &Value) {
    let rate = figure["commits_per_second"].as_f64();
    assert!(rate.is_some_and(|value| value > 0.0), "{figure}");
    assert!(figure["share_min"].as_f64() <= Some(1.0), "{figure}");
    assert!(figure["wait_max_ns"].as_f64() <= figure["wait_longest_ns"].as_f64());
    let shares = figure["shares"].as_array().map(Vec::len);
    assert_eq!(shares.map(|len| len as u64), figure["processes"].as_u64());
    assert_eq!(figure["repeats"], 2);
}

#[test]
fn one_process_hands_over_to_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let figures = run_handover(directory.path(), &["--processes", "1"]);
    let engines = engine_count();
    assert_eq!(figures.len(), 2 * engines);
    figures.iter().for_each(assert_rates);
    assert_eq!(figures[0]["mode"], "free");
    assert_eq!(figures[engines]["mode"], "strict");
}

#[cfg(all(feature = "lmdb", feature = "mdbx"))]
#[test]
fn two_processes_hand_over_to_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let more = ["--processes", "2", "--engines", "lmdb,mdbx"];
    let figures = run_handover(directory.path(), &more);
    assert_eq!(figures.len(), 4);
    figures.iter().for_each(assert_rates);
}

#[test]
fn an_engine_that_cannot_hand_over_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let more = ["--processes", "2", "--mode", "free", "--engines", "teak"];
    for figure in run_handover(directory.path(), &more) {
        if figure["error"].is_null() {
            assert_rates(&figure);
        } else {
            let error = figure["error"].as_str().unwrap_or_default();
            assert!(error.contains("in use"), "{figure}");
            assert!(figure["commits_per_second"].is_null(), "{figure}");
        }
    }
}

#[test]
fn more_processes_than_records_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(["handover", "--records", "1", "--dir"])
        .arg(directory.path())
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("give more --records"), "{errors}");
}

/// The number of engines by default.
fn engine_count() -> usize {
    1 + usize::from(cfg!(feature = "lmdb")) + usize::from(cfg!(feature = "mdbx"))
}

fn assert_positive(figure: &Value, names: &[&str]) {
    for name in names {
        let value = figure[name].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{name}: {figure}");
    }
}

#[test]
fn values_have_times_and_sizes_for_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["values", "--operations", "2000", "--keys", "200"];
    for more in [&["--per-commit", "7"][..], &["--durable"]] {
        let figures = run_exactly(directory.path(), &[&arguments[..], more].concat());
        assert_eq!(figures.len(), engine_count());
        for figure in &figures {
            let names = ["seconds", "operations_per_second", "median_us", "p999_us"];
            assert_positive(figure, &names);
            assert!(figure["p999_us"].as_f64() <= figure["longest_us"].as_f64());
            let ratio = figure["bytes_per_live_byte"].as_f64();
            assert!(ratio.is_some_and(|ratio| ratio > 1.0), "{figure}");
            let samples = figure["samples"].as_array().expect("the sizes are sampled");
            assert_eq!(samples.len(), 20);
            for sample in samples {
                assert_positive(sample, &["live_bytes", "allocated_bytes", "used_bytes"]);
            }
            // All engines get the same operations.
            assert_eq!(
                samples[19]["live_bytes"],
                figures[0]["samples"][19]["live_bytes"]
            );
        }
    }
}

#[test]
fn kinds_have_figures_for_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [
        "kinds", "--many", "12000", "--tens", "1500", "--ones", "3000",
    ];
    let more = ["--records", "5000", "--nested", "150", "--repeat", "1"];
    let figures = run_exactly(directory.path(), &[&arguments[..], &more].concat());
    let engines = engine_count();
    let of = |work: &str, operation: &str| {
        let is_it = |figure: &&Value| figure["work"] == work && figure["operation"] == operation;
        figures.iter().filter(is_it).count()
    };
    for set in ["many_fixed", "many_variable", "ten_fixed", "one_variable"] {
        for operation in ["insert", "insert_batches", "pair", "scan"] {
            assert_eq!(of(set, operation), engines, "{set} {operation}");
        }
    }
    for set in ["ten_variable", "one_fixed"] {
        assert_eq!(of(set, "first_value"), engines, "{set}");
        assert_eq!(of(set, "count"), engines, "{set}");
    }
    assert_eq!(of("ten_fixed", "scan_packed"), engines);
    assert_eq!(of("ten_variable", "scan_packed"), 0);
    // Only Teak counts exactly.
    assert_eq!(of("counted", "count_range"), 1);
    let estimating = 1 + usize::from(cfg!(feature = "mdbx"));
    assert_eq!(of("plain", "estimate_range"), estimating);
    assert_eq!(of("plain", "walk_range"), engines);
    assert_eq!(of("plain", "remove_range"), engines);
    assert_eq!(of("nested", "transaction_of_10"), engines);
    for figure in &figures {
        assert_positive(figure, &["ns_per_op", "operations"]);
        assert_eq!(figure["repeats"], 1);
        if figure["operation"] == "insert" {
            assert!(
                figure["used_bytes"].as_u64() > figure["data_bytes"].as_u64(),
                "{figure}"
            );
        }
    }
}

#[test]
fn parts_of_kinds_can_be_chosen() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["kinds", "--only", "removal,nested", "--records", "3000"];
    let more = ["--nested", "10", "--engines", "teak"];
    let figures = run_exactly(directory.path(), &[&arguments[..], &more].concat());
    let names: Vec<&Value> = figures.iter().map(|figure| &figure["operation"]).collect();
    let removal = ["remove_range", "clear", "commit", "commit_after_clear"];
    let expected = removal.iter().chain(&["transaction_of_10"]);
    assert!(names.into_iter().eq(expected), "{figures:?}");
}

#[test]
fn files_are_watched_for_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let chart = directory.path().join("chart.svg");
    let chart = chart.to_str().expect("it is text");
    let arguments = ["space", "--records", "2000", "--commits", "40"];
    let more = [
        "--removal",
        "3000",
        "--commits-after",
        "20",
        "--chart",
        chart,
    ];
    let figures = run_exactly(directory.path(), &[&arguments[..], &more].concat());
    let engines = engine_count();
    assert_eq!(figures.len(), 3 * engines);
    for figure in &figures[..2 * engines] {
        assert_eq!(figure["bytes"].as_array().map(Vec::len), Some(11));
        assert!(figure["fresh_bytes"].is_null(), "{figure}");
    }
    for figure in &figures[2 * engines..] {
        assert_eq!(figure["work"], "removal");
        assert_positive(figure, &["fresh_bytes", "removal_seconds"]);
        // Each of the two threads compares at least one state.
        for verified in ["verified_in_removal", "verified_in_commits"] {
            assert!(figure[verified].as_u64() >= Some(2), "{figure}");
        }
    }
    let chart = fs::read_to_string(chart).expect("it was drawn");
    assert!(chart.contains("teak, with a reader"));
}

#[test]
fn a_chart_of_nothing_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_teak-bench"))
        .args(["space", "--commits", "0", "--chart", "chart.svg", "--dir"])
        .arg(directory.path())
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--chart draws"), "{errors}");
}

#[test]
fn one_transaction_is_timed_with_each_budget() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["transaction", "--records", "20000", "--write-mib", "1,64"];
    let figures = run_exactly(directory.path(), &arguments);
    // Teak has two budgets, and each engine two kinds of commits.
    assert_eq!(figures.len(), 2 * (engine_count() + 1));
    for figure in &figures {
        assert!(figure["seconds"].as_f64() > Some(0.0), "{figure}");
        let is_teak = figure["engine"] == "teak";
        assert_eq!(figure["write_mib"].is_u64(), is_teak, "{figure}");
    }
}

#[test]
fn copies_are_made_before_and_after_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["backup", "--bytes", "2000000", "--changed-permille", "10"];
    let figures = run_exactly(directory.path(), &arguments);
    // Only Teak makes increments.
    assert_eq!(figures.len(), 4 * engine_count() + 1);
    let kinds: Vec<_> = figures[..5]
        .iter()
        .map(|figure| (figure["state"].as_str(), figure["copying"].as_str()))
        .collect();
    let (plain, compact) = (Some("plain"), Some("compact"));
    let (loaded, changed) = (Some("loaded"), Some("changed"));
    assert_eq!(
        kinds,
        [
            (loaded, plain),
            (loaded, compact),
            (changed, Some("increment")),
            (changed, plain),
            (changed, compact)
        ]
    );
    let is_whole = |figure: &&Value| figure["copying"] != "increment";
    for figure in figures.iter().filter(is_whole) {
        assert_positive(figure, &["seconds"]);
        let is_changed = figure["state"] == "changed";
        assert_eq!(figure["changed_records"], if is_changed { 172 } else { 0 });
        let copied = figure["copy"]["file_bytes"].as_u64();
        assert!(copied > figure["data_bytes"].as_u64(), "{figure}");
    }
}

#[cfg(feature = "space-map")]
#[test]
fn a_large_space_map_is_opened_and_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["space-map", "--pages", "262144,1048576", "--repeat", "1"];
    let more = ["--largest-mib", "2", "--commits", "50", "--pending", "5000"];
    let figures = run_exactly(directory.path(), &[&arguments[..], &more].concat());
    assert_eq!(figures.len(), 2);
    for figure in &figures {
        assert_positive(
            figure,
            &["open_cold_us", "open_warm_us", "free_pages", "close_us"],
        );
        assert_positive(&figure["durable"], &["median_us", "p99_us"]);
        assert_eq!(figure["large"].as_array().map(Vec::len), Some(7));
        assert!(figure["lazy"].is_null(), "there would be no room: {figure}");
        let allocated = figure["allocated_bytes"][0].as_u64();
        assert!(allocated.is_some_and(|bytes| bytes < 200 << 20), "{figure}");
    }
    assert_eq!(figures[1]["pages"], 1 << 20);
}

#[test]
fn reads_of_a_file_that_is_not_in_memory_have_figures() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["cold", "--gets", "10", "--repeat", "1"];
    let figures = run_command(directory.path(), &arguments);
    assert_eq!(figures.len(), 12);
    for figure in &figures {
        assert!(figure["microseconds"].as_f64() > Some(0.0), "{figure}");
    }
}

#[test]
fn typed_loops_find_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["typed", "--repeat", "2", "--ranges", "5"];
    let figures = run_command(directory.path(), &arguments);
    let engines = [
        cfg!(feature = "heed"),
        cfg!(feature = "redb"),
        cfg!(feature = "fjall"),
    ];
    let loops = 3 + engines.iter().filter(|is_there| **is_there).count();
    assert_eq!(figures.len(), 4 * loops);
    for figure in &figures {
        let time = figure["ns_per_op"].as_f64();
        assert!(time.is_some_and(|time| time > 0.0), "{figure}");
    }
}
