//! C++ programs that use `teak.hpp`, compiled with each installed compiler: in C++17 under
//! valgrind, and in C++20 with sanitizers. Also code that must not compile. Tests whose tools are
//! not installed report that they did not run.

use crate::tools::{VALGRIND, examples, installed, is_there, package, run, run_with};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The C++ compilers of this machine.
fn compilers() -> &'static [&'static str] {
    static THERE: OnceLock<Vec<&str>> = OnceLock::new();
    THERE.get_or_init(|| {
        let known = ["g++", "clang++"].into_iter();
        known.filter(|name| is_there(name)).collect()
    })
}

fn compiler(name: &str) -> Command {
    let mut command = Command::new(name);
    command.args(arguments());
    command
}

/// The arguments for every compiler.
fn arguments() -> Vec<PathBuf> {
    let warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"];
    let directories = [installed().join("include"), package().join("tests/cpp")];
    let directories = directories
        .into_iter()
        .flat_map(|directory| ["-I".into(), directory]);
    warnings
        .map(PathBuf::from)
        .into_iter()
        .chain(directories)
        .collect()
}

fn of_tests(name: &str) -> PathBuf {
    package().join("tests/cpp").join(name)
}

/// Compiles a program, and runs it.
fn run_built(compiler: &str, sources: &[PathBuf], flags: &[&str], wrappers: &[&[&str]]) {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("program");
    run(self::compiler(compiler)
        .arg("-g")
        .args(sources)
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(installed().join("lib"))
        .args(["-lteak", "-pthread"]));
    for wrapper in wrappers {
        run_with(&program, wrapper);
    }
}

/// Whether the compiler supports sanitizers.
fn has_sanitizers(compiler: &str) -> bool {
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("empty.cpp");
    fs::write(&source, "int main() {}").expect("a file");
    let mut command = Command::new(compiler);
    command.arg(&source).arg(SANITIZERS[0]).arg("-o");
    let made = command.arg(directory.path().join("empty")).output();
    let has = made.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("NOT RUN: {compiler} has no sanitizers");
    }
    has
}

const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

fn run_with_all_tools(sources: &[PathBuf], flags: &[&str]) {
    for (index, compiler) in compilers().iter().enumerate() {
        let mut wrappers: Vec<&[&str]> = vec![&[]];
        if index == 0 && is_there("valgrind") {
            wrappers.push(VALGRIND);
        }
        let plain = [&["-std=c++17"], flags].concat();
        run_built(compiler, sources, &plain, &wrappers);
        if has_sanitizers(compiler) {
            let sanitized = [&["-std=c++20"], &SANITIZERS[..], flags].concat();
            run_built(compiler, sources, &sanitized, &[&[]]);
        }
    }
}

#[test]
fn records() {
    run_with_all_tools(&[of_tests("records.cpp")], &[]);
}

#[test]
fn walks() {
    run_with_all_tools(&[of_tests("walks.cpp")], &[]);
}

#[test]
fn expiring() {
    run_with_all_tools(&[of_tests("expiring.cpp")], &[]);
}

#[test]
fn upkeep() {
    run_with_all_tools(&[of_tests("upkeep.cpp")], &[]);
}

#[test]
fn encryption() {
    run_with_all_tools(&[of_tests("encryption.cpp")], &[]);
}

#[test]
fn compression() {
    run_with_all_tools(&[of_tests("compression.cpp")], &[]);
}

/// The flags for stores in LevelDB, if it is installed.
fn leveldb() -> &'static [&'static str] {
    let is_there = Path::new("/usr/include/leveldb/db.h").exists();
    if !is_there {
        eprintln!("NOT RUN: there are no headers of LevelDB");
    }
    match is_there {
        true => &["-DTEAK_DBWRAPPER_LEVELDB", "-lleveldb"],
        false => &[],
    }
}

#[test]
fn stores_of_nodes() {
    run_with_all_tools(&[of_tests("dbwrapper.cpp")], leveldb());
}

#[test]
fn large_batches_of_stores() {
    let Some(compiler) = compilers().first() else {
        return;
    };
    let flags = [&["-std=c++17", "-O1"], leveldb()].concat();
    run_built(compiler, &[of_tests("dbwrapper_large.cpp")], &flags, &[&[]]);
}

/// The stand-ins for the wrappers of nodes, of both shapes, with each backend.
#[test]
fn wrappers_of_nodes() {
    let node = |name: &str| package().join("examples/node").join(name);
    let Some(compiler) = compilers().first() else {
        return;
    };
    let directory = TempDir::new().expect("a directory");
    for (shape, sources, flags) in [
        (
            "pimpl",
            &["chainstate.cpp", "pimpl/dbwrapper.cpp"][..],
            &[][..],
        ),
        ("older", &["chainstate.cpp"], &["-DOLDER_WRAPPER"]),
    ] {
        let program = directory.path().join(shape);
        run(self::compiler(compiler)
            .args(["-std=c++17", "-O1"])
            .args(sources.iter().map(|name| node(name)))
            .arg("-I")
            .arg(node(shape))
            .args(flags)
            .args(leveldb())
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(installed().join("lib"))
            .args(["-lteak", "-pthread"]));
        let backends = if leveldb().is_empty() { 1 } else { 2 };
        for backend in ["teak", "leveldb"].iter().take(backends) {
            let printed = run(Command::new(&program)
                .env("LD_LIBRARY_PATH", installed().join("lib"))
                .arg(directory.path().join(format!("{shape} {backend}")))
                .arg(backend));
            assert_eq!(printed, "block 10 after 29 batches: 1100 coins, 6609900\n");
        }
    }
}

#[test]
fn programs_can_use_results() {
    run_with_all_tools(
        &[of_tests("results.cpp")],
        &["-DTEAK_RESULTS", "-fno-exceptions"],
    );
}

#[test]
fn a_program_may_have_parts_of_both_kinds() {
    let parts = ["exceptions_part.cpp", "results_part.cpp"].map(of_tests);
    run_with_all_tools(&parts, &[]);
}

#[test]
fn without_exceptions_the_error_names_the_macro_to_define() {
    for name in compilers() {
        let mut compiler = compiler(name);
        compiler.args(["-std=c++17", "-fno-exceptions", "-fsyntax-only"]);
        let errors = refused(compiler.arg(of_tests("records.cpp")));
        assert!(errors.contains("define TEAK_RESULTS"), "{errors}");
    }
}

/// The compiler's errors for code that must not compile.
fn refused(command: &mut Command) -> String {
    let output = command.output().expect("a compiler");
    assert!(!output.status.success(), "{command:?} compiles");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The cases of a file, numbered from 1, each with messages of which one must appear.
fn cases(source: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(source).expect("a text");
    let numbered = text.lines().filter_map(|line| {
        let (number, texts) = line.strip_prefix("#elif CASE == ")?.split_once(" // ")?;
        let texts = texts.split(" || ").map(str::to_owned).collect();
        Some((number.parse::<usize>().expect("a number"), texts))
    });
    let (numbers, texts): (Vec<_>, Vec<_>) = numbered.unzip();
    assert!(numbers.iter().copied().eq(1..=numbers.len()), "{numbers:?}");
    texts
}

/// The arguments that make a compiler use a precompiled header from `directory`. Reading the header
/// takes longer than everything else.
fn precompiled(name: &str, directory: &Path) -> [PathBuf; 2] {
    let compile = |to: &Path| {
        let header = installed().join("include/teak.hpp");
        let mut compiler = compiler(name);
        compiler.args(["-std=c++17", "-x", "c++-header", "-o"]);
        run(compiler.arg(to).arg(header));
    };
    // GCC finds the precompiled file next to the header; Clang takes its path.
    let (flag, path) = match name {
        "clang++" => ("-include-pch", directory.join("teak.pch")),
        _ => ("-I", directory.join("teak.hpp.gch")),
    };
    compile(&path);
    match name {
        "clang++" => [flag.into(), path],
        _ => [flag.into(), directory.to_owned()],
    }
}

fn refuses_each_case(name: &str, count_min: usize) {
    let source = of_tests(name);
    let cases = cases(&source);
    assert!(cases.len() >= count_min);
    let is_header_first = !fs::read_to_string(&source)
        .expect("a text")
        .contains("#define TEAK");
    for name in compilers() {
        let directory = TempDir::new().expect("a directory");
        let header = is_header_first.then(|| precompiled(name, directory.path()));
        let case = |number: usize| {
            let mut compiler = Command::new(name);
            compiler.args(header.iter().flatten());
            compiler.args(arguments());
            compiler.args(["-std=c++17", "-fsyntax-only"]);
            compiler.arg(format!("-DCASE={number}")).arg(&source);
            compiler
        };
        run(&mut case(0));
        for (index, texts) in cases.iter().enumerate() {
            let errors = refused(&mut case(index + 1));
            let is_refused = texts.iter().any(|text| errors.contains(text));
            assert!(is_refused, "{name}, case {}: {errors}", index + 1);
        }
    }
}

#[test]
fn arguments_of_the_wrong_kind_do_not_compile() {
    refuses_each_case("refused.cpp", 33);
}

#[test]
fn ignored_results_do_not_compile() {
    refuses_each_case("refused_results.cpp", 4);
}

#[test]
fn each_error_code_has_a_type() {
    let header = fs::read_to_string(package().join("include/teak.h")).expect("a text");
    let codes = header.split_once("typedef enum {").expect("codes").1;
    let codes = codes.split_once("} teak_code;").expect("codes").0;
    let errors = fs::read_to_string(package().join("include/teak/error.hpp")).expect("a text");
    let codes = codes.lines().filter_map(|line| {
        line.trim()
            .split_once(" = ")
            .filter(|(name, _)| name.starts_with("TEAK_"))
    });
    let mut count = 0;
    for (name, _) in codes.filter(|(name, _)| !matches!(*name, "TEAK_OK" | "TEAK_NONE")) {
        assert!(errors.contains(&format!(", {name})")), "{name}");
        count += 1;
    }
    assert!(count > 30, "{count} codes");
}

/// The example of a node's coins, with some of them.
#[test]
fn coins() {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("coins");
    let library = installed().join("lib");
    let name = compilers().first().copied();
    let Some(name) = name else { return };
    run(compiler(name)
        .args(["-std=c++17", "-O1"])
        .arg(package().join("examples/coins.cpp"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .arg("-lteak"));
    let data = package().join("tests/repository/examples/data");
    let apply = || {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", &library).arg(&data);
        command.arg(directory.path().join("coins.teak")).arg("500");
        run(&mut command)
    };
    let printed = apply();
    assert!(printed.contains("applied block 702861"), "{printed}");
    assert!(
        printed.contains("walked through 467 coins of 94.00597903 BTC"),
        "{printed}"
    );
    let printed = apply();
    assert!(printed.contains("nothing to do"), "{printed}");
}

/// A program of examples, each of which has an open database.
fn program_of(examples: &[String]) -> String {
    let mut program = "#include \"common.hpp\"\n#include <teak/dbwrapper.hpp>\n".to_owned();
    for (number, example) in examples.iter().enumerate() {
        // The includes are already there, and must not be within a function.
        let lines = example.lines().filter(|line| !line.starts_with("#include"));
        let example = lines.collect::<Vec<_>>().join("\n");
        program += &format!(
            "static void example_{number}(teak::database &db, const std::string &path) {{\n\
             static_cast<void>(db), static_cast<void>(path);\n{{\n{example}\n}}\n}}\n"
        );
    }
    program += "int main(int, char **arguments) {\nconst std::string directory = arguments[1];\n";
    for number in 0..examples.len() {
        program += &format!(
            "{{ teak::database db = teak::database::open(directory + \"/{number}.teak\");\n\
             example_{number}(db, directory + \"/{number} of its own.teak\"); }}\n"
        );
    }
    program + "}\n"
}

#[test]
fn the_examples_of_the_headers_and_the_guides_run() {
    let mut all = Vec::new();
    let headers = ["include/teak", "include/teak/dbwrapper"]
        .into_iter()
        .flat_map(|directory| fs::read_dir(package().join(directory)).expect("a directory"))
        .map(|entry| entry.expect("a header").path())
        .filter(|path| path.is_file());
    let guides = ["docs/cpp-interface.md", "docs/leveldb.md", "README.md"]
        .map(|name| package().join("tests/repository").join(name));
    for path in headers.chain(guides) {
        let text = fs::read_to_string(path).expect("a text");
        all.extend(examples(&text, "cpp"));
    }
    assert!(all.len() > 12, "{} examples", all.len());
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("examples.cpp");
    fs::write(&source, program_of(&all)).expect("a file");
    // Examples may declare variables that they do not use, and choose common names.
    run_with_all_tools(&[source], &["-Wno-unused-variable", "-Wno-shadow"]);
}
