//! C programs that are run on LMDB, whose sources a crate brings, and on the library. What they print must be the same.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// What a program is linked to.
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
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{told}{errors}",
        output.status
    );
    told
}

fn compiler() -> Command {
    let host = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let mut build = cc::Build::new();
    build.target(&host).host(&host).opt_level(1);
    build.cargo_metadata(false).get_compiler().to_command()
}

/// LMDB's sources, as cargo has them.
fn sources() -> PathBuf {
    let metadata = run(Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(package()));
    let mut paths = metadata.split('"');
    let manifest = paths.find(|path| {
        let directory = Path::new(path).parent().and_then(Path::file_name);
        let name = directory.and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("lmdb-master-sys-") && path.ends_with("Cargo.toml")
    });
    Path::new(manifest.expect("the crate lmdb-master-sys")).with_file_name("lmdb/libraries/liblmdb")
}

/// A directory with both libraries.
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

/// What a program prints.
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

fn is_the_same(program: &str) {
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
fn what_lmdb_allows_before_an_environment_is_open_is_allowed() {
    is_the_same("before.c");
}

#[test]
fn a_comparison_is_given_what_the_client_has_passed_and_what_is_stored() {
    is_the_same("compare.c");
}

#[test]
fn values_and_keys_that_compare_as_equal_are_replaced() {
    is_the_same("equal.c");
}

#[test]
fn a_key_may_have_values_of_another_size_and_memory_reserved_for_its_first_one() {
    is_the_same("sizes.c");
}

#[test]
fn values_of_another_size_that_another_process_has_put_are_known() {
    let told = printed("sizes_of_others.c", Library::Own, &[]);
    assert_eq!(told, "    a=1234 b=twelve byte2 c=12345678 MDB_NOTFOUND\n");
}

#[test]
fn the_largest_map_size_is_kept_and_the_data_file_is_inherited() {
    is_the_same("files.c");
}

#[test]
fn what_is_loaded_under_a_comparison_that_always_says_greater_is_found_under_another_one() {
    is_the_same("loading.c");
}

#[test]
fn a_search_that_misses_and_a_nested_transaction_leave_cursors_where_lmdb_has_them() {
    is_the_same("missed.c");
}

#[test]
fn a_handle_is_closed_though_the_transaction_that_has_opened_it_goes_on() {
    is_the_same("closing.c");
}

#[test]
fn a_cursor_that_deletes_and_puts_back_ends_where_lmdbs_does() {
    is_the_same("loops.c");
}

#[test]
fn a_thread_that_ends_while_it_reads_is_none_that_comes_later() {
    is_the_same("threads.c");
}

#[test]
fn a_thread_that_ends_gives_its_slot_back() {
    is_the_same("ended_threads.c");
}

#[test]
fn a_transaction_may_end_after_its_thread() {
    let told = printed("ended_late.c", Library::Own, &[]);
    let begin = "mdb_txn_begin(env, NULL, MDB_RDONLY, &o";
    let wanted = format!(
        "one\ntwo\n{begin}ther): MDB_BAD_RSLOT\nthree\nmdb_txn_renew(second): 0\nthree\n{begin}wn): 0\n"
    );
    assert_eq!(told, wanted);
}

#[test]
fn key_and_data_may_be_one_value() {
    is_the_same("one_value.c");
}

#[test]
fn a_cursor_that_has_deleted_its_record_goes_where_lmdbs_does() {
    is_the_same("deleted.c");
}

#[test]
fn keys_that_were_put_do_not_stay_in_memory() {
    assert_eq!(printed("memory.c", Library::Own, &[]), "");
}

#[test]
fn a_comparison_may_call_the_library() {
    is_the_same("nested_calls.c");
}

#[test]
fn random_calls_are_answered_as_by_lmdb() {
    is_the_same("random.c");
}

#[test]
fn the_version_that_a_program_was_compiled_for_is_told() {
    let told = |wanted| printed("version.c", Library::Own, &[("TEAK_LMDB_VERSION", wanted)]);
    assert_eq!(told("0.9.24"), "LMDB 0.9.24: (Teak) 0.9.24\n");
    assert_eq!(told("any"), "LMDB 0.9.36: (Teak) 0.9.36\n");
}

#[test]
fn handles_that_are_over_are_refused() {
    assert_eq!(printed("over.c", Library::Own, &[]), "");
}

#[test]
fn a_comparison_may_read_behind_the_bytes_that_the_client_has_passed() {
    is_the_same("js.c");
}

#[test]
fn a_deleted_data_file_gives_way_and_readers_without_locks_have_no_limit() {
    is_the_same("replaced.c");
}

#[test]
fn a_lock_file_keeps_its_number_of_readers_and_without_locks_there_is_none() {
    is_the_same("readers.c");
}

#[test]
fn a_transaction_commits_what_it_has_changed_in_a_database_whose_handle_is_closed() {
    assert_eq!(printed("closed.c", Library::Own, &[]), "");
}
