//! Dumps from Teak to LMDB's own `mdb_load`, and from its `mdb_dump` back. The tools are compiled
//! from sources that come with a dependency of the workspace.

use crate::support::TestDir;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: [&str; 2] = ["mdb_dump", "mdb_load"];

/// The directory of LMDB's sources, if cargo has downloaded them.
fn sources() -> Option<PathBuf> {
    // Crates for other systems need not have been downloaded.
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    let package = (metadata["packages"].as_array()?.iter())
        .find(|package| package["name"] == "lmdb-master-sys")?;
    let manifest = Path::new(package["manifest_path"].as_str()?);
    let sources = manifest.parent()?.join("lmdb/libraries/liblmdb");
    sources.join("mdb.c").is_file().then_some(sources)
}

/// Compiles the tools. Prints a note and returns `false` if that is not possible.
fn compile(dir: &TestDir) -> bool {
    let Some(sources) = sources() else {
        eprintln!("SKIPPED: cargo has no sources of LMDB here");
        return false;
    };
    for tool in TOOLS {
        let mut command = Command::new("cc");
        command.args(["-O1", "-w", "-o"]).arg(dir.path(tool));
        for file in [format!("{tool}.c"), "mdb.c".into(), "midl.c".into()] {
            command.arg(sources.join(file));
        }
        match command.arg("-lpthread").status() {
            Ok(status) => assert!(status.success(), "{tool} cannot be compiled"),
            Err(error) => {
                eprintln!("SKIPPED: there is no C compiler ({error})");
                return false;
            }
        }
    }
    true
}

/// Runs a tool and returns its output.
fn tool(dir: &TestDir, name: &str, words: &[&str]) -> String {
    let mut command = Command::new(dir.path(name));
    let output = command.args(words).current_dir(dir.path("")).output();
    let output = output.expect("the tool runs");
    assert!(output.status.success(), "{name} {words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("a dump is text")
}

#[test]
fn dumps_go_to_lmdb_and_come_back() {
    let dir = TestDir::new();
    if !compile(&dir) {
        return;
    }
    let source = concat!(
        "lmdb:",
        env!("CARGO_MANIFEST_DIR"),
        "/tests/repository/crates/teak-foreign/tests/data/lmdb-0.9.mdb"
    );
    dir.succeed(&["import", source, "a.teak"]);
    let all = dir.succeed(&["dump", "a.teak", "--all"]);
    let main = dir.succeed(&["dump", "a.teak"]);
    for (format, words) in [("dump", &[][..]), ("print", &["-p"])] {
        // All tables, each as a named database.
        let file = format!("all.{format}");
        dir.succeed(&["dump", "a.teak", "--all", "-f", format, "-o", &file]);
        let environment = format!("{format}.mdb");
        tool(&dir, "mdb_load", &["-n", "-f", &file, &environment]);
        let back = tool(
            &dir,
            "mdb_dump",
            &[&["-a", "-n", &environment], words].concat(),
        );
        for (name, more) in [
            ("one", &[][..]),
            ("bulk", &["--bulk"]),
            ("sorted", &["--bulk", "--sorted"]),
        ] {
            let (dump, database) = (
                format!("{format}-{name}.back"),
                format!("{format}-{name}.teak"),
            );
            dir.write(&dump, &back);
            dir.succeed(&[&["load", &dump, &database], more].concat());
            assert_eq!(
                dir.succeed(&["dump", &database, "--all"]),
                all,
                "{format}, {name}"
            );
        }
        // LMDB's contents equal the imported ones.
        let imported = format!("{format}-imported.teak");
        dir.succeed(&["import", &format!("lmdb:{environment}"), &imported]);
        assert_eq!(dir.succeed(&["dump", &imported, "--all"]), all, "{format}");

        // Only the main table, as the unnamed database.
        let (file, environment) = (format!("main.{format}"), format!("main-{format}.mdb"));
        dir.succeed(&["dump", "a.teak", "-f", format, "-o", &file]);
        tool(&dir, "mdb_load", &["-n", "-f", &file, &environment]);
        let back = tool(&dir, "mdb_dump", &[&["-n", &environment], words].concat());
        let (dump, database) = (format!("main-{format}.back"), format!("main-{format}.teak"));
        dir.write(&dump, &back);
        dir.succeed(&["load", &dump, &database]);
        assert_eq!(dir.succeed(&["dump", &database]), main, "{format}");
    }
}
