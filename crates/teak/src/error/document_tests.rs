//! `docs/errors.md` matches the code.

use super::*;
use std::collections::BTreeSet;

use samples::{documented, samples};

#[test]
fn every_error_is_documented_with_its_text() {
    // Other C libraries than glibc have other texts for the codes of the system.
    let own = io::Error::from_raw_os_error(5).to_string();
    for (name, error) in samples() {
        let text = error
            .to_string()
            .replace(&own, "Input/output error (os error 5)");
        assert_eq!(documented(name)[1], text, "{name}");
        assert!(format!("{error:?}").starts_with(name), "{name}: {error:?}");
    }
}

#[test]
fn there_is_a_sample_of_every_error() {
    // A variant is a line with only its name after a line with its text.
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
fn remedies_for_system_errors_are_documented() {
    // The document names the tools of Linux.
    if !cfg!(target_os = "linux") {
        return;
    }
    let document = samples::DOCUMENT;
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
