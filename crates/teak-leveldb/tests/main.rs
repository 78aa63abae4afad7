//! The library as programs in C and C++ use it: linked here, and run directly and under valgrind.
//! Tests whose tools are not installed report that they did not run.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};
use tempfile::TempDir;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The output of `command`, which must succeed.
fn run(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("NOT RUN: there is no {program}");
    }
    is_there
}

/// The compiler for C++; for C with `is_c`.
fn compiler(is_c: bool) -> Command {
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let tool = cc::Build::new()
        .cpp(!is_c)
        .target(&host)
        .host(&host)
        .opt_level(1)
        .cargo_metadata(false)
        .get_compiler();
    let mut command = tool.to_command();
    command.args(["-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    command.arg(if is_c { "-std=c11" } else { "-std=c++17" });
    command
}

/// The directory of the linked library.
fn library() -> &'static Path {
    static LINKED: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("leveldb");
        let script = package().join("cpp/link.sh");
        run(Command::new(script).arg(archive()).arg(&directory));
        directory
    });
    &LINKED
}

/// The part in Rust. Cargo puts it beside this program, under a name that depends on the build.
fn archive() -> PathBuf {
    let this = env::current_exe().expect("a path");
    let entries = fs::read_dir(this.parent().expect("a directory")).expect("a directory");
    let archives = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with("libteak_leveldb") && name.ends_with(".a")
        });
    let changed = |entry: &fs::DirEntry| entry.metadata().and_then(|it| it.modified()).ok();
    let newest = archives.max_by_key(changed);
    newest.expect("the library was built").path()
}

fn run_program(source: &str) {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("program");
    run(compiler(source.ends_with(".c"))
        .arg(package().join("tests").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-I")
        .arg(package().join("include"))
        .arg("-L")
        .arg(library())
        .arg("-lleveldb"));
    run_in_directory(Command::new(&program));
    if is_there("valgrind") {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
        command
            .arg("--errors-for-leak-kinds=definite")
            .arg(&program);
        run_in_directory(command);
    }
}

fn run_in_directory(mut command: Command) {
    let data = TempDir::new().expect("a directory");
    command.env("LD_LIBRARY_PATH", library());
    command.env("TEST_TMPDIR", data.path());
    run(command.arg(data.path()));
}

#[test]
fn the_interface_for_c() {
    run_program("c/interface.c");
}

#[test]
fn the_classes() {
    run_program("cpp/classes.cc");
}

#[test]
fn sizes_offsets_and_slots_are_those_of_leveldb() {
    run_program("cpp/layout.cc");
}

fn exported(library: &Path) -> BTreeSet<String> {
    let symbols = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library));
    let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
    names.map(str::to_owned).collect()
}

/// The names that clients can use, of LevelDB 1.23 as Debian builds it.
#[test]
fn all_names_are_exported_and_no_others() {
    if !is_there("nm") {
        return;
    }
    let ours = exported(&library().join("libleveldb.so.1d"));
    let list = fs::read_to_string(package().join("tests/exports.txt")).expect("a file");
    let missing: Vec<_> = list.lines().filter(|name| !ours.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let is_ours = |name: &str| {
        name.starts_with("leveldb_") || name.starts_with("_Z") && name.contains("7leveldb")
    };
    let others: Vec<_> = ours.iter().filter(|name| !is_ours(name)).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A directory that LevelDB has made is converted if the user says so.
#[test]
fn a_directory_of_leveldb_is_converted_on_demand() {
    let data = TempDir::new().expect("a directory");
    let stored = package().join("tests/repository/crates/teak-foreign/tests/data/leveldb");
    for entry in fs::read_dir(stored).expect("a directory") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), data.path().join(entry.file_name())).expect("copies");
    }
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include "leveldb/c.h"
        int main(int count, char **arguments) {
          char *error = NULL;
          leveldb_options_t *options = leveldb_options_create();
          leveldb_t *db = leveldb_open(options, arguments[count - 1], &error);
          if (error != NULL) { puts(error); return 0; }
          leveldb_readoptions_t *read = leveldb_readoptions_create();
          leveldb_iterator_t *iterator = leveldb_create_iterator(db, read);
          int records = 0;
          for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
               leveldb_iter_next(iterator)) records++;
          printf("%d records", records);
          leveldb_iter_destroy(iterator);
          leveldb_close(db);
          return 0;
        }"#;
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    fs::write(path("count.c"), source).expect("writes");
    run(compiler(true)
        .arg(path("count.c"))
        .arg("-o")
        .arg(path("count"))
        .arg("-I")
        .arg(package().join("include"))
        .arg("-L")
        .arg(library())
        .arg("-lleveldb"));
    let open = |wish: Option<&str>| {
        let mut command = Command::new(path("count"));
        command.env("LD_LIBRARY_PATH", library()).arg(data.path());
        run(match wish {
            Some(wish) => command.env("TEAK_LEVELDB_IMPORT", wish),
            None => command.env_remove("TEAK_LEVELDB_IMPORT"),
        })
    };
    assert!(open(None).contains("is a directory of LevelDB"));
    assert_eq!(open(Some("1")), "2600 records");
    assert_eq!(open(None), "2600 records");
    let names: BTreeSet<_> = fs::read_dir(data.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    let left: Vec<PathBuf> = names.into_iter().map(PathBuf::from).collect();
    let is_leveldb = |path: &PathBuf| {
        path.extension()
            .is_some_and(|it| it == "ldb" || it == "log")
    };
    assert!(!left.iter().any(is_leveldb), "{left:?}");
}
