//! The program, for a moment.

use std::process::Command;

#[test]
fn teak_and_lmdb_answer_the_same() {
    let output = Command::new(env!("CARGO_BIN_EXE_differential"))
        .args(["--ops", "3000", "--seed", "5"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
}
