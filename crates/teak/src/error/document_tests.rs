//! `docs/errors.md` is what the code says.

use super::*;
use std::collections::BTreeSet;

include!("samples.rs");

#[test]
fn every_error_is_documented_with_its_text() {
    for (name, error) in samples() {
        assert_eq!(documented(name)[1], error.to_string(), "{name}");
        assert!(format!("{error:?}").starts_with(name), "{name}: {error:?}");
    }
}

#[test]
fn there_is_a_sample_of_every_error() {
    // A variant is a line with its name alone behind one with its text.
    let source = include_str!("../error.rs").lines();
    let variants = source
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(char::is_uppercase) && line.ends_with([',', '{']));
    let end = |line: &str| line.find([',', '{', '(']).unwrap_or(line.len());
    let variants: BTreeSet<&str> = variants.map(|line| line[..end(line)].trim()).collect();
    let sampled: BTreeSet<&str> = samples().into_iter().map(|(name, _)| name).collect();
    assert_eq!(sampled, variants);
}

#[test]
fn what_to_do_about_errors_of_the_system_is_documented() {
    let document = include_str!("../../../../docs/errors.md");
    let codes = (1..200).filter_map(|code| remedy(&io::Error::from_raw_os_error(code)));
    let mut count = 0;
    for remedy in codes {
        assert!(document.contains(&format!("` | {remedy} | ")), "{remedy}");
        count += 1;
    }
    let (_, rows) = document
        .split_once("## Errors of the system")
        .expect("a table");
    let (rows, _) = rows.split_once("## ").expect("another table");
    assert_eq!(rows.matches("\n| `E").count(), count);
}
