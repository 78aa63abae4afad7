//! The list of rows: each has a test, or a documented difference.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const ROWS: &str = include_str!("rows.txt");
const DIFFERENCES: &str = include_str!("../repository/docs/differences.md");

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found
                .extend(Some(path).filter(|path| path.extension().is_some_and(|is| is == "rs"))),
        }
    }
    found
}

/// The functions after `#[test]` attributes in the engine's tests, with or without other attributes
/// in between.
fn tests() -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut tests = BTreeSet::new();
    for path in sources(&directory) {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        while lines.any(|line| line.trim() == "#[test]") {
            let named = lines.find_map(|line| line.trim().strip_prefix("fn "));
            let name = named.and_then(|rest| rest.split('(').next());
            tests.extend(name.map(str::to_owned));
        }
    }
    tests
}

/// The first column of the tables of differences.
fn differences() -> Vec<&'static str> {
    let rows = DIFFERENCES
        .lines()
        .filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next()).collect()
}

#[test]
fn every_row_has_a_test_or_a_difference() {
    let (tests, differences) = (tests(), differences());
    let mut seen = BTreeMap::new();
    for line in ROWS.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (row, location) = line
            .split_once(" = ")
            .unwrap_or_else(|| panic!("{line:?} names no test and no difference"));
        let is_there = match location.strip_prefix("differences: ") {
            Some(words) => differences.iter().any(|first| first.contains(words)),
            None => tests.contains(location),
        };
        assert!(is_there, "{row:?} should be at {location:?}");
        let before = seen.insert(row, location);
        assert!(before.is_none(), "{row:?} is listed twice");
    }
    assert!(seen.len() > 100);
}
