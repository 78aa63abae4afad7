//! The library as programs in C and C++ use it: linked here, and run directly and under valgrind.
//! Tests whose tools are not installed report that they did not run. The programs for Windows are
//! run by `cargo xtask ports windows`.
#![cfg(unix)]

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};
use teak::codec::Raw;
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

/// Compiles a program with a library, and with further flags.
fn compile(source: &Path, program: &Path, library: &Path, flags: &[&str]) {
    run(compiler(source.extension().is_some_and(|it| it == "c"))
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg("-I")
        .arg(package().join("include"))
        .arg("-L")
        .arg(library)
        .arg("-lleveldb"));
}

fn run_program(source: &str) {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("program");
    compile(
        &package().join("tests").join(source),
        &program,
        library(),
        &[],
    );
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

/// `teak/dbwrapper.hpp` with both backends.
#[test]
fn the_wrapper_for_nodes() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    // Cargo puts the library beside this program.
    let this = env::current_exe().expect("a path");
    let built = this.parent().expect("a directory").join("libteak_c.so");
    symlink(built, path("libteak.so.0")).expect("a link");
    symlink("libteak.so.0", path("libteak.so")).expect("a link");
    let include = package().join("tests/repository/crates/teak-c/include");
    let (include, libraries) = (include.to_str(), directory.path().to_str());
    let flags = ["-I", include.expect("text"), "-L", libraries.expect("text")];
    compile(
        &package().join("tests/cpp/wrapper.cc"),
        &path("program"),
        library(),
        &[&flags[..], &["-Wl,--no-as-needed", "-lteak"]].concat(),
    );
    let data = TempDir::new().expect("a directory");
    let both = env::join_paths([library(), directory.path()]).expect("paths");
    run(Command::new(path("program"))
        .env("LD_LIBRARY_PATH", both)
        .arg(data.path()));
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
    let mut expected: BTreeSet<_> = list.lines().map(str::to_owned).collect();
    // `Log`, which LevelDB's header has and Debian's library hides.
    expected.insert("_ZN7leveldb3LogEPNS_6LoggerEPKcz".to_owned());
    let missing: Vec<_> = expected.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let others: Vec<_> = ours.difference(&expected).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A copy of a directory that LevelDB has made.
fn directory_of_leveldb() -> TempDir {
    let data = TempDir::new().expect("a directory");
    let stored = package().join("tests/repository/crates/teak-foreign/tests/data/leveldb");
    for entry in fs::read_dir(stored).expect("a directory") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), data.path().join(entry.file_name())).expect("copies");
    }
    data
}

/// The output of a program that counts the records of a directory.
fn count(data: &Path, wish: Option<&str>) -> String {
    static PROGRAM: LazyLock<TempDir> = LazyLock::new(|| {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let source = package().join("tests/c/count.c");
        compile(&source, &path("count"), library(), &[]);
        directory
    });
    let mut command = Command::new(PROGRAM.path().join("count"));
    command.env("LD_LIBRARY_PATH", library()).arg(data);
    run(match wish {
        Some(wish) => command.env("TEAK_LEVELDB_IMPORT", wish),
        None => command.env_remove("TEAK_LEVELDB_IMPORT"),
    })
}

/// Whether a directory has tables or logs of LevelDB.
fn has_leveldb_files(data: &Path) -> bool {
    let entries = fs::read_dir(data).expect("a directory");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    paths.any(|path| {
        path.extension()
            .is_some_and(|it| it == "ldb" || it == "log")
    })
}

/// A directory that LevelDB has made is converted if the user says so.
#[test]
fn a_directory_of_leveldb_is_converted_on_demand() {
    let data = directory_of_leveldb();
    let data = data.path();
    assert!(count(data, None).contains("is a directory of LevelDB"));
    assert_eq!(count(data, Some("1")), "2600 records");
    assert_eq!(count(data, None), "2600 records");
    assert!(!has_leveldb_files(data));
    // No conversion has left this one.
    let table = data.join("000005.ldb");
    fs::write(&table, "of LevelDB").expect("writes");
    assert_eq!(count(data, Some("1")), "2600 records");
    assert!(table.exists());
    // As if the conversion had ended before it removed all files.
    let database = teak::Database::open(data.join("data.teak")).expect("a database");
    let mut txn = database.begin_write().expect("begins");
    let properties = teak::TableDef::<Raw, Raw>::new("leveldb.properties");
    let properties = properties.open(&txn).expect("a table");
    let inserted = properties.insert(&mut txn, b"leveldb-files-to-remove", b"");
    inserted.expect("inserts");
    txn.commit().expect("commits");
    drop(database);
    assert_eq!(count(data, None), "2600 records");
    assert!(!has_leveldb_files(data));
}

#[test]
fn kept_files_of_leveldb_stay() {
    let data = directory_of_leveldb();
    for wish in ["keep", "1"] {
        assert_eq!(count(data.path(), Some(wish)), "2600 records");
        assert!(has_leveldb_files(data.path()), "{wish}");
    }
}

/// Four processes create, open and write a directory at the same time.
#[test]
fn processes_share_a_directory_on_demand() {
    let directory = TempDir::new().expect("a directory");
    let program = directory.path().join("program");
    let source = package().join("tests/c/shared.c");
    compile(&source, &program, library(), &["-D_GNU_SOURCE"]);
    let data = directory.path().join("data");
    fs::create_dir(&data).expect("a directory");
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", library()).arg(&data);
    run(command.env("TEAK_LEVELDB_SHARED", "1"));
}

/// Eight threads write, read, iterate and compact. The parts in C and C++ are compiled with
/// ThreadSanitizer. It does not know the locks of the part in Rust, whose calls it ignores.
#[test]
fn threads_have_no_data_races() {
    const FLAGS: &[&str] = &["-fsanitize=thread", "-D_GNU_SOURCE"];
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    fs::write(path("empty.c"), "int main(void) { return 0; }").expect("writes");
    let mut trial = compiler(true);
    trial.args(FLAGS).arg(path("empty.c"));
    let compiled = trial.arg("-o").arg(path("empty")).output();
    let is_compiled = compiled.is_ok_and(|output| output.status.success());
    if !is_compiled
        || !Command::new(path("empty"))
            .status()
            .is_ok_and(|it| it.success())
    {
        eprintln!("NOT RUN: programs with ThreadSanitizer do not run here");
        return;
    }
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("leveldb-threads");
    let script = package().join("cpp/link.sh");
    run(Command::new(script)
        .arg(archive())
        .arg(&library)
        .arg(FLAGS[0]));
    fs::write(path("ignored"), "called_from_lib:libleveldb.so\n").expect("writes");
    let source = package().join("tests/c/threads.c");
    // That a planted race is found shows that others would be.
    for is_planted in [true, false] {
        let planted: &[&str] = if is_planted { &["-DPLANTED_RACE"] } else { &[] };
        let program = path(if is_planted { "planted" } else { "threads" });
        compile(&source, &program, &library, &[FLAGS, planted].concat());
        let output = Command::new(&program)
            .arg("write")
            .arg(path("data"))
            .args(["8", "1", "200"])
            .env("LD_LIBRARY_PATH", &library)
            .env(
                "TSAN_OPTIONS",
                format!("suppressions={}", path("ignored").display()),
            )
            .output()
            .expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(!output.status.success(), is_planted, "{errors}");
        assert_eq!(errors.contains("data race"), is_planted, "{errors}");
    }
}
