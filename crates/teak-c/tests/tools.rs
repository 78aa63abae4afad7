//! Helpers of the tests: installed libraries and headers, and the programs of this machine.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The directory in which cargo has put the libraries.
pub(crate) fn built() -> PathBuf {
    let this = env::current_exe().expect("a path");
    this.parent().expect("a directory").to_owned()
}

pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A prefix with the layout of `cargo xtask install-c`, made of links.
pub(crate) fn installed() -> &'static Path {
    static INSTALLED: OnceLock<TempDir> = OnceLock::new();
    let prefix = INSTALLED.get_or_init(|| {
        let prefix = TempDir::new().expect("a directory");
        let at = |name: &str| prefix.path().join(name);
        fs::create_dir_all(at("lib/pkgconfig")).expect("a directory");
        fs::create_dir_all(at("include")).expect("a directory");
        let built = built();
        symlink(built.join("libteak_c.so"), at("lib/libteak.so.0")).expect("a link");
        symlink("libteak.so.0", at("lib/libteak.so")).expect("a link");
        for name in ["teak.h", "teak.hpp", "teak"] {
            let to = at("include").join(name);
            symlink(package().join("include").join(name), to).expect("a link");
        }
        let description = fs::read_to_string(package().join("teak.pc.in")).expect("a text");
        let description = description
            .replace("@prefix@", prefix.path().to_str().expect("a path"))
            .replace("@version@", env!("CARGO_PKG_VERSION"));
        fs::write(at("lib/pkgconfig/teak.pc"), description).expect("a file");
        prefix
    });
    prefix.path()
}

/// The output of `command`, which must succeed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// Whether a program is installed.
pub(crate) fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("NOT RUN: there is no {program}");
    }
    is_there
}

pub(crate) const VALGRIND: &[&str] = &[
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
];

/// The examples in a text: the code blocks in `language`.
pub(crate) fn examples(text: &str, language: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut lines = text.lines().map(|line| {
        let line = line.trim_start();
        match line {
            // An empty line of a comment.
            "///" | "*" => "",
            line => {
                let line = line.strip_prefix("/// ").unwrap_or(line);
                line.strip_prefix("* ").unwrap_or(line)
            }
        }
    });
    let begin = format!("```{language}");
    while lines.any(|line| line == begin) {
        let lines = lines.by_ref().take_while(|line| *line != "```");
        examples.push(lines.collect::<Vec<_>>().join("\n"));
    }
    examples
}

/// Runs a program with a directory for its data, optionally within a wrapper program.
pub(crate) fn run_with(program: &Path, wrapper: &[&str]) {
    let data = TempDir::new().expect("a directory");
    let mut command = match wrapper {
        [] => Command::new(program),
        [wrapping, arguments @ ..] => {
            let mut command = Command::new(wrapping);
            command.args(arguments).arg(program);
            command
        }
    };
    command.env("LD_LIBRARY_PATH", installed().join("lib"));
    run(command.current_dir(data.path()).arg(data.path()));
}
