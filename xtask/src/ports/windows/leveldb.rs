//! The library with the interfaces of LevelDB: programs in C and C++ that use it as a DLL.

use super::{
    c_programs,
    mingw::{Program, empty, printed},
    target::TARGET,
    wine::Wine,
};
use crate::{
    Result, built, commands,
    install_leveldb::{self, InstallLeveldbArguments},
};
use clap::Parser;
use std::{ffi::OsStr, fmt, fs, path::Path};

const LIBRARY: &str = "leveldb.dll";
const IMPORTS: &str = "lib/libleveldb.dll.a";
/// Programs that get a directory as their argument.
const PROGRAMS: &[&str] = &["c/interface.c", "cpp/classes.cc", "cpp/layout.cc"];
/// The wrapper for nodes, which uses the library for C too.
const WRAPPER: &str = "cpp/wrapper.cc";
/// A directory that LevelDB has made, and what is printed of it.
const STORED: &str = "crates/teak-foreign/tests/data/leveldb";
const REFUSED: &str = "is a directory of LevelDB";
const RECORDS: &str = "2600 records";

/// The programs that ran.
pub(super) struct LevelDbCounts(usize);

impl fmt::Display for LevelDbCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} programs pass", self.0)
    }
}

/// Builds the library and the programs, and runs them. The library for C is installed already.
pub(super) fn run(wine: &Wine, directory: &Path) -> Result<LevelDbCounts> {
    let for_c = c_programs::prefix(directory);
    let directory = empty(directory.join("leveldb"))?;
    let package = built::workspace().join("crates/teak-leveldb");
    let prefix = directory.join("prefix");
    let install = ["install-leveldb", "--profile", "dev", "--target", TARGET];
    let mut install = install.map(OsStr::new).to_vec();
    install.extend([OsStr::new("--prefix"), prefix.as_os_str()]);
    install_leveldb::run(&InstallLeveldbArguments::try_parse_from(install)?)?;
    // Programs look for libraries in their own directory.
    fs::copy(prefix.join("bin").join(LIBRARY), directory.join(LIBRARY))?;
    c_programs::copy_library(&for_c, &directory)?;
    let imports_for_c = for_c.join(c_programs::IMPORTS);
    let imports_for_c = imports_for_c.to_string_lossy().into_owned();
    let imports = prefix.join(IMPORTS).to_string_lossy().into_owned();
    let (headers, headers_for_c) = (prefix.join("include"), for_c.join("include"));
    let compile = |name: &str| {
        let program = Program {
            source: package.join("tests").join(name),
            words: vec![
                "-DLEVELDB_SHARED_LIBRARY",
                &imports,
                &imports_for_c,
                "-lpthread",
            ],
            headers: vec![&headers, &headers_for_c],
        };
        program.compile(&directory, "shared")
    };
    for name in PROGRAMS.iter().chain([&WRAPPER]) {
        let variables = &[("TEST_TMPDIR", ".")];
        printed(wine, &compile(name)?, &["."], variables)?;
    }
    threads(wine, &compile("c/threads.c")?)?;
    shared(wine, &compile("c/shared.c")?)?;
    convert(wine, &compile("c/count.c")?, &directory)?;
    Ok(LevelDbCounts(PROGRAMS.len() + 4))
}

/// Eight threads write, read, iterate and compact.
fn threads(wine: &Wine, program: &Path) -> Result {
    const THREADS: usize = 8;
    const BATCHES: usize = 200;
    let (threads, batches) = (THREADS.to_string(), BATCHES.to_string());
    let arguments = ["write", "data", &threads, "1", &batches];
    let printed = printed(wine, program, &arguments, &[])?;
    let done = printed.lines().filter(|line| line.starts_with("done "));
    let done = done.count();
    ensure!(done == THREADS * BATCHES, "{done} batches were written");
    Ok(())
}

/// Four processes create, open and write directories at the same time.
fn shared(wine: &Wine, program: &Path) -> Result {
    let variables = &[("TEAK_LEVELDB_SHARED", "1")];
    printed(wine, program, &["."], variables).map(drop)
}

/// Converts a directory of LevelDB on demand.
fn convert(wine: &Wine, program: &Path, directory: &Path) -> Result {
    let data = empty(directory.join("data"))?;
    for entry in fs::read_dir(built::workspace().join(STORED))? {
        let entry = entry?;
        fs::copy(entry.path(), data.join(entry.file_name()))?;
    }
    for (wish, expected) in [("", REFUSED), ("1", RECORDS), ("", RECORDS)] {
        let variables = &[("TEAK_LEVELDB_IMPORT", wish)];
        let mut count = wine.command_with(program, directory, variables);
        let counted = commands::output(count.arg("data"))?;
        ensure!(
            counted.contains(expected),
            "with TEAK_LEVELDB_IMPORT={wish:?} a directory of LevelDB gives {counted:?}"
        );
    }
    Ok(())
}
