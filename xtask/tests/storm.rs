//! A storm finds each misbehaviour of its workers, each one by its own check.

use std::process::Command;

/// The output of a storm whose workers misbehave in this way.
fn storm(misbehaviour: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["storm", "--processes", "1", "--seconds", "20"])
        .args(["--patience", "2", "--break", misbehaviour])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        !output.status.success(),
        "{misbehaviour} was not found: {text}"
    );
    text
}

#[test]
fn each_misbehaviour_is_found() {
    for (misbehaviour, expected) in [
        ("lose-money", &["100 accounts have "][..]),
        ("set-back", &["the counter is "]),
        ("half-mirror", &["the inverse "]),
        // The forgotten commit may be the very first one.
        ("forget", &["returned", "commits were acknowledged"]),
        ("uncounted", &[" of writer"]),
        ("garble", &["has wrong bytes"]),
        ("hang", &["no progress for "]),
        ("panic", &["on purpose"]),
    ] {
        let text = storm(misbehaviour);
        assert!(text.contains("violation in round "), "{text}");
        let is_reported = expected.iter().any(|expected| text.contains(expected));
        assert!(is_reported, "{misbehaviour}: {text}");
    }
}
