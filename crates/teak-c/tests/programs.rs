//! C programs that use the header and the shared library: run directly, under valgrind and with the
//! sanitizers of the C compiler. Tests whose tools are not installed report that they did not run.

use crate::tools::{VALGRIND, built, examples, installed, is_there, package, run, run_with};
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The C compiler, with warnings as errors.
fn compiler() -> Command {
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let tool = cc::Build::new()
        .target(&host)
        .host(&host)
        .opt_level(1)
        .cargo_metadata(false)
        .get_compiler();
    let mut command = tool.to_command();
    command.args([
        "-std=c11",
        "-D_GNU_SOURCE",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    command
}

/// A C program, compiled.
struct Program {
    path: PathBuf,
    /// The path of the program.
    _directory: TempDir,
}

impl Program {
    fn new(source: &Path, flags: &[&str]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("program");
        let prefix = installed();
        run(compiler()
            .arg(source)
            .arg("-o")
            .arg(&path)
            .arg("-I")
            .arg(prefix.join("include"))
            .arg("-I")
            .arg(package().join("tests/c"))
            .arg("-L")
            .arg(prefix.join("lib"))
            .args(["-lteak", "-pthread"])
            .args(flags));
        Self {
            path,
            _directory: directory,
        }
    }
}

const SANITIZERS: &str = "-fsanitize=address,undefined";

fn has_sanitizers() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let directory = TempDir::new().expect("a directory");
        let source = directory.path().join("empty.c");
        fs::write(&source, "int main(void) { return 0; }").expect("a file");
        let mut command = compiler();
        command.arg(&source).arg(SANITIZERS).arg("-o");
        let made = command.arg(directory.path().join("empty")).output();
        let has = made.is_ok_and(|output| output.status.success());
        if !has {
            eprintln!("NOT RUN: the C compiler has no sanitizers");
        }
        has
    })
}

fn run_with_all_tools(source: &Path) {
    let plain = Program::new(source, &[]);
    run_with(&plain.path, &[]);
    if is_there("valgrind") {
        run_with(&plain.path, VALGRIND);
    }
    if has_sanitizers() {
        let sanitized = Program::new(source, &[SANITIZERS, "-fno-sanitize-recover=all"]);
        run_with(&sanitized.path, &[]);
    }
}

fn of_tests(name: &str) {
    run_with_all_tools(&package().join("tests/c").join(name));
}

#[test]
fn records() {
    of_tests("records.c");
}

#[test]
fn flat() {
    of_tests("flat.c");
}

/// The words of a text that begin like the functions with scalar arguments.
fn flat_names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    words
        .filter(|word| word.starts_with("teak_flat_"))
        .collect()
}

#[test]
fn flat_calls_each_function_with_scalar_arguments() {
    let header = fs::read_to_string(package().join("include/teak.h")).expect("a text");
    let program = fs::read_to_string(package().join("tests/c/flat.c")).expect("a text");
    let declared = flat_names(&header);
    assert!(declared.len() > 50, "{declared:?}");
    let missing: Vec<_> = declared
        .difference(&flat_names(&program))
        .copied()
        .collect();
    assert!(missing.is_empty(), "flat.c does not call {missing:?}");
}

#[test]
fn loading() {
    of_tests("loading.c");
}

#[test]
fn misuse() {
    of_tests("misuse.c");
}

#[test]
fn durability() {
    of_tests("durability.c");
}

#[test]
fn orders() {
    of_tests("orders.c");
}

#[test]
fn cursors() {
    of_tests("cursors.c");
}

#[test]
fn pairs() {
    of_tests("pairs.c");
}

#[test]
fn expiring() {
    of_tests("expiring.c");
}

#[test]
fn upkeep() {
    of_tests("upkeep.c");
}

#[test]
fn encryption() {
    of_tests("encryption.c");
}

#[test]
fn compression() {
    of_tests("compression.c");
}

#[test]
fn rescue() {
    of_tests("rescue.c");
}

#[test]
fn threads() {
    of_tests("threads.c");
}

/// A program of examples, each of which has an open database.
fn program_of(examples: &[String]) -> String {
    let mut program = "#include \"common.h\"\n".to_owned();
    for (number, example) in examples.iter().enumerate() {
        // A leading function goes before the others.
        let (function, example) = match example.split_once("\n\n") {
            Some((function, rest)) if function.starts_with("static ") => (function, rest),
            _ => ("", &example[..]),
        };
        program += function;
        program += &format!(
            "\nstatic int example_{number}(teak_db db, const char *path) {{\n(void)db; (void)path;\n{{\n{example}\n}}\nreturn 0;\n}}\n"
        );
    }
    program += "int main(int argc, char **argv) {\nassert(argc == 2);\n";
    for number in 0..examples.len() {
        program += &format!(
            "{{ teak_db db = open_at(path_of(argv[1], \"{number}.teak\"));\n\
             assert(example_{number}(db, path_of(argv[1], \"{number} of its own.teak\")) == 0);\n\
             check(teak_db_close(db, &error)); }}\n"
        );
    }
    program + "return 0;\n}\n"
}

#[test]
fn the_examples_of_the_header_and_the_guide_run() {
    let header = fs::read_to_string(package().join("include/teak.h")).expect("a text");
    let guide = package().join("tests/repository/docs/c-interface.md");
    let guide = fs::read_to_string(guide).expect("a text");
    let mut all = examples(&header, "c");
    assert!(all.len() > 10, "{} examples", all.len());
    all.extend(examples(&guide, "c"));
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("examples.c");
    fs::write(&source, program_of(&all)).expect("a file");
    run_with_all_tools(&source);
}

/// The names that a shared library exports.
fn exported(library: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    let listed = run(nm.args(["-D", "--defined-only"]).arg(library));
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    names.map(str::to_owned).collect()
}

#[test]
fn the_library_exports_the_functions_of_the_header() {
    let header = fs::read_to_string(package().join("include/teak.h")).expect("a text");
    let declared: BTreeSet<_> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '*', '/', '#']) && !line.starts_with("static"))
        .filter(|line| !line.starts_with("typedef"))
        .filter_map(|line| {
            Some(
                line.split_once('(')?
                    .0
                    .split([' ', '*'])
                    .next_back()?
                    .to_owned(),
            )
        })
        .collect();
    let library = built().join("libteak_c.so");
    assert_eq!(exported(&library), declared);
    let dynamic = run(Command::new("readelf").arg("-d").arg(library));
    assert!(dynamic.contains("soname: [libteak.so.0]"), "{dynamic}");
}

#[test]
fn pkg_config_finds_the_library() {
    if !is_there("pkg-config") {
        return;
    }
    let prefix = installed();
    let mut tool = Command::new("pkg-config");
    tool.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let flags = run(tool.args(["--cflags", "--libs", "teak"]));
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("one.c");
    let text = "#include <teak.h>\nint main(void) { return teak_code_text(0)[0] == 0; }\n";
    fs::write(&source, text).expect("a file");
    let program = directory.path().join("one");
    run(compiler()
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(flags.split_whitespace()));
    run(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib")));
}

#[test]
fn programs_can_link_the_static_library() {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("records");
    run(compiler()
        .arg(package().join("tests/c/records.c"))
        .arg("-I")
        .arg(installed().join("include"))
        .arg(built().join("libteak_c.a"))
        .args([
            "-lgcc_s",
            "-lutil",
            "-lrt",
            "-lpthread",
            "-lm",
            "-ldl",
            "-lc",
        ])
        .arg("-o")
        .arg(&program));
    run(Command::new(&program).arg(directory.path()));
}
