//! A short run of the program.

use std::process::Command;

#[test]
fn teak_and_lmdb_give_equal_answers() {
    let output = Command::new(env!("CARGO_BIN_EXE_differential"))
        .args(["--ops", "3000", "--seed", "5"])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
}
