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
fn printed(program: &str, library: Library) -> String {
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
        .env("LD_LIBRARY_PATH", library))
}

fn is_the_same(program: &str) {
    let lmdb = printed(program, Library::Lmdb);
    assert_eq!(
        printed(program, Library::Own),
        lmdb,
        "{program}: LMDB's is on the right"
    );
}

#[test]
fn what_lmdb_allows_before_an_environment_is_open_is_allowed() {
    is_the_same("before.c");
}

#[test]
fn handles_that_are_over_are_refused() {
    assert_eq!(printed("over.c", Library::Own), "");
}
