//! Short runs of the programs.

use std::{path::Path, process::Command};

/// LevelDB's library, as Debian installs it.
const LEVELDB: &str = "/usr/lib/x86_64-linux-gnu/libleveldb.so.1d";

fn expect_success(command: &mut Command) {
    let output = command.args(["--ops", "3000", "--seed", "5"]).output();
    let output = output.unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}");
}

#[test]
fn teak_and_lmdb_give_equal_answers() {
    expect_success(&mut Command::new(env!("CARGO_BIN_EXE_differential")));
}

/// The library over Teak is compared by `cargo xtask leveldb-differential`.
#[test]
fn leveldb_gives_the_replies_of_leveldb() {
    if !Path::new(LEVELDB).exists() {
        eprintln!("NOT RUN: there is no {LEVELDB}");
        return;
    }
    expect_success(
        Command::new(env!("CARGO_BIN_EXE_leveldb-differential"))
            .args(["--library", LEVELDB])
            .args(["--leveldb", LEVELDB]),
    );
}
