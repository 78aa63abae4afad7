//! The program runs to its end, and counts every commit.

use std::process::Command;

#[test]
fn the_stream_has_all_commits() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_example-tokio"))
        .arg(directory.path().join("counts.teak"))
        .output()
        .expect("starts");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("the stream has 1000 in all"), "{printed}");
}
