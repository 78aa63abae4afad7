//! C programs over the header and the shared library: compiled, and run as they are, under valgrind and with the sanitizers of the
//! C compiler. What a machine does not have is said to be not run.

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// Where cargo has put the libraries that this program was built with.
fn built() -> PathBuf {
    let this = env::current_exe().expect("a path");
    this.parent().expect("a directory").to_owned()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A prefix as `cargo xtask install-c` makes it, of links.
fn installed() -> &'static Path {
    static INSTALLED: OnceLock<TempDir> = OnceLock::new();
    let prefix = INSTALLED.get_or_init(|| {
        let prefix = TempDir::new().expect("a directory");
        let at = |name: &str| prefix.path().join(name);
        fs::create_dir_all(at("lib/pkgconfig")).expect("a directory");
        fs::create_dir_all(at("include")).expect("a directory");
        let built = built();
        symlink(built.join("libteak_c.so"), at("lib/libteak.so.0")).expect("a link");
        symlink("libteak.so.0", at("lib/libteak.so")).expect("a link");
        symlink(package().join("include/teak.h"), at("include/teak.h")).expect("a link");
        let description = fs::read_to_string(package().join("teak.pc.in")).expect("a text");
        let description = description
            .replace("@prefix@", prefix.path().to_str().expect("a path"))
            .replace("@version@", env!("CARGO_PKG_VERSION"));
        fs::write(at("lib/pkgconfig/teak.pc"), description).expect("a file");
        prefix
    });
    prefix.path()
}

/// The C compiler, told to take no warning.
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

/// What `command` prints, if it succeeds.
fn run(command: &mut Command) -> String {
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

/// Whether a program is on this machine.
fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("NOT RUN: there is no {program}");
    }
    is_there
}

/// A C program, compiled.
struct Program {
    path: PathBuf,
    directory: TempDir,
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
        Self { path, directory }
    }

    fn run_with(&self, wrapper: &[&str]) {
        let data = TempDir::new_in(self.directory.path()).expect("a directory");
        let mut command = match wrapper {
            [] => Command::new(&self.path),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.path);
                command
            }
        };
        command.env("LD_LIBRARY_PATH", installed().join("lib"));
        run(command.arg(data.path()));
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

const VALGRIND: &[&str] = &[
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
];

fn in_every_way(source: &Path) {
    let plain = Program::new(source, &[]);
    plain.run_with(&[]);
    if is_there("valgrind") {
        plain.run_with(VALGRIND);
    }
    if has_sanitizers() {
        Program::new(source, &[SANITIZERS, "-fno-sanitize-recover=all"]).run_with(&[]);
    }
}

fn of_tests(name: &str) {
    in_every_way(&package().join("tests/c").join(name));
}

#[test]
fn records() {
    of_tests("records.c");
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
fn upkeep() {
    of_tests("upkeep.c");
}

#[test]
fn threads() {
    of_tests("threads.c");
}

/// The examples in a text: what stands between lines of three backticks, with C in the first.
fn examples(text: &str) -> Vec<String> {
    let mut examples = Vec::new();
    let mut lines = text.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix("* ").unwrap_or(line)
    });
    while lines.any(|line| line == "```c") {
        let lines = lines.by_ref().take_while(|line| *line != "```");
        examples.push(lines.collect::<Vec<_>>().join("\n"));
    }
    examples
}

/// A program of examples, each of which has an open database.
fn program_of(examples: &[String]) -> String {
    let mut program = "#include \"common.h\"\n".to_owned();
    for (number, example) in examples.iter().enumerate() {
        program += &format!(
            "static int example_{number}(teak_db db, const char *path) {{\n(void)db; (void)path;\n{{\n{example}\n}}\nreturn 0;\n}}\n"
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
    let guide = package().join("../../docs/c-interface.md");
    let guide = fs::read_to_string(guide).expect("a text");
    let mut all = examples(&header);
    assert!(all.len() > 10, "{} examples", all.len());
    all.extend(examples(&guide));
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("examples.c");
    fs::write(&source, program_of(&all)).expect("a file");
    in_every_way(&source);
}

/// The names that a shared library gives to others.
fn exported(library: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    let listed = run(nm.args(["-D", "--defined-only"]).arg(library));
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    names.map(str::to_owned).collect()
}

#[test]
fn the_library_exports_what_the_header_declares() {
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
fn the_header_is_cplusplus_too() {
    if !is_there("c++") {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("one.cpp");
    let text = "#include <teak.h>\nint main() { teak_slice text = teak_text(\"ash\"); return text.len != 3; }\n";
    fs::write(&source, text).expect("a file");
    let program = directory.path().join("one");
    run(Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .arg(&source)
        .arg("-I")
        .arg(installed().join("include"))
        .arg("-o")
        .arg(&program));
    run(&mut Command::new(&program));
}

#[test]
fn programs_can_hold_the_library_within() {
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
