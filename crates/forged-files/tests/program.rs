//! The program as `cargo xtask mutate` starts it.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forged-files"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn each_file_is_reported_and_can_be_forged_again() {
    let output = run(&["--seed", "7", "--from", "20", "--to", "33"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for index in 20..33 {
        assert!(text.contains(&format!("begin {index} ")), "{text}");
        assert!(text.contains(&format!("end {index} ")), "{text}");
    }
    let directory = tempfile::tempdir().unwrap();
    let images = ["first", "second"].map(|name| {
        let path = directory.path().join(name);
        let arguments = ["--seed", "7", "--from", "30", "--write"];
        let output = run(&[&arguments[..], &[path.to_str().unwrap()]].concat());
        assert!(output.status.success());
        std::fs::read(path).unwrap()
    });
    assert!(images[0] == images[1]);
}
