//! Runs C programs with this library and with LMDB, whose sources come with a crate. Their output
//! must be equal.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The library that a program is linked to.
#[derive(Clone, Copy)]
enum Library {
    Lmdb,
    Own,
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{printed}{errors}",
        output.status
    );
    printed
}

fn host() -> String {
    format!("{}-unknown-linux-gnu", env::consts::ARCH)
}

fn compiler() -> Command {
    let host = host();
    let mut build = cc::Build::new();
    build.target(&host).host(&host).opt_level(1);
    build.cargo_metadata(false).get_compiler().to_command()
}

/// The directory of LMDB's sources, as cargo has downloaded them.
fn sources() -> PathBuf {
    // Crates for other systems need not have been downloaded.
    let metadata = run(Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host()])
        .current_dir(package()));
    let mut paths = metadata.split('"');
    let manifest = paths.find(|path| {
        let directory = Path::new(path).parent().and_then(Path::file_name);
        let name = directory.and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("lmdb-master-sys-") && path.ends_with("Cargo.toml")
    });
    Path::new(manifest.expect("the crate lmdb-master-sys")).with_file_name("lmdb/libraries/liblmdb")
}

/// A directory with both libraries and their headers.
fn libraries() -> &'static Path {
    static LIBRARIES: OnceLock<TempDir> = OnceLock::new();
    let made = LIBRARIES.get_or_init(|| {
        let directory = TempDir::new().unwrap();
        let (own, lmdb) = (directory.path().join("own"), directory.path().join("lmdb"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&lmdb).unwrap();
        let this = env::current_exe().unwrap();
        let built = this.parent().unwrap().join("liblmdb.so");
        symlink(built, own.join("liblmdb.so.0")).unwrap();
        symlink("liblmdb.so.0", own.join("liblmdb.so")).unwrap();
        symlink(package().join("include/lmdb.h"), own.join("lmdb.h")).unwrap();
        let sources = sources();
        symlink(sources.join("lmdb.h"), lmdb.join("lmdb.h")).unwrap();
        run(compiler()
            .args(["-w", "-shared", "-fPIC", "-o"])
            .arg(lmdb.join("liblmdb.so"))
            .args(["mdb.c", "midl.c"].map(|file| sources.join(file)))
            .arg("-lpthread"));
        directory
    });
    made.path()
}

/// Compiles and runs a program, and returns its output.
fn printed(program: &str, library: Library, variables: &[(&str, &str)]) -> String {
    let library = libraries().join(match library {
        Library::Lmdb => "lmdb",
        Library::Own => "own",
    });
    let directory = TempDir::new().unwrap();
    let built = directory.path().join("program");
    run(compiler()
        .args(["-g", "-Wall", "-o"])
        .arg(&built)
        .arg(package().join("tests/c").join(program))
        .arg("-I")
        .arg(&library)
        .arg("-L")
        .arg(&library)
        .args(["-llmdb", "-lpthread"]));
    run(Command::new(&built)
        .current_dir(directory.path())
        .env("LD_LIBRARY_PATH", library)
        .envs(variables.iter().copied()))
}

fn has_equal_output(program: &str) {
    let own = printed(program, Library::Own, &[]);
    let lmdb = printed(program, Library::Lmdb, &[]);
    for (number, (own, lmdb)) in own.lines().zip(lmdb.lines()).enumerate() {
        assert_eq!(
            own, lmdb,
            "{program}: line {number}; LMDB's is on the right"
        );
    }
    assert_eq!(
        own.lines().count(),
        lmdb.lines().count(),
        "{program}: lines"
    );
}

#[test]
fn calls_before_an_environment_is_open_succeed_as_in_lmdb() {
    has_equal_output("before.c");
}

#[test]
fn a_comparison_receives_the_passed_value_first_and_the_stored_one_second() {
    has_equal_output("compare.c");
}

#[test]
fn values_and_keys_that_compare_as_equal_are_replaced() {
    has_equal_output("equal.c");
}

#[test]
fn keys_may_have_values_of_different_sizes_and_a_reserved_first_value() {
    has_equal_output("sizes.c");
}

#[test]
fn values_of_another_size_from_another_process_are_found() {
    let printed = printed("sizes_of_others.c", Library::Own, &[]);
    assert_eq!(
        printed,
        "    a=1234 b=twelve byte2 c=12345678 MDB_NOTFOUND\n"
    );
}

#[test]
fn the_largest_map_size_is_kept_and_the_data_file_is_inherited() {
    has_equal_output("files.c");
}

#[test]
fn records_loaded_under_a_comparison_that_always_returns_greater_are_found_under_another() {
    has_equal_output("loading.c");
}

#[test]
fn failed_searches_and_nested_transactions_leave_cursors_as_in_lmdb() {
    has_equal_output("missed.c");
}

#[test]
fn a_handle_can_be_closed_before_the_transaction_that_opened_it_ends() {
    has_equal_output("closing.c");
}

#[test]
fn a_cursor_that_deletes_and_puts_back_moves_as_in_lmdb() {
    has_equal_output("loops.c");
}

#[test]
fn a_thread_that_ended_while_reading_does_not_block_a_later_thread() {
    has_equal_output("threads.c");
}

#[test]
fn the_end_of_a_thread_frees_its_reader_slot() {
    has_equal_output("ended_threads.c");
}

#[test]
fn a_transaction_may_end_after_its_thread() {
    let printed = printed("ended_late.c", Library::Own, &[]);
    let begin = "mdb_txn_begin(env, NULL, MDB_RDONLY, &o";
    let wanted = format!(
        "one\ntwo\n{begin}ther): MDB_BAD_RSLOT\nthree\nmdb_txn_renew(second): 0\nthree\n{begin}wn): 0\n"
    );
    assert_eq!(printed, wanted);
}

#[test]
fn key_and_data_may_be_one_value() {
    has_equal_output("one_value.c");
}

#[test]
fn a_cursor_that_has_deleted_its_record_moves_as_in_lmdb() {
    has_equal_output("deleted.c");
}

#[test]
fn keys_of_the_main_database_do_not_stay_in_memory() {
    assert_eq!(printed("memory.c", Library::Own, &[]), "");
}

#[test]
fn a_comparison_may_call_the_library() {
    has_equal_output("nested_calls.c");
}

#[test]
fn random_calls_return_the_results_of_lmdb() {
    has_equal_output("random.c");
}

#[test]
fn the_reported_version_can_be_set() {
    let reported = |wanted| printed("version.c", Library::Own, &[("TEAK_LMDB_VERSION", wanted)]);
    assert_eq!(reported("0.9.24"), "LMDB 0.9.24: (Teak) 0.9.24\n");
    assert_eq!(reported("any"), "LMDB 0.9.36: (Teak) 0.9.36\n");
}

#[test]
fn ended_handles_are_refused() {
    assert_eq!(printed("over.c", Library::Own, &[]), "");
}

#[test]
fn a_comparison_may_read_past_the_bytes_of_the_passed_value() {
    has_equal_output("js.c");
}

#[test]
fn a_deleted_data_file_is_replaced_and_readers_without_locks_are_not_limited() {
    has_equal_output("replaced.c");
}

#[test]
fn a_lock_file_keeps_its_number_of_readers() {
    has_equal_output("readers.c");
}

#[test]
fn changes_are_committed_after_the_handle_of_their_database_was_closed() {
    assert_eq!(printed("closed.c", Library::Own, &[]), "");
}
